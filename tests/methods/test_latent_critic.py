"""A critic that is shown the latent state: unbiased, and used in training only."""

import dataclasses
import itertools

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import asmpg
from asmpg.environments import Environment, make
from asmpg.interop import Interface
from asmpg.methods import ASMPPO, GRUPPO, MemorylessPPO
from asmpg.methods.critics import LatentCritic
from asmpg.policies import AgentMemory, FilteredPolicy, FilterMemory, TabularPolicy
from learning import improve, initialise
from quick import long

STATES, ACTIONS, OBSERVATIONS, HORIZON = 2, 2, 2, 3
QUICK = {"steps": 64, "seeds": (0,), "evaluation_episodes": 2, "verbose": 0}
SMALL = {
    "critic": "latent",
    "num_environments": 2,
    "rollout_steps": 16,
    "epochs": 1,
    "minibatches": 1,
    "critic_width": 4,
}


@pytest.mark.parametrize(
    ("method", "on_host", "kind"),
    [
        (ASMPPO(), False, "latent"),
        (ASMPPO(), True, "history"),
        (ASMPPO(critic="memory"), False, "memory"),
        (GRUPPO(), False, "history"),
    ],
)
def test_the_default_is_shown_the_latent_state_where_there_is_one(method, on_host, kind):
    interface = dataclasses.replace(Interface.of(make("CheeseMaze")), on_host=on_host)
    settled = method.settled(interface)
    assert settled.critic == kind
    assert settled.collects.latent == ("latent" if kind == "latent" else None)


def test_very_large_latent_states_are_not_shown_by_default():
    interface = Interface.of(make("CheeseMaze"))
    large = dataclasses.replace(interface, latents=(("latent", False, 1_000),))
    assert ASMPPO().settled(large).critic == "history"


def every_trajectory():
    """All `(x, o, a)` of three steps of a small process, and what its own factors multiply to."""
    rng = np.random.default_rng(0)
    start, seen = rng.dirichlet(np.ones(STATES)), rng.dirichlet(np.ones(OBSERVATIONS), STATES)
    moves = rng.dirichlet(np.ones(STATES), (STATES, ACTIONS))
    rewards = rng.normal(size=(STATES, ACTIONS))
    sizes = [range(STATES), range(OBSERVATIONS), range(ACTIONS)] * HORIZON
    rows = np.asarray(list(itertools.product(*sizes))).reshape(-1, HORIZON, 3)
    latent, observation, action = np.moveaxis(rows, 2, 0).transpose(0, 2, 1)
    chance = start[latent[0]] * seen[latent, observation].prod(axis=0)
    for time in range(HORIZON - 1):
        chance = chance * moves[latent[time], action[time], latent[time + 1]]
    return latent, observation, action, rewards[latent, action], chance


def test_as_a_baseline_it_leaves_the_gradient_as_it_is(x64):
    """`E sum_t (G_t - b(x_t, o_t)) grad log p_t(a_t)` is the gradient of `E G`, to 1e-12."""
    latent, observation, action, reward, chance = map(jnp.asarray, every_trajectory())
    policy = TabularPolicy(
        num_states=3, num_actions=ACTIONS, num_observations=OBSERVATIONS, key=jax.random.key(0)
    )
    baseline = jax.random.normal(jax.random.key(1), (STATES, OBSERVATIONS))[latent, observation]
    number = latent.shape[1]
    zero = jnp.zeros((HORIZON, number), jnp.int32)
    before = jnp.concatenate([zero[:1], action[:-1].astype(jnp.int32)])
    past = AgentMemory(zero, before, zero + jnp.arange(HORIZON)[:, None])

    def log_chances(policy):
        start = FilterMemory.empty(3, policy.head, (number,))
        return (
            FilteredPolicy(policy)
            .distributions(start, past, observation, action.astype(jnp.int32))
            .log_probability
        )

    def expected(policy):
        return jnp.sum(chance * jnp.exp(log_chances(policy).sum(axis=0)) * reward.sum(axis=0))

    def estimate(policy, weights):
        logs = log_chances(policy)
        probability = chance * jax.lax.stop_gradient(jnp.exp(logs.sum(axis=0)))
        return jnp.sum(probability * weights * logs)

    to_go = jnp.cumsum(reward[::-1], axis=0)[::-1]
    exact = eqx.filter_jit(eqx.filter_grad(expected))(policy)
    slope = eqx.filter_jit(eqx.filter_grad(estimate))
    for weights in (to_go, to_go - baseline):
        found = slope(policy, weights)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(exact), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("name", ["CheeseMaze", long("HealthcareTreatment")])
