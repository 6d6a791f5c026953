"""What is done to the arrays of a machine, whatever they mean."""

import numpy as np
from jaxtyping import Bool, Float

Arrays = tuple[Float[np.ndarray, "O S"], Float[np.ndarray, "S A O S"], Float[np.ndarray, "C S A"]]


#: Probabilities that sum to one but for this are still a distribution.
_SUM_TOLERANCE = 1e-6


def check_arrays(start: np.ndarray, update: np.ndarray, control: np.ndarray) -> None:
    """Raise a `ValueError` for arrays that do not go together, or hold no distributions."""
    states, actions, symbols, _ = update.shape
    arrays = {"start": start, "update": update, "control": control}
    shapes = {"start": (symbols, states), "control": (len(control), states, actions)}
    for name, shape in shapes.items():
        if arrays[name].shape != shape or len(control) not in (1, symbols):
            raise ValueError(
                f"{name} must go with update of shape {update.shape} [S, A, O, S]: start [O, S], "
                f"control [1, S, A] or [O, S, A]; got {arrays[name].shape}"
            )
    for name, array in arrays.items():
        if (array < 0).any() or np.abs(array.sum(axis=-1) - 1).max() > _SUM_TOLERANCE:
            raise ValueError(f"{name} must hold distributions along its last axis")


def most_probable(rows: np.ndarray, pairs: int = 1) -> np.ndarray:
    """One for the most probable entry; first of the groups of `pairs` entries, then in it."""
    groups = rows.reshape(*rows.shape[:-1], -1, pairs)
    group = groups.sum(axis=-1).argmax(axis=-1)
    within = np.take_along_axis(groups, group[..., None, None], axis=-2)[..., 0, :].argmax(axis=-1)
    return np.eye(rows.shape[-1])[group * pairs + within]


def reached(
    start: Float[np.ndarray, "O S"],
    update: Float[np.ndarray, "S A O S"],
    control: Float[np.ndarray, "C S A"],
) -> Bool[np.ndarray, " S"]:
    """The states that some sequence of observations leads to."""
    found = (start > 0).any(axis=0)
    possible = control.max(axis=0) > 0  # [S, A]
    leads = ((update > 0).any(axis=2) & possible[..., None]).any(axis=1)
    for _ in range(len(update)):
        found = np.logical_or(found, leads[found].any(axis=0))
    return np.asarray(found)


def restricted(
    start: Float[np.ndarray, "O S"],
    update: Float[np.ndarray, "S A O S"],
    control: Float[np.ndarray, "C S A"],
    kept: Bool[np.ndarray, " S"],
    *,
    otherwise: Float[np.ndarray, " S"],
) -> tuple[Float[np.ndarray, "O K"], Float[np.ndarray, "K A O K"], Float[np.ndarray, "C K A"]]:
    """Without the states that are not `kept`.

    What led there leads to the other states in proportion. Where it led nowhere else the state
    stays, and an episode starts in that which is the largest in `otherwise`.
    """
    count = int(kept.sum())
    most = np.eye(count)[otherwise[kept].argmax()]
    rows = update[kept][..., kept]
    stay = np.broadcast_to(np.eye(count)[:, None, None, :], rows.shape)
    return completed(start[:, kept], most), completed(rows, stay), control[:, kept]


def completed(rows: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Rows that sum to one again; those of zeros are replaced."""
    total = rows.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, rows / np.where(total > 0, total, 1.0), otherwise))
