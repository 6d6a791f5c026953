"""The vector adapter plays what single adapters play, in each of Gymnasium's autoreset modes."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import asmpg
from asmpg.interop.adapters import GymnasiumVectorEnv

NAMES = (
    "CheeseMaze",
    "HallwayNavigation",
    "HealthcareTreatment",
    "MachineRepair",
    "VelocityOnlyCartPole",
)
COPIES, STEPS, MAX_STEPS = 3, 100, 15
each_environment = pytest.mark.parametrize("name", NAMES)


def vector(name, **options):
    """Our vector environment, of a size and length that compile once for all tests."""
    return asmpg.to_gymnasium_vector(
        name, **({"num_envs": COPIES, "max_steps": MAX_STEPS} | options)
    )


def vector_and_singles(name, mode, copies=COPIES):
    """Our vector environment, and Gymnasium's around our single ones."""
    ours = vector(name, num_envs=copies, autoreset_mode=mode)
    theirs = SyncVectorEnv(
        [lambda: asmpg.to_gymnasium(name, max_steps=MAX_STEPS)] * copies, autoreset_mode=mode
    )
    return ours, theirs


def assert_same_step(ours, theirs):
    for our_part, their_part in zip(ours[:-1], theirs[:-1], strict=True):
        # Compiled for one and for several, numbers may differ in their last bit.
        np.testing.assert_allclose(our_part, their_part, rtol=1e-4, atol=1e-5)
        assert our_part.dtype == their_part.dtype
    assert ours[-1].keys() == theirs[-1].keys()
    for key, their_part in theirs[-1].items():
        if key != "final_obs":
            np.testing.assert_equal(ours[-1][key], their_part)
            continue
        for our_final, their_final in zip(ours[-1][key], their_part, strict=True):
            assert type(our_final) is type(their_final)
            if our_final is not None:
                np.testing.assert_allclose(our_final, their_final, rtol=1e-4, atol=1e-5)


def random_actions(envs, seed=0):
    return np.random.default_rng(seed).integers(
        envs.single_action_space.n, size=(STEPS, envs.num_envs)
    )


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@each_environment
def test_copies_play_what_singles_play(name, mode):
    ours, theirs = vector_and_singles(name, mode)
    assert_same_step(ours.reset(seed=7), theirs.reset(seed=7))
    ended = 0
    for actions in random_actions(ours):
        step = ours.step(actions)
        assert_same_step(step, theirs.step(actions))
        ended += (step[2] | step[3]).sum()
    assert ended > COPIES


@each_environment
def test_copies_play_what_singles_play_when_the_caller_resets(name):
    ours, theirs = vector_and_singles(name, AutoresetMode.DISABLED)
    assert_same_step(ours.reset(seed=7), theirs.reset(seed=7))
    for actions in random_actions(ours):
        step = ours.step(actions)
        assert_same_step(step, theirs.step(actions))
        mask = step[2] | step[3]
        if mask.any():
            assert_same_step(
                ours.reset(options={"reset_mask": mask}),
                theirs.reset(options={"reset_mask": mask.copy()}),
            )


@pytest.mark.parametrize("name", ["CheeseMaze", "HealthcareTreatment"])
def test_a_lone_copy_plays_what_a_single_plays(name):
    ours, theirs = vector_and_singles(name, AutoresetMode.NEXT_STEP, copies=1)
    assert_same_step(ours.reset(seed=7), theirs.reset(seed=7))
    for actions in random_actions(ours):
        assert_same_step(ours.step(actions), theirs.step(actions))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@each_environment
def test_make_vec_builds_ours(name, mode):
    envs = gymnasium.make_vec(
        f"asmpg/{name}-v0", num_envs=COPIES, max_steps=MAX_STEPS, autoreset_mode=mode
    )
    assert isinstance(envs, GymnasiumVectorEnv)
    assert envs.num_envs == COPIES
    assert envs.environment.max_steps == MAX_STEPS
    assert envs.metadata["autoreset_mode"] is AutoresetMode(mode)
    observations, info = envs.reset(seed=0)
    assert observations in envs.observation_space
    assert info == {}
    envs.close()


def test_make_vec_makes_singles_too_when_asked():
    envs = gymnasium.make_vec("asmpg/CheeseMaze-v0", num_envs=2, vectorization_mode="sync")
    assert isinstance(envs, SyncVectorEnv)
    envs.reset(seed=0)


def test_the_default_is_to_reset_on_the_next_step():
    assert asmpg.to_gymnasium_vector("CheeseMaze").metadata["autoreset_mode"] is (
        AutoresetMode.NEXT_STEP
    )


def test_elements_have_the_types_of_their_spaces():
    envs = vector("VelocityOnlyCartPole")
    envs.reset(seed=0)
    observations, rewards, terminated, truncated, info = envs.step(envs.action_space.sample())
    assert observations in envs.observation_space
    assert rewards.dtype == np.float64
    assert terminated.dtype == truncated.dtype == bool
    assert info == {}


