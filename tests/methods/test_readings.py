"""Each way to read the paper does what its name says, worked out by hand in float64."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ais_examples import close, fixture_networks, fixture_segments, loss, random_segments
from ais_examples import initialise as ais_networks
from asmpg.environments import make
from asmpg.gradients import marginal_gradient, sampled_gradient
from asmpg.methods import ASMPG
from asmpg.methods._asmpg import Learner
from asmpg.methods.ais import AIS, weigh_steps
from asmpg.policies import AgentMemory, Encoding, MLPPolicy, linear_layers
from enumeration import enumerate_process, flat, make_policy
from learning import initialise


@pytest.fixture
def _float64():
    with jax.enable_x64(True):
        yield


def returns_by_hand(episodes, discount):
    """`sum_{t' >= t} discount^(t'-t) r_t'`, column by column."""
    rewards, valid = np.asarray(episodes.rewards), np.asarray(episodes.valid)
    found = np.zeros_like(rewards)
    for column in range(rewards.shape[1]):
        total = 0.0
        for t in reversed(range(valid[:, column].sum())):
            total = found[t, column] = rewards[t, column] + discount * total
    return found


@pytest.mark.usefixtures("_float64")
class TestWeights:
    """Of all episodes that can happen in a process that may end early, as one batch."""

    def weights(self, *, step_reduction="episode-sum", **options):
        episodes = enumerate_process(7, terminating=True).episodes
        options |= {"discount": 0.9, "step_reduction": step_reduction}
        method = ASMPG(policy="tabular", num_states=2, **options)
        learner = Learner(make_policy("tabular", jax.random.key(3)), (), None)
        valid = np.asarray(episodes.valid)
        assert {1, 2, 3} <= {*valid.sum(axis=0)}
        found = np.asarray(method.weights(learner, episodes)[0])
        return np.where(valid, found, 0.0), valid, returns_by_hand(episodes, 0.9)

    def test_discounting_from_the_step(self):
        found, _, expected = self.weights(discount_from="step")
        close(found, expected, 1e-12)

    def test_discounting_from_the_start(self):
        found, _, returns = self.weights()
        close(found, 0.9 ** np.arange(3)[:, None] * returns, 1e-12)

    def test_standardised_in_the_batch(self):
        found, valid, returns = self.weights(discount_from="step", standardise="batch")
        steps = returns[valid]
        close(found[valid], (steps - steps.mean()) / steps.std(), 1e-6)
        assert found[valid].std() == pytest.approx(1.0, abs=1e-6)

    def test_standardised_in_each_episode(self):
        found, valid, returns = self.weights(discount_from="step", standardise="episode")
        for column in range(valid.shape[1]):
            here = valid[:, column]
            own = returns[here, column]
            expected = (own - own.mean()) / (own.std() + np.finfo(np.float32).eps)
            close(found[here, column], expected, 1e-9)

    def test_the_mean_over_the_steps_of_an_episode(self):
        found, valid, returns = self.weights(discount_from="step", step_reduction="episode-mean")
        close(found, returns / valid.sum(axis=0), 1e-12)

    def test_the_mean_over_the_steps_of_a_batch(self):
        found, valid, returns = self.weights(discount_from="step", step_reduction="batch-mean")
        # The estimators divide by the number of episodes.
        close(found / valid.shape[1], returns / valid.sum(), 1e-12)


def test_the_default_is_the_reading_that_comes_nearest_to_the_paper():
    method, env = ASMPG(), make("CheeseMaze")
    assert method.step_reduction == "episode-mean"
    spelled_out = ASMPG(step_reduction="episode-mean", initial_weights="orthogonal")
    uniform = ASMPG(initial_weights="uniform")
    policies = [
        initialise(kind, env, jax.random.key(0)).policy for kind in (method, spelled_out, uniform)
    ]
    assert eqx.tree_equal(policies[0], policies[1])
    assert not eqx.tree_equal(policies[0], policies[2])


def test_equal_returns_are_standardised_to_nothing():
    episodes = enumerate_process(7).episodes
    episodes = eqx.tree_at(lambda every: every.rewards, episodes, replace_fn=jnp.zeros_like)
    learner = Learner(make_policy("tabular", jax.random.key(3)), (), None)
    for over in ("batch", "episode"):
        weights, _ = ASMPG(num_states=2, standardise=over).weights(learner, episodes)
        assert (weights == 0).all()


def entropy(log_p):
    return -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)


@pytest.mark.usefixtures("_float64")
class TestBarrier:
    """The gradient with zero weights is the autodiff of the barrier, written out by hand."""

    def by_hand(self, form, policy, episodes):
        rows = policy.log_rows(episodes.past, episodes.observations, episodes.states)
        valid = episodes.valid
        if form == "entropy":
            return jnp.sum(sum(map(entropy, rows)) * valid) / valid.sum()
        if form == "all-inputs":
            tables = policy.tabulate()
            return tables.log_nu.mean() + tables.log_phi.mean()
        sums = jnp.sum(sum(row.mean(axis=-1) for row in rows) * valid, axis=0)
        return sums.mean() if form == "visited-sum" else sums.sum() / valid.sum()

    @pytest.mark.parametrize("form", ["visited-mean", "visited-sum", "all-inputs", "entropy"])
    def test_sampled(self, form):
        episodes = enumerate_process(2, terminating=True).episodes
        policy = make_policy("tabular", jax.random.key(1))
        expected = eqx.filter_grad(lambda policy: 0.3 * self.by_hand(form, policy, episodes))
        zero, options = jnp.zeros_like(episodes.rewards), {"barrier": 0.3, "barrier_form": form}
        for tabulated in (True, False):
            found, _ = sampled_gradient(policy, episodes, zero, tabulated=tabulated, **options)
            assert np.linalg.norm(flat(found)) > 0.01
            close(flat(found), flat(expected(policy)), 1e-12)

    def test_marginal(self):
        """All inputs are the same for either estimator; a sum is the mean times the length."""
        episodes = enumerate_process(2, terminating=True).episodes
        policy = make_policy("tabular", jax.random.key(1))
        zero = jnp.zeros_like(episodes.rewards)

        def found(form, estimate=marginal_gradient):
            return flat(estimate(policy, episodes, zero, barrier=0.3, barrier_form=form)[0])

        close(found("all-inputs"), found("all-inputs", sampled_gradient), 1e-12)
        length = episodes.valid.sum() / episodes.valid.shape[1]
        close(found("visited-sum"), length * found("visited-mean"), 1e-12)
        # Given all that was seen and done, the sampled agent states average to the posterior: with
        # every trajectory once, weighted by its probability.
        process = enumerate_process(2)
        options = {"barrier": 0.3, "barrier_form": "entropy"}
        nothing = jnp.zeros_like(process.episodes.rewards)
        means = [
            np.asarray(process.probability(policy))
            @ process.gradients(policy, nothing, estimate, **options)
            for estimate in (sampled_gradient, marginal_gradient)
        ]
        assert np.linalg.norm(means[0]) > 0.01
        close(means[0], means[1], 1e-12)

    def test_all_inputs_of_real_observations_are_all_pairs_before_those_seen(self):
        policy = MLPPolicy(
            num_states=2, encoding=Encoding(2, None, (1.0,)), hidden=3, key=jax.random.key(0)
        )
        few = jnp.arange(0, 512, 103)
        episodes = enumerate_process(2, terminating=True).episodes.environments(few)
        real = episodes.observations[..., None] * 0.7 - 0.2
        episodes = eqx.tree_at(
            lambda every: (every.observations, every.next_observations), episodes, (real, real)
        )

        def by_hand(policy):
            total = 0.0
            for t, column in np.argwhere(np.asarray(episodes.valid)):
                seen = real[t, column]
                pasts = [(0, 0, 0)] + [(s, a, 1) for s in range(2) for a in range(2)]
                rows = [policy.log_nu(AgentMemory(*map(jnp.int32, past)), seen) for past in pasts]
                total += jnp.stack(rows).mean() + policy.control_table().mean()
            return 0.3 * total / episodes.valid.sum()

        zero = jnp.zeros_like(episodes.rewards)
        options = {"barrier": 0.3, "barrier_form": "all-inputs"}
        for estimate in (sampled_gradient, marginal_gradient):
            found, _ = estimate(policy, episodes, zero, **options)
            close(flat(found), flat(eqx.filter_grad(by_hand)(policy)), 1e-6)


class TestInitialWeights:
    SIZES = (30, 64, 50, 4)

    def layers(self, kind):
        return linear_layers(jax.random.key(0), *self.SIZES, initial_weights=kind)

    def test_uniform_is_pytorchs_default(self):
        for layer in self.layers("uniform"):
            bound = layer.in_features**-0.5
            for leaf in (layer.weight, layer.bias):
                assert abs(leaf).max() <= bound
            # The deviation of a uniform variable; 200 weights at least, 15 % is 4 errors and more.
            assert layer.weight.std() == pytest.approx(bound / 3**0.5, rel=0.15)

    def test_orthogonal(self):
        *hidden, last = self.layers("orthogonal")
        for layer, gain in (*((layer, 2.0) for layer in hidden), (last, 1.0)):
            weight = np.asarray(layer.weight)
            short = weight if weight.shape[0] <= weight.shape[1] else weight.T
            close(short @ short.T, gain * np.eye(len(short)), 1e-5)
            assert (layer.bias == 0).all()

    def test_a_small_last_layer_changes_nothing_else(self):
        for place, (small, usual) in enumerate(
            zip(self.layers("small-last-layer"), self.layers("uniform"), strict=True)
        ):
            factor = 0.01 if place == 2 else 1.0
            close(small.weight, factor * np.asarray(usual.weight))
            close(small.bias, factor * np.asarray(usual.bias))

    def test_networks_that_start_small_start_uniform(self):
        options = {"num_states": 4, "encoding": Encoding(3, 5), "hidden": 16}
        policy = MLPPolicy(**options, initial_weights="small-last-layer", key=jax.random.key(0))
        tables = policy.tabulate()
        close(jnp.exp(tables.log_nu), 1 / 4, 0.005)
        close(jnp.exp(tables.log_phi), 1 / 3, 0.005)

    def test_ais_too(self):
        """The LSTM starts as it always does."""
        usual, found = ais_networks(), ais_networks(initial_weights="orthogonal")
        close(found.encoder.lstm.input_weight, usual.encoder.lstm.input_weight)
        weight = np.asarray(found.policy[-1].weight)
        close(weight @ weight.T, np.eye(4), 1e-5)
        weight = np.asarray(found.encoder.input_layer.weight)
        close(weight @ weight.T, 2 * np.eye(4), 1e-5)


@pytest.fixture(scope="module")
def policies():
    options = {"num_states": 3, "encoding": Encoding(2, 4), "hidden": 8}
    return {
        inputs: MLPPolicy(**options, inputs=inputs, key=jax.random.key(1))
        for inputs in ("embedding", "index")
    }


class TestInputs:
    def by_hand(self, layers, inputs):
        for layer in layers[:-1]:
            inputs = np.tanh(np.asarray(layer.weight) @ inputs + np.asarray(layer.bias))
        logits = np.asarray(layers[-1].weight) @ inputs + np.asarray(layers[-1].bias)
        return logits - np.log(np.exp(logits).sum())

    def test_indices_are_numbers_from_1_and_0_before_the_first(self, policies):
        policy = policies["index"]
        for (s, a, time, o), inputs in (
            ((2, 1, 5, 3), [3, 2, 4]),
            ((0, 0, 1, 0), [1, 1, 1]),
            ((0, 0, 0, 2), [0, 0, 3]),
        ):
            found = policy.log_nu(AgentMemory(*map(jnp.int32, (s, a, time))), jnp.int32(o))
            close(found, self.by_hand(policy.nu_layers, np.array(inputs, float)), 1e-5)
        close(policy.control_table()[1], self.by_hand(policy.phi_layers, np.array([2.0])), 1e-5)

    def test_embeddings_are_rows_that_are_learned(self, policies):
        policy = policies["embedding"]
        codes = policy.codes
        rows = [
            np.asarray(c.learned) for c in (codes.previous_state, codes.action, codes.observation)
        ]
        assert [row.shape for row in rows] == [(3, 8), (2, 8), (4, 8)]
        found = policy.log_nu(AgentMemory(*map(jnp.int32, (2, 1, 5))), jnp.int32(3))
        inputs = np.concatenate([rows[0][2], rows[1][1], rows[2][3]])
        close(found, self.by_hand(policy.nu_layers, inputs), 1e-5)
        # 96 standard normal numbers: 4 standard errors of mean and deviation.
        values = np.concatenate([*rows, np.asarray(codes.state.learned)]).ravel()
        assert abs(values.mean()) < 4 / len(values) ** 0.5
        assert abs(values.std() - 1) < 4 / (2 * len(values)) ** 0.5
        slope = eqx.filter_grad(lambda policy: policy.tabulate().log_nu.var())(policy)
        assert (slope.codes.action.learned != 0).all()

    @pytest.mark.parametrize("inputs", ["embedding", "index"])
    def test_a_code_is_a_product_with_one_hot(self, policies, inputs):
        """So that what is exported needs no codes."""
        policy = policies[inputs]
        plain = eqx.tree_at(
            lambda policy: (policy.nu_layers, policy.codes),
            policy,
            (policy.one_hot_layers, None),
            is_leaf=lambda leaf: leaf is None,
        )
        close(jax.vmap(plain.log_nu)(*self.every()), jax.vmap(policy.log_nu)(*self.every()), 1e-5)

    def every(self):
        states, actions, observations = np.indices((3, 2, 4)).reshape(3, -1)
        times = np.arange(24) % 3
        memory = AgentMemory(*(jnp.asarray(x, jnp.int32) for x in (states, actions, times)))
        return memory, jnp.asarray(observations, jnp.int32)


class TestAIS:
    @pytest.mark.usefixtures("x64")
    def test_returns_standardised_in_the_batch(self):
        """The reference's fixture: its log-probabilities, and its returns standardised by hand."""
        log_taken = [-1.26607934, -0.96448820, -0.96904620, -1.50666428, -1.51809158, -2.13045812]
        returns = np.array([0.49, 0.7, 1, 0, 0, 0])
        expected = (returns - returns.mean()) / returns.std()
        _, parts = loss(fixture_networks("kl"), fixture_segments(), standardise="batch")
        close(parts["policy_loss"], -np.sum(log_taken * expected), 1e-5)

    @pytest.mark.usefixtures("x64")
    def test_returns_standardised_in_each_segment(self):
        segments = random_segments(20, 3)
        steps = weigh_steps(segments, discount=0.7, standardise="episode")
        returns, first = np.asarray(segments.returns(0.7)), np.asarray(segments.first)
        for column in range(3):
            starts = [*np.flatnonzero(first[:, column]), 20]
            for begin, end in itertools.pairwise(starts):
                own = returns[begin:end, column]
                expected = (own - own.mean()) / (own.std() + np.finfo(np.float32).eps)
                close(steps.advantages[begin:end, column], expected, 1e-8)

    @pytest.mark.usefixtures("x64")
    def test_the_references_larger_networks(self):
        """No input layer, ReLU heads, a linear policy."""
        options = {"input_width": 0, "policy_width": 0, "activation": "relu"}
        networks = jax.tree.map(lambda leaf: leaf.astype(float), ais_networks(**options))
        assert networks.encoder.input_layer is None
        assert len(networks.policy) == 1
        z, action = np.linspace(-1, 1, 4), 2
        first, last = networks.heads.reward
        hidden = np.asarray(first.weight) @ np.concatenate([z, np.eye(4)[action]]) + first.bias
        expected = np.asarray(last.weight) @ np.maximum(hidden, 0) + last.bias
        close(networks.predict(jnp.asarray(z), jnp.asarray(action))[0], expected[0])


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (ASMPG, {"standardise": "all"}, "standardise must be one of none, batch, episode, got"),
        (
            ASMPG,
            {"standardise": "batch", "normalise": True},
            "standardise must be 'none' for normalise=True, got 'batch'",
        ),
        (ASMPG, {"discount_from": "t"}, "discount_from must be one of start, step, got 't'"),
        (ASMPG, {"step_reduction": "mean"}, "step_reduction must be one of episode-sum, episode-"),
        (ASMPG, {"barrier_form": "log"}, "barrier_form must be one of visited-mean, visited-sum"),
        (
            ASMPG,
            {"barrier_form": "all-inputs", "window": 2},
            "window must be 0 for barrier_form='all-inputs', got 2",
        ),
        (ASMPG, {"inputs": "number"}, "inputs must be one of one-hot, embedding, index, got"),
        (
            ASMPG,
            {"inputs": "index", "policy": "tabular"},
            "inputs must be 'one-hot' unless policy='mlp', got 'index'",
        ),
        (ASMPG, {"initial_weights": "zeros"}, "initial_weights must be one of uniform, orthogonal"),
        (AIS, {"initial_weights": "zeros"}, "initial_weights must be one of uniform, orthogonal"),
        (AIS, {"standardise": True}, "standardise must be one of none, batch, episode, got True"),
        (AIS, {"activation": "gelu"}, "activation must be one of relu, tanh, got 'gelu'"),
    ],
)
def test_wrong_readings_are_named(method, options, message):
    with pytest.raises(ValueError, match=message):
        method(**options)
