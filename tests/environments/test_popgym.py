"""What is known of the POPGym tasks without POPGym: lengths, chance, and what memory is worth."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg import cli
from asmpg.environments.popgym import POPGYM_TASKS, RecallTask, RepeatPrevious
from asmpg.exact import UniformAct, play, simulate, yardsticks
from asmpg.interop import resolve
from asmpg.runs import RunFolder
from quick import long

RECALL = [name for name in POPGYM_TASKS if isinstance(asmpg.make(name), RecallTask)]
EASY = [name for name in POPGYM_TASKS if name.endswith("Easy")]
#: Steps of an episode: Easy, Medium, Hard.
LENGTHS = {
    "RepeatFirst": (51, 415, 831),
    "RepeatPrevious": (51, 103, 155),
    "CountRecall": (51, 103, 207),
    "Autoencode": (103, 207, 311),
    "MultiarmedBandit": (200, 400, 600),
    "NoisyPositionOnlyCartPole": (200, 200, 200),
    "PositionOnlyCartPole": (200, 400, 600),
    "VelocityOnlyCartpole": (200, 400, 600),
    "HigherLower": (51, 103, 155),
    "Concentration": (104, 208, 104),
    "PositionOnlyPendulum": (200, 150, 100),
    "NoisyPositionOnlyPendulum": (200, 200, 200),
    "Battleship": (64, 100, 144),
    "MineSweeper": (14, 30, 54),
}


def repeat_first(key, step, observation, state, carry):
    first = jnp.where(step == 0, observation, carry)
    return first, first


def repeat_previous(key, step, observation, state, carry):
    """The carry is a window of `k` suits, the newest last."""
    window = jnp.append(carry[1:], observation)
    return window[0], window


def count_recall(key, step, observation, state, carry):
    """The carry counts the cards of each kind."""
    card, query = jnp.divmod(observation, len(carry))
    counts = carry.at[card].add(1)
    return counts[query], counts


def autoencode(key, step, observation, state, carry):
    """The carry is a pile with its top at the end; cards are taken off it while reciting."""
    cards = len(carry)
    watched = jnp.roll(carry, -1).at[-1].set(observation % 4)
    pile = jnp.where(step < cards, watched, jnp.roll(carry, 1))
    return pile[-1], pile


def perfect(env):
    """What never forgets, from observations alone, and its memory at the start."""
    match type(env).__name__:
        case "RepeatFirst":
            return repeat_first, jnp.zeros((), jnp.int32)
        case "RepeatPrevious":
            return repeat_previous, jnp.zeros(env.k, jnp.int32)
        case "CountRecall":
            return count_recall, jnp.zeros(env.kinds, jnp.int32)
        case _:
            return autoencode, jnp.zeros(env.cards, jnp.int32)


@pytest.mark.parametrize("name", [name if name in EASY else long(name) for name in RECALL])
def test_a_perfect_memory_is_worth_one(name):
    env: Any = asmpg.make(name)
    act, memory = perfect(env)
    outcomes = play(env, act, 20, jax.random.key(0), 1.0, carry=memory)
    np.testing.assert_allclose(outcomes.undiscounted, 1.0, atol=1e-4)
    assert set(np.asarray(outcomes.length)) == {env.max_steps}


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("popgym-CountRecallEasy", "popgym-MineSweeperEasy") else long(name)
        for name in EASY
    ]
    + [long("popgym-CountRecallHard")],
)
def test_chance_is_what_the_yardstick_says(name):
    """400 random episodes, within four standard errors; discounted and undiscounted."""
    env: Any = asmpg.make(name)
    played = simulate(env, UniformAct(env.action_space), 400, jax.random.key(1), 0.99)
    random = yardsticks(env).random
    for criterion in ("discounted", "undiscounted"):
        found = getattr(played, criterion)
        assert found.mean == pytest.approx(
            getattr(random, criterion), abs=4 * found.standard_error + 1e-6
        )


@pytest.mark.parametrize(("task", "value"), [("RepeatFirst", -0.5), ("Autoencode", -0.5)])
def test_chance_is_one_in_four_suits(task, value):
    assert yardsticks(asmpg.make(f"popgym-{task}Hard")).random.undiscounted == pytest.approx(value)


@pytest.mark.parametrize("name", RECALL)
def test_the_yardsticks_of_recall_are_one(name):
    env: Any = asmpg.make(name)
    known = yardsticks(env, discount=0.9)
    assert known.history_optimal.undiscounted == pytest.approx(1)
    weights = 0.9 ** np.asarray(env.answers)
    assert known.full_state.discounted == pytest.approx(weights.mean())
    assert known.memoryless is None


def test_the_best_arm_is_worth_what_the_page_says():
    """1,000 episodes of always pulling the best arm, within four standard errors."""
    env: Any = asmpg.make("popgym-MultiarmedBanditEasy")
    played = simulate(
        env,
        lambda key, step, observation, state, carry: (jnp.argmax(state), carry),
        1_000,
        jax.random.key(0),
        0.99,
    )
    full = yardsticks(env).full_state
    assert full.undiscounted == pytest.approx(9 / 11)
    for criterion in ("discounted", "undiscounted"):
        found = getattr(played, criterion)
        assert found.mean == pytest.approx(getattr(full, criterion), abs=4 * found.standard_error)


def count_cards(key, step, observation, state, carry):
    """Guess what is likelier among the cards that were not seen; the carry counts those."""
    left = carry.at[observation].add(-1)
    ranks = jnp.arange(len(left))
    higher = jnp.sum(jnp.where(ranks > observation, left, 0))
    lower = jnp.sum(jnp.where(ranks < observation, left, 0))
    return (lower > higher).astype(int), left


def look_at_the_rank(key, step, observation, state, carry):
    return (observation > 6).astype(int), carry


def test_counting_cards_is_worth_what_the_yardsticks_say():
    """4,000 episodes with and without memory, within four standard errors; and the gap is real."""
    env: Any = asmpg.make("popgym-HigherLowerEasy")
    known, full = yardsticks(env), jnp.full(13, 4)
    counting = simulate(env, count_cards, 4_000, jax.random.key(0), 0.99, carry=full)
    looking = simulate(env, look_at_the_rank, 4_000, jax.random.key(1), 0.99)
    for played, value in ((counting, known.history_optimal), (looking, known.memoryless)):
        for criterion in ("discounted", "undiscounted"):
            found = getattr(played, criterion)
            assert found.mean == pytest.approx(
                getattr(value, criterion), abs=4 * found.standard_error
            )
    assert known.history_optimal.undiscounted - known.memoryless.undiscounted > 0.03


def stay_up(key, step, observation, state, carry):
    lean = state.position + 2 * state.velocity + 20 * state.angle + 4 * state.angular_velocity
    return (lean > 0).astype(int), carry


def turn_pairs(key, step, observation, state, carry):
    """The first card that is not matched, then one of its kind."""
    places = jnp.arange(len(state.kinds))
    free = ~state.matched & (places != state.turned)
    wanted = (state.turned < 0) | (state.kinds == state.kinds[state.turned])
    return jnp.argmax(free & wanted), carry


def hit_ships(key, step, observation, state, carry):
    place = jnp.argmax((state.ships & ~state.shot).ravel())
    return jnp.stack(jnp.divmod(place, state.ships.shape[1])), carry


def open_no_mine(key, step, observation, state, carry):
    place = jnp.argmax(~(state.mines | state.opened).ravel())
    return jnp.stack(jnp.divmod(place, state.mines.shape[1])), carry


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("NoisyPositionOnlyCartPoleHard", stay_up),
        long("VelocityOnlyCartpoleMedium", stay_up),
        ("ConcentrationHard", turn_pairs),
        long("ConcentrationMedium", turn_pairs),
        ("BattleshipEasy", hit_ships),
        ("MineSweeperMedium", open_no_mine),
    ],
)
def test_who_sees_everything_gets_the_full_state_s_value(name, rule):
    """In each of 200 episodes."""
    env: Any = asmpg.make(f"popgym-{name}")
    full = yardsticks(env).full_state
    outcomes = play(env, rule, 200, jax.random.key(0), 0.99)
    np.testing.assert_allclose(outcomes.undiscounted, 1.0, atol=1e-4)
    np.testing.assert_allclose(outcomes.discounted, full.discounted, atol=1e-4)
    assert full.undiscounted == pytest.approx(1.0)


def test_a_matched_card_spoils_the_one_turned_before():
    env: Any = asmpg.make("popgym-ConcentrationEasy")
    cost = 1 / 104
    _, state = env.begin(jnp.arange(52) % 2)
    rewards = []
    # A pair; a third card, then one of the pair; one of the pair alone; the same card twice; two
    # that do not match.
    for action in (0, 2, 1, 0, 2, 3, 3, 4, 5):
        observation, state, reward, over = env.transition(state, action)
        rewards.append(float(reward))
        assert not over
    assert rewards == pytest.approx([0, 2 / 52, 0, -2 * cost, -cost, 0, -2 * cost, 0, -2 * cost])
    shown = np.asarray(observation).reshape(52, 3).argmax(axis=1)
    assert np.flatnonzero(shown < 2).tolist() == [0, 2, 4, 5]
    assert shown[[0, 2, 4, 5]].tolist() == [0, 0, 0, 1]


def test_the_pendulum_starts_anywhere_and_is_pushed_by_its_weight():
    """Energy is nearly conserved without torque, over one small step from 1,000 starts."""
    env: Any = asmpg.make("popgym-PositionOnlyPendulumEasy")

    def change(key):
        _, state = env.reset(key)
        after = env.step(key, state, jnp.zeros(1))[1]
        # For l = 1 and a rod of moment 1/3: om^2 / 6 + 5 cos th.
        energy = [s.angular_velocity**2 / 6 + 5 * jnp.cos(s.angle) for s in (state, after)]
        return state, energy[1] - energy[0]

    state, drift = jax.vmap(change)(jax.random.split(jax.random.key(0), 1_000))
    assert float(jnp.abs(drift).max()) < 0.15
    assert -np.pi <= float(state.angle.min()) < -3 < 3 < float(state.angle.max()) <= np.pi
    assert 0.9 < float(jnp.abs(state.angular_velocity).max()) <= 1


@pytest.mark.parametrize("name", POPGYM_TASKS)
def test_names_are_popgyms_and_so_are_lengths(name):
    env: Any = asmpg.make(name)
    task = type(env).__name__
    place = ("Easy", "Medium", "Hard").index(env.difficulty)
    assert name == f"popgym-{task}{env.difficulty}"
    assert env.max_steps == LENGTHS[task][place]


@pytest.mark.parametrize("name", POPGYM_TASKS)
def test_a_name_is_resolved_to_the_compiled_task(name):
    resolved = resolve(name, {"max_steps": 9})
    assert resolved.source is None
    assert resolved.environment.options()["max_steps"] == 9
    assert (resolved.interface.name, resolved.interface.by_name) == (name, True)


def test_a_name_is_trained_and_evaluated_from_the_command_line(tmp_path, capsys):
    run, name = tmp_path / "run", "popgym-RepeatFirstEasy"
    sizes = [
        f"--option={each}"
        for each in ("rollout_steps=8", "num_environments=4", "epochs=1", "minibatches=1")
    ]
    few = ["--steps=64", "--evaluate-every=64", "--evaluation-episodes=2", "--seeds=1"]
    cli.main(["train", name, "--method=memoryless-ppo", f"--out={run}", "--quiet", *few, *sizes])
    (found,) = asmpg.evaluate(run, episodes=4)
    assert found["episode_length"] == 51
    assert -1 <= found["undiscounted_return"] <= 1
    assert RunFolder(run).config.environment == name


def test_cards_are_dealt_without_replacement():
    """All 52 cards are seen in an episode, 13 of each suit."""
    env: Any = asmpg.make("popgym-RepeatFirstEasy")

    def step(state, key):
        card, state, _, over = env.step(key, state, 0)
        return state, (card, over)

    first, state = env.reset(jax.random.key(3))
    _, (cards, over) = jax.lax.scan(step, state, jax.random.split(jax.random.key(4), 51))
    assert np.bincount(np.append(cards, first)).tolist() == [13] * 4
    assert over.tolist() == [False] * 50 + [True]


def test_the_first_cards_are_uniform():
    """4,000 first and second cards: chi-square of 16 pairs, below 37.7 with probability 0.999."""
    env: Any = asmpg.make("popgym-RepeatPreviousEasy")

    def two(key):
        first, state = env.reset(key)
        return first, env.step(jax.random.fold_in(key, 1), state, 0)[0]

    first, second = jax.vmap(two)(jax.random.split(jax.random.key(0), 4_000))
    expected = 4_000 * (np.full((4, 4), 13 / 51) - np.eye(4) / 51) / 4
    counts = np.bincount(4 * np.asarray(first) + np.asarray(second), minlength=16).reshape(4, 4)
    assert ((counts - expected) ** 2 / expected).sum() < 37.7


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("RepeatFirstEasy", {"decks": 0}, r"decks must be an integer in \[1, 1000\], got 0"),
        ("RepeatPreviousEasy", {"k": 52}, r"k must be an integer in \[1, 51\], got 52"),
        ("RepeatPreviousEasy", {"decks": 0}, r"decks must be an integer in \[1, 1000\], got 0"),
        ("CountRecallEasy", {"cards_by": "size"}, "cards_by must be one of colors, suits, ranks"),
        ("AutoencodeEasy", {"max_steps": 0}, "max_steps must be an integer of at least 1, got 0"),
        ("MultiarmedBanditEasy", {"arms": 0}, r"arms must be an integer in \[1, 1000\], got 0"),
        ("NoisyPositionOnlyCartPoleEasy", {"noise": -1}, r"noise must be a number in \[0, 100\]"),
        ("RepeatFirstEasy", {"difficulty": "Hard"}, "must be among: decks, max_steps"),
    ],
)
def test_options_are_checked(task, options, message):
    with pytest.raises(ValueError, match=message):
        asmpg.make(f"popgym-{task}", **options)


@pytest.mark.usefixtures("as_user")
def test_there_are_three_difficulties():
    with pytest.raises(ValueError, match="difficulty must be one of Easy, Medium, Hard"):
        RepeatPrevious("Impossible")


def test_an_option_changes_a_difficulty():
    env: Any = asmpg.make("popgym-RepeatPreviousEasy", k=8)
    assert (env.k, env.cards, env.reward_bound) == (8, 52, 1 / 44)
    assert asmpg.make(env.name, **env.options()).options() == env.options()
