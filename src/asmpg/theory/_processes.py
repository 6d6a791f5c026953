"""Small processes and kernels on which everything can be enumerated."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from asmpg.environments import NMDP
from asmpg.experience import Experience
from asmpg.gradients import sampled_gradient
from asmpg.policies import ASMPolicy, JointTabularPolicy, TabularPolicy, log_probability
from asmpg.theory._constants import KernelBounds, factored_softmax_bounds, joint_softmax_bounds


class Enumeration(eqx.Module):
    """All `(o, s, a)` sequences of `nmdp` with `S` agent states.

    - `histories[t, n]`: the number of the history `o_1, a_1, ..., o_{t+1}` of trajectory `n`;
    - `environment_probability[n]`: the factors of its probability that belong to the process.
    """

    episodes: Experience
    histories: Int[np.ndarray, "H N"]
    environment_probability: Float[Array, " N"]

    def probability(self, policy: ASMPolicy) -> Float[Array, " N"]:
        log_nu, log_phi = policy.log_rows(
            self.episodes.past, self.episodes.observations, self.episodes.states
        )
        log_pi = log_probability(
            policy.head, log_nu, log_phi, self.episodes.states, self.episodes.actions
        )
        return self.environment_probability * jnp.exp(log_pi.sum(axis=0))

    def expectation(self, policy: ASMPolicy, weights: Float[Array, "H N"]) -> Float[Array, " d"]:
        """`E[sum_t W_t grad log pi(S_t, A_t | S_{t-1}, A_{t-1}, O_t)]`, by the library's estimator.

        The estimator averages over episodes and is linear in their weights, so the expectation is
        the estimate from all trajectories, each weighted by its probability.
        """
        return _expectation(policy, self, weights)


def enumerate_trajectories(nmdp: NMDP, *, num_states: int) -> Enumeration:
    """List everything that can happen."""
    symbols, actions = nmdp.num_observations, nmdp.num_actions
    sizes = (symbols, num_states, actions) * nmdp.horizon
    columns = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes))
    o, s, a = (columns[part::3] for part in range(3))
    histories = [o[0]]
    chance = nmdp.start[o[0]]
    for time, transition in enumerate(nmdp.transitions):
        chance = chance * transition[histories[-1], a[time], o[time + 1]]
        histories.append((histories[-1] * actions + a[time]) * symbols + o[time + 1])
    paid = [r[h, taken] for r, h, taken in zip(nmdp.rewards, histories, a, strict=True)]
    o, s, a = (jnp.asarray(part, jnp.int32) for part in (o, s, a))
    episodes = Experience.from_episodes(
        o, s, a, jnp.asarray(np.stack(paid)), jnp.ones(o.shape, bool)
    )
    return Enumeration(episodes, np.stack(histories), jnp.asarray(chance))


def flat(tree: ASMPolicy) -> Float[Array, " d"]:
    """All numbers of a policy, or of a gradient, as one vector."""
    return jax.flatten_util.ravel_pytree(eqx.filter(tree, eqx.is_inexact_array))[0]


@eqx.filter_jit
def _expectation(
    policy: ASMPolicy, everything: Enumeration, weights: Float[Array, "H N"]
) -> Float[Array, " d"]:
    chance = everything.probability(policy)
    gradient, _ = sampled_gradient(policy, everything.episodes, weights * chance * chance.size)
    return flat(gradient)


@dataclasses.dataclass(frozen=True)
class KernelFamily:
    """Stationary softmax tables over given spaces, as a function of a parameter vector."""

    kind: Literal["joint", "tabular"]
    num_states: int
    num_actions: int
    num_observations: int

    @property
    def title(self) -> str:
        return "joint softmax" if self.kind == "joint" else "factored softmax"

    @property
    def bounds(self) -> KernelBounds:
        return joint_softmax_bounds() if self.kind == "joint" else factored_softmax_bounds()

    def make(self, key: Key[Array, ""]) -> ASMPolicy:
        """A policy from a key, as its class makes it."""
        make = JointTabularPolicy if self.kind == "joint" else TabularPolicy
        return make(
            num_states=self.num_states,
            num_actions=self.num_actions,
            num_observations=self.num_observations,
            key=key,
        )

    def random(self, seed: int) -> ASMPolicy:
        """The policy of this seed."""
        return random_policy(self.make, seed)

    def policy(self, parameters: Float[Array, " d"]) -> ASMPolicy:
        """The policy with these parameters."""
        shapes, structure = jax.tree.flatten(self._shapes())
        ends = list(itertools.accumulate(leaf.size for leaf in shapes))
        parts = jnp.split(parameters, ends[:-1])
        return structure.unflatten(
            part.reshape(leaf.shape) for part, leaf in zip(parts, shapes, strict=True)
        )

    @property
    def num_parameters(self) -> int:
        return sum(leaf.size for leaf in jax.tree.leaves(self._shapes()))

    def _shapes(self) -> ASMPolicy:
        return eqx.filter_eval_shape(self.make, jax.random.key(0))


def random_policy(make: Callable[[Key[Array, ""]], ASMPolicy], seed: int) -> ASMPolicy:
    """What `make` makes, with normal numbers of this seed in it; nothing has to be compiled."""
    generator = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(generator.normal(size=leaf.shape)),
        eqx.filter_eval_shape(make, jax.random.key(0)),
    )
