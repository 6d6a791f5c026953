"""Writing a model in Cassandra's format."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from asmpg._support.files import write_atomically
from asmpg.environments.pomdp_files._model import PomdpModel

_NAME = re.compile(r"[^\s:#*]+")


def write_pomdp(model: PomdpModel, path: str | Path) -> None:
    """Write `model` in Cassandra's POMDP format; reading it again gives the same model.

    A `FiniteModel` becomes a `PomdpModel` by `PomdpModel.from_finite`.
    """
    text = "\n".join(_lines(model)) + "\n"
    write_atomically(Path(path), lambda file: file.write(text.encode()))


def _lines(model: PomdpModel) -> Iterator[str]:
    yield f"discount: {model.discount!r}"
    yield "values: reward"
    for kind in ("states", "actions", "observations"):
        yield f"{kind}: {_declared(kind, getattr(model, kind))}"
    yield ""
    possible = np.flatnonzero(model.start)
    if len(possible) == 1:
        yield f"start: {model.states[possible[0]]}"
    else:
        yield f"start: {' '.join(repr(float(p)) for p in model.start)}"
    yield ""
    for (a, x, y), p in zip(model.outcomes.tolist(), model.probability.tolist(), strict=True):
        yield f"T: {model.actions[a]} : {model.states[x]} : {model.states[y]} {p!r}"
    yield ""
    for (a, y, o), p in zip(model.symbols.tolist(), model.symbol_probability.tolist(), strict=True):
        yield f"O: {model.actions[a]} : {model.states[y]} : {model.observations[o]} {p!r}"
    yield ""
    yield from _rewards(model)


def _rewards(model: PomdpModel) -> Iterator[str]:
    special = model.reward_by_observation
    apart = np.zeros(len(model.outcomes), bool)
    if special is not None:
        apart[special.outcome] = True
    # One line for a state and an action where all outcomes pay the same.
    a, x, _ = model.outcomes.T
    row = a * len(model.states) + x
    bounds = np.flatnonzero(np.append(True, row[1:] != row[:-1])).tolist()
    for begin, end in itertools.pairwise([*bounds, len(row)]):
        rewards = model.reward[begin:end]
        head = f"R: {model.actions[a[begin]]} : {model.states[x[begin]]}"
        if not apart[begin:end].any() and (rewards == rewards[0]).all():
            if rewards[0]:
                yield f"{head} : * : * {float(rewards[0])!r}"
            continue
        for outcome in range(begin, end):
            if not apart[outcome] and model.reward[outcome]:
                arrived = model.states[model.outcomes[outcome, 2]]
                yield f"{head} : {arrived} : * {float(model.reward[outcome])!r}"
    if special is not None:
        parts = (special.outcome, special.symbol, special.reward)
        for outcome, symbol, reward in zip(*(part.tolist() for part in parts), strict=True):
            act, state, arrived = model.outcomes[outcome]
            yield (
                f"R: {model.actions[act]} : {model.states[state]} : {model.states[arrived]} : "
                f"{model.observations[symbol]} {reward!r}"
            )


def _declared(kind: str, names: tuple[str, ...]) -> str:
    if names == tuple(map(str, range(len(names)))):
        return str(len(names))
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{kind} must be names without spaces, ':', '#' and '*' in a file, got {name!r}"
            )
    return " ".join(names)
