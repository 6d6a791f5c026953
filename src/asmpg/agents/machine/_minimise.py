"""Which states of a machine can be one: bisimulation, by partition refinement.

Two agent states are bisimilar if they act alike, `phi(a | s, o) = phi(a | t, o)`, and lead to each
class `C` of bisimilar states with the same probability on every input:

`sum_{s' in C} nu(s' | s, a, o) = sum_{s' in C} nu(s' | t, a, o)`

Inputs that a state never meets say nothing about it: states that agree wherever both are known may
be merged, and the class takes over what each of them knows.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

Labels = Int[np.ndarray, " S"]


def bisimulation(
    update: Float[np.ndarray, "S A O S"],
    control: Float[np.ndarray, "C S A"],
    *,
    met: Bool[np.ndarray, "S A O"],
    acts: Bool[np.ndarray, "C S"],
    tolerance: float,
    order: Sequence[int],
) -> Labels:
    """The class of each state, numbered in the `order` in which states are looked at.

    Where all inputs are `met` and all actions known (`acts`), it is the coarsest bisimulation; up
    to a `tolerance`, states join the first class whose probabilities differ from theirs by no more.
    """
    labels, count = np.zeros(len(update), int), 1
    while True:
        labels = _refine(labels, count, update, control, met, acts, tolerance, order)
        if labels.max() + 1 == count:
            return labels
        count = int(labels.max()) + 1


def _refine(
    labels: Labels,
    count: int,
    update: Float[np.ndarray, "S A O S"],
    control: Float[np.ndarray, "C S A"],
    met: Bool[np.ndarray, "S A O"],
    acts: Bool[np.ndarray, "C S"],
    tolerance: float,
    order: Sequence[int],
) -> Labels:
    """Split every class whose states disagree about the classes they lead to."""
    lumped = lump(update, labels, count)
    heads: list[tuple[int, _Row]] = []
    refined = np.zeros_like(labels)
    for state in order:
        row = _Row(lumped[state], control[:, state], met[state], acts[:, state])
        for number, (label, head) in enumerate(heads):
            if label == labels[state] and head.agrees(row, tolerance):
                head.learn(row)
                refined[state] = number
                break
        else:
            refined[state] = len(heads)
            heads.append((int(labels[state]), row))
    return refined


class _Row:
    """What is known about a class: where inputs lead, and how it acts."""

    def __init__(self, leads: np.ndarray, acts: np.ndarray, met: np.ndarray, acting: np.ndarray):
        self._parts = [(leads.copy(), met.copy()), (acts.copy(), acting.copy())]

    def agrees(self, other: "_Row", tolerance: float) -> bool:
        return all(
            np.abs(mine - theirs)[known & also].max(initial=0.0) <= tolerance
            for (mine, known), (theirs, also) in zip(self._parts, other._parts, strict=True)
        )

    def learn(self, other: "_Row") -> None:
        for (mine, known), (theirs, also) in zip(self._parts, other._parts, strict=True):
            mine[also & ~known] = theirs[also & ~known]
            known |= also


def lump(
    update: Float[np.ndarray, "*row S"], labels: Labels, count: int
) -> Float[np.ndarray, "*row K"]:
    """The probabilities of classes."""
    return update @ np.eye(count)[labels]


def quotient(
    start: Float[np.ndarray, "O S"],
    update: Float[np.ndarray, "S A O S"],
    control: Float[np.ndarray, "C S A"],
    labels: Labels,
    *,
    weights: Float[np.ndarray, "S A O"],
    acting: Float[np.ndarray, "C S"],
) -> tuple[Float[np.ndarray, "O K"], Float[np.ndarray, "K A O K"], Float[np.ndarray, "C K A"]]:
    """One state for each class; where its members differ, the average by `weights` and `acting`."""
    count = int(labels.max()) + 1
    member = np.eye(count)[labels]  # [S, K]
    lumped = lump(update, labels, count)
    weights = np.moveaxis(_spread(np.moveaxis(weights, 0, -1), member), -1, 0)
    rows = np.einsum("sk,saoj,sao->kaoj", member, lumped, weights)
    actions = np.einsum("sk,csa,cs->cka", member, control, _spread(acting, member))
    return (
        lump(start, labels, count),
        rows / rows.sum(axis=-1, keepdims=True),
        actions / actions.sum(axis=-1, keepdims=True),
    )


def _spread(weights: np.ndarray, member: np.ndarray) -> np.ndarray:
    """One for all members of a class where none of them has a weight."""
    total = np.einsum("sk,...s->...k", member, weights) @ member.T
    return np.where(total > 0, weights, 1.0)
