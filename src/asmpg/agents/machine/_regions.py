"""Real observations in words: where they lie, in the parts that stand out."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

#: So many parts of an observation are named.
_MOST_PARTS = 3


def typical(machine: "Machine", state: int) -> str:
    """`cart 0.1 ± 0.5, pole −0.2 ± 0.1`: what a state acts on; nothing if it is not visited."""
    if machine.visits is None or machine.visits.observed is None:
        return region(machine, arrived_by_case(machine)[state])
    if not machine.shares[state]:
        return ""
    mean, spread = machine.visits.observed[:, state]
    return _span(machine, mean, spread, _MOST_PARTS)


def region(machine: "Machine", weights: Float[np.ndarray, " O"], *, most: int = _MOST_PARTS) -> str:
    """Mean and spread of the typical cases, each with its weight; of a few parts, without it."""
    assert machine.cases is not None
    total = weights.sum()
    if total == 0:
        return ""
    centres, shares = machine.cases.centres, weights / total
    mean = shares @ centres
    spread = np.sqrt(shares @ (centres - mean) ** 2)
    return _span(machine, mean, spread if most >= _MOST_PARTS else None, most)


def _span(
    machine: "Machine",
    mean: Float[np.ndarray, " d"],
    spread: Float[np.ndarray, " d"] | None,
    most: int,
) -> str:
    """The parts that are furthest from where they usually are, in their own order."""
    assert machine.cases is not None
    usual = arrived_by_case(machine).sum(axis=0)
    away = np.abs(mean - usual @ machine.cases.centres / usual.sum()) / machine.cases.scale
    names = _part_names(machine)
    words = []
    for part in sorted(np.argsort(-away, kind="stable")[:most]):
        about = "" if spread is None else f" ± {_short(float(spread[part]))}"
        words.append(f"{names[part]} {_short(float(mean[part]))}{about}")
    return ", ".join(words)


def _part_names(machine: "Machine") -> tuple[str, ...]:
    assert machine.cases is not None
    setting = machine.setting
    if setting is None or setting.environment is None:
        return tuple(f"[{part}]" for part in range(len(machine.cases.scale)))
    return setting.environment.observation_names


def _short(number: float) -> str:
    return f"{number:.2g}".replace("-", "−")


def arrived_by_case(machine: "Machine") -> Float[np.ndarray, "S O"]:
    """How often each state acts on each case; alike where visits are not known."""
    if machine.visits is None:
        return np.ones((machine.num_states, machine.num_observations))
    return machine.arrivals().sum(axis=0).T
