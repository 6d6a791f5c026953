"""Tiny decision processes that are not Markovian, with all that can happen in them listed."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from asmpg.environments import NMDP
from asmpg.gradients import sampled_gradient
from asmpg.policies import Encoding, JointTabularPolicy, MLPPolicy, TabularPolicy, TimeIndexedPolicy
from asmpg.theory import Enumeration, enumerate_trajectories

OBSERVATIONS = STATES = ACTIONS = 2
HORIZON = 3
SIZES = {"num_states": STATES, "num_actions": ACTIONS, "num_observations": OBSERVATIONS}


class Process(eqx.Module):
    """Every trajectory of a random process, as one batch of episodes."""

    everything: Enumeration

    @property
    def episodes(self):
        return self.everything.episodes

    @eqx.filter_jit
    def probability(self, policy):
        return self.everything.probability(policy)

    @eqx.filter_jit
    def value(self, policy, discount):
        return self.probability(policy) @ self.episodes.returns(discount)

    def gradients(self, policy, weights, estimator=sampled_gradient, **options):
        """The estimate from each trajectory alone."""
        return flat(_each(estimator, policy, self.episodes, weights, **options), batched=True)


@eqx.filter_jit
def _each(estimator, policy, episodes, weights, **options):
    def one(number):
        chosen = number[None]
        return estimator(policy, episodes.environments(chosen), weights[:, chosen], **options)[0]

    return jax.vmap(one)(jnp.arange(weights.shape[1]))


def flat(tree, *, batched=False):
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return np.concatenate(
        [np.asarray(leaf).reshape((len(leaf), -1) if batched else -1) for leaf in leaves], axis=-1
    )


def enumerate_process(seed, *, terminating=False, horizon=HORIZON):
    """A process whose transitions and rewards are drawn anew for every history.

    A terminating one ends once 1 has been seen and answered by 1; what follows pays 99 and must
    not count.
    """
    everything = enumerate_trajectories(
        NMDP.random(seed, horizon=horizon, reward_bound=5.0), num_states=STATES
    )
    if terminating:
        episodes = everything.episodes
        ends = (episodes.observations == 1) & (episodes.actions == 1)
        ended = jnp.cumsum(ends, axis=0) - ends > 0
        everything = eqx.tree_at(
            lambda every: (every.episodes.valid, every.episodes.rewards),
            everything,
            (~ended, jnp.where(ended, 99.0, episodes.rewards)),
        )
    return Process(everything)


def make_policy(kind, key):
    makers = {
        "tabular": lambda key: TabularPolicy(**SIZES, key=key),
        "joint": lambda key: JointTabularPolicy(**SIZES, key=key),
        "mlp": lambda key: MLPPolicy(
            num_states=STATES,
            encoding=Encoding(ACTIONS, OBSERVATIONS),
            hidden=3,
            activation="tanh",
            key=key,
        ),
    }
    name, _, timing = kind.partition(" ")
    if timing:
        return TimeIndexedPolicy(makers[name], horizon=HORIZON, key=key)
    return makers[name](key)


POLICIES = ["tabular", "joint", "mlp", "tabular by time", "joint by time", "mlp by time"]
