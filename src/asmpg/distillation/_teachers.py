"""Who can be learned from: an agent of ours, a policy, or any object with SB3's `predict`."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, Shaped

from asmpg.agents import Agent
from asmpg.distillation._histories import Histories, Labels, distributions
from asmpg.environments import Box, Discrete, MultiDiscrete, Space
from asmpg.exact import BeliefPolicy
from asmpg.experience import Player, StepInputs
from asmpg.interop import (
    IntegersWriter,
    IntegerWriter,
    Interface,
    ObservationReader,
    SymbolReader,
    VectorReader,
)
from asmpg.policies import Categorical, HistoryPolicy, head_of

#: How far from one probabilities may sum.
_ROUNDING = 1e-3


class Teacher(abc.ABC):
    """Says what it would do at every step of a history, whoever played it."""

    @abc.abstractmethod
    def labels(self, histories: Histories, *seeds: int) -> Labels:
        """What it would do; `seeds` are for what is drawn."""


class PolicyTeacher(Teacher):
    """A policy of ours, with its distributions of actions."""

    def __init__(self, policy: HistoryPolicy, *, deterministic: bool = False):
        """`deterministic`, it takes the most probable action instead of drawing one."""
        self.policy = policy
        self.deterministic = deterministic

    def labels(self, histories: Histories, *seeds: int) -> Labels:
        key = jax.random.key(seeds[0] if seeds else 0)
        for number in seeds[1:]:
            key = jax.random.fold_in(key, number)
        made = _policy_labels(self.policy, histories, self.deterministic, key)
        return jax.tree.map(np.asarray, made)


@eqx.filter_jit
def _policy_labels(
    policy: HistoryPolicy, histories: Histories, deterministic: bool, key: Key[Array, ""]
) -> Labels:
    found = distributions(policy, histories)
    known = found.log_probabilities
    if known is not None and deterministic:
        return Labels(jax.nn.one_hot(known.argmax(axis=-1), known.shape[-1]))
    if known is not None:
        return Labels(jnp.exp(known))
    assert found.mixtures is not None
    head = policy.actor().head
    actions = found.mixtures.draw(head, key, greedy=deterministic)
    density = found.mixtures.log_density(head, actions)
    # An action that is not drawn has no density to be compared with.
    density = jnp.full_like(density, jnp.nan) if deterministic else density
    return Labels(actions=actions, log_density=density)


class PredictTeacher(Teacher):
    """Anything with `predict(observation, state, episode_start, deterministic)`, as in SB3.

    Its actions are the labels; or, where it has a method `action_probabilities(observation, state,
    episode_start)` that returns a row of probabilities for each observation and the new state,
    those. It is shown observations as the Gymnasium environment gives them, and where that has
    action masks, `action_masks` as well.
    """

    def __init__(self, model: Any, interface: Interface, *, deterministic: bool = False):
        """`interface` is that of the environment that it is to play in."""
        self._model = model
        self._interface = interface
        self.head = head_of(interface.action_space)
        self.deterministic = deterministic
        asked = callable(getattr(model, "action_probabilities", None)) and not deterministic
        self._soft = asked and isinstance(interface.action_space, Discrete)

    def act(
        self,
        observations: Shaped[np.ndarray, "n *o"],
        state: Any,
        start: Bool[np.ndarray, " n"],
        masks: Bool[np.ndarray, "n M"] | None = None,
    ) -> tuple[Shaped[np.ndarray, "n *action"], Any]:
        """Its actions, as the head writes them down, and what it remembers."""
        seen = _unread(self._interface.reader, observations)
        allowed = {} if masks is None else {"action_masks": np.asarray(masks)}
        actions, state = self._model.predict(
            seen, state=state, episode_start=start, deterministic=self.deterministic, **allowed
        )
        taken = self._read(actions, len(start))
        return np.asarray(self.head.unplay(jnp.asarray(taken))), state

    def labels(self, histories: Histories, *seeds: int) -> Labels:
        """`seeds` are not looked at: what a model draws is its own business."""
        del seeds
        observations, time = np.asarray(histories.observations), np.asarray(histories.time)
        masks = histories.masks
        state, rows = None, []
        for step, (seen, start) in enumerate(zip(observations, time == 0, strict=True)):
            if self._soft:
                row, state = self._probabilities(seen, state, start)
            else:
                mask = None if masks is None else np.asarray(masks[step])
                row, state = self.act(seen, state, start, mask)
            rows.append(row)
        made = np.stack(rows)
        if self._soft:
            return Labels(made)
        if isinstance(self.head, Categorical):
            return Labels(np.eye(self.head.n, dtype=np.float32)[made])
        return Labels(actions=made, log_density=np.full(time.shape, np.nan, np.float32))

    def _read(self, actions: Any, number: int) -> Shaped[np.ndarray, "n *played"]:
        """The actions of the model in the numbers of ours, if they are any."""
        space, taken = self._interface.action_space, np.asarray(actions)
        if isinstance(space, Discrete):
            first = _first_action(self._interface)
            if taken.shape != (number,) or taken.dtype.kind not in "iu":
                raise ValueError(
                    f"teacher must predict one integer for each of {number} observations, "
                    f"got {actions!r}"
                )
            taken = taken.astype(np.int64) - first
            if not ((taken >= 0) & (taken < space.n)).all():
                raise ValueError(
                    f"teacher must predict one of {space.n} actions from {first} on, "
                    f"got {actions!r}"
                )
            return taken.astype(np.int32)
        real = isinstance(space, Box)
        size, kinds = len(space.low if real else space.sizes), "f" if real else "iu"
        if taken.size != number * size or taken.dtype.kind not in kinds:
            kind = "real numbers" if real else "integers"
            raise ValueError(
                f"teacher must predict {size} {kind} for each of {number} observations, "
                f"got {actions!r}"
            )
        taken = taken.reshape(number, size)
        if isinstance(space, Box):
            return np.clip(taken, space.low, space.high).astype(np.float32)
        writer = self._interface.writer
        assert isinstance(writer, IntegersWriter)
        taken = taken.astype(np.int64) - np.asarray(writer.start)
        if not ((taken >= 0) & (taken < np.asarray(space.sizes))).all():
            raise ValueError(f"teacher must predict actions of {space}, got {actions!r}")
        return taken.astype(np.int32)

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
    ) -> tuple[list[Any], Shaped[np.ndarray, "n *action"], Shaped[np.ndarray, "n *played"]]:
        del memory
        teacher = self._teacher
        actions, self._state = teacher.act(
            inputs.observations, self._state, inputs.start, inputs.masks
        )
        return [actions], actions, np.asarray(teacher.head.play(jnp.asarray(actions)))

    def rebuilt(self, leaves: list[Any]) -> Any:
        return leaves


def teacher_of(given: Any, interface: Interface, *, deterministic: bool = False) -> Teacher:
    """Whoever was handed in, as a teacher in an environment with this `interface`.

    A `ValueError` if it cannot be one there.
    """
    if isinstance(given, Agent):
        policy = given.history_policy
        if policy is None:
            raise ValueError(
                "teacher must have a distribution of actions for each history; this agent's "
                "actions depend on rewards as well, or it is of another kind"
            )
        _check_spaces(policy, given.observation_space, interface)
        return PolicyTeacher(policy, deterministic=deterministic)
    if isinstance(given, BeliefPolicy):
        _check_spaces(given, Discrete(given.num_observations), interface)
        return PolicyTeacher(given, deterministic=deterministic)
    if not callable(getattr(given, "predict", None)):
        raise ValueError(
            "teacher must be an agent, the folder of a run, a BeliefPolicy, or an object with "
            f"predict(observation, state, episode_start, deterministic), got {given!r}"
        )
    _check_foreign_spaces(given, interface)
    return PredictTeacher(given, interface, deterministic=deterministic)


def _first_action(interface: Interface) -> int:
    """Actions are counted from it, where they are one integer."""
    return interface.writer.start if isinstance(interface.writer, IntegerWriter) else 0


def _check_spaces(policy: HistoryPolicy, space: Space, interface: Interface) -> None:
    acts, wanted_acts = policy.actor().head.space, interface.action_space
    if isinstance(acts, Discrete) and isinstance(wanted_acts, Discrete) and acts != wanted_acts:
        raise ValueError(
            f"teacher must choose from the {wanted_acts.n} actions of {interface.name}, "
            f"this one has {acts.n}"
        )
    if acts != wanted_acts:
        raise ValueError(
            f"teacher must choose from {wanted_acts}, the actions of {interface.name}, "
            f"this one chooses from {acts}"
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
    reader = interface.reader
    if not isinstance(reader, SymbolReader | VectorReader):
        raise ValueError(
            "teacher must be an agent of ours where observations are neither one integer nor an "
            f"array of real numbers, as in {interface.name}"
        )
    actions = getattr(model, "action_space", None)
    if actions is not None:
        _check_foreign_actions(actions, interface)
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


def _check_foreign_actions(actions: Any, interface: Interface) -> None:
    """Compare what kind of action a space of Gymnasium has, and how many."""
    match interface.action_space:
        case Discrete(n=number):
            first = _first_action(interface)
            same = (getattr(actions, "n", None), getattr(actions, "start", 0)) == (number, first)
            wanted = f"the {number} actions of {interface.name} from {first} on"
        case MultiDiscrete(sizes=sizes):
            same = tuple(np.ravel(getattr(actions, "nvec", ()))) == sizes
            wanted = f"the actions of {interface.name}, {sizes} values in each part"
        case Box(low=low):
            bounds = getattr(actions, "low", None)
            same = bounds is not None and np.size(bounds) == len(low)
            wanted = f"the actions of {interface.name}, {len(low)} real numbers"
    if not same:
        raise ValueError(f"teacher must choose from {wanted}, this one has {actions}")


def _unread(
    reader: ObservationReader, observations: Shaped[np.ndarray, "n *o"]
) -> Shaped[np.ndarray, "n *s"]:
    """The observations as they were before `reader` read them."""
    if isinstance(reader, SymbolReader):
        return observations + reader.start
    assert isinstance(reader, VectorReader)
    return observations.reshape(len(observations), *reader.shape)
