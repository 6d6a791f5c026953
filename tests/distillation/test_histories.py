"""Along a history, distributions are those of the policy, and the loss is the cross-entropy."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.distillation import Examples, Histories, Labels, PolicyTeacher, loss
from asmpg.environments import make
from asmpg.interop import Interface
from asmpg.methods import ASMPPO, GRUPPO, MemorylessPPO, MinGRUPPO
from asmpg.policies import AgentMemory, FilteredPolicy, TabularPolicy

TIME = np.array([[0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 2, 3]]).T.astype(np.int32)


def random_histories(seed=0, *, num_observations=2, num_actions=3):
    chance = np.random.default_rng(seed)
    return Histories(
        chance.integers(num_observations, size=TIME.shape, dtype=np.int32),
        chance.integers(num_actions, size=TIME.shape, dtype=np.int32),
        TIME,
        np.ones(TIME.shape, bool),
    )


@eqx.filter_jit
def kernels(policy, memory, observation):
    return policy.log_nu(memory, observation), policy.log_phi(memory, observation)


def enumerated(policy, observations, actions):
    """`p(a | o_1:t, a_1:t-1)` by adding up all sequences of agent states."""
    length, states = len(actions), range(policy.num_states)
    likelihood = np.zeros(policy.num_actions)
    for path in itertools.product(states, repeat=length):
        weight, memory = 1.0, AgentMemory.empty()
        for step, state in enumerate(path):
            observation = jnp.asarray(observations[step])
            nu, phi = (np.exp(logs[state]) for logs in kernels(policy, memory, observation))
            weight *= nu
            if step < length - 1:
                weight *= phi[actions[step]]
                memory = AgentMemory(*(jnp.asarray(n) for n in (state, actions[step], step + 1)))
        likelihood += weight * phi
    return likelihood / likelihood.sum()


@pytest.mark.usefixtures("x64")
def test_the_loss_is_the_cross_entropy_by_enumeration():
    policy = TabularPolicy(
        num_states=2, num_actions=3, num_observations=2, nu_scale=2.0, key=jax.random.key(1)
    )
    policy = jax.tree.map(lambda leaf: jax.random.normal(jax.random.key(2), leaf.shape), policy)
    histories = random_histories()
    histories.valid[4, 0] = False
    labels = np.random.default_rng(3).dirichlet(np.ones(3), size=TIME.shape)
    found = eqx.filter_jit(loss)(FilteredPolicy(policy), Examples(histories, Labels(labels)))
    terms = []
    for row, column in zip(*np.nonzero(histories.valid), strict=True):
        begin = row - TIME[row, column]
        seen, done = (
            part[begin : row + 1, column] for part in (histories.observations, histories.actions)
        )
        terms.append(-labels[row, column] @ np.log(enumerated(policy, seen, done)))
    assert found.dtype == jnp.float64
    np.testing.assert_allclose(found, np.mean(terms), rtol=1e-10)


@pytest.mark.parametrize(
    "method",
    [
        ASMPPO(num_states=3, window=3, hidden=4, nu_scale=3.0),
        GRUPPO(width=4),
        MinGRUPPO(width=4),
        MemorylessPPO(),
    ],
    ids=["asm-ppo", "gru-ppo", "mingru-ppo", "memoryless-ppo"],
)
def test_an_episode_is_judged_by_itself(method):
    interface = Interface.of(make("Tiger"))
    policy = method.settled(interface).make_policy(interface, jax.random.key(0))
    policy = jax.tree.map(
        lambda leaf: leaf + 0.5 * jax.random.normal(jax.random.key(1), leaf.shape), policy
    )
    histories, other = random_histories(), random_histories(1)
    # The second episode of the first column comes first, and others later.
    for rows, others in zip(
        jax.tree.leaves(histories)[:2], jax.tree.leaves(other)[:2], strict=True
    ):
        others[:3, 0], others[:5, 1] = rows[3:, 0], rows[:5, 1]
    together, apart = (
        PolicyTeacher(policy).labels(each).probabilities for each in (histories, other)
    )
    np.testing.assert_allclose(together.sum(axis=-1), 1, rtol=1e-5)
    np.testing.assert_allclose(apart[:3, 0], together[3:, 0], rtol=1e-5)
    # What comes later changes nothing of what came before.
    np.testing.assert_allclose(apart[:5, 1], together[:5, 1], rtol=1e-5)


def test_a_deterministic_teacher_names_its_most_probable_action():
    policy = GRUPPO(width=4).make_policy(Interface.of(make("Tiger")), jax.random.key(0))
    histories = random_histories()
    soft = PolicyTeacher(policy).labels(histories).probabilities
    hard = PolicyTeacher(policy, deterministic=True).labels(histories).probabilities
    np.testing.assert_array_equal(hard, np.eye(3)[soft.argmax(axis=-1)])
