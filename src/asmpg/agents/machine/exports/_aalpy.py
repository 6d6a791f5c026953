"""Automata of AALpy, for those who check or learn automata."""

import importlib
import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

#: The state before the first observation, and what it puts out.
_BEGIN, _NOTHING = "start", "nothing"


def to_aalpy(machine: "Machine") -> Any:
    """A Moore machine whose inputs are observations, and whose outputs are actions.

    Where the action depends on the observation, or states on the action before, or chance: see the
    error. The first state is the one before the first observation.
    """
    try:
        automata: Any = importlib.import_module("aalpy.automata")
    except ImportError:
        raise ImportError("AALpy is needed for its automata: pip install aalpy") from None
    if not machine.deterministic or len(machine.control) > 1:
        raise ValueError(
            "machine must be deterministic, and act on its state alone: harden() it first"
        )
    played = machine.control[0].argmax(axis=-1)
    states = [
        automata.MooreState(f"s{state}", machine.action_names[action])
        for state, action in enumerate(played)
    ]
    begin = automata.MooreState(_BEGIN, _NOTHING)
    symbols = range(machine.num_observations)
    for symbol in symbols:
        name = machine.observation_names[symbol]
        begin.transitions[name] = states[int(machine.start[symbol].argmax())]
    for state, symbol in itertools.product(range(machine.num_states), symbols):
        following = int(machine.update[state, played[state], symbol].argmax())
        name = machine.observation_names[symbol]
        states[state].transitions[name] = states[following]
    return automata.MooreMachine(begin, [begin, *states])
