"""Masks, actions of several parts and real ones are handed on as well."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg._support.files import read_json
from asmpg.distillation import Examples, PolicyTeacher, Sampler, log_probabilities, loss
from asmpg.interop import Interface, resolve
from asmpg.methods import ASMPPO, GRUPPO
from compiled_environments import Aim, Doors
from quick import long

SMALL = {
    "num_environments": 2,
    "rollout_steps": 8,
    "epochs": 1,
    "minibatches": 1,
    "critic_width": 4,
}
QUICK = {"sequences": 16, "sequence_steps": 16, "rounds": 2, "epochs": 60, "episodes": 50}


class Pointer:
    """Aims at the target that was shown first, within a little."""

    def __init__(self, kind):
        self.kind = kind
        self.chance = np.random.default_rng(0)

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        before = observation if state is None else state[0]
        target = np.where(np.asarray(episode_start), observation, before)
        if self.kind == "parts":
            return np.stack([8 * target, 8 * target], axis=-1), (target,)
        away = 0.05 * self.chance.normal(size=(len(target), 1))
        return (0.5 * target[:, None] + away).astype(np.float32), (target,)


@pytest.mark.parametrize("kind", [long("parts"), "real"])
def test_a_student_remembers_what_to_aim_at(kind, tmp_path):
    """Without memory three of four steps lose half of the way between the targets on average."""
    asmpg.distil(
        Pointer(kind),
        Aim(kind=kind),
        num_states=2,
        method_options=SMALL,
        out=tmp_path / "run",
        verbose=0,
        **QUICK,
    )
    (student,) = read_json(tmp_path / "run" / "distil.json")["students"]
    way = 8 if kind == "parts" else 0.5
    assert student["distilled"]["value"] > -0.75 * way
    # Nobody knows the density of what a model of somebody else draws.
    assert student["rounds"][-1]["kl"] is student["rounds"][-1]["agreement"] is None


@pytest.mark.parametrize("method", [long(ASMPPO(num_states=3, window=2)), GRUPPO(width=4)], ids=str)
def test_real_actions_are_labelled_by_draws_of_known_density(method):
    """The loss of the teacher itself is minus the density of what it drew, and has that mean.

    Tolerance: the entropy of a standard Gaussian, within six standard errors over 320 steps.
    """
    environment = Aim(kind="real")
    interface = Interface.of(environment)
    policy = method.settled(interface).make_policy(interface, jax.random.key(0))
    sampler = Sampler(resolve(environment, {}), sequences=8, steps=40)
    histories = sampler.histories(policy, 0)
    labels = PolicyTeacher(policy).labels(histories, 1, 2)
    own = loss(policy, Examples(histories, labels))
    np.testing.assert_allclose(own, -labels.log_density.mean(), rtol=1e-5)
    if isinstance(method, GRUPPO):
        entropy = 0.5 * np.log(2 * np.pi * np.e)
        assert abs(own - entropy) < 6 * np.sqrt(0.5 / 320)
    again, other = (PolicyTeacher(policy).labels(histories, 1, n).actions for n in (2, 3))
    np.testing.assert_array_equal(again, labels.actions)
    assert np.any(np.asarray(other) != labels.actions)
    greedy = PolicyTeacher(policy, deterministic=True).labels(histories)
    assert np.isnan(np.asarray(greedy.log_density)).all()


class LastDoor:
    """Opens the last door that is allowed."""

    def predict(
        self, observation, state=None, episode_start=None, deterministic=False, action_masks=None
    ):
        return 4 - action_masks[:, ::-1].argmax(axis=1), state


@pytest.mark.long
def test_masks_are_shown_to_the_teacher_and_heeded_by_the_student(tmp_path):
    """Every step that is allowed pays 1, every other -100."""
    asmpg.distil(
        LastDoor(),
        Doors(),
        num_states=2,
        window=0,
        method_options=SMALL,
        out=tmp_path / "run",
        verbose=0,
        **QUICK,
    )
    report = read_json(tmp_path / "run" / "distil.json")
    assert report["teacher"]["value"] == report["students"][0]["distilled"]["value"] == 4
    assert report["students"][0]["rounds"][-1]["agreement"] > 0.95


def test_labels_of_a_policy_leave_out_what_is_forbidden():
    policy = GRUPPO(width=4).make_policy(Interface.of(Doors()), jax.random.key(0))
    histories = Sampler(resolve(Doors(), {}), sequences=3, steps=12).histories(policy, 0)
    labels = PolicyTeacher(policy).labels(histories).probabilities
    assert (labels[~np.asarray(histories.masks)] == 0).all()
    np.testing.assert_allclose(labels.sum(axis=-1), 1, rtol=1e-5)
    assert jnp.isfinite(log_probabilities(policy, histories)).all()


class Wide(Pointer):
    def predict(self, *given, **named):
        action, state = super().predict(*given, **named)
        return np.repeat(action, 2, axis=-1), state


@pytest.mark.parametrize(
    ("teacher", "kind", "message"),
    [
        (Wide("real"), "real", "teacher must predict 1 real numbers for each of"),
        (Pointer("parts"), "real", "teacher must predict 1 real numbers for each of"),
        (Pointer("real"), "parts", "teacher must predict 2 integers for each of"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_actions_of_another_kind_are_named(teacher, kind, message):
    with pytest.raises(ValueError, match=message):
        asmpg.distil(teacher, Aim(kind=kind), verbose=0, method_options=SMALL, **QUICK)
