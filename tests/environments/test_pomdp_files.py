"""Cassandra's format is read as it is meant; where other readers break is a case here."""

import random
from pathlib import Path

import numpy as np
import pytest

import asmpg
from asmpg.environments.pomdp_files import PomdpFileError, PomdpModel, classic_names, parse_pomdp
from finite import make_finite

HEAD = """
discount: 0.95
values: reward
states: left right
actions: listen open
observations: left right
"""
BODY = """
T: listen identity
T: open uniform
O: listen
0.85 0.15 0.15 0.85
O: open uniform
R: listen : * : * : * -1
R: open : left : * : * 10
"""


def parsed(text):
    return parse_pomdp(text, Path("t.pomdp"))


def dense(model):
    """Transition [A, X, X], observation [A, X, O], mean reward of outcomes [A, X, X]."""
    actions, states, seen = len(model.actions), len(model.states), len(model.observations)
    transition, observation = np.zeros((actions, states, states)), np.zeros((actions, states, seen))
    reward = np.zeros((actions, states, states))
    transition[tuple(model.outcomes.T)] = model.probability
    observation[tuple(model.symbols.T)] = model.symbol_probability
    reward[tuple(model.outcomes.T)] = model.reward
    return transition, observation, reward


def reference():
    return parsed(HEAD + BODY)


def test_the_plain_case():
    model = reference()
    assert model.states == model.observations == ("left", "right")
    assert model.actions == ("listen", "open")
    assert model.discount == 0.95
    transition, observation, reward = dense(model)
    np.testing.assert_array_equal(transition, [np.eye(2), np.full((2, 2), 0.5)])
    np.testing.assert_array_equal(observation[0], [[0.85, 0.15], [0.15, 0.85]])
    np.testing.assert_array_equal(reward, [-np.eye(2), [[10, 10], [0, 0]]])
    np.testing.assert_array_equal(model.start, [0.5, 0.5])


SAME = {
    "no spaces": lambda s: s.replace(" : ", ":").replace(": ", ":"),
    "a space before the colon": lambda s: s.replace(":", " : "),
    "tabs": lambda s: s.replace(" ", "\t"),
    "a carriage return": lambda s: s.replace("\n", "\r\n"),
    "everything on one line": lambda s: s.replace("\n", " "),
    "a word a line": lambda s: s.replace(" ", "\n"),
    "comments between": lambda s: s.replace("\n", " # T: listen uniform\n"),
    "names over lines with comments": lambda s: s.replace(
        "left right\n", "left # one\n\n# T: * uniform\nright\n"
    ),
    "a row on the header line": lambda s: s.replace(
        "O: listen\n0.85 0.15 0.15 0.85", "O: listen : left 0.85 0.15\nO:listen:right 0.15 0.85"
    ),
    "entries one by one": lambda s: s.replace(
        "T: listen identity", "T: listen : left : left 1\nT : listen:1 : 1\n1.0"
    ),
    "numbers for named items": lambda s: s.replace("R: open : left", "R: 1 : 0").replace(
        "T: open", "T: 1"
    ),
    "line breaks inside rows": lambda s: s.replace("0.85 0.15 0.15 0.85", "0.85\n0.15 0.15\n0.85"),
    "the last definition wins": lambda s: s.replace(
        "T: listen identity", "T: * uniform\nT: listen : left : right 0.5\nT: listen identity"
    ),
    "a wildcard, then more exactly": lambda s: s.replace(
        "R: listen : * : * : * -1", "R: * : * : * : * -1\nR: open : * : * : * 0"
    ),
    "costs": lambda s: (
        s.replace("values: reward", "values: cost").replace("* -1", "* 1").replace("* 10", "* -10")
    ),
    "costs, said last": lambda s: (
        s.replace("values: reward", "").replace("* -1", "* 1").replace("* 10", "* -10 values: cost")
    ),
    "reset": lambda s: s.replace("T: open uniform", "T: open : * reset"),
    "rewards as matrices": lambda s: s.replace(
        "R: open : left : * : * 10", "R: open : left\n10 10 10 10"
    ),
    "rewards as rows": lambda s: s.replace(
        "R: open : left : * : * 10", "R: open : left : left 10 10 R: open : left : right\n10\n10"
    ),
    "numbers of other shapes": lambda s: s.replace("0.85", "+8.5E-1").replace("0.15", ".15"),
    "another order": lambda s: s.replace("discount: 0.95\n", "").replace(
        "observations: left right", "observations: left right discount: 0.95"
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_ways_to_write_the_same(case):
    text = SAME[case](HEAD + BODY)
    assert text != HEAD + BODY
    assert parsed(text) == reference()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", [1 / 3, 1 / 3, 1 / 3]),
        ("start: uniform", [1 / 3, 1 / 3, 1 / 3]),
        ("start: 0.2 0.3 0.5", [0.2, 0.3, 0.5]),
        ("start:\n0.2\n0.3\n0.5", [0.2, 0.3, 0.5]),
        ("start: b", [0, 1, 0]),
        ("start: 2", [0, 0, 1]),
        ("start:a", [1, 0, 0]),
        ("start include: a 2", [0.5, 0, 0.5]),
        ("start include : a c", [0.5, 0, 0.5]),
        ("start exclude: b", [0.5, 0, 0.5]),
    ],
)
def test_starts(line, expected):
    text = (
        f"discount: 1 states: a b c\nactions: 1\nobservations: 1\n{line}\nT: 0 uniform O: 0 uniform"
    )
    np.testing.assert_allclose(parsed(text).start, expected, rtol=1e-15)


