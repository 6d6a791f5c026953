"""Fitting a student to labelled histories: Adam on the cross-entropy, stopped by held-out ones."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.distillation._histories import Examples, entropy, log_probabilities, surprise
from asmpg.methods import adam_by_kind
from asmpg.policies import FilteredPolicy, HistoryPolicy

#: Sequences in a minibatch.
_MINIBATCH = 8
#: An epoch is an improvement if the held-out cross-entropy falls by so many nats.
_LEAST = 1e-4
_OPTIMISER = adam_by_kind(table=0.03, network=2e-3, b2=0.99, max_norm=1.0)


@dataclasses.dataclass(frozen=True)
class Fitted:
    """How close a student comes to the labels of held-out histories, in nats per step.

    `kl` is what is left of the cross-entropy without the entropy of the labels; `agreement` is the
    share of steps in which the most probable actions are the same. Each is `None` where it cannot
    be known: of an action that was drawn, without its density, and of real actions.
    """

    epochs: int
    cross_entropy: float
    kl: float | None
    agreement: float | None


def fit(
    student: FilteredPolicy,
    examples: Examples,
    held_out: Examples,
    *,
    epochs: int,
    patience: int,
    generator: np.random.Generator,
    progress: Callable[[Fitted], object] = lambda _: None,
) -> tuple[FilteredPolicy, Fitted]:
    """The student of the best epoch, by the cross-entropy on `held_out`, and how close it comes.

    There are at most `epochs`; the last is the one after which `patience` brought no improvement.
    """
    state = _OPTIMISER.init(eqx.filter(student, eqx.is_inexact_array))
    best, found = student, measure(student, held_out, epochs=0)
    latest = found.cross_entropy
    waited = 0
    for epoch in range(1, epochs + 1):
        order = generator.permutation(examples.num_sequences)
        # The last minibatch is filled up with the first sequences.
        for chosen in _parts(np.resize(order, _up(len(order)))):
            student, state = _step(student, state, examples.sequences(chosen))
        now = measure(student, held_out, epochs=epoch)
        if now.cross_entropy < found.cross_entropy:
            best, found = student, now
        waited = 0 if now.cross_entropy < latest - _LEAST else waited + 1
        latest = min(latest, now.cross_entropy) if waited == 0 else latest
        progress(found)
        if waited >= patience:
            break
    return best, found


def measure(student: FilteredPolicy, examples: Examples, *, epochs: int) -> Fitted:
    """How close `student` comes to the labels of `examples`."""
    totals = np.zeros(4)
    size = examples.num_sequences
    for place, chosen in enumerate(_parts(np.resize(np.arange(size), _up(size)))):
        counted = np.arange(len(chosen)) + place * _MINIBATCH < size
        totals += np.asarray(_sums(student, examples.sequences(chosen), counted))
    steps, crossed, least, agreed = map(float, totals)
    kl, agreement = (
        None if math.isnan(each) else each for each in ((crossed - least) / steps, agreed / steps)
    )
    return Fitted(epochs, crossed / steps, kl, agreement)


def _up(number: int) -> int:
    return math.ceil(number / _MINIBATCH) * _MINIBATCH


def _parts(chosen: np.ndarray) -> list[np.ndarray]:
    return np.split(chosen, len(chosen) // _MINIBATCH)


def loss(student: HistoryPolicy, examples: Examples) -> Float[Array, ""]:
    """The mean cross-entropy of a step."""
    valid = jnp.asarray(examples.histories.valid)
    return jnp.where(valid, surprise(student, examples), 0.0).sum() / valid.sum()


@eqx.filter_jit
def _step(student: FilteredPolicy, state: Any, examples: Examples) -> tuple[FilteredPolicy, Any]:
    gradient = eqx.filter_grad(loss)(student, examples)
    steps, state = _OPTIMISER.update(gradient, state)
    return eqx.apply_updates(student, steps), state


@eqx.filter_jit
def _sums(student: FilteredPolicy, examples: Examples, counted: Any) -> Float[Array, "4"]:
    """Steps, cross-entropy, entropy of the labels and agreement, over the sequences `counted`."""
    counts = jnp.asarray(examples.histories.valid) & jnp.asarray(counted)
    crossed, labels = surprise(student, examples), examples.labels
    agreed = jnp.full_like(crossed, jnp.nan)
    if labels.probabilities is not None:
        own = log_probabilities(student, examples.histories)
        agreed = own.argmax(axis=-1) == jnp.asarray(labels.probabilities).argmax(axis=-1)
    parts = (jnp.ones_like(crossed), crossed, entropy(labels), agreed)
    return jnp.stack([jnp.where(counts, part, 0).sum() for part in parts]).astype(crossed.dtype)
