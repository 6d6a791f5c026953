"""Training that starts from an agent instead of a fresh policy."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax

from asmpg._support.checks import shown
from asmpg.agents import Agent
from asmpg.runs import is_array
from asmpg.training._program import Program, SeedState, start_seed

_ADVICE = "leave the method out to train on with the agent's own"
_OTHER_KIND = (
    f"start must fit method: its policy, critic or optimiser is of another kind; {_ADVICE}"
)


def check_start(agent: object) -> None:
    """Refuse what no training can start from."""
    if not isinstance(agent, Agent) or agent.interface is None:
        raise ValueError(
            f"start must be an agent that was trained, from learn or asmpg.load, got {shown(agent)}"
        )


def starting_from(agent: Agent, program: Program, seeds: Sequence[int]) -> dict[int, SeedState]:
    """The state of each of `seeds` before its first step, with what `agent` has learned.

    Policy, critic, optimisers, averages and the running scales of returns and observations are the
    agent's; of one that was read from a file, the policy alone, and the rest is fresh. Steps,
    schedules, random numbers and episodes start over.
    """
    _check_spaces(agent, program)
    states = {}
    for seed in seeds:
        fresh = start_seed(program, seed)
        method = program.method
        if agent.learner is not None and type(agent.learner) is not type(fresh.learner):
            raise ValueError(_OTHER_KIND)
        if agent.learner is None:
            learner = method.with_learned(fresh.learner, agent.learned)
        else:
            learner = method.continued(fresh.learner, agent.learner)
        _check_fits(learner, fresh.learner)
        states[seed] = eqx.tree_at(lambda state: state.learner, fresh, learner)
    return states


def _check_spaces(agent: Agent, program: Program) -> None:
    known, here = agent.interface, program.interface
    assert known is not None
    for kind in ("observation", "action"):
        before, now = (getattr(each, f"{kind}_space") for each in (known, here))
        if before != now:
            raise ValueError(
                f"start must be an agent for the {kind}s of {here.name}, {now}; it was trained in "
                f"{known.name}, on {before}"
            )


def _check_fits(given: Any, fresh: Any) -> None:
    """Refuse parts of other sizes or kinds than the method makes."""
    (before, structure), (now, expected) = (
        jax.tree_util.tree_flatten_with_path(eqx.filter(tree, is_array)) for tree in (given, fresh)
    )
    for (path, leaf), (place, own) in zip(before, now, strict=False):
        if path == place and leaf.shape != own.shape:
            name = jax.tree_util.keystr(path, simple=True, separator="/")
            raise ValueError(
                f"start must fit method: {name} has shape {leaf.shape} in the agent and "
                f"{own.shape} in the method; {_ADVICE}"
            )
    if structure != expected:
        raise ValueError(_OTHER_KIND)
