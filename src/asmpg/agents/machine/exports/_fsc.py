"""A machine as a finite-state controller in an `.fsc` file, and back.

There the action comes first: nothing is seen before it, and what a node plays decides nothing but
the action. A node is an agent state; it is the agent state with the last observation, or with its
action, where the action depends on the one or the update on the other.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg.environments.pomdp_files import NOTHING_YET, ControllerFile, fsc_text, read_fsc

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine


def machine_fsc(machine: "Machine", path: Path) -> str:
    """The text of the file."""
    del path
    return fsc_text(_controller(machine))


def read_controller(path: Path) -> dict[str, Any]:
    """The fields of a machine; one more observation stands for having seen nothing yet."""
    read = read_fsc(path)
    nodes, actions = read.control.shape
    update = np.concatenate([read.update, np.eye(nodes)[None]]).transpose(1, 0, 2)
    return {
        "start": np.tile(read.start, (len(read.observations) + 1, 1)),
        "update": np.repeat(update[:, None], actions, axis=1),
        "control": read.control[None],
        "action_names": read.actions,
        "observation_names": (*read.observations, NOTHING_YET),
        "name": path.stem,
    }


def _controller(machine: "Machine") -> ControllerFile:
    if machine.cases is not None:
        raise ValueError("a machine of typical cases cannot be an .fsc file, which has no numbers")
    names = machine.observation_names
    seen = [number for number, name in enumerate(names) if name != NOTHING_YET]
    start, update, control = machine.start, machine.update, machine.control
    if len(control) > 1:
        start, update, control = _with_observation(start, update, control)
    begins = start[_first_symbols(machine)]
    if (begins != begins[0]).any():
        raise ValueError(
            "start must not depend on an observation in an .fsc file, which has none before the "
            "first action"
        )
    first, update, control = begins[0], update[:, :, seen], control[0]
    if _acts_matter(update, control):
        first, update, control = _with_action(first, update, control)
    # All actions that are played lead on alike.
    played = update[np.arange(len(update)), control.argmax(axis=1)]
    return ControllerFile(
        tuple(map(str, range(len(update)))),
        machine.action_names,
        tuple(names[number] for number in seen),
        first,
        control,
        played.transpose(1, 0, 2),
    )


def _first_symbols(machine: "Machine") -> list[int]:
    """The observations that can come before the first action."""
    symbols = range(machine.num_observations)
    if machine.visits is not None and machine.visits.exact:
        return [symbol for symbol in symbols if machine.visits.start[symbol] > 0]
    nothing = [symbol for symbol in symbols if machine.observation_names[symbol] == NOTHING_YET]
    return nothing or list(symbols)


def _acts_matter(update: np.ndarray, control: np.ndarray) -> bool:
    """Whether the update depends on which one was played of several actions."""
    most = update[np.arange(len(update)), control.argmax(axis=1)]
    return bool(((update != most[:, None]).any(axis=(2, 3)) & (control > 0)).any())


def _with_observation(
    start: np.ndarray, update: np.ndarray, control: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes `o S + s`, which have seen `o` last."""
    symbols, states = start.shape
    size = symbols * states
    seen = np.eye(symbols)
    begin = np.einsum("os,op->ops", start, seen).reshape(symbols, size)
    leads = np.einsum("saot,op->saopt", update, seen).reshape(*update.shape[:3], size)
    return begin, np.tile(leads, (symbols, 1, 1, 1)), control.reshape(1, size, -1)


def _with_action(
    first: np.ndarray, update: np.ndarray, control: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes for each state and action that it plays."""
    states, actions = np.nonzero(control)
    share = control[states, actions]
    leads = update[states, actions][:, :, states] * share
    size = len(states)
    repeated = np.repeat(leads[:, None], control.shape[1], axis=1)
    return first[states] * share, repeated, np.eye(control.shape[1])[actions].reshape(size, -1)