def test_a_single_state_starts_in_it():
    for line in ("start: 1.0", "start: 0", "start: only", ""):
        text = (
            f"discount: 1 states: only actions: 1 observations: 1 {line} T: * identity O: * uniform"
        )
        np.testing.assert_array_equal(parsed(text).start, [1.0])


def test_names_that_are_keywords_of_sections():
    text = (
        "discount: 0.5 states: T R actions: O T observations: R O "
        "T: O identity T: T uniform O: * uniform R: T : R : T : * 5"
    )
    model = parsed(text)
    assert (model.states, model.actions, model.observations) == (("T", "R"), ("O", "T"), ("R", "O"))
    assert dense(model)[2][1, 1, 0] == 5


def test_rewards_by_next_state_are_kept():
    reward = dense(parsed(HEAD + BODY + "R: open : right : left : * 3\nR: open : * : right : * 4"))[
        2
    ]
    np.testing.assert_array_equal(reward[1], [[10, 4], [3, 4]])


def test_rewards_by_observation_are_kept_and_have_the_right_mean():
    model = parsed(HEAD + BODY + "R: listen : left : left : right 7")
    special = model.reward_by_observation
    outcome = int(special.outcome[0])
    assert model.outcomes[outcome].tolist() == [0, 0, 0]
    assert (special.symbol.tolist(), special.reward.tolist()) == ([0, 1], [-1, 7])
    assert model.reward[outcome] == pytest.approx(0.85 * -1 + 0.15 * 7)


def test_impossible_transitions_and_observations_pay_nothing_to_store():
    """A wildcard reward on 300 states is one number for each possible transition."""
    text = (
        "discount: 0.9 states: 300 actions: 2 observations: 300 T: * identity O: * identity "
        "R: * : * : * : * -1 R: 0 : 5 : 5 : 5 3 R: 0 : 6 : 6 : 5 3"
    )
    model = parsed(text)
    assert len(model.outcomes) == 600
    assert model.reward_by_observation is None
    assert sorted(set(model.reward)) == [-1, 3]
    assert (model.reward == 3).sum() == 1


def test_rows_are_normalised_or_refused():
    def row(p):
        return HEAD + BODY + f"T: listen : left {p} 0.5"

    assert parsed(row("0.500004")).probability[:2].sum() == pytest.approx(1, abs=1e-15)
    with pytest.warns(UserWarning, match=r"t.pomdp:15:1: .*T : listen : left sum to 1.0004"):
        parsed(row("0.5004"))
    with pytest.raises(
        PomdpFileError, match=r"15:1: .*T : listen : left must sum to 1, but sum to"
    ):
        parsed(row("0.502"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("T: listen identity", "T: lisen identity", r"8:4: expected one of the actions \(listen, "),
        (
            "T: listen identity",
            "T: 2 identity",
            r"8:4: expected one of .*a number below 2, got '2'",
        ),
        ("0.85 0.15 0.15 0.85", "0.85 0.15 0.15", r"12:1: expected a number .*\(4 of 4\), got 'O'"),
        ("0.85 0.15 0.15 0.85", "0.85 -0.1 0.15 0.85", r"11:6: expected a number in \[0, 1\] for"),
        ("T: open uniform", "", "the probabilities of T : open : left must sum to 1, but are all"),
        (
            "discount: 0.95",
            "discount: nan",
            r"2:11: expected a number in \[0, 1\] for the discount",
        ),
        ("discount: 0.95", "discount: 2", "expected a number in"),
        ("discount: 0.95", "", "discount to be declared before"),
        ("states: left right", "", "states to be declared before"),
        ("states: left right", "states:", "expected the number or the names of the states, got"),
        ("states: left right", "states: 0", r"expected an integer in \[1, 100000\] of states"),
        ("states: left right", "states: 9999999999", r"expected an integer in \[1, 100000\]"),
        ("states: left right", "states: left left", "expected different names of states"),
        ("values: reward", "values: gold", "3:9: expected reward or cost, got 'gold'"),
        ("O: open uniform", "O open uniform", "expected discount, values"),
        ("* -1", "* x", "expected a number for the reward, got 'x'"),
        ("* -1", "* 1e999", "expected a number for the reward"),
        ("* -1", ": * -1", "expected one of the observations"),
        ("R: open : left : * : * 10", "R: open : left : * : *", "got the end of the file"),
        ("R: open : left : * : * 10", "R: open 10", "a colon and a state"),
        ("T: open uniform", "T: open reset : 5", "expected"),
    ],
)
def test_errors_name_the_place_and_what_was_expected(old, new, message):
    assert old in HEAD + BODY
    with pytest.raises(PomdpFileError, match=message) as caught:
        parsed((HEAD + BODY).replace(old, new, 1))
    assert str(caught.value).startswith("t.pomdp:")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_sizes_nobody_means_are_refused_before_they_are_allocated():
    huge = "discount: 1 states: 100000 actions: 100000 observations: 2 T: * uniform"
    with pytest.raises(PomdpFileError, match="too many"):
        parsed(huge)
    with pytest.raises(PomdpFileError, match="T has more than"):
        parsed("discount: 1 states: 100000 actions: 2 observations: 2 T: * uniform O: * uniform")
    with pytest.raises(PomdpFileError, match="expected 10000000000 numbers, but only 2 words"):
        parsed("discount: 1 states: 100000 actions: 2 observations: 2 T: 0 0.5 0.5")


