"""Agent states computed by a recursion, and the best ASM policy on top of them."""

from collections.abc import Callable, Hashable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from asmpg.environments import NMDP, FiniteModel
from asmpg.policies import KernelTables

State = TypeVar("State", bound=Hashable)
First = Callable[[int], State]
Update = Callable[[State, int, int], State]


class RecursiveState:
    """`S_1 = first(O_1)` and `S_t = update(S_{t-1}, A_{t-1}, O_t)` on every history of `nmdp`.

    `index[t-1][h]` is the number of the agent state that history `h` leads to.
    """

    def __init__(self, nmdp: NMDP, first: First[State], update: Update[State]):
        """Follow the recursion along all histories."""
        self.nmdp = nmdp
        numbers: dict[State, int] = {}
        reached: list[State] = [first(o) for o in range(nmdp.num_observations)]
        levels = [reached]
        for _ in nmdp.laws:
            reached = [
                update(state, a, o)
                for state in reached
                for a in range(nmdp.num_actions)
                for o in range(nmdp.num_observations)
            ]
            levels.append(reached)
        self.index: list[Int[np.ndarray, " h"]] = [
            np.array([numbers.setdefault(state, len(numbers)) for state in level])
            for level in levels
        ]
        self.num_states = len(numbers)

    def deviation(self) -> float:
        """How far `r_t` and `p_t` are from being functions of `(S_t, A_t)`, as ideal ones are."""
        worst = 0.0
        for level, index in zip(self._laws_and_rewards(), self.index, strict=True):
            mean = _first_of_each(level, index, self.num_states)
            worst = max(worst, float(np.abs(level - mean[index]).max()))
        return worst

    def best_policy(self) -> KernelTables:
        """`phi* o nu`: this recursion, and the best `phi_t(a | s)` by dynamic programming."""
        nmdp, states = self.nmdp, self.num_states
        shape = (states, nmdp.num_actions, nmdp.num_observations)
        update = np.zeros(shape, int)
        for index, following in zip(self.index, self.index[1:], strict=False):
            update[index] = following.reshape(len(index), *shape[1:])
        value = np.zeros(states)
        control = []
        for level, index in reversed(list(zip(self._laws_and_rewards(), self.index, strict=True))):
            known = _first_of_each(level, index, states)
            choice = known[..., 0] + (known[..., 1:] * value[update]).sum(axis=-1)
            control.insert(0, choice.argmax(axis=-1))
            value = choice.max(axis=-1)
        steps = [
            KernelTables.deterministic(
                start=self.index[0],
                update=update,
                control=chosen,
                num_actions=nmdp.num_actions,
            )
            for chosen in control
        ]
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *steps)

    def _laws_and_rewards(self) -> list[Float[np.ndarray, "h A O1"]]:
        """Reward and next law of each history side by side; after the last step comes nothing."""
        nothing = np.zeros((*self.nmdp.rewards[-1].shape, self.nmdp.num_observations))
        return [
            np.concatenate([rewards[..., None], law], axis=-1)
            for rewards, law in zip(self.nmdp.rewards, [*self.nmdp.laws, nothing], strict=True)
        ]


def _first_of_each(
    level: Float[np.ndarray, "h A O1"], index: Int[np.ndarray, " h"], states: int
) -> Float[np.ndarray, "S A O1"]:
    """What the first history of each agent state has."""
    chosen = np.zeros((states, *level.shape[1:]))
    chosen[index[::-1]] = level[::-1]
    return chosen


def whole_history() -> tuple[First[tuple[int, ...]], Update[tuple[int, ...]]]:
    """The recursion that forgets nothing."""
    return (lambda o: (o,)), (lambda state, a, o: (*state, a, o))


def belief_recursion(
    model: FiniteModel,
) -> tuple[First[tuple[float, ...]], Update[tuple[float, ...]]]:
    """Bayes' rule on the latent state of a finite POMDP."""
    arrive = np.einsum("xay,ayo->aoxy", model.transition, model.observation)

    def normalised(weights: Float[np.ndarray, " X"]) -> tuple[float, ...]:
        return tuple((np.round(weights / weights.sum(), 12) + 0.0).tolist())

    def first(o: int) -> tuple[float, ...]:
        return normalised(model.start * model.start_observation[:, o])

    def update(belief: tuple[float, ...], a: int, o: int) -> tuple[float, ...]:
        return normalised(np.array(belief) @ arrive[a, o])

    return first, update
