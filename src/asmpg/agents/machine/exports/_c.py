"""A C header: integer tables and one function, without anything else to link."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

_TEMPLATE = """\
/* {title}
 *
 *     {p}_memory memory = {{0}};            // {{0}} where an episode starts
 *     for (;;) {{
 *         int action = {p}_step(&memory, {call});
 *         ...                              // play it
 *     }}
 *
{names}
 */
#ifndef {P}_H
#define {P}_H

#define {P}_STATES {states}
#define {P}_ACTIONS {actions}
#define {P}_OBSERVATIONS {symbols}

/* The agent state and the action before; started is 0 at the start of an episode. */
typedef struct {{ int state, action, started; }} {p}_memory;

{tables}
{helpers}
/* Take in what is seen{drawing}, and return the action to play. */
static inline int {p}_step({p}_memory *memory, {arguments})
{{
{number}{body}    memory->started = 1;
    return memory->action + {first};
}}

#endif
"""

_CERTAIN = """\
    memory->state = memory->started
        ? {p}_update[memory->state][memory->action][observation]
        : {p}_start[observation];
    memory->action = {p}_control[{row}][memory->state];
"""

_DRAWN = """\
    memory->state = {p}_draw(memory->started
        ? {p}_update[memory->state][memory->action][observation]
        : {p}_start[observation], {P}_STATES, uniform_state);
    memory->action = {p}_draw({p}_control[{row}][memory->state], {P}_ACTIONS, uniform_action);
"""

_DRAW = """\
/* The index at which the cumulative probabilities first exceed uniform, a number in [0, 1). */
static inline int {p}_draw(const float *probabilities, int count, float uniform)
{{
    float cumulative = probabilities[0];
    int index = 0;
    while (index < count - 1 && uniform >= cumulative)
        cumulative += probabilities[++index];
    return index;
}}
"""

_NUMBER = """\
/* The typical case that is nearest to what is seen, {size} numbers. */
static inline int {p}_case(const float *seen)
{{
    int nearest = 0;
    float least = -1;
    for (int i = 0; i < {P}_OBSERVATIONS; i++) {{
        float distance = 0;
        for (int j = 0; j < {size}; j++) {{
            float away = (seen[j] - {p}_centres[i][j]) / {p}_scale[j];
            distance += away * away;
        }}
        if (i == 0 || distance < least) {{ least = distance; nearest = i; }}
    }}
    return nearest;
}}
"""


def c_header(machine: "Machine", path: Path) -> str:
    """The machine as C99; names start with that of the file."""
    prefix = re.sub(r"\W", "_", path.stem).lstrip("0123456789") or "policy"
    certain = machine.deterministic
    words = {"p": prefix, "P": prefix.upper()}
    words["row"] = "observation" if len(machine.control) > 1 else "0"
    arguments = "int observation" if machine.cases is None else "const float *seen"
    call = "observation" if machine.cases is None else "seen"
    helpers, number = "", ""
    if not certain:
        arguments += ", float uniform_state, float uniform_action"
        call += ", u1, u2"
        helpers += _DRAW.format(**words)
    if machine.cases is not None:
        helpers += _NUMBER.format(size=len(machine.cases.scale), **words)
        number = f"    int observation = {prefix}_case(seen);\n"
    kind = "deterministic" if certain else "stochastic"
    return _TEMPLATE.format(
        title=f"{_plain(machine.name)}: {machine.num_states} agent states, {kind}; made by asmpg",
        names="\n".join(_names(machine)),
        states=machine.num_states,
        actions=machine.num_actions,
        symbols=machine.num_observations,
        tables="\n".join(_tables(machine, prefix)),
        helpers=helpers,
        drawing="" if certain else " and two uniform random numbers",
        arguments=arguments,
        call=call,
        number=number,
        body=(_CERTAIN if certain else _DRAWN).format(**words),
        first=machine.first_action,
        **words,
    )


def _names(machine: "Machine") -> list[str]:
    pairs = {"actions": machine.action_names, "observations": machine.observation_names}
    first = {"actions": machine.first_action, "observations": 0}
    return [
        f" * {kind}: "
        + ", ".join(f"{first[kind] + i} {_plain(name)}" for i, name in enumerate(names))
        for kind, names in pairs.items()
    ]


def _plain(text: str) -> str:
    """Text that cannot end a comment, or a line."""
    return re.sub(r"[^\w .,:;()\[\]=+-]", "?", text, flags=re.ASCII)


def _tables(machine: "Machine", prefix: str) -> list[str]:
    lines = []
    for name in ("start", "update", "control"):
        array = getattr(machine, name)
        kind = "float"
        if machine.deterministic:
            array = array.argmax(axis=-1)
            kind = "unsigned char" if array.max() < 256 else "unsigned short"
        lines.append(_table(f"{prefix}_{name}", kind, array))
    if machine.cases is not None:
        lines.append(_table(f"{prefix}_centres", "float", machine.cases.centres))
        lines.append(_table(f"{prefix}_scale", "float", machine.cases.scale))
    return lines


def _table(name: str, kind: str, array: np.ndarray) -> str:
    sizes = "".join(f"[{size}]" for size in array.shape)
    return f"static const {kind} {name}{sizes} = {_braces(array)};"


def _braces(array: np.ndarray) -> str:
    if array.ndim == 1:
        return "{" + ", ".join(_number(value) for value in array) + "}"
    return "{" + ",\n    ".join(_braces(row) for row in array) + "}"


def _number(value: np.number) -> str:
    if isinstance(value, np.integer):
        return str(int(value))
    text = f"{float(value):.9g}"
    return f"{text}f" if any(mark in text for mark in ".e") else f"{text}.0f"
