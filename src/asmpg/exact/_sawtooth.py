"""An upper bound on the value of beliefs that gets tighter as points are added."""

import numpy as np
from jaxtyping import Float

#: Added to weights, and what stands for `1 / b_i(x)` where a point has no weight: their product is
#: large, so that such a state never decides the minimum, whether it has weight or not.
_TINY, _HUGE = 1e-30, 1e40


class Sawtooth:
    """The sawtooth bound: linear in the corners, lowered by points `b_i` of known value `v_i`.

    `U(b) = c b + min_i (v_i - c b_i) min_{x: b_i(x) > 0} b(x) / b_i(x)`, with `c` the values of the
    corners. It is an upper bound as long as they and the points are.
    """

    def __init__(self, corners: Float[np.ndarray, " X"]):
        self.corners = corners
        self._set(np.zeros((0, len(corners))), np.zeros(0))

    def _set(self, points: Float[np.ndarray, "n X"], drops: Float[np.ndarray, " n"]) -> None:
        """Forget all points but these."""
        self._size, room = len(drops), max(16, 2 * len(drops))
        self._points = np.zeros((room, len(self.corners)))
        self._inverse = np.full((len(self.corners), room), _HUGE)
        self._drops = np.zeros(room)
        self._points[: self._size], self._drops[: self._size] = points, drops
        self._inverse[:, : self._size] = _inverse(points).T
        self._index = {_key(point): number for number, point in enumerate(points)}

    @property
    def num_points(self) -> int:
        return self._size

    @property
    def points(self) -> Float[np.ndarray, "n X"]:
        return self._points[: self._size]

    def add(self, belief: Float[np.ndarray, " X"], value: float) -> None:
        """Let the bound at `belief`, whose weights sum to one, be at most `value`."""
        drop = value - float(self.corners @ belief)
        known = self._index.get(_key(belief))
        if known is not None:
            self._drops[known] = min(drop, self._drops[known])
            return
        if self._size == len(self._drops):
            self._set(self.points, self._drops)
        self._index[_key(belief)] = self._size
        self._points[self._size], self._drops[self._size] = belief, drop
        self._inverse[:, self._size] = _inverse(belief)
        self._size += 1

    def lower_corners(self, corners: Float[np.ndarray, " X"]) -> None:
        """Let the bound at each single state be at most `corners`; points keep their values."""
        lowered = np.minimum(corners, self.corners)
        self._drops[: self._size] += self.points @ (self.corners - lowered)
        self.corners = lowered

    def values(self, beliefs: Float[np.ndarray, "m X"]) -> Float[np.ndarray, " m"]:
        """The bound at weights of any sum."""
        lowered = self._ratios(beliefs) * self._drops[: self._size]
        return beliefs @ self.corners + lowered.min(axis=1, initial=0.0)

    def _ratios(self, beliefs: Float[np.ndarray, "m X"]) -> Float[np.ndarray, "m n"]:
        """`min_{x: b_i(x) > 0} b(x) / b_i(x)`, state by state."""
        ratio = np.full((len(beliefs), self._size), 1.0 / _TINY)
        product = np.empty_like(ratio)
        weights = np.ascontiguousarray(beliefs.T) + _TINY
        for weight, inverse in zip(weights, self._inverse[:, : self._size], strict=True):
            np.multiply(weight[:, None], inverse, out=product)
            np.minimum(ratio, product, out=ratio)
        # What is left of a state that has no weight is nothing.
        ratio[ratio < 1e-15] = 0.0
        return ratio

    def prune(self) -> None:
        """Drop the points that the others make superfluous."""
        drops = self._drops[: self._size].copy()
        lowered = self._ratios(self.points) * drops
        np.fill_diagonal(lowered, 0.0)
        kept = np.ones(self._size, bool)
        for number in np.argsort(drops)[::-1]:
            if lowered[number, kept].min(initial=0.0) <= drops[number]:
                kept[number] = False
        self._set(self.points[kept], drops[kept])


def _inverse(points: Float[np.ndarray, "*n X"]) -> Float[np.ndarray, "*n X"]:
    return np.divide(1.0, points, out=np.full_like(points, _HUGE), where=points > 0)


def _key(belief: Float[np.ndarray, " X"]) -> bytes:
    return np.round(belief, 10).tobytes()
