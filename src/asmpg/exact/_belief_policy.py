"""The policy of one who knows the model: track the belief, act by the vectors of a solver."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg._support.checks import check_number
from asmpg.environments import AbstractFiniteEnvironment
from asmpg.exact._point_based import value_bounds
from asmpg.exact._sparse_process import SparseProcess
from asmpg.interop import resolve
from asmpg.policies import ActionDistributions, Actor, AgentMemory, Categorical, HistoryPolicy

Solver = Literal["point-based", "qmdp"]
_DISCOUNT = 0.99
#: The largest table of transitions, of actions times latent states squared.
_MOST_CELLS = 50_000_000
#: A logit that leaves the other actions a probability of nothing in single precision.
_SURE = 40.0


class BeliefMemory(eqx.Module):
    """The belief before the last action, that action, and the number of actions played."""

    belief: Float[Array, "*batch X"]
    action: Int[Array, "*batch"]
    time: Int[Array, "*batch"]


class BeliefPolicy(HistoryPolicy):
    """Plays the action of the vector that is worth most at the belief, `max_i vectors[i] @ b`.

    `b(x') ~ O(o|a, x') sum_x T(x'|x, a) b(x)` is the distribution of the latent state given all
    that was seen and done, as long as the episode runs. Vectors are those of the lower bound that
    `value_bounds` finds ("point-based"), which are worth what they say, or `Q(., a)` of one who
    will see the latent state from the next step on ("qmdp").

    >>> asmpg.distil(BeliefPolicy("CheeseMaze"), "CheeseMaze", num_states=4)
    """

    transition: Float[Array, "A X X"]
    observation: Float[Array, "A X O"]
    #: The belief after each first observation.
    first: Float[Array, "O X"]
    vectors: Float[Array, "V X"]
    #: What each vector plays, one-hot.
    plays: Bool[Array, "V A"]
    #: What it is worth over an infinite horizon at least; `None` of "qmdp", which promises nothing.
    value: float | None = eqx.field(static=True)
    discount: float = eqx.field(static=True)

    def __init__(
        self,
        environment: Any,
        *,
        discount: float | None = None,
        solver: Solver = "point-based",
        seconds: float = 10.0,
        environment_options: Mapping[str, Any] | None = None,
    ):
        """Solve the model of `environment`: whatever `learn` takes, if that is finite.

        The discount is that of a POMDP file, or 0.99. The point-based solver takes `seconds` at
        most, and stops when its bounds meet.
        """
        check_number("seconds", seconds, low=0)
        if solver not in get_args(Solver):
            raise ValueError(f"solver must be one of {get_args(Solver)}, got {solver!r}")
        made = resolve(environment, dict(environment_options or {})).environment
        if not isinstance(made, AbstractFiniteEnvironment):
            raise ValueError(
                f"environment must have a finite model to track a belief, got {environment!r}"
            )
        if discount is None:
            discount = _DISCOUNT if made.discount is None else made.discount
        process = SparseProcess.of(made.model, discount)
        if process.num_actions * process.num_states**2 > _MOST_CELLS:
            raise ValueError(
                f"environment must have a smaller model to track a belief: {process.num_states} "
                f"latent states and {process.num_actions} actions are too many"
            )
        if solver == "qmdp":
            vectors, actions = process.full_state_values().T, np.arange(process.num_actions)
            self.value = None
        else:
            bounds = value_bounds(made.model, discount=discount, seconds=seconds)
            vectors, self.value = bounds.vectors, bounds.lower
            actions = np.array([bounds.plans[number].action for number in bounds.numbers])
        first = np.zeros((process.num_observations, process.num_states))
        first[list(process.first_symbols)] = process.starts
        transition = np.stack([matrix.toarray() for matrix in process.transition])
        self.transition, self.observation, self.first, self.vectors = (
            jnp.asarray(part, jnp.float32)
            for part in (transition, process.observation, first, vectors)
        )
        self.plays = jnp.asarray(actions[:, None] == np.arange(process.num_actions))
        self.discount = float(discount)

    @property
    def num_actions(self) -> int:
        return self.transition.shape[0]

    @property
    def num_observations(self) -> int:
        return self.observation.shape[2]

    @property
    def memory_size(self) -> int:
        """A probability for each latent state."""
        return self.transition.shape[1]

    def actor(self, *, greedy: bool = False) -> "BeliefActor":
        """Nothing is left to chance, `greedy` or not."""
        del greedy
        return BeliefActor(self)

    def follow(
        self,
        belief: Float[Array, " X"],
        action: Int[Array, ""],
        observation: Int[Array, ""],
        first: Bool[Array, ""],
    ) -> Float[Array, " X"]:
        """The belief after an action and what is seen then; `first` at the start of an episode."""
        moved = belief @ self.transition[action]
        seen = moved * self.observation[action, :, observation]
        # What cannot have been seen says nothing.
        mass = jnp.where(seen.sum() > 0, seen, moved)
        mass = jnp.where(first, self.first[observation], mass)
        total = mass.sum()
        return jnp.where(total > 0, mass / jnp.where(total > 0, total, 1), 1 / len(mass))

    def numbers(
        self, belief: Float[Array, "*batch X"], mask: Bool[Array, "*batch A"] | None = None
    ) -> Float[Array, "*batch A"]:
        """Logits: the best action that `mask` allows is certain."""
        worth = (belief @ self.vectors.T)[..., None]
        values = jnp.where(self.plays, worth, -jnp.inf).max(axis=-2)
        if mask is not None:
            values = jnp.where(mask, jnp.maximum(values, jnp.finfo(values.dtype).min), -jnp.inf)
        return _SURE * jax.nn.one_hot(values.argmax(axis=-1), self.num_actions)

    def distributions(
        self,
        memory: BeliefMemory,
        past: AgentMemory,
        observations: Shaped[Array, "T N"],
        actions: Shaped[Array, "T N"],
        masks: Bool[Array, "T N M"] | None = None,
    ) -> ActionDistributions:
        """Track the belief; what is remembered is the belief when each action was chosen."""

        def step(
            belief: Float[Array, "N X"], row: tuple[Array, ...]
        ) -> tuple[Float[Array, "N X"], tuple[Float[Array, "N X"], Float[Array, "N X"]]]:
            now = jax.vmap(self.follow)(belief, *row)
            return now, (belief, now)

        rows = (past.action, observations, past.first)
        _, (before, now) = jax.lax.scan(step, memory.belief, rows)
        head, numbers = Categorical(self.num_actions), self.numbers(now, masks)
        return ActionDistributions.of_numbers(head, numbers, actions, before, now, masks)


class BeliefActor(Actor[BeliefMemory]):
    """Tracks the belief while it plays."""

    policy: BeliefPolicy

    @property
    def head(self) -> Categorical:
        return Categorical(self.policy.num_actions)

    def start(self, key: Key[Array, ""]) -> BeliefMemory:
        """Nothing is known yet, and nothing needed."""
        del key
        zero = jnp.zeros((), jnp.int32)
        return BeliefMemory(jnp.zeros(self.policy.memory_size), zero, zero)

    def act(
        self,
        memory: BeliefMemory,
        observation: Shaped[Array, ""],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> BeliefMemory:
        """Rewards are not looked at."""
        del reward, uniforms
        belief = self.policy.follow(memory.belief, memory.action, observation, memory.time == 0)
        action = self.policy.numbers(belief, mask).argmax().astype(jnp.int32)
        return BeliefMemory(belief, action, memory.time + 1)