def test_what_it_is_shown_are_the_states_that_were(name):
    """Latent states of a rollout follow each other, and values depend on them."""
    environment = make(name)
    method = ASMPPO(**SMALL | {"rollout_steps": 64}, num_states=2)
    learner = initialise(method, environment, jax.random.key(0))
    after, experience, _ = improve(method, environment, learner, jax.random.key(1))
    goes_on = ~np.asarray(experience.ended[:-1])
    now, following = np.asarray(experience.latents), np.asarray(experience.next_latents)
    np.testing.assert_array_equal(now[1:][goes_on], following[:-1][goes_on])
    assert len(np.unique(now, axis=0)) > 1
    assert isinstance(after.critic, LatentCritic)

    @eqx.filter_jit
    def values(learner, experience):
        distributions = learner.policy.distributions(
            experience.start, experience.past, experience.observations, experience.actions
        )
        return learner.critic.values(learner.critic_memory, experience, distributions).now

    other = eqx.tree_at(lambda e: e.latents, experience, jnp.roll(experience.latents, 1, axis=1))
    assert not np.allclose(values(after, experience), values(after, other))
    normaliser = after.critic.latents.normaliser
    if name == "CheeseMaze":
        assert normaliser is None
    else:
        np.testing.assert_allclose(normaliser.mean, now.mean(axis=(0, 1)), rtol=1e-3, atol=1e-3)


class Hidden(gymnasium.Env):
    """A coin is tossed once and never shown; `info` tells it, under a name."""

    observation_space = spaces.Discrete(1)
    action_space = spaces.Discrete(2)

    def __init__(self, name="coin", lost=False):
        self.name, self.lost = name, lost

    def _info(self):
        return {} if self.lost and self.time else {self.name: [self.coin, self.time]}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.coin, self.time = int(self.np_random.integers(2)), 0
        return 0, self._info()

    def step(self, action):
        self.time += 1
        return 0, float(action == self.coin), self.time == 4, False, self._info()


#: What was learned from: compiled once, whichever environments are played in.
SEEN = []
UPDATE = GRUPPO.update


def watched(self, learner, experience, key, **options):
    rows = (experience.latents, experience.next_latents, experience.ended, experience.valid)
    jax.debug.callback(lambda *rows: SEEN.append(rows), *rows)
    return UPDATE(self, learner, experience, key, **options)


@pytest.mark.parametrize("mode", [None, *AutoresetMode], ids=str)
def test_the_host_tells_it_in_info(mode, monkeypatch, tmp_path):
    """In every autoreset mode the state after the last step is that of the episode that ended."""
    SEEN.clear()
    monkeypatch.setattr(GRUPPO, "update", watched)

    def make_vector():
        return SyncVectorEnv([Hidden] * 2, autoreset_mode=mode)

    method = GRUPPO(**SMALL, width=4, latent="coin")
    agent = method.learn(Hidden if mode is None else make_vector, out=tmp_path / "run", **QUICK)
    jax.effects_barrier()
    assert len(SEEN) >= 3
    for latents, following, ended, valid in SEEN[1:]:
        np.testing.assert_array_equal(latents[valid][:, 0], following[valid][:, 0])
        np.testing.assert_array_equal(latents[valid][:, 1] + 1, following[valid][:, 1])
        np.testing.assert_array_equal(following[valid][:, 1] == 4, ended[valid])
    assert asmpg.load(tmp_path / "run").predict(0, deterministic=True)[0] in (0, 1)
    assert agent.predict(0)[0] in (0, 1)


def test_what_is_missing_is_told_before_training():
    with pytest.raises(
        ValueError, match=r"needs numbers in info\['latent'\].*Hidden gives has coin"
    ):
        MemorylessPPO(**SMALL).learn(Hidden, **QUICK)
    with pytest.raises(asmpg.TrainingError, match=r"info\['latent'\] must hold .* has nothing"):
        MemorylessPPO(**SMALL).learn(lambda: Hidden("latent", lost=True), **QUICK)


def test_any_compiled_environment_has_a_latent_state():
    class WithKey(Environment):
        max_steps: int = 5

        def reset(self, key):
            return jnp.zeros((), jnp.int32), {"key": key, "place": jnp.ones(2), "on": True}

        def step(self, key, state, action):
            raise NotImplementedError

        observation_space = action_space = reward_bound = None

    environment = WithKey()
    assert environment.latent_space.shape == (3,)
    _, state = environment.reset(jax.random.key(0))
    assert environment.latent(state).tolist() == [1, 1, 1]
    assert make("CheeseMaze").latent_space == asmpg.environments.Discrete(11)
