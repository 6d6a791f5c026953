"""The interface of environments."""

import abc
import inspect
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, Shaped

from asmpg.environments._spaces import ActionSpace, Box, Discrete, MultiDiscrete, Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asmpg.environments._episode import Episode

State = TypeVar("State")
Observation = Shaped[Array, "*observation"]
Action = Shaped[Array | np.ndarray, "*action"] | int | np.integer[Any]
#: Rewards over steps, all episodes together; or the mean return of an episode, discounted or not.
Score = Literal["reward_per_step", "undiscounted_return", "discounted_return"]


class PaperSizes(NamedTuple):
    """The sizes of the paper's Table 1: number of agent states, and hidden width `d_h`."""

    num_states: int
    hidden: int


class Environment(eqx.Module, Generic[State]):
    """A partially observed environment, as pure functions of explicit state.

    Step `t` of an episode: the agent has seen `o_1, ..., o_t` and picks `a_t`; `step` pays `r_t`
    and emits `o_{t+1}`. `reset` emits `o_1`. Both can be jitted and vmapped.

    An environment knows nothing of time limits but their length, `max_steps`: cutting an episode
    off there (truncation) is left to the caller, and is never reported as `terminated`.

    A class may declare the `score` that policies are compared by, its `gymnasium_id` and, if it is
    one of the paper's, the sizes used there.
    """

    score: ClassVar[Score] = "undiscounted_return"
    gymnasium_id: ClassVar[str | None] = None
    paper: ClassVar[PaperSizes | None] = None

    max_steps: eqx.AbstractVar[int]

    @abc.abstractmethod
    def reset(self, key: Key[Array, ""]) -> tuple[Observation, State]:
        """Start an episode: the first observation and the latent state."""

    @abc.abstractmethod
    def step(
        self, key: Key[Array, ""], state: State, action: Action
    ) -> tuple[Observation, State, Float[Array, ""], Bool[Array, ""]]:
        """Play `action`: next observation, next state, reward, and whether the episode ended."""

    @property
    @abc.abstractmethod
    def observation_space(self) -> Space:
        """What `reset` and `step` emit."""

    @property
    @abc.abstractmethod
    def action_space(self) -> ActionSpace:
        """What `step` accepts."""

    def action_mask(self, state: State) -> Bool[Array, " M"] | None:
        """Which actions are allowed now, or `None` if all always are.

        A boolean for each action; for a `MultiDiscrete` space, for each value of each part, one
        part after another. At least one action must be allowed.
        """
        del state
        return None

    @property
    def latent_space(self) -> Space:
        """The space of `latent`: by default, vectors of all numbers in the latent state."""
        _, state = jax.eval_shape(self.reset, jax.random.key(0))
        (size,) = jax.eval_shape(self.latent, state).shape
        largest = float(np.finfo(np.float32).max)
        return Box((-largest,) * size, (largest,) * size)

    def latent(self, state: State) -> Shaped[Array, "*latent"]:
        """The latent state, for a critic that may see it in training; see `latent_space`."""
        # PRNG keys are no numbers.
        leaves = [leaf for leaf in jax.tree.leaves(state) if _is_number(leaf)]
        return jnp.concatenate([jnp.zeros(0 if leaves else 1), *map(jnp.ravel, leaves)])

    @property
    def masked(self) -> bool:
        """Whether actions are masked, that is, whether `action_mask` is overridden."""
        return type(self).action_mask is not Environment.action_mask

    @property
    @abc.abstractmethod
    def reward_bound(self) -> float:
        """A number `r_max` with `|r_t| <= r_max` always."""

    def __hash__(self) -> int:
        """By structure, so that `jax.jit(environment.step)` works; equality compares everything."""
        return hash(jax.tree.structure(self))

    @property
    def discount(self) -> float | None:
        """The discount that belongs to the task; `None` if it is up to the method."""
        return None

    @property
    def name(self) -> str:
        """The name, for display."""
        return type(self).__name__

    @property
    def action_names(self) -> tuple[str, ...]:
        """A name for each action; for each combination of parts, the last one varying fastest."""
        space = self.action_space
        if isinstance(space, Discrete):
            return tuple(str(action) for action in range(space.n))
        if isinstance(space, MultiDiscrete):
            return space.combinations
        return ()

    @property
    def observation_names(self) -> tuple[str, ...]:
        """A name for each observation; for real ones, for each of their components, or none."""
        space = self.observation_space
        return tuple(map(str, range(space.n))) if isinstance(space, Discrete) else ()

    def options(self) -> dict[str, Any]:
        """The constructor arguments that rebuild this environment."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def describe_state(self, state: State) -> str:
        """A one-line description of the latent state."""
        return " ".join(f"{leaf}" for leaf in jax.tree.leaves(state))

    def describe_observation(self, observation: np.ndarray) -> str:
        """A one-line description of an observation."""
        return " ".join(f"{value:.4g}" for value in np.ravel(observation).tolist())

    def describe_action(self, action: np.ndarray | int) -> str:
        """Its name, or its numbers."""
        if isinstance(self.action_space, Discrete):
            return self.action_names[int(action)]
        return " ".join(f"{value:.4g}" for value in np.ravel(action).tolist())

    def draw(self, axes: "Axes", episode: "Episode") -> None:
        """Draw the current state of `episode`, and how it got there."""
        from asmpg.environments.drawing import draw_chart

        draw_chart(axes, self, episode)

    def check_action(self, action: Action) -> None:
        """Raise a `ValueError` for an action outside the space.

        Inside `jit` an action has no value yet; there, an action outside the space is undefined.
        """
        if isinstance(action, jax.core.Tracer):
            return
        if not self.action_space.contains(action):
            space = self.action_space
            wanted = f"an element of {space}"
            if isinstance(space, Discrete):
                wanted = f"an integer in [0, {space.n - 1}]"
            raise ValueError(f"action must be {wanted} for {self.name}, got {action}")


def _is_number(leaf: Any) -> bool:
    dtype = jnp.result_type(leaf)
    return bool(jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_))
