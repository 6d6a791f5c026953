"""What is trained: everything that decides the outcome of a run."""

import dataclasses
import functools
import json
from collections.abc import Mapping
from typing import Any, Literal, cast

from asmpg._support.checks import check_integer, check_number, check_one_of, shown
from asmpg.environments import Environment, is_pomdp_file, make, registered_names
from asmpg.environments.pomdp_files import read_pomdp
from asmpg.interop import Interface, ResolvedEnvironment, is_on_host, own_name, resolve
from asmpg.methods import PAPER_SEEDS, PRESETS, Method, Preset, preset_name
from asmpg.runs._status import SeedStatus

#: Stands for a number that is the preset's, until the configuration is made.
_OF_THE_METHOD = cast(int, None)
#: How many episodes an evaluation has; on the host, and how many evaluations there are.
_EPISODES, _HOST_EPISODES, _HOST_EVALUATIONS = 100, 30, 10
#: Steps are counted in 32 bits; this leaves room for the last update.
_MOST_STEPS = 2_000_000_000
#: What nobody means: each is held in memory, and larger numbers are refused before that.
_MOST_SEEDS = 100_000
_MOST_EVALUATIONS = 1_000_000
_MOST_EPISODES = 1_000_000
#: Options may be lists of lists, this deep.
_DEEPEST = 16