@pytest.mark.parametrize("name", classic_names())
def test_what_is_written_reads_the_same(name, tmp_path):
    model = asmpg.read_pomdp(name)
    asmpg.write_pomdp(model, tmp_path / "again.pomdp")
    assert asmpg.read_pomdp(tmp_path / "again.pomdp") == model


def test_rewards_by_observation_are_written_too(tmp_path):
    model = parsed(HEAD + BODY + "R: listen : left : left : right 7\nR: open:*:right:* 2.5")
    asmpg.write_pomdp(model, tmp_path / "again.pomdp")
    assert asmpg.read_pomdp(tmp_path / "again.pomdp") == model


@pytest.mark.parametrize("name", ["Tiger", "CheeseMaze", "MachineRepair"])
def test_finite_models_can_be_written(name, tmp_path):
    model = make_finite(name).model
    asmpg.write_pomdp(PomdpModel.from_finite(model, discount=0.9), tmp_path / "m.pomdp")
    again = asmpg.read_pomdp(tmp_path / "m.pomdp").finite()
    running = ~model.terminal
    np.testing.assert_allclose(again.transition[running], model.transition[running], atol=1e-15)
    np.testing.assert_allclose(
        again.expected_reward[running], model.expected_reward[running], atol=1e-12
    )
    np.testing.assert_array_equal(again.observation[:, :, :-1], model.observation)
    np.testing.assert_array_equal(
        again.transition[model.terminal].argmax(axis=-1).T,
        np.tile(np.flatnonzero(model.terminal), (model.num_actions, 1)),
    )


def test_names_a_file_cannot_hold_are_refused(tmp_path):
    model = PomdpModel.from_finite(
        make_finite("Tiger").model, discount=0.9, actions=("listen", "open left", "open right")
    )
    with pytest.raises(ValueError, match=r"actions must be names without spaces, .*'open left'"):
        asmpg.write_pomdp(model, tmp_path / "m.pomdp")
    assert not list(tmp_path.iterdir())


def mutated(text, generator):
    """`text` with a few words dropped, doubled, swapped or replaced, and perhaps cut off."""
    words = text.split(" ")
    odd = [
        "*",
        ":",
        "T",
        "O:",
        "-1",
        "nan",
        "1e400",
        "uniform",
        "reset",
        "start:",
        "99999",
        "",
        "é",
        "# x\n",
        "0.5",
    ]
    for _ in range(generator.randint(1, 3)):
        at = generator.randrange(len(words))
        change = generator.randrange(5)
        if change == 0:
            del words[at : at + generator.randint(1, 3)]
        elif change == 1:
            words.insert(at, generator.choice(odd))
        elif change == 2:
            words[at] = generator.choice(odd)
        elif change == 3:
            words.insert(at, generator.choice(words or ["T"]))
        else:
            words[at] = "".join(generator.sample(words[at], len(words[at])))
        words = words or [""]
    changed = " ".join(words)
    return (
        changed[: generator.randrange(len(changed) + 1)] if not generator.randrange(5) else changed
    )


@pytest.mark.filterwarnings("ignore:.*normalised:UserWarning")
def test_mutated_files_are_read_or_refused_with_the_place():
    generator, outcomes = random.Random(0), {"read": 0, "refused": 0}
    for _ in range(400):
        try:
            model = parsed(mutated(HEAD + BODY, generator))
        except PomdpFileError as error:
            outcomes["refused"] += str(error).startswith("t.pomdp:")
        else:
            np.testing.assert_allclose(dense(model)[0].sum(axis=-1), 1, atol=1e-12)
            outcomes["read"] += 1
    assert sum(outcomes.values()) == 400
    assert min(outcomes.values()) >= 5
