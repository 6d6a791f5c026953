"""A finite memory as a machine: its states, where inputs lead, what it plays."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float

from asmpg._support.checks import check_number
from asmpg._support.files import naming
from asmpg.agents.machine import _text
from asmpg.agents.machine._arrays import check_arrays, most_probable, reached, restricted
from asmpg.agents.machine._cases import Cases
from asmpg.agents.machine._kernels import table_arrays
from asmpg.agents.machine._minimise import bisimulation, quotient
from asmpg.agents.machine._sampled import sampled_machine
from asmpg.agents.machine._setting import Setting, Value
from asmpg.agents.machine._visits import Visits
from asmpg.agents.machine._windows import window_arrays
from asmpg.agents.machine.exports import read_controller, read_machine, to_aalpy, write_machine
from asmpg.agents.machine.pictures import plot_machine
from asmpg.environments import Environment
from asmpg.policies import ASMPolicy, KernelTables, WindowPolicy


@dataclasses.dataclass(frozen=True)
class Step:
    """What was done to a machine, how many states that left, and its value since."""

    done: str
    num_states: int
    value: Value | None


@dataclasses.dataclass(frozen=True, eq=False)
class Machine:
    """A finite-state controller, for example from `agent.machine()`.

    On observation `o` after action `a` in state `s`, the next state is sampled from `update[s, a,
    o]`; at the start of an episode, from `start[o]`. The action is then sampled from `control[0,
    s]`, or from `control[o, s]` if it also depends on the observation.

    >>> machine = agent.machine().harden().minimise()
    >>> print(machine)
    >>> machine.plot("machine.svg")
    """

    start: Float[np.ndarray, "O S"]
    update: Float[np.ndarray, "S A O S"]
    control: Float[np.ndarray, "C S A"]
    action_names: tuple[str, ...]
    observation_names: tuple[str, ...]
    name: str = "machine"
    #: How real observations are told apart; `None` if observations are finite.
    cases: Cases | None = None
    #: Where it plays, for visits and values; `None` if that is not known.
    setting: Setting | None = None
    visits: Visits | None = None
    #: How it came about, with what each step cost.
    steps: tuple[Step, ...] = ()
    #: The number of the environment's first action.
    first_action: int = 0
    #: Whether state `s A + a` is to have played `a` in `s`, as for joint kernels.
    paired: bool = False

    def __post_init__(self):
        check_arrays(*self._arrays)
        _, actions, symbols, _ = self.update.shape
        for name, count in (("action_names", actions), ("observation_names", symbols)):
            given = getattr(self, name)
            if len(given) != count:
                raise ValueError(f"{name} must have {count} entries, got {len(given)}")
            if len(set(given)) < count:
                raise ValueError(f"{name} must differ from each other, got {given}")

    @classmethod
    def of_policy(
        cls,
        policy: ASMPolicy | KernelTables,
        setting: Setting | None = None,
        *,
        name: str | None = None,
        observation_names: Sequence[str] | None = None,
        first_action: int = 0,
        cases: int = 16,
    ) -> "Machine":
        """The machine of any stationary policy, or of its tables; see `Agent.machine`."""
        found = None
        if not policy.num_actions:
            raise ValueError(
                f"policy must choose one of several actions to be a machine, not in "
                f"{policy.head.space}"
            )
        if isinstance(policy, WindowPolicy) and policy.counts:
            raise ValueError(
                "policy must have counts=False to be a machine: counts grow with every step, and "
                "there would be a state for each combination of them"
            )
        if isinstance(policy, KernelTables):
            arrays = table_arrays(policy)
        elif policy.tabulates:
            arrays = table_arrays(policy.tabulate())
        elif setting is None:
            raise ValueError(
                "environment must be given: the machine of a policy for real observations, or with "
                "a window of more than one, is made from episodes, got None"
            )
        elif isinstance(policy, WindowPolicy) and policy.num_observations is not None:
            arrays = window_arrays(policy, setting)
        else:
            found = sampled_machine(policy, setting, cases)
            arrays = found.arrays
            parts = () if setting.environment is None else setting.environment.observation_names
            observation_names = observation_names or found.cases.names(parts)
        _, actions, symbols, _ = arrays[1].shape
        environment = None if setting is None else setting.environment
        machine = cls(
            *arrays,
            action_names=tuple(str(first_action + action) for action in range(actions)),
            observation_names=tuple(map(str, range(symbols))),
            name=name or ("machine" if environment is None else environment.name),
            cases=None if found is None else found.cases,
            setting=setting,
            first_action=first_action,
            paired=len(arrays[1]) > policy.num_states and not isinstance(policy, WindowPolicy),
        ).named(environment, observation_names)
        if found is None:
            return machine.valued("learned")
        # What the agent does, and what the machine is worth that takes its place.
        agent = Step("agent", policy.num_states, found.value)
        machine = dataclasses.replace(machine, steps=(agent,)).valued("typical cases")
        return dataclasses.replace(machine, visits=found.visits)

    def named(
        self,
        environment: Environment[Any] | None = None,
        observation_names: Sequence[str] | None = None,
    ) -> "Machine":
        """With the environment's names for actions and observations.

        `observation_names` take precedence over its own.
        """
        names: dict[str, Any] = {}
        if self.setting is not None and self.setting.action_parts is not None:
            names["action_names"] = self.setting.action_parts.combinations
        if environment is not None:
            names["action_names"] = environment.action_names
            if self.cases is None:
                names["observation_names"] = environment.observation_names
        if observation_names:
            names["observation_names"] = tuple(observation_names)
        return dataclasses.replace(self, **names)

    @property
    def num_states(self) -> int:
        """Number of agent states."""
        return self.update.shape[0]

    @property
    def num_actions(self) -> int:
        """Number of actions."""
        return self.update.shape[1]

    @property
    def num_observations(self) -> int:
        """Number of observation symbols, or of typical cases."""
        return self.update.shape[2]

    @property
    def deterministic(self) -> bool:
        """Whether it is deterministic: all probabilities are 0 or 1."""
        return all(bool(((part == 0) | (part == 1)).all()) for part in self._arrays)

    @property
    def value(self) -> Value | None:
        """Its value, if the environment it plays in is known."""
        return self.steps[-1].value if self.steps else None

    @property
    def shares(self) -> Float[np.ndarray, " S"]:
        """The share of steps in which the agent acts in each state.

        If visits are not known: the same for all reachable states.
        """
        if self.visits is None:
            used = reached(*self._arrays).astype(float)
            return used / used.sum()
        arrivals = self.arrivals()
        return arrivals.sum(axis=(0, 1)) / arrivals.sum()

    def arrivals(self) -> Float[np.ndarray, "X O S"]:
        """How often state `s` is entered on seeing `o`, per episode.

        The first row is the start of an episode; row `1 + s A + a` comes from state `s` after
        action `a`.
        """
        if self.visits is None:
            raise ValueError("visits must be known: make the machine with its environment")
        start = self.visits.start[None, :, None] * self.start[None]
        later = self.visits.inputs[..., None] * self.update
        return np.concatenate([start, later.reshape(-1, *later.shape[2:])])

    def harden(self) -> "Machine":
        """Always take the most probable state and action, as `predict(deterministic=True)` does."""
        pairs = self.num_actions if self.paired else 1
        start, update = (most_probable(rows, pairs) for rows in (self.start, self.update))
        return self._changed("hardened", start, update, most_probable(self.control))

    def drop_unused(self, below: float = 0.0) -> "Machine":
        """Without the states that take up no more than the share `below` of all steps.

        What led there leads to the remaining states in proportion, or stays.
        """
        check_number("below", below, low=0, high=1)
        machine = self._restricted(self.shares > below, below)
        word = "unused dropped" if below == 0 else f"rare dropped (≤ {below:g})"
        return self._changed(word, *machine._arrays)

    def minimise(self, tolerance: float = 1e-6) -> "Machine":
        """Without unused states, and with indistinguishable states merged.

        Two states are merged if they act alike and lead to the same states with probabilities that
        differ by no more than `tolerance`, on every input they can receive: see [the page on
        machines](machines.md). Inputs that cannot occur in the environment do not count.
        """
        check_number("tolerance", tolerance, low=0, high=1)
        machine = self._restricted(self._used(), 0.0)
        weights, acting = machine._weights()
        labels = bisimulation(
            machine.update,
            machine.control,
            met=weights > 0,
            acts=acting > 0,
            tolerance=tolerance,
            order=np.argsort(-machine.shares, kind="stable").tolist(),
        )
        arrays = quotient(*machine._arrays, labels, weights=weights, acting=acting)
        if self.deterministic:
            arrays = tuple(map(most_probable, arrays))
        return self._changed("minimised", *arrays)

    def tables(self) -> KernelTables:
        """The same as kernels, to play and evaluate like any others, in double precision."""
        states, actions = self.num_states, self.num_actions
        nu = np.concatenate([self.start, self.update.reshape(-1, states)])
        phi = self.control
        if len(phi) > 1:
            phi = np.concatenate([phi, np.tile(phi, (states * actions, 1, 1))])
        with np.errstate(divide="ignore"), jax.enable_x64(True):
            log_nu, log_phi = np.log(nu)[None], np.log(phi)[None]
            return KernelTables(jax.numpy.asarray(log_nu), jax.numpy.asarray(log_phi))

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write C (`.h`), Python (`.py`), JSON, DOT, `.fsc` or ONNX, by the suffix of `path`.

        A deterministic machine becomes integer tables; a stochastic one asks for random numbers.
        """
        write_machine(self, Path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Machine":
        """Load the machine in a JSON file written by `export`, or in any controller's `.fsc` file.

        The environment is not recorded. A controller in an `.fsc` file has seen nothing before its
        first action; it gets one more observation for that, as POMDP files do.
        """
        if Path(path).suffix == ".fsc":
            return cls(**read_controller(Path(path)))
        fields = read_machine(Path(path))
        with naming(Path(path), "is not a machine, or is damaged"):
            return cls(**fields)

    def to_aalpy(self) -> Any:
        """A deterministic machine as a Moore machine of AALpy."""
        return to_aalpy(self)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        threshold: float = 0.002,
        layout: str = "auto",
    ) -> Any:
        """Draw the machine, and write the figure to `path` (PNG, SVG, PDF) if given.

        States are coloured by the action they play, and edges are as wide as they are frequent;
        those that take up less than the fraction `threshold` of all steps are hidden. `layout` is
        "graphviz", if its `dot` is installed, or our own, "layered"; "auto" takes the first one
        available.
        """
        check_number("threshold", threshold, low=0, high=1)
        return plot_machine(self, path, threshold=threshold, layout=layout)

    def describe(self) -> str:
        """A paragraph for each state: what it has seen, what it plays, when it is left."""
        return _text.describe(self)

    def __str__(self) -> str:
        return _text.table(self)

    def _changed(self, done: str, start: Any, update: Any, control: Any) -> "Machine":
        paired = self.paired and len(update) == self.num_states
        changed = dataclasses.replace(
            self, start=start, update=update, control=control, paired=paired
        )
        return changed.valued(done)

    def valued(self, done: str) -> "Machine":
        """With visits and value as they are now, recorded as a step called `done`."""
        visits, value = None, None
        if self.setting is not None:
            visits, value = self.setting.play(*self._arrays, self.tables(), self.cases)
        step = Step(done, self.num_states, value)
        return dataclasses.replace(self, visits=visits, steps=(*self.steps, step))

    def _restricted(self, kept: Bool[np.ndarray, " S"], below: float) -> "Machine":
        """Without the states that are not `kept`; visits are right if none of those is used."""
        if not kept.any():
            raise ValueError(f"below must leave a state, got {below:g}")
        visits = None if self.visits is None else self.visits.restricted(kept)
        start, update, control = restricted(*self._arrays, kept, otherwise=self.shares)
        return dataclasses.replace(self, start=start, update=update, control=control, visits=visits)

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.start, self.update, self.control

    def _used(self) -> Bool[np.ndarray, " S"]:
        """The states that are not certain never to be visited."""
        exact = self.visits is not None and self.visits.exact
        return self.shares > 0 if exact else reached(*self._arrays)

    def _weights(self) -> tuple[Float[np.ndarray, "S A O"], Float[np.ndarray, "C S"]]:
        """How much each input counts, and acting on each observation; zero if it never happens."""
        possible = np.broadcast_to(
            (self.control.max(axis=0) > 0)[..., None], self.update.shape[:3]
        ).astype(float)
        acting = np.ones(self.control.shape[:2])
        if self.visits is None or not self.visits.exact:
            return possible, acting
        arrived = self.arrivals().sum(axis=0)
        return self.visits.inputs, arrived if len(self.control) > 1 else acting
