"""A machine in words: a table for the terminal, and a paragraph for each state."""

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from asmpg._support.words import counted, listed, percent
from asmpg.agents.machine._regions import region, typical

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

_WIDTH = 100
#: Rarer actions and next states are left out; so are observations that hardly ever come.
_RARE, _VERY_RARE = 0.05, 0.005
#: So many observations, or latent states, are named in a sentence.
_MOST_NAMED = 3


def table(machine: "Machine") -> str:
    """The title, how an episode starts, a row for each state, and what each step cost."""
    kind = "deterministic" if machine.deterministic else "stochastic"
    title = f"{machine.name}: {counted(machine.num_states, 'agent state')}, {kind}"
    if machine.value is not None:
        title += f"; {machine.value}"
    first = _goes(machine, machine.start, _starts(machine))
    rows = [("state", "share", "plays", "and goes, on seeing,"), ("start", "", "", first)]
    shares = machine.shares if machine.visits is not None else None
    for state in range(machine.num_states):
        share = "" if shares is None else percent(shares[state])
        rows.append((f"s{state}", share, plays(machine, state), leads(machine, state)))
    notes = ["…: seldom"] if any("…" in row[3] for row in rows) else []
    if not machine.deterministic:
        notes.insert(0, f"probabilities below {percent(_RARE)} are left out")
    if any("otherwise" in row[2] for row in rows):
        notes.append("otherwise: by what the window shows, not by the typical case")
    foot = [f"({'; '.join(notes)})"] if notes else []
    return "\n".join([title, "", *_aligned(rows), *foot, *_costs(machine)])


def plays(machine: "Machine", state: int) -> str:
    """The actions of a state, the most probable first; by observation where they depend on it.

    Of real observations, what it plays on the average visit.
    """
    control = machine.control
    if len(control) == 1:
        return _mixture(control[0, state], machine.action_names)
    if machine.cases is not None:
        words = _mixture(action_shares(machine)[state], machine.action_names)
        overruled = None if machine.visits is None else machine.visits.overruled
        if overruled is None or overruled[state] < _VERY_RARE:
            return words
        return f"{words}, otherwise {percent(float(overruled[state]))}"
    arrived = arrivals_by_observation(machine)[state]
    groups: dict[str, list[str]] = {}
    for symbol in np.argsort(-arrived, kind="stable"):
        if arrived[symbol] > 0:
            words = _mixture(control[symbol, state], machine.action_names)
            groups.setdefault(words, []).append(machine.observation_names[symbol])
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{words} on {', '.join(seen)}" for words, seen in groups.items())


def leads(machine: "Machine", state: int) -> str:
    """Where observations lead from a state; action by action where that matters.

    Real observations are said by the region in which they lead to each of the next states.
    """
    if machine.cases is not None:
        inputs, update = _inputs(machine)[state], machine.update[state]
        total = inputs.sum(axis=0)
        mean = np.einsum("ao,aos->os", inputs, update) / np.where(total > 0, total, 1)[:, None]
        return _goes(machine, mean, total) or "(never goes on)"
    chosen = action_shares(machine)[state]
    actions = [action for action in np.argsort(-chosen, kind="stable") if chosen[action] > _RARE]
    parts = {}
    for action in actions:
        weights = _inputs(machine)[state, action]
        parts[action] = moves(machine.update[state, action], machine.observation_names, weights)
    words = {part for part in parts.values() if part}
    if len(words) <= 1:
        return next(iter(words), "(never goes on)")
    named = ((machine.action_names[action], part) for action, part in parts.items() if part)
    return "; ".join(f"after {name}: {part}" for name, part in named)


def _goes(
    machine: "Machine", rows: Float[np.ndarray, "O S"], weights: Float[np.ndarray, " O"]
) -> str:
    """Observation by observation; region by region where they are real."""
    if machine.cases is None:
        return moves(rows, machine.observation_names, weights)
    flow = rows * weights[:, None]
    shares = flow.sum(axis=0) / max(flow.sum(), 1e-300)
    often = [state for state in np.argsort(-shares, kind="stable") if shares[state] > _RARE]
    return "; ".join(
        f"s{state} {percent(shares[state])} on {region(machine, flow[:, state])}" for state in often
    )


