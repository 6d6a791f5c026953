"""Controllers in `.fsc` files: read as rl-parsers does, written so that it can, equal in value."""

import jax
import numpy as np
import pytest

import asmpg
from asmpg import Machine
from asmpg.environments.pomdp_files import PomdpFileError, read_fsc, write_fsc
from asmpg.exact import infinite_horizon_value
from asmpg.policies import TabularPolicy

#: Tiger's controller in the tests of rl-parsers, every form of statement in use.
TIGER = """
nodes: 5
actions: listen open-left open-right
observations: obs-left obs-right   # what is heard
start: 2
A: *  1 0 0
A: 0  0 1 0
A: 4 : listen 0
A: 4 : open-right 1.0
T: obs-left
0 0 1 0 0   0 0 1 0 0
0 0 0 1 0
0 0 0 0 1   0 0 1 0 0
T: 1 : * reset
T: obs-right : 1  1 0 0 0 0
T: obs-right : 2
0 1 0 0 0
"""


def written(tmp_path, text, name="policy.fsc"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_controller_is_what_the_file_says(tmp_path):
    found = read_fsc(written(tmp_path, TIGER))
    assert found.nodes == ("0", "1", "2", "3", "4")
    assert found.observations == ("obs-left", "obs-right")
    assert found.start.tolist() == [0, 0, 1, 0, 0]
    assert found.control.argmax(axis=1).tolist() == [1, 0, 0, 0, 2]
    assert found.update.argmax(axis=2).tolist() == [[2, 2, 3, 4, 2], [2, 0, 1, 2, 2]]
    small = "nodes: a b\nactions: 1\nobservations: 2\nA: * uniform\n"
    other = read_fsc(written(tmp_path, f"{small} T: 0 identity T: 1 uniform"))
    assert other.start.tolist() == [0.5, 0.5]
    assert other.update.tolist() == [[[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]]


def test_what_is_written_is_read_again(tmp_path):
    found = read_fsc(written(tmp_path, TIGER))
    write_fsc(found, tmp_path / "again.fsc")
    again = read_fsc(tmp_path / "again.fsc")
    for name in ("nodes", "actions", "observations"):
        assert getattr(again, name) == getattr(found, name)
    for name in ("start", "control", "update"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))


@pytest.mark.parametrize(("controls", "by_action"), [(1, False), (1, True), (5, True)])
def test_a_machine_in_a_file_is_worth_the_same(controls, by_action, tmp_path):
    """With an update by action, or an action by observation, there are more nodes."""
    model = asmpg.read_pomdp("tiger-alt-start.pomdp")
    draw = np.random.default_rng(0).dirichlet
    update = draw(np.ones(2), size=(2, 3, 5))
    machine = Machine(
        start=draw(np.ones(2), size=5),
        update=update if by_action else update[:, [0, 0, 0]],
        control=draw(np.ones(3), size=(controls, 2)),
        action_names=model.actions,
        observation_names=(*model.observations, "nothing yet"),
    )
    machine.export(tmp_path / "policy.fsc")
    again = Machine.load(tmp_path / "policy.fsc")
    assert again.num_states == 2 * controls * (3 if by_action else 1)
    assert again.observation_names == machine.observation_names
    values = [
        infinite_horizon_value(model.finite(), each.tables(), discount=0.95)
        for each in (machine, again)
    ]
    assert values[1] == pytest.approx(values[0], rel=1e-9)


def test_a_start_that_depends_on_an_observation_is_refused(tmp_path):
    policy = TabularPolicy(num_states=2, num_actions=2, num_observations=2, key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"start must not depend on an observation in an \.fsc"):
        Machine.of_policy(policy).export(tmp_path / "policy.fsc")


HEAD = "nodes: 2\nactions: go stay\nobservations: dark\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes: 2\nA: 0 1 0", ":2:1: expected actions, observations to be declared before"),
        (HEAD + "A: 2 1 0", r":4:4: expected one of the nodes \(0, 1\) or a number below 2"),
        (HEAD + "A: 0 : run 1", ":4:8: expected one of the actions"),
        (HEAD + "A: 0 1 x", r":4:8: expected a number in \[0, 1\] for a row of A \(2 of 2\)"),
        (HEAD + "A: * uniform\nT: 0 reset", ":5:6: expected start to be declared before a reset"),
        (HEAD + "A: * 0.5 0.6\nT: 0 identity", ":4:1: the probabilities of A : 0 must sum to 1"),
        (HEAD + "A: * uniform", "the probabilities of T : dark : 0 must sum to 1"),
        ("B: 1", ":1:1: expected nodes, actions, observations, start, A, T and a colon"),
        ("nodes: 90000\nactions: 1\nobservations: 1\nA: 0 1", "90000 nodes, .* are too many"),
    ],
)
def test_errors_name_the_place(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(PomdpFileError, match=message) as caught:
        read_fsc(path)
    assert str(caught.value).startswith(f"{path}:")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file .*none\.fsc"):
        Machine.load(tmp_path / "none.fsc")
