"""Actions of every kind: densities, filters and gradients against brute force, masks."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import Box, Discrete, MultiDiscrete
from asmpg.experience import Experience
from asmpg.gradients import marginal_gradient, sampled_gradient
from asmpg.policies import (
    AgentMemory,
    Categorical,
    Encoding,
    FilteredPolicy,
    FilterMemory,
    Gaussian,
    GRUPolicy,
    MatrixPolicy,
    MemorylessPolicy,
    Product,
    WindowPolicy,
    actor,
    filter_actor,
    head_of,
    with_windows,
)
from quick import long

STATES, OBSERVATIONS, STEPS, EPISODES = 2, 3, 3, 2
HEADS = {
    "parts": Product((2, 3)),
    "combinations": Categorical(6, (2, 3)),
    "real": Gaussian((-1.0, 0.0), (1.0, 4.0)),
    "squashed": Gaussian((-1.0, 0.0), (1.0, 4.0), squash=True),
}


def history(head, key):
    """Observations, actions and masks (none where there can be none) of a few episodes."""
    shape = (STEPS, EPISODES)
    seen_key, act_key, mask_key = jax.random.split(key, 3)
    observations = jax.random.randint(seen_key, shape, 0, OBSERVATIONS)
    masks = None
    if head.mask_size:
        parts = head.space.sizes
        kept = [
            jnp.eye(size, dtype=bool)[jax.random.randint(k, shape, 0, size)]
            for k, size in zip(jax.random.split(act_key, len(parts)), parts, strict=True)
        ]
        masks = jnp.concatenate(kept, axis=-1)
        masks = masks | jax.random.bernoulli(mask_key, 0.4, masks.shape)
    numbers = jax.random.normal(act_key, (*shape, head.size))
    numbers = head.normalise(numbers) if masks is None else head.masked(numbers, masks)
    uniforms = jax.random.uniform(mask_key, (*shape, head.draws))
    draw = jax.vmap(jax.vmap(lambda n, u: head.draw(n, u, greedy=False)))
    return observations, draw(numbers, uniforms), masks


def make_policy(head, *, window, key):
    encoding = Encoding(head, OBSERVATIONS)
    hidden = MatrixPolicy(num_states=STATES, encoding=encoding, hidden=4, key=key)
    if not window:
        return hidden
    policy = WindowPolicy(hidden, window=window, encoding=encoding, width=4, key=key)
    layers = jax.tree.map(lambda leaf: leaf + 0.3, policy.window_layers)
    return eqx.tree_at(lambda policy: policy.window_layers, policy, layers)


def memories(policy, observations, actions):
    """`(A_{t-1}, window)` before each step, with agent state 0."""
    zero = jnp.zeros((STEPS, EPISODES), jnp.int32)
    before = jnp.concatenate([policy.head.blank((1, EPISODES)), actions[:-1]])
    time = zero + jnp.arange(STEPS)[:, None]
    past = AgentMemory(zero, before, time)
    return with_windows(past, policy.empty_window((EPISODES,)), observations, actions)


def chance_by_paths(policy, observations, actions, masks):
    """`p(a_1), p(a_1, a_2), ...` by adding up all paths of agent states."""
    past = memories(policy, observations, actions)

    def kernels(state, past, seen, action, mask):
        """`nu(. | state)` and `phi(action | .)` of one step."""
        memory = AgentMemory(state, past.action, past.time, past.window)
        phi = policy.log_phi(memory, seen)
        if mask is not None:
            phi = jax.vmap(lambda row: policy.head.masked(row, mask))(phi)
        taken = jax.vmap(lambda row: policy.head.log_probability(row, action))(phi)
        return jnp.exp(policy.log_nu(memory, seen)), jnp.exp(taken)

    every = jax.vmap(kernels, in_axes=(0, None, None, None, None))
    states = jnp.arange(STATES, dtype=jnp.int32)
    for _ in range(2):
        every = jax.vmap(every, in_axes=(None, 0, 0, 0, 0))
    nu, phi = every(states, past, observations, actions, masks)
    totals = []
    for length in range(1, STEPS + 1):
        total = 0.0
        for path in itertools.product(range(STATES), repeat=length):
            chance = 1.0
            for time, state in enumerate(path):
                before = path[time - 1] if time else 0
                chance = chance * nu[time, :, before, state] * phi[time, :, before, state]
            total += chance
        totals.append(total)
    return jnp.stack(totals)


@pytest.fixture(params=list(HEADS))
def case(request, x64):
    head = HEADS[request.param]
    return head, *history(head, jax.random.key(1))


@pytest.mark.parametrize("window", [long(0), 2])
def test_the_filter_sums_over_all_paths(case, window):
    """Log-probabilities and their gradient agree to 1e-9, masks included."""
    head, observations, actions, masks = case
    policy = make_policy(head, window=window, key=jax.random.key(2))
    weights = jnp.asarray([[1.0, -2.0], [0.5, 1.5], [-1.0, 3.0]])

    def by_filter(policy):
        start = FilterMemory.empty(STATES, head, (EPISODES,))
        past = memories(policy, observations, actions)
        found = FilteredPolicy(policy).distributions(start, past, observations, actions, masks)
        return found.log_probability

    def by_paths(policy):
        logs = jnp.log(chance_by_paths(policy, observations, actions, masks))
        return jnp.diff(logs, axis=0, prepend=jnp.zeros((1, EPISODES)))

    def weighted(make):
        def objective(policy):
            found = make(policy)
            return jnp.sum(weights * found), found

        (_, found), slope = eqx.filter_jit(eqx.filter_value_and_grad(objective, has_aux=True))(
            policy
        )
        return found, slope

    (log_filter, slope), (log_paths, brute_slope) = weighted(by_filter), weighted(by_paths)
    np.testing.assert_allclose(log_filter, log_paths, atol=1e-9)
    for one, other in zip(jax.tree.leaves(slope), jax.tree.leaves(brute_slope), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    if window:
        return
    valid = jnp.ones((STEPS, EPISODES), bool)
    states = jnp.zeros((STEPS, EPISODES), jnp.int32)
    episodes = Experience.from_episodes(
        observations, states, actions, jnp.zeros(valid.shape), valid, masks
    )
    found, _ = eqx.filter_jit(marginal_gradient)(policy, episodes, weights)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(brute_slope), strict=True):
        np.testing.assert_allclose(EPISODES * one, other, atol=1e-9)


def test_the_sampled_gradient_weighs_scores(case):
    """`sum W grad (log nu + log phi)` of the states that were drawn, to 1e-9."""
    head, observations, actions, masks = case
    policy = make_policy(head, window=0, key=jax.random.key(2))
    weights = jnp.asarray([[1.0, -2.0], [0.5, 1.5], [-1.0, 3.0]])
    states = jnp.asarray([[0, 1], [1, 1], [0, 0]], jnp.int32)
    valid = jnp.ones((STEPS, EPISODES), bool)
    episodes = Experience.from_episodes(
        observations, states, actions, jnp.zeros(valid.shape), valid, masks
    )

    def score(policy):
        def log_pi(memory, seen, state, action, mask):
            phi = policy.log_phi(memory, seen)[state]
            phi = phi if mask is None else head.masked(phi, mask)
            return policy.log_nu(memory, seen)[state] + head.log_probability(phi, action)

        rows = (episodes.past, observations, states, actions, masks)
        return jnp.sum(weights * jax.vmap(jax.vmap(log_pi))(*rows)) / EPISODES

    expected = eqx.filter_jit(eqx.filter_grad(score))(policy)
    found, _ = eqx.filter_jit(sampled_gradient)(policy, episodes, weights)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("squash", [False, True])
def test_densities_integrate_to_one(squash, x64):
    """Over what the environment is given if squashed, else over what is drawn; to 1e-6."""
    head = Gaussian((-2.0,), (3.0,), squash=squash)
    numbers = head.normalise(jnp.asarray([0.4, -0.7]))
    drawn = jnp.linspace(-12, 12, 200_001)[:, None]
    at = head.play(drawn)[:, 0] if squash else drawn[:, 0]
    density = jnp.exp(head.log_probability(jnp.broadcast_to(numbers, (len(drawn), 2)), drawn))
    assert jnp.trapezoid(density, at) == pytest.approx(1, abs=1e-6)
    mean = jnp.trapezoid(density * at, at)
    uniforms = jax.random.uniform(jax.random.key(0), (200_000, 1))
    played = jax.vmap(lambda u: head.draw(numbers, u, greedy=False))(uniforms)
    sample = head.play(played) if squash else played
    # Five standard errors.
    assert sample.mean() == pytest.approx(float(mean), abs=5 * float(sample.std()) / 447)
    assert (head.play(played) >= -2).all()
    assert (head.play(played) <= 3).all()


def test_entropies_are_means_of_surprise():
    """Of 100,000 draws, within five standard errors."""
    for head in HEADS.values():
        if isinstance(head, Gaussian) and head.squash:
            continue
        numbers = head.normalise(jax.random.normal(jax.random.key(3), (head.size,)))
        uniforms = jax.random.uniform(jax.random.key(4), (100_000, head.draws))
        drawn = jax.vmap(lambda u, h=head, n=numbers: h.draw(n, u, greedy=False))(uniforms)
        surprise = -jax.vmap(lambda a, h=head, n=numbers: h.log_probability(n, a))(drawn)
        error = 5 * float(surprise.std()) / 316
        assert float(surprise.mean()) == pytest.approx(float(head.entropy(numbers)), abs=error)


def test_combinations_and_parts_are_the_same_actions():
    assert head_of(MultiDiscrete((2, 3))) == Categorical(6, (2, 3))
    assert head_of(MultiDiscrete((9, 9))) == Product((9, 9))
    assert head_of(Discrete(5)) == Categorical(5)
    assert head_of(Box((-1.0,), (1.0,))) == Gaussian((-1.0,), (1.0,))
    every = Categorical(6, (2, 3)).play(jnp.arange(6))
    assert every.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    mask = jnp.asarray([True, False, True, False, True])
    assert Categorical(6, (2, 3)).allowed(mask).tolist() == [True, False, True, *[False] * 3]
    assert Categorical(6, (2, 3)).allows(mask)
    assert not Product((2, 3)).allows(jnp.asarray([True, False, False, False, False]))


def acting_policies(head):
    encoding, key = Encoding(head, OBSERVATIONS), jax.random.key(0)
    kernels = make_policy(head, window=0, key=key)
    return {
        "sampling": actor(kernels),
        "filtering": filter_actor(kernels),
        "gru": GRUPolicy(width=4, encoding=encoding, key=key).actor(),
        "memoryless": MemorylessPolicy(encoding=encoding, key=key).actor(),
    }


@pytest.mark.parametrize("name", ["filtering", "memoryless", *map(long, ("sampling", "gru"))])
@pytest.mark.parametrize("head", [Categorical(5), *list(HEADS.values())[:2]], ids=str)
def test_what_is_forbidden_is_never_played(head, name):
    """In 100,000 draws from random masks, the edges of the uniform numbers included."""
    acting, number = acting_policies(head)[name], 100_000
    start = acting.start(jax.random.key(0))
    parts = head.space.sizes if isinstance(head.space, MultiDiscrete) else (head.n,)
    masks = jnp.concatenate(
        [
            jnp.eye(size, dtype=bool)[jax.random.randint(jax.random.key(size), (number,), 0, size)]
            for size in parts
        ],
        axis=-1,
    )
    masks = masks | jax.random.bernoulli(jax.random.key(9), 0.3, masks.shape)
    uniforms = jax.random.uniform(jax.random.key(1), (number, acting.draws))
    # Edges included.
    uniforms = uniforms.at[:1000].set(0.0).at[1000:2000].set(1 - 2**-24)
    play = jax.vmap(lambda u, m: acting.act(start, jnp.int32(1), jnp.zeros(()), u, m).action)
    played = head.play(jax.jit(play)(uniforms, masks)).reshape(number, -1)
    first = np.cumsum((0, *parts[:-1]))
    assert jnp.take_along_axis(masks, played + first, axis=1).all()