def moves(
    rows: Float[np.ndarray, "O S"], names: tuple[str, ...], weights: Float[np.ndarray, " O"]
) -> str:
    """`4 → s1, 6 → s0 80 % s2 20 %` for the observations that have a weight."""
    words = []
    often = weights > _VERY_RARE * weights.sum()
    for symbol in np.flatnonzero(often):
        states = [f"s{state}" for state in range(rows.shape[-1])]
        words.append(f"{names[symbol]} → {_mixture(rows[symbol], states)}")
    return ", ".join(words) + (", …" if (weights > 0).sum() > often.sum() else "")


def _mixture(probabilities: np.ndarray, names: "tuple[str, ...] | list[str]") -> str:
    order = [i for i in np.argsort(-probabilities, kind="stable") if probabilities[i] > _RARE]
    if not order:
        return "anything"
    if probabilities[order[0]] > 1 - _RARE:
        return names[order[0]]
    return " ".join(f"{names[i]} {percent(float(probabilities[i]))}" for i in order)


def _aligned(rows: list[tuple[str, str, str, str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    widths[2] = min(widths[2], 30)
    lines = []
    for row in rows:
        head = f"{row[0]:>{widths[0]}}  {row[1]:>{widths[1]}}  "
        played = textwrap.wrap(row[2], widths[2]) or [""]
        follows = textwrap.wrap(row[3], _WIDTH - len(head) - widths[2] - 2) or [""]
        for i in range(max(len(played), len(follows))):
            words = [part[i] if i < len(part) else "" for part in (played, follows)]
            before = head if i == 0 else " " * len(head)
            lines.append(f"{before}{words[0]:<{widths[2]}}  {words[1]}".rstrip())
    return lines


def _costs(machine: "Machine") -> list[str]:
    if len(machine.steps) < 2:
        return []
    lines = [""]
    for step in machine.steps:
        value = "" if step.value is None else f"   {step.value}"
        states = counted(step.num_states, "state")
        lines.append(f"{step.done:<22}{states:>10}{value}")
    return lines


def describe(machine: "Machine") -> str:
    """A paragraph for each state, the most used first."""
    order = np.argsort(-machine.shares, kind="stable")
    return "\n".join(f"s{state}: {sentence(machine, int(state))}" for state in order)


def sentence(machine: "Machine", state: int) -> str:
    """What a state has seen, what it plays, where that happens."""
    if machine.cases is not None:
        return _sentence_on_regions(machine, state)
    parts = [f"{_seen(machine, state)}.", f"Plays {plays(machine, state)}."]
    stays = _staying(machine, state)
    if stays:
        parts.append(f"Stays while seeing {stays}.")
    where = _where(machine, state)
    if where:
        parts.append(f"The environment is then: {where}.")
    return " ".join(parts)


def _sentence_on_regions(machine: "Machine", state: int) -> str:
    """What a state typically sees, what it plays where, and where it goes from there."""
    seen = typical(machine, state)
    if not seen:
        return "Never entered."
    parts = [f"Typically sees {seen}.", f"Plays {_by_region(machine, state)}."]
    overruled = None if machine.visits is None else machine.visits.overruled
    if overruled is not None:
        share = percent(float(overruled[state]))
        parts.append(f"At {share} of the visits the window decides otherwise.")
    return " ".join([*parts, f"Goes to {leads(machine, state)}."])


def _by_region(machine: "Machine", state: int) -> str:
    """Each action with the region in which it is played, where that depends on what is seen."""
    shares, names = action_shares(machine)[state], machine.action_names
    if len(machine.control) == 1 or shares.max() > 1 - _RARE:
        return _mixture(shares, names)
    played = arrivals_by_observation(machine)[state][:, None] * machine.control[:, state]
    often = [action for action in np.argsort(-shares, kind="stable") if shares[action] > _RARE]
    return "; ".join(
        f"{names[action]} {percent(shares[action])} on {region(machine, played[:, action])}"
        for action in often
    )


def _seen(machine: "Machine", state: int) -> str:
    """`Last saw corridor after going north`, from how the state is entered from elsewhere."""
    entered = arrivals(machine)[..., state].copy()
    for action in range(machine.num_actions):
        entered[1 + state * machine.num_actions + action] = 0
    if not entered.any():
        return "Never entered"
    words = []
    seen = entered.sum(axis=0) / entered.sum()
    for symbol in np.argsort(-seen, kind="stable")[:_MOST_NAMED]:
        if seen[symbol] > _RARE:
            how = entered[:, symbol] / entered[:, symbol].sum()
            words.append(f"{machine.observation_names[symbol]}{_after(machine, how)}")
    return f"Last saw {', or '.join(words)}"


def _after(machine: "Machine", how: np.ndarray) -> str:
    by_action = how[1:].reshape(machine.num_states, machine.num_actions).sum(axis=0)
    names = [
        machine.action_names[action]
        for action in np.argsort(-by_action, kind="stable")
        if by_action[action] > _RARE
    ]
    ways = [f"after {' or '.join(names)}"] if names else []
    if how[0] > _RARE:
        ways.append("at the start")
    return f" {' or '.join(ways)}" if len(names) < machine.num_actions else ""


def _staying(machine: "Machine", state: int) -> str:
    inputs = _inputs(machine)[state]
    kept = (inputs * machine.update[state, :, :, state]).sum(axis=0)
    names = [
        machine.observation_names[symbol]
        for symbol in np.argsort(-kept, kind="stable")
        if kept[symbol] > 0.5 * inputs[:, symbol].sum() and kept[symbol] > _VERY_RARE * inputs.sum()
    ]
    return " or ".join(names)


def _where(machine: "Machine", state: int) -> str:
    if machine.visits is None or machine.visits.latent is None or machine.setting is None:
        return ""
    latent = machine.visits.latent[state]
    if latent.sum() == 0:
        return ""
    belief = latent / latent.sum()
    # Equally likely ones in their order, however they were rounded.
    order = np.argsort(-belief.round(6), kind="stable")
    # Where none is likely, all that are possible count.
    likely = [x for x in order if belief[x] > _RARE] or [x for x in order if belief[x] > 0]
    environment = machine.setting.environment
    assert environment is not None
    words = [f"{environment.describe_state(np.asarray(x))} ({percent(belief[x])})" for x in likely]
    if len(words) > _MOST_NAMED:
        words = [*words[:_MOST_NAMED], f"one of {len(words) - _MOST_NAMED} others"]
    return listed(words) if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def action_shares(machine: "Machine") -> Float[np.ndarray, "S A"]:
    """How often each state plays each action."""
    if len(machine.control) == 1:
        return machine.control[0]
    arrived = arrivals_by_observation(machine)
    total = arrived.sum(axis=1, keepdims=True)
    arrived = np.where(total > 0, arrived / np.where(total > 0, total, 1), 1 / arrived.shape[1])
    return np.einsum("so,osa->sa", arrived, machine.control)


def arrivals(machine: "Machine") -> Float[np.ndarray, "X O S"]:
    """How often states are entered; as if all inputs were alike where visits are not known."""
    if machine.visits is not None:
        return machine.arrivals()
    later = _inputs(machine)[..., None] * machine.update
    return np.concatenate([machine.start[None], later.reshape(-1, *later.shape[2:])])


def arrivals_by_observation(machine: "Machine") -> Float[np.ndarray, "S O"]:
    """How often each state acts on each observation."""
    return arrivals(machine).sum(axis=0).T


def _inputs(machine: "Machine") -> Float[np.ndarray, "S A O"]:
    if machine.visits is not None:
        return machine.visits.inputs
    played = machine.control.mean(axis=0)[..., None]
    return np.broadcast_to(played, machine.update.shape[:3])


def _starts(machine: "Machine") -> Float[np.ndarray, " O"]:
    return np.ones(machine.num_observations) if machine.visits is None else machine.visits.start
