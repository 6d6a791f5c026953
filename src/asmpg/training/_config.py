"""What is trained: everything that decides the outcome of a run."""

import dataclasses
import functools
import json
from collections.abc import Mapping
from typing import Any, Literal, cast

import equinox as eqx
import jax.numpy as jnp

from asmpg._support.checks import check_integer, check_one_of, shown
from asmpg.environments import Environment
from asmpg.interop import DescribedEnvironment, Interface, Place, find_place, is_on_host
from asmpg.methods import PAPER_SEEDS, PRESETS, Method
from asmpg.training._memory import check_memory
from asmpg.training._program import Program
from asmpg.training._standing import Standing

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

    What is left out is as the environment and the method have it, `steps` and `evaluate_every` too.
    Every `evaluate_every` steps of a seed, or after the next update if that takes longer,
    `evaluation_episodes` fresh episodes are played, by the most probable agent states and actions
    if `greedy`. Where environments are stepped on the host, which is slow, the defaults are ten
    evaluations of 30 episodes after the first one.

    `environment` is one of ours by name, or an id of Gymnasium, stepped on the host with the given
    `vectorization`. A run on disk records the `interface` of its environment, so that its agents
    need nothing else.

    >>> RunConfig("CheeseMaze", method_options={"num_states": 4}, steps=100_000)
    """

    environment: str
    environment_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    method: str = "asm-ppo"
    method_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: tuple[int, ...] = PAPER_SEEDS
    steps: int = _OF_THE_METHOD
    evaluate_every: int = _OF_THE_METHOD
    evaluation_episodes: int = _OF_THE_METHOD
    greedy: bool = False
    vectorization: Literal["sync", "async"] = "sync"
    interface: Interface | None = None

    def __post_init__(self):
        _check_kind("environment", self.environment, str, "a name")
        check_one_of("method", self.method, tuple(PRESETS))
        preset = PRESETS[self.method]
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
        check_one_of("vectorization", self.vectorization, ("sync", "async"))

    def _or_default(self, name: str, default: int) -> int:
        if getattr(self, name) is None:
            object.__setattr__(self, name, default)
        return getattr(self, name)

    def place(self, given: object | None = None, *, trust: bool = True) -> Place:
        """The environment, ready to be trained in: `given`, or what the name stands for.

        Without `trust`, as for names out of files, no module that an id names is imported.
        """
        if given is None and self.interface is not None and not self.interface.by_name:
            raise ValueError(
                f"environment must be handed in again: that of this run, {self.environment}, was "
                "given in Python"
            )
        return find_place(
            self.environment if given is None else given,
            self.environment_options if given is None else {},
            name=self.environment,
            vectorization=self.vectorization,
            trust=trust,
        )

    def recording(self, place: Place, *, given: bool) -> "RunConfig":
        """With the interface of `place`, which was `given` in Python or made by its name."""
        interface = dataclasses.replace(place.interface, by_name=not given)
        return dataclasses.replace(self, interface=interface)

    def make_method(self) -> Method[Any]:
        """The method with its options."""
        preset = PRESETS[self.method]
        accepted = [field.name for field in dataclasses.fields(preset.method)]
        for name in self.method_options:
            check_one_of(f"options of {self.method}", name, accepted)
        return preset.method(**{**preset.options, **self.method_options})

    def described(self) -> Environment[Any]:
        """The environment, or its description where that is recorded: enough for its agents."""
        if self.interface is not None:
            return DescribedEnvironment(self.interface)
        return self.place(trust=False).environment

    def build(self, environment: Environment[Any] | None = None) -> Program:
        """The compiled program of this run; a `ValueError` if its parts do not go together."""
        environment = self.described() if environment is None else environment
        learning = self.make_method()
        program = Program(
            environment,
            learning,
            jnp.asarray(self.steps, jnp.int32),
            evaluation_episodes=self.evaluation_episodes,
            greedy=self.greedy,
            discount=getattr(learning, "discount", 0.99),
        )
        check_memory(program, eqx.filter_eval_shape(program.start, jnp.zeros((), jnp.int32)))
        return program

    @functools.cached_property
    def evaluation_steps(self) -> tuple[int, ...]:
        """The numbers of steps after which evaluations are due: 0 first, `steps` last.

        They take place after the update that gets there; one for several if it gets that far.
        """
        return (*range(0, self.steps, self.evaluate_every), self.steps)

    def evaluation_after(self, steps: int) -> int:
        """When the first evaluation is due after that at `steps`."""
        return min(self.steps, (steps // self.evaluate_every + 1) * self.evaluate_every)

    def finished(self, standing: Standing) -> bool:
        """Whether a seed has had its last evaluation."""
        return standing.evaluations > 0 and standing.steps >= self.steps

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it, the method's options in full."""
        preset = PRESETS[self.method]
        defaults = {field.name: field.default for field in dataclasses.fields(preset.method)}
        options = {**defaults, **preset.options, **self.method_options}
        config = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        config |= {"method_options": options}
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
        """The opposite of `to_dict`; a `ValueError` names keys it does not know."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in config:
            check_one_of("keys of the configuration", name, known)
        if "environment" not in config:
            raise ValueError("the configuration must have an environment")
        fields = {name: _frozen(value, name) for name, value in config.items()}
        if fields.get("interface") is not None:
            fields["interface"] = Interface.from_dict(fields["interface"])
        return cls(**fields)

    def differences(self, other: "RunConfig") -> list[str]:
        """A line for each key whose value is another one in `other`."""
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