def test_each_call_returns_arrays_of_its_own():
    envs = vector("VelocityOnlyCartPole")
    first, _ = envs.reset(seed=0)
    kept = first.copy()
    envs.step([0, 1, 0])[0][:] = 0
    np.testing.assert_array_equal(first, kept)


@pytest.mark.usefixtures("as_user")
def test_seeds_may_be_one_a_list_or_none():
    envs = vector("VelocityOnlyCartPole")
    from_one, _ = envs.reset(seed=4)
    from_list, _ = envs.reset(seed=[4, 5, 6])
    np.testing.assert_array_equal(from_one, from_list)
    mixed, _ = envs.reset(seed=[4, None, 6])
    np.testing.assert_array_equal(mixed[[0, 2]], from_list[[0, 2]])
    assert (mixed[1] != from_list[1]).all()
    assert (envs.reset()[0] != mixed).all()
    with pytest.raises(ValueError, match="one entry for each of 3, got 2"):
        envs.reset(seed=[1, 2])


def test_without_a_seed_copies_differ():
    start, _ = vector("VelocityOnlyCartPole").reset()
    assert len(np.unique(start, axis=0)) == 3


def test_a_masked_reset_leaves_the_others_alone():
    envs = vector("VelocityOnlyCartPole")
    envs.reset(seed=0)
    before = envs.step([0, 0, 0])[0]
    after, _ = envs.reset(seed=9, options={"reset_mask": np.array([False, True, False])})
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    single = asmpg.to_gymnasium("VelocityOnlyCartPole", max_steps=MAX_STEPS)
    np.testing.assert_array_equal(after[1], single.reset(seed=10)[0])


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("mask", [[True], np.zeros(3, bool), np.ones(3)])
def test_a_wrong_mask_is_refused(mask):
    envs = vector("CheeseMaze")
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="reset_mask must hold 3 booleans"):
        envs.reset(options={"reset_mask": mask})


def test_the_first_reset_must_be_of_all():
    envs = vector("CheeseMaze")
    with pytest.raises(gymnasium.error.ResetNeeded, match="of all"):
        envs.reset(options={"reset_mask": np.array([True, False, True])})


def test_stepping_before_a_reset_asks_for_one():
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"reset\(\)"):
        asmpg.to_gymnasium_vector("CheeseMaze").step([0])


def test_without_autoreset_an_ended_copy_must_be_reset():
    envs = vector("MachineRepair", autoreset_mode="Disabled")
    envs.reset(seed=0)
    for _ in range(MAX_STEPS):
        truncated = envs.step([0, 0, 0])[3]
    assert truncated.all()
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"\[0, 1, 2\]"):
        envs.step([0, 0, 0])


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 4, -1], r"integers in \[0, 3\], got 4 at index 1"),
        ([0, 1], r"3 integers in \[0, 3\]"),
        ([0.0, 1.0, 2.0], r"3 integers in \[0, 3\]"),
        (0, r"3 integers in \[0, 3\]"),
    ],
)
def test_actions_outside_the_space_are_refused(actions, message):
    envs = vector("CheeseMaze")
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        envs.step(actions)


def test_the_action_of_a_copy_that_starts_anew_is_ignored():
    envs = vector("MachineRepair")
    envs.reset(seed=0)
    for _ in range(MAX_STEPS):
        truncated = envs.step([0, 0, 0])[3]
    assert truncated.all()
    _, rewards, terminated, truncated, _ = envs.step([99, -99, 0])
    assert not np.any([rewards, terminated, truncated])


@pytest.mark.usefixtures("as_user")
def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="autoreset_mode must be"):
        asmpg.to_gymnasium_vector("CheeseMaze", autoreset_mode="never")
    with pytest.raises(ValueError, match="num_envs must be an integer of at least 1"):
        asmpg.to_gymnasium_vector("CheeseMaze", num_envs=0)


def test_gymnasiums_statistics_count_our_episodes():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(vector("MachineRepair"))
    envs.reset(seed=0)
    for _ in range(MAX_STEPS):
        info = envs.step(np.ones(COPIES, int))[-1]
    assert info["episode"]["l"].tolist() == [MAX_STEPS] * COPIES
    assert info["episode"]["r"].tolist() == [-MAX_STEPS] * COPIES


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_rendering_gives_a_frame_for_each_copy(mode):
    envs = asmpg.to_gymnasium_vector(
        "CheeseMaze", num_envs=2, render_mode="ansi", autoreset_mode=mode, max_steps=2
    )
    envs.reset(seed=0)
    steps = {"NextStep": [0, 1, 2, 0], "SameStep": [0, 1, 0, 1], "Disabled": [0, 1, 2]}[mode]
    for number, step in enumerate(steps):
        frames = envs.render()
        assert len(frames) == 2
        assert all(f"step {step}/2" in text and "@" in text for text in frames)
        if number < len(steps) - 1:
            envs.step([0, 0])


def test_rendering_gives_pictures():
    envs = vector("HealthcareTreatment", render_mode="rgb_array")
    envs.reset(seed=0)
    envs.step([0, 2, 0])
    one, other, _ = envs.render()
    assert one.shape == other.shape == (480, 640, 3)
    assert (one != other).any()
