"""The value of a policy by playing it."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, Shaped

from asmpg._support.checks import check_integer, check_number
from asmpg.environments import ActionSpace, Environment

#: A policy to play: `act(key, step, observation, state, carry) -> (action, carry)`, with `step`
#: counted from 0. It looks at what its kind may see: the observation alone if memoryless, its own
#: `carry` too if it has a memory, the latent state if it plays with full information. Arrays that
#: are leaves of `act` (an `equinox.Module`) can change without recompiling.
Act = Callable[[Key[Array, ""], Int[Array, ""], Array, Any, Any], tuple[Array, Any]]

_MOST_COPIES = 4096


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A sample mean and its standard error."""

    mean: float
    standard_error: float


@dataclasses.dataclass(frozen=True)
class Simulation:
    """What `num_episodes` independent episodes paid, and how long they lasted."""

    discounted: Estimate
    undiscounted: Estimate
    length: Estimate
    num_episodes: int


class Outcomes(NamedTuple):
    """What each of `N` episodes paid, and how long it lasted."""

    discounted: Float[Array, " N"]
    undiscounted: Float[Array, " N"]
    length: Int[Array, " N"]


def simulate(
    environment: Environment[Any],
    act: Act,
    num_episodes: int,
    key: Key[Array, ""],
    discount: float = 0.99,
    *,
    carry: PyTree = None,
) -> Simulation:
    """Play `act` for `num_episodes` episodes; `carry` is its memory when an episode starts.

    Episode `i` draws its numbers from `(key, i)` alone: two policies played with the same key
    meet the same random numbers.
    """
    outcomes = play(environment, act, num_episodes, key, discount, carry=carry)
    discounted, undiscounted, length = (_estimate(np.asarray(outcome)) for outcome in outcomes)
    return Simulation(discounted, undiscounted, length, num_episodes)


def play(
    environment: Environment[Any],
    act: Act,
    num_episodes: int,
    key: Key[Array, ""],
    discount: float = 0.99,
    *,
    carry: PyTree = None,
) -> Outcomes:
    """The single outcomes that `simulate` averages."""
    check_integer("num_episodes", num_episodes, low=1)
    check_number("discount", discount, low=0, high=1)
    rounds = -(-num_episodes // _MOST_COPIES)
    copies = -(-num_episodes // rounds)
    carry = jax.tree.map(jnp.asarray, carry)
    outcomes = _play(environment, act, key, jnp.asarray(discount, float), carry, rounds, copies)
    return Outcomes(*(outcome.reshape(-1)[:num_episodes] for outcome in outcomes))


class UniformAct(eqx.Module):
    """Every action equally likely."""

    space: ActionSpace = eqx.field(static=True)

    def __call__(
        self, key: Key[Array, ""], step: Int[Array, ""], observation: Array, state: Any, carry: Any
    ) -> tuple[Array, Any]:
        del step, observation, state
        return self.space.sample(key), carry


class _Copy(NamedTuple):
    """One of several copies of the environment, in the middle of an episode."""

    round: Int[Array, ""]
    step: Int[Array, ""]
    observation: Array
    state: PyTree
    carry: PyTree
    weight: Float[Array, ""]
    discounted: Float[Array, ""]
    undiscounted: Float[Array, ""]


@eqx.filter_jit
def _play(
    environment: Environment[Any],
    act: Act,
    key: Key[Array, ""],
    discount: Float[Array, ""],
    carry: PyTree,
    rounds: int,
    copies: int,
) -> Outcomes:
    """Each copy plays `rounds` episodes one after the other, so that none waits for the longest.

    The number of episodes of a copy is fixed in advance: stopping all copies at one moment instead
    would favour short episodes.
    """

    def start(copy: Int[Array, ""], index: Int[Array, ""]) -> _Copy:
        observation, state = environment.reset(_step_key(key, index * copies + copy, 0))
        zero, one = jnp.zeros_like(discount), jnp.ones_like(discount)
        return _Copy(index, jnp.zeros_like(index), observation, state, carry, one, zero, zero)

    def advance(copy: Int[Array, ""], at: _Copy) -> tuple[_Copy, Bool[Array, ""], Outcomes]:
        step_key = _step_key(key, at.round * copies + copy, at.step + 1)
        act_key, environment_key = jax.random.split(step_key)
        action, memory = act(act_key, at.step, at.observation, at.state, at.carry)
        observation, state, reward, terminated = environment.step(environment_key, at.state, action)
        discounted = at.discounted + at.weight * reward
        undiscounted = at.undiscounted + reward
        step, weight = at.step + 1, at.weight * discount
        ended = terminated | (step >= environment.max_steps)
        at = _Copy(at.round, step, observation, state, memory, weight, discounted, undiscounted)
        return at, ended, Outcomes(discounted, undiscounted, step)

    copy = jnp.arange(copies)

    def restarted(at: _Copy, ended: Bool[Array, " copies"]) -> _Copy:
        fresh = jax.vmap(start)(copy, at.round + 1)
        return jax.tree.map(lambda new, old: jax.vmap(jnp.where)(ended, new, old), fresh, at)

    def unfinished(loop: tuple[_Copy, Outcomes]) -> Bool[Array, ""]:
        return jnp.any(loop[0].round < rounds)

    def body(loop: tuple[_Copy, Outcomes]) -> tuple[_Copy, Outcomes]:
        at, outcomes = loop
        row = at.round
        at, ended, outcome = jax.vmap(advance)(copy, at)
        # Starting can be more work than a step, and often no episode has ended.
        at = jax.lax.cond(jnp.any(ended), restarted, lambda at, _: at, at, ended)
        row = jnp.where(ended, row, rounds)  # written rows only: the others fall outside
        outcomes = jax.tree.map(
            lambda table, value: table.at[row, copy].set(value, mode="drop"), outcomes, outcome
        )
        return at, outcomes

    value = jnp.zeros((rounds, copies), discount.dtype)
    outcomes = Outcomes(value, value, value.astype(copy.dtype))
    at = jax.vmap(start)(copy, jnp.zeros_like(copy))
    return jax.lax.while_loop(unfinished, body, (at, outcomes))[1]


def _step_key(
    key: Key[Array, ""], episode: Int[Array, ""], step: Int[Array, ""] | int
) -> Key[Array, ""]:
    return jax.random.fold_in(jax.random.fold_in(key, episode), step)


def _estimate(outcome: Shaped[np.ndarray, " N"]) -> Estimate:
    outcome = outcome.astype(np.float64)
    error = outcome.std(ddof=1) / np.sqrt(outcome.size) if outcome.size > 1 else np.nan
    return Estimate(float(outcome.mean()), float(error))
