"""Tiny decision processes that are not Markovian, with all that can happen in them listed.

Observations and rewards are random functions of the whole history.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from asmpg.gradients import Episodes, sampled_gradient
from asmpg.policies import (
    JointTabularPolicy,
    MLPPolicy,
    TabularPolicy,
    TimeIndexedPolicy,
    log_probability,
)

OBSERVATIONS = STATES = ACTIONS = 2
HORIZON = 3
SIZES = {"num_states": STATES, "num_actions": ACTIONS, "num_observations": OBSERVATIONS}


class Enumeration(eqx.Module):
    """Every trajectory `(o, s, a)` of a random process, as one batch of episodes."""

    episodes: Episodes
    environment_probability: jax.Array

    def probability(self, policy):
        log_nu, log_phi = policy.log_rows(
            self.episodes.memories, self.episodes.observations, self.episodes.states
        )
        log_pi = log_probability(log_nu, log_phi, self.episodes.states, self.episodes.actions)
        return self.environment_probability * jnp.exp(log_pi.sum(axis=0))

    def value(self, policy, discount):
        return self.probability(policy) @ self.episodes.returns(discount)

    def gradients(self, policy, weights, estimator=sampled_gradient, **options):
        """The estimate from each trajectory alone."""

        return flat(_each(estimator, policy, self.episodes, weights, **options), batched=True)


@eqx.filter_jit
def _each(estimator, policy, episodes, weights, **options):
    def one(episode, weights):
        episode = jax.tree.map(lambda leaf: leaf[:, None], episode)
        return estimator(policy, episode, weights[:, None], **options)[0]

    return jax.vmap(one, in_axes=1, out_axes=0)(episodes, weights)


def flat(tree, *, batched=False):
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return np.concatenate(
        [np.asarray(leaf).reshape((len(leaf), -1) if batched else -1) for leaf in leaves], axis=-1
    )


def enumerate_process(seed, *, terminating=False, horizon=HORIZON):
    """A process whose laws and rewards are drawn anew for every history."""
    generator = np.random.default_rng(seed)
    law = {}
    reward = {}

    def draw(table, key, make):
        if key not in table:
            table[key] = make()
        return table[key]

    symbols = range(OBSERVATIONS), range(STATES), range(ACTIONS)
    columns = {name: [] for name in ("o", "s", "a", "r", "running", "p")}
    for trajectory in itertools.product(*(symbols * horizon)):
        steps = [trajectory[3 * t : 3 * t + 3] for t in range(horizon)]
        history, chance, running = (), 1.0, True
        rewards, ran = [], []
        for o, _, a in steps:
            chance *= draw(law, history, lambda: generator.dirichlet(np.ones(OBSERVATIONS)))[o]
            history += (o, a)
            ran.append(running)
            rewards.append(draw(reward, history, generator.normal) if running else 99.0)
            running = running and not (terminating and (o, a) == (1, 1))
        for name, value in zip(
            columns, (*zip(*steps, strict=True), rewards, ran, chance), strict=True
        ):
            columns[name].append(value)
    o, s, a, r, running = (jnp.asarray(columns[name]).T for name in ("o", "s", "a", "r", "running"))
    o, s, a = (part.astype(jnp.int32) for part in (o, s, a))
    episodes = Episodes(o, s, a, r, running)
    return Enumeration(episodes, jnp.asarray(columns["p"]))


def make_policy(kind, key):
    makers = {
        "tabular": lambda key: TabularPolicy(**SIZES, key=key),
        "joint": lambda key: JointTabularPolicy(**SIZES, key=key),
        "mlp": lambda key: MLPPolicy(**SIZES, hidden=3, activation="tanh", key=key),
    }
    name, _, timing = kind.partition(" ")
    if timing:
        return TimeIndexedPolicy(makers[name], horizon=HORIZON, key=key)
    return makers[name](key)


POLICIES = ["tabular", "joint", "mlp", "tabular by time", "joint by time", "mlp by time"]
