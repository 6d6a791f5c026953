"""A Python class that needs nothing but Python."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

_TEMPLATE = '''\
"""{title}

>>> policy = Policy()  # one for each episode, or policy.reset()
>>> action = policy.step(observation)
"""
{imports}
ACTIONS = {action_names}
OBSERVATIONS = {observation_names}
START = {start}
UPDATE = {update}
CONTROL = {control}
{extra}

class Policy:
    """The agent state and the action before, and how they change."""

    def __init__(self):
        self.reset()

    def reset(self):
        """Forget: an episode starts."""
        self.state = self.action = None

    def step(self, observation):
        """Take in what is seen, and return the action to play."""
{number}        if self.state is None:
            following = START[observation]
        else:
            following = UPDATE[self.state][self.action][observation]
        self.state = {state}
        self.action = {action}
        return self.action + {first}
'''

_NUMBER = """\
        observation = min(
            range(len(CENTRES)),
            key=lambda i: sum(
                ((x - c) / s) ** 2 for x, c, s in zip(observation, CENTRES[i], SCALE)
            ),
        )
"""

_DRAW = '''

def draw(probabilities):
    """An index, drawn."""
    return random.choices(range(len(probabilities)), probabilities)[0]
'''


def python_class(machine: "Machine", path: Path) -> str:
    """The machine as a module of tables and a class `Policy`."""
    del path
    certain = machine.deterministic
    kind = "deterministic" if certain else "stochastic"
    arrays = {name: getattr(machine, name) for name in ("start", "update", "control")}
    if certain:
        arrays = {name: array.argmax(axis=-1) for name, array in arrays.items()}
    row = "CONTROL[observation]" if len(machine.control) > 1 else "CONTROL[0]"
    extra, number = "", ""
    if machine.cases is not None:
        extra = f"CENTRES = {literal(machine.cases.centres)}\n"
        extra += f"SCALE = {literal(machine.cases.scale)}\n"
        number = _NUMBER
    name = json.dumps(machine.name)[1:-1]
    return _TEMPLATE.format(
        title=f"{name}: {machine.num_states} agent states, {kind}; made by asmpg.",
        imports="" if certain else "\nimport random\n",
        action_names=json.dumps(list(machine.action_names)),
        observation_names=json.dumps(list(machine.observation_names)),
        **{name: literal(array) for name, array in arrays.items()},
        extra=extra + ("" if certain else _DRAW),
        number=number,
        state="following" if certain else "draw(following)",
        action=f"{row}[self.state]" if certain else f"draw({row}[self.state])",
        first=machine.first_action,
    )


def literal(array: np.ndarray) -> str:
    """Nested lists, a line for each row of the last axis but one."""
    text = json.dumps(array.tolist())
    return text.replace("], [", "],\n    [")
