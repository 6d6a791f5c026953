"""Environments sampled from a finite model by table look-up."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_integer
from asmpg.environments._environment import Action, Environment
from asmpg.environments._finite_model import FiniteModel
from asmpg.environments._spaces import Discrete


class _Lottery(eqx.Module):
    """Categorical draws by inverse distribution function: one uniform number a draw.

    `outcome[..., k]` is drawn when `u` first falls below `threshold[..., k]`, the cumulative
    probability. A lottery with a single possible outcome everywhere needs no number at all.
    """

    outcome: Int[Array, "*row K"]
    threshold: Float[Array, "*row K"]

    @property
    def certain(self) -> bool:
        """Whether every row has one outcome only."""
        return self.outcome.shape[-1] == 1

    def index(self, row: tuple[Array, ...], uniform: Float[Array, ""] | float) -> Int[Array, ""]:
        """The position `k` drawn in `row`."""
        # The last threshold is left out, so that rounding can never step past the last outcome.
        return jnp.sum(uniform >= self.threshold[row][:-1], dtype=jnp.int32)


def _lottery(outcome: np.ndarray, probability: np.ndarray) -> _Lottery:
    threshold = np.cumsum(probability, axis=-1)
    return _Lottery(_on_device(outcome, np.int32), _on_device(threshold, float))


def _symbol_lottery(probability: np.ndarray) -> _Lottery:
    """A lottery over the last axis of `probability`, the impossible symbols left out."""
    width = int((probability > 0).sum(axis=-1).max())
    symbol = np.argsort(probability == 0, axis=-1, kind="stable")[..., :width]
    return _lottery(symbol, np.take_along_axis(probability, symbol, axis=-1))


class SamplingTables(eqx.Module):
    """A finite model in the form that sampling wants, on the device."""

    next_state: _Lottery
    reward: Float[Array, "X A K"]
    terminal: Bool[Array, " X"]
    observation: _Lottery
    start: _Lottery
    start_observation: _Lottery


def sampling_tables(model: FiniteModel) -> SamplingTables:
    """Lay `model` out for sampling."""
    observation = model.observation
    if (observation == observation[:1]).all():
        observation = observation[:1]
    return SamplingTables(
        next_state=_lottery(model.successor, model.probability),
        reward=_on_device(model.reward, float),
        terminal=_on_device(model.terminal, bool),
        observation=_symbol_lottery(observation),
        start=_symbol_lottery(model.start[None]),
        start_observation=_symbol_lottery(model.start_observation),
    )


def _on_device(array: np.ndarray, kind: type) -> Array:
    """As `jnp.asarray`, which compiles a program for every shape."""
    return jax.device_put(np.asarray(array, jnp.result_type(kind)))


class AbstractFiniteEnvironment(Environment[Int[Array, ""]]):
    """An environment that follows `model`; its latent state is an integer."""

    model: eqx.AbstractVar[FiniteModel]
    tables: eqx.AbstractVar[SamplingTables]

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Int[Array, ""]]:
        state_key, observation_key = jax.random.split(key)
        zero = jnp.zeros((), jnp.int32)
        start = self.tables.start
        index = zero if start.certain else start.index((zero,), jax.random.uniform(state_key))
        state = start.outcome[zero, index]
        return _draw_symbol(self.tables.start_observation, (state,), observation_key), state

    def step(
        self, key: Key[Array, ""], state: Int[Array, ""], action: Action
    ) -> tuple[Int[Array, ""], Int[Array, ""], Float[Array, ""], Bool[Array, ""]]:
        self.check_action(action)
        state_key, observation_key = jax.random.split(key)
        uniform = 0.0 if self.tables.next_state.certain else jax.random.uniform(state_key)
        next_state, reward, terminated = self.transition(state, action, uniform)
        observations = self.tables.observation
        row = jnp.asarray(action) if observations.outcome.shape[0] > 1 else 0
        observation = _draw_symbol(observations, (jnp.asarray(row), next_state), observation_key)
        return observation, next_state, reward, terminated

    def transition(
        self, state: Int[Array, ""] | int, action: Action, uniform: Float[Array, ""] | float
    ) -> tuple[Int[Array, ""], Float[Array, ""], Bool[Array, ""]]:
        """The outcome picked by `uniform`, a number in `[0, 1)`: next state, reward, terminated."""
        row = (jnp.asarray(state), jnp.asarray(action))
        lottery = self.tables.next_state
        outcome = 0 if lottery.certain else lottery.index(row, uniform)
        next_state = lottery.outcome[(*row, outcome)]
        return next_state, self.tables.reward[(*row, outcome)], self.tables.terminal[next_state]

    @property
    def latent_space(self) -> Discrete:
        """The states of the model."""
        return Discrete(self.model.num_states)

    def latent(self, state: Int[Array, ""]) -> Int[Array, ""]:
        return state

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.model.num_observations)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.model.num_actions)

    @property
    def reward_bound(self) -> float:
        return self.model.reward_bound


def _draw_symbol(lottery: _Lottery, row: tuple[Array, ...], key: Key[Array, ""]) -> Int[Array, ""]:
    if lottery.certain:
        return lottery.outcome[(*row, 0)]
    return lottery.outcome[(*row, lottery.index(row, jax.random.uniform(key)))]


class FiniteEnvironment(AbstractFiniteEnvironment):
    """Your own finite model as an environment."""

    model: FiniteModel = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    label: str = eqx.field(static=True)
    tables: SamplingTables

    def __init__(self, model: FiniteModel, *, max_steps: int = 200, label: str = "FiniteModel"):
        """`label` is the name, for display."""
        self.model = model
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.label = label
        self.tables = sampling_tables(model)

    @property
    def name(self) -> str:
        return self.label