def default_seeds(count: int) -> tuple[int, ...]:
    """The paper's ten seeds, then 10000, 10001 and so on."""
    check_integer("the number of seeds", count, low=1, high=_MOST_SEEDS)
    further = range(10_000, 10_000 + max(0, count - len(PAPER_SEEDS)))
    return (*PAPER_SEEDS[:count], *further)


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """A run: `method` learns in `environment`, once for each of `seeds`.

    What is omitted defaults to what the environment and the method define, including `steps` and
    `evaluate_every`. Every `evaluate_every` steps of a seed, or after the next update if that is
    later, `evaluation_episodes` fresh episodes are played, with the most probable agent states and
    actions if `greedy`. If environments are stepped on the host, which is slow, the defaults are
    ten evaluations of 30 episodes after the first one.

    A seed stops early once one of its evaluations scores `stop_at` or more, or its last `patience`
    evaluations brought no new best score. The score is what the environment declares: reward per
    step, undiscounted or discounted return. Every seed is judged by its own evaluations, and a run
    is finished when all have stopped or completed their steps.

    `environment` is anything `learn` accepts: the name of a built-in environment, a Gymnasium id,
    stepped on the host with the given `vectorization`, or an object. `method` is a name or your own
    method. Options go with names. A run on disk records the `interface` of its environment, so that
    its agents need nothing else; `method_by_name` is false if its method cannot be recreated from
    what is on disk. A method given by name uses the discount of a POMDP file unless told otherwise.

    >>> RunConfig("CheeseMaze", method_options={"num_states": 4}, steps=100_000)
    >>> RunConfig(my_environment, method=MyPPO(num_states=4))
    """

    environment: Any
    environment_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    method: str | Method[Any] = "asm-ppo"
    method_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: tuple[int, ...] = PAPER_SEEDS
    steps: int = _OF_THE_METHOD
    evaluate_every: int = _OF_THE_METHOD
    evaluation_episodes: int = _OF_THE_METHOD
    greedy: bool = False
    stop_at: float | None = None
    patience: int | None = None
    vectorization: Literal["sync", "async"] = "sync"
    interface: Interface | None = None
    method_by_name: bool = True

    def __post_init__(self):
        if self.environment is None or self.environment == "":
            raise ValueError(
                f"environment must be a name or an environment, got {self.environment!r}"
            )
        if isinstance(self.environment, str):
            object.__setattr__(self, "environment", own_name(self.environment))
        elif self.environment_options:
            raise ValueError(
                "environment_options go with the name of an environment; "
                f"got: {', '.join(self.environment_options)}"
            )
        preset = self._check_method()
        self._take_discount(preset)
        steps = self._or_default("steps", preset.steps)
        check_integer("steps", steps, low=1, high=_MOST_STEPS)
        on_host = is_on_host(self.environment) if self.interface is None else self.interface.on_host
        every = max(1, steps // _HOST_EVALUATIONS) if on_host else preset.evaluate_every
        self._or_default("evaluate_every", every)
        self._or_default("evaluation_episodes", _HOST_EPISODES if on_host else _EPISODES)
        for name in ("environment_options", "method_options"):
            given = getattr(self, name)
            _check_kind(name, given, Mapping, "a dictionary")
            object.__setattr__(self, name, {key: _frozen(given[key], key) for key in sorted(given)})
        object.__setattr__(self, "seeds", _checked_seeds(self.seeds))
        check_integer("evaluate_every", self.evaluate_every, low=1)
        if self.steps // self.evaluate_every > _MOST_EVALUATIONS:
            raise ValueError(
                f"evaluate_every must be at least {-(-self.steps // _MOST_EVALUATIONS)} for steps "
                f"of {self.steps}, which makes {_MOST_EVALUATIONS:,} evaluations; "
                f"got {self.evaluate_every}"
            )
        check_integer("evaluation_episodes", self.evaluation_episodes, low=1, high=_MOST_EPISODES)
        _check_kind("greedy", self.greedy, bool, "True or False")
        _check_kind("method_by_name", self.method_by_name, bool, "True or False")
        if self.stop_at is not None:
            check_number("stop_at", self.stop_at)
        if self.patience is not None:
            check_integer("patience", self.patience, low=1)
        check_one_of("vectorization", self.vectorization, ("sync", "async"))

    def _check_method(self) -> Preset:
        """How long such a method trains by default."""
        if isinstance(self.method, Method):
            if self.method_options:
                raise ValueError(
                    "method_options go with the name of a method; "
                    f"got: {', '.join(self.method_options)}"
                )
            name = preset_name(self.method)
            return PRESETS["asm-ppo" if name is None else name]
        if not self.method_by_name:
            _check_kind("method", self.method, str, "a name")
            return PRESETS["asm-ppo"]
        check_one_of("method", self.method, tuple(PRESETS))
        return PRESETS[self.method]

    def _take_discount(self, preset: Preset) -> None:
        """Let a method that is given by its name have the discount of the environment, if any."""
        _check_kind("method_options", self.method_options, Mapping, "a dictionary")
        known = any(field.name == "discount" for field in dataclasses.fields(preset.method))
        if not (isinstance(self.method, str) and self.method_by_name and known):
            return
        if "discount" in {**preset.options, **self.method_options}:
            return
        discount = own_discount(self.environment)
        if discount is not None:
            options = {**self.method_options, "discount": discount}
            object.__setattr__(self, "method_options", options)

    def _or_default(self, name: str, default: int) -> int:
        if getattr(self, name) is None:
            object.__setattr__(self, name, default)
        return getattr(self, name)

    @property
    def environment_name(self) -> str:
        """The name of the environment, for display."""
        if isinstance(self.environment, str):
            return self.environment
        known = getattr(self.environment, "name", None)
        return self.interface.name if self.interface is not None else str(known)

    @property
    def method_name(self) -> str:
        """The name of the method, for display: a registered name, or that of its class."""
        if isinstance(self.method, str):
            return self.method
        return preset_name(self.method) or type(self.method).__name__

    def with_objects(
        self, environment: object | None = None, method: Method[Any] | None = None
    ) -> "RunConfig":
        """With objects in place of what could not be written to disk."""
        changes: dict[str, Any] = {}
        if environment is not None:
            changes |= {"environment": environment, "environment_options": {}}
        if method is not None:
            changes |= {"method": method, "method_options": {}}
        return dataclasses.replace(self, **changes) if changes else self

    def resolve(self, *, trust: bool = True) -> ResolvedEnvironment:
        """The environment, ready for training.

        Without `trust`, as for names read from files, the module in an id is not imported.
        """
        by_name = self.interface is None or self.interface.by_name
        if isinstance(self.environment, str) and not by_name:
            raise ValueError(
                f"environment must be handed in again: that of this run, {self.environment}, was "
                "given in Python"
            )
        return resolve(
            self.environment,
            self.environment_options,
            name=None if self.interface is None else self.interface.name,
            vectorization=self.vectorization,
            trust=trust,
        )

    def recording(self, resolved: ResolvedEnvironment) -> "RunConfig":
        """With everything that must be on disk to load agents and to resume later."""
        interface = dataclasses.replace(resolved.interface, by_name=self._rebuilds_environment())
        return dataclasses.replace(
            self, interface=interface, method_by_name=self._described_method()[2]
        )

    def make_method(self) -> Method[Any]:
        """The method with its options."""
        if isinstance(self.method, Method):
            return self.method
        if not self.method_by_name:
            raise ValueError(
                f"method must be handed in again: that of this run, {self.method}, was given in "
                "Python and cannot be made from what is on disk"
            )
        return PRESETS[self.method].make(self.method_options, name=self.method)

    def _rebuilds_environment(self) -> bool:
        """Whether name and options are enough to recreate the environment, also from JSON."""
        if isinstance(self.environment, str):
            return self.interface is None or self.interface.by_name
        environment = self.environment
        if not isinstance(environment, Environment) or environment.name not in registered_names():
            return False
        try:
            options = environment.options()
            json.dumps(options, allow_nan=False)
            again = make(environment.name, **options)
        except (ValueError, TypeError, AttributeError):
            return False
        return type(again) is type(environment) and again.options() == options

    def _described_method(self) -> tuple[str, dict[str, Any], bool]:
        """Name and options of the method as JSON can hold them, and whether they are enough."""
        if isinstance(self.method, str) and not self.method_by_name:
            return self.method, dict(self.method_options), False
        method = self.make_method()
        options = {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}
        name = self.method_name
        if not isinstance(self.method, str) and preset_name(method) is None:
            kind = type(method)
            return f"{kind.__module__}.{kind.__qualname__}", _plain(options), False
        try:
            json.dumps(options, allow_nan=False)
        except (TypeError, ValueError):
            return name, _plain(options), False
        return name, options, True

    @functools.cached_property
    def evaluation_steps(self) -> tuple[int, ...]:
        """The numbers of steps after which evaluations are due: 0 first, `steps` last.

        They take place after the update that gets there; one for several, if it gets that far.
        """
        return (*range(0, self.steps, self.evaluate_every), self.steps)

    def evaluation_after(self, steps: int) -> int:
        """When the next evaluation after that at `steps` is due."""
        return min(self.steps, (steps // self.evaluate_every + 1) * self.evaluate_every)

    def finished(self, status: SeedStatus) -> bool:
        """Whether a seed has had its last evaluation."""
        done = status.stopped is not None or status.steps >= self.steps
        return status.evaluations > 0 and done

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON, with the method's options in full."""
        method, options, by_name = self._described_method()
        config = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        config |= {
            "environment": self.environment_name,
            "method": method,
            "method_options": options,
        }
        if not isinstance(self.environment, str):
            rebuilds = self._rebuilds_environment()
            config["environment_options"] = self.environment.options() if rebuilds else {}
        for name in ("stop_at", "patience"):
            if config[name] is None:
                del config[name]
        if by_name:
            del config["method_by_name"]
        else:
            config["method_by_name"] = False
        if self.interface is None:
            del config["interface"], config["vectorization"]
        else:
            config["interface"] = self.interface.to_dict()
        try:
            return json.loads(json.dumps(config, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ValueError(f"options must be plain numbers, words and lists: {error}") from None

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> "RunConfig":
        """The inverse of `to_dict`; unknown keys raise a `ValueError`."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in config:
            check_one_of("keys of the configuration", name, known)
        _check_kind("environment", config.get("environment"), str, "a name")
        _check_kind("method", config.get("method", ""), str, "a name")
        fields = {name: _frozen(value, name) for name, value in config.items()}
        if fields.get("interface") is not None:
            fields["interface"] = Interface.from_dict(fields["interface"])
        return cls(**fields)

    def differences(self, other: "RunConfig") -> list[str]:
        """A line for each key whose value differs in `other`."""
        # A configuration that was not trained yet records no interface.
        unknown = (
            {"interface", "vectorization"} if None in (self.interface, other.interface) else ()
        )
        mine, others = (
            _flat({key: value for key, value in config.to_dict().items() if key not in unknown})
            for config in (self, other)
        )
        return [
            f"{key} is {others.get(key)!r} there and {mine.get(key)!r} here"
            for key in {**mine, **others}
            if mine.get(key) != others.get(key)
        ]


def own_discount(environment: Any) -> float | None:
    """The discount that belongs to an environment, as that of a POMDP file does, or `None`."""
    if isinstance(environment, str) and is_pomdp_file(environment):
        return read_pomdp(environment).discount
    return environment.discount if isinstance(environment, Environment) else None


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the name of what JSON cannot hold in its place."""

    def plain(value: Any) -> Any:
        try:
            return json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError):
            named = value if hasattr(value, "__qualname__") else type(value)
            return f"{named.__module__}.{named.__qualname__}"

    return {name: plain(value) for name, value in options.items()}


def _check_kind(name: str, value: object, kind: type, accepted: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {accepted}, got {shown(value)}")


def _checked_seeds(seeds: Any) -> tuple[int, ...]:
    accepted = "seeds must be different integers from 0 to 2147483647, at least one"
    if not isinstance(seeds, tuple | list | range) or len(seeds) == 0:
        raise ValueError(f"{accepted}, got {shown(seeds)}")
    if len(seeds) > _MOST_SEEDS:
        raise ValueError(f"seeds must be at most {_MOST_SEEDS:,}, got {len(seeds):,}")
    for seed in seeds:
        check_integer("a seed", seed, low=0, high=2**31 - 1)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"{accepted}, got {shown(tuple(seeds))}")
    return tuple(seeds)


def _frozen(value: Any, name: str, depth: int = 0) -> Any:
    """With tuples in the place of lists, so that it can be hashed."""
    if depth > _DEEPEST:
        raise ValueError(f"{name} must be nested at most {_DEEPEST} deep")
    if isinstance(value, list | tuple):
        return tuple(_frozen(item, name, depth + 1) for item in value)
    if isinstance(value, Mapping):
        return {key: _frozen(item, name, depth + 1) for key, item in value.items()}
    return value


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        nested = value.items() if isinstance(value, dict) else ()
        flat |= {f"{key}.{name}": item for name, item in nested} if nested else {key: value}
    return flat
