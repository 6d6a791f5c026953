"""Who can be learned from: an agent of ours, or any object with Stable-Baselines3's `predict`."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg.agents import Agent
from asmpg.distillation._histories import Histories, log_probabilities
from asmpg.environments import Discrete, Space
from asmpg.experience import Player, StepInputs
from asmpg.interop import (
    IntegerWriter,
    Interface,
    ObservationReader,
    SymbolReader,
    VectorReader,
)
from asmpg.policies import HistoryPolicy

#: How far from one probabilities may sum.
_ROUNDING = 1e-3


class Teacher(abc.ABC):
    """Says what it would do at every step of a history, whoever played it."""

    @abc.abstractmethod
    def labels(self, histories: Histories) -> Float[np.ndarray, "T N A"]:
        """A probability for each action at every step."""


class PolicyTeacher(Teacher):
    """A policy of ours, with its distributions of actions."""

    def __init__(self, policy: HistoryPolicy, *, deterministic: bool = False):
        """`deterministic`, it takes the most probable action instead of drawing one."""
        self.policy = policy
        self.deterministic = deterministic

    def labels(self, histories: Histories) -> Float[np.ndarray, "T N A"]:
        return np.asarray(_policy_labels(self.policy, histories, self.deterministic))


@eqx.filter_jit
def _policy_labels(
    policy: HistoryPolicy, histories: Histories, deterministic: bool
) -> Float[Array, "T N A"]:
    known = log_probabilities(policy, histories)
    if deterministic:
        return jax.nn.one_hot(known.argmax(axis=-1), known.shape[-1])
    return jnp.exp(known)


class PredictTeacher(Teacher):
    """Anything with `predict(observation, state, episode_start, deterministic)`, as in SB3.

    Its actions are the labels; or, where it has a method `action_probabilities(observation, state,
    episode_start)` that returns a row of probabilities for each observation and the new state,
    those. It is shown observations as the Gymnasium environment gives them.
    """

    def __init__(self, model: Any, interface: Interface, *, deterministic: bool = False):
        """`interface` is that of the environment that it is to play in."""
        self._model = model
        self._interface = interface
        self.deterministic = deterministic
        self._first_action = _first_action(interface)
        self._soft = callable(getattr(model, "action_probabilities", None)) and not deterministic

    def act(
        self, observations: Shaped[np.ndarray, "n *o"], state: Any, start: Bool[np.ndarray, " n"]
    ) -> tuple[Int[np.ndarray, " n"], Any]:
        """Its actions, counted from 0, and what it remembers."""
        seen = _unread(self._interface.reader, observations)
        actions, state = self._model.predict(
            seen, state=state, episode_start=start, deterministic=self.deterministic
        )
        taken = np.asarray(actions)
        if taken.shape != start.shape or taken.dtype.kind not in "iu":
            raise ValueError(
                f"teacher must predict one integer for each of {len(start)} observations, "
                f"got {actions!r}"
            )
        taken = taken.astype(np.int64) - self._first_action
        if not ((taken >= 0) & (taken < self._interface.num_actions)).all():
            raise ValueError(
                f"teacher must predict one of {self._interface.num_actions} actions from "
                f"{self._first_action} on, got {actions!r}"
            )
        return taken.astype(np.int32), state

    def labels(self, histories: Histories) -> Float[np.ndarray, "T N A"]:
        observations, time = np.asarray(histories.observations), np.asarray(histories.time)
        state, rows = None, []
        for seen, start in zip(observations, time == 0, strict=True):
            if self._soft:
                row, state = self._probabilities(seen, state, start)
            else:
                actions, state = self.act(seen, state, start)
                row = np.eye(self._interface.num_actions, dtype=np.float32)[actions]
            rows.append(row)
        return np.stack(rows)

    def _probabilities(
        self, observations: Shaped[np.ndarray, "n *o"], state: Any, start: Bool[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, "n A"], Any]:
        seen = _unread(self._interface.reader, observations)
        given, state = self._model.action_probabilities(seen, state, start)
        row = np.asarray(given, np.float32)
        shape = (len(start), self._interface.num_actions)
        fits = row.shape == shape and bool((row >= 0).all())
        if not fits or not (abs(row.sum(axis=1) - 1) < _ROUNDING).all():
            raise ValueError(
                f"action_probabilities of the teacher must be {shape[0]} rows of {shape[1]} "
                f"probabilities, got {given!r}"
            )
        return row, state


class PredictPlayer(Player):
    """Plays as a `PredictTeacher` does. What that remembers stays here."""

    draws = 1

    def __init__(self, copies: int):
        self._copies = copies
        self._state: Any = None

    def prepare(self, learner: PredictTeacher) -> None:
        self._teacher = learner

    def empty_memory(self, seed: int) -> list[Any]:
        del seed
        self._state = None
        return [np.zeros(self._copies, np.int32)]

    def act(
        self, memory: list[Any], inputs: StepInputs
    ) -> tuple[list[Any], Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        del memory
        actions, self._state = self._teacher.act(inputs.observations, self._state, inputs.start)
        return [actions], actions, actions

    def rebuilt(self, leaves: list[Any]) -> Any:
        return leaves


def teacher_of(given: Any, interface: Interface, *, deterministic: bool = False) -> Teacher:
    """Whoever was handed in, as a teacher in an environment with this `interface`.

    A `ValueError` if it cannot be one there.
    """
    if interface.masked:
        raise ValueError(f"environment must have no action masks, and {interface.name} has some")
    if isinstance(given, Agent):
        policy = given.history_policy
        if policy is None:
            raise ValueError(
                "teacher must have a distribution of actions for each history; this agent's "
                "actions depend on rewards as well, or it is of another kind"
            )
        _check_spaces(given.num_actions, given.observation_space, interface)
        return PolicyTeacher(policy, deterministic=deterministic)
    if not callable(getattr(given, "predict", None)):
        raise ValueError(
            "teacher must be an agent, the folder of a run, or an object with "
            f"predict(observation, state, episode_start, deterministic), got {given!r}"
        )
    _check_foreign_spaces(given, interface)
    return PredictTeacher(given, interface, deterministic=deterministic)


def _first_action(interface: Interface) -> int:
    """Actions are counted from it; a `ValueError` where they are not `Discrete`."""
    if not isinstance(interface.writer, IntegerWriter):
        raise ValueError(
            f"actions of {interface.name} must be Discrete, got {interface.action_space}"
        )
    return interface.writer.start


def _check_spaces(num_actions: int, space: Space, interface: Interface) -> None:
    if num_actions != interface.num_actions:
        raise ValueError(
            f"teacher must choose from the {interface.num_actions} actions of {interface.name}, "
            f"this one has {num_actions}"
        )
    own, wanted = _size(space), _size(interface.observation_space)
    if own != wanted:
        raise ValueError(f"teacher must read {wanted}, as {interface.name} shows; it reads {own}")


def _size(space: Space) -> str:
    if isinstance(space, Discrete):
        return f"one of {space.n} symbols"
    return f"{len(space.low)} real numbers"


def _check_foreign_spaces(model: Any, interface: Interface) -> None:
    """Compare what a model of Stable-Baselines3 declares; others declare nothing."""
    reader, first_action = interface.reader, _first_action(interface)
    if not isinstance(reader, SymbolReader | VectorReader):
        raise ValueError(
            "teacher must be an agent of ours where observations are neither one integer nor an "
            f"array of real numbers, as in {interface.name}"
        )
    actions = getattr(model, "action_space", None)
    if actions is not None:
        number, first = getattr(actions, "n", None), getattr(actions, "start", 0)
        if (number, first) != (interface.num_actions, first_action):
            raise ValueError(
                f"teacher must choose from the {interface.num_actions} actions of "
                f"{interface.name} from {first_action} on, this one has {actions}"
            )
    seen = getattr(model, "observation_space", None)
    if seen is None:
        return
    symbols = getattr(seen, "n", None)
    same = tuple(seen.shape or ()) == reader.shape
    if symbols is not None and isinstance(reader.space, Discrete):
        same = same and symbols == reader.space.n
    if not same:
        raise ValueError(
            f"teacher must read the observations of {interface.name}, {_size(reader.space)} in an "
            f"array of shape {reader.shape}; it reads {seen}"
        )


def _unread(
    reader: ObservationReader, observations: Shaped[np.ndarray, "n *o"]
) -> Shaped[np.ndarray, "n *s"]:
    """The observations as they were before `reader` read them."""
    if isinstance(reader, SymbolReader):
        return observations + reader.start
    assert isinstance(reader, VectorReader)
    return observations.reshape(len(observations), *reader.shape)
