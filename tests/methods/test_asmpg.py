"""ASMPG takes the step it says, with the paper's defaults, and names what it cannot do."""

import equinox as eqx
import jax
import numpy as np
import pytest

from asmpg.environments import PAPER_ENVIRONMENTS, make, paper_sizes
from asmpg.experience import play_episodes
from asmpg.gradients import reward_to_go, sampled_gradient
from asmpg.methods import ASMPG
from asmpg.methods import _asmpg as asmpg_method
from asmpg.policies import TimeIndexedPolicy
from learning import improve, initialise


def flat(tree):
    return np.concatenate(
        [np.ravel(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]
    )


@pytest.mark.parametrize(
    ("schedule", "second", "objective", "discount"),
    [("constant", 1.0, "discounted", 0.99), ("decreasing", 0.5**0.5, "episodic", 1.0)],
)
def test_sgd_steps_along_the_estimate(schedule, second, objective, discount):
    env = make("CheeseMaze", max_steps=30)
    method = ASMPG(
        policy="tabular",
        objective=objective,
        step_reduction="episode-sum",
        optimiser="sgd",
        learning_rate=0.5,
        schedule=schedule,
        barrier=0.1,
    )
    learner = initialise(method, env, jax.random.key(0))

    @eqx.filter_jit
    def step(learner):
        episodes = play_episodes(env, method.actor(learner), jax.random.key(1), num_episodes=10)
        weights = reward_to_go(episodes, discount=discount)
        gradient, _ = sampled_gradient(learner.policy, episodes, weights, barrier=0.1)
        return gradient, *method.update(learner, episodes, jax.random.key(2))

    for share in (1.0, second):
        gradient, following, metrics = step(learner)
        moved = flat(following.policy) - flat(learner.policy)
        np.testing.assert_allclose(moved, 0.5 * share * flat(gradient), atol=1e-6)
        assert float(metrics["gradient_norm"]) == pytest.approx(np.linalg.norm(flat(gradient)))
        learner = following


@pytest.mark.parametrize("name", PAPER_ENVIRONMENTS)
def test_defaults_are_the_papers(name):
    method = ASMPG()
    policy = eqx.filter_eval_shape(initialise, method, make(name), jax.random.key(0)).policy
    sizes = paper_sizes(name)
    assert sizes is not None
    states, hidden = sizes
    assert policy.num_states == states
    widths = [layer.weight.shape[0] for layer in policy.nu_layers]
    assert widths == [2 * hidden, 2 * hidden, hidden, states]
    assert (method.discount, method.episodes_per_update, method.barrier) == (0.99, 10, 0.01)
    assert (method.optimiser, method.learning_rate) == ("adam", 1e-3)


def test_time_indexed_kernels_have_one_policy_a_step():
    method = ASMPG(policy="joint", time_indexed=True, num_states=2)
    learner = initialise(method, make("CheeseMaze", max_steps=7), jax.random.key(0))
    assert isinstance(learner.policy, TimeIndexedPolicy)
    assert {leaf.shape[0] for leaf in jax.tree.leaves(learner.policy.steps)} == {7}


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_states": 0}, r"num_states must be an integer in \[1, 10000\], got 0"),
        ({"discount": 1.5}, r"discount must be a number in \[0, 1\], got 1.5"),
        ({"policy": "lstm"}, "policy must be one of auto, mlp, tabular, joint, matrix, got 'lstm'"),
        ({"optimiser": "rmsprop"}, "optimiser must be one of adam, sgd"),
        ({"barrier": -1.0}, "barrier must be a number of at least 0, got -1"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        ASMPG(**options)


def test_tables_need_discrete_observations():
    with pytest.raises(ValueError, match="policy='tabular' needs discrete observations"):
        initialise(ASMPG(policy="tabular"), make("HealthcareTreatment"), jax.random.key(0))


def test_an_environment_without_a_number_of_the_paper_needs_one():
    with pytest.raises(ValueError, match="num_states must be given for Tiger"):
        initialise(ASMPG(), make("Tiger"), jax.random.key(0))


def test_a_critic_is_fitted_where_powers_of_the_discount_vanish():
    """After 150 steps 0.5^t is 0 in single precision."""
    environment = make("CheeseMaze", max_steps=200)
    method = ASMPG(policy="tabular", num_states=2, discount=0.5, baseline="critic")
    learner = initialise(method, environment, jax.random.key(0))
    longest = 0
    for number in range(3):
        learner, experience, metrics = improve(method, environment, learner, jax.random.key(number))
        longest = max(longest, int(experience.num_steps) / 10)
        assert bool(experience.finite)
        assert np.isfinite(metrics["gradient_norm"])
    assert longest > 50
    assert np.isfinite(flat(learner)).all()


def test_no_two_parts_start_from_the_same_random_numbers(monkeypatch):
    """`fold_in(key, 1)` is `split(key)[1]`: the critic must not share a key with the kernels."""
    keys = []

    def record(module, name, position):
        original = getattr(module, name)

        def recording(*arguments, **options):
            key = options["key"] if position is None else arguments[position]
            keys.append(jax.random.key_data(key).tolist())
            return original(*arguments, **options)

        monkeypatch.setattr(module, name, recording)

    record(jax.random, "normal", 0)
    record(jax.random, "uniform", 0)
    record(asmpg_method, "MemoryValue", None)
    method = ASMPG(policy="tabular", num_states=2, baseline="critic")
    initialise(method, make("CheeseMaze"), jax.random.key(0))
    assert len(keys) > 3
    assert len({str(key) for key in keys}) == len(keys)
