"""`asmpg.check` and its report: a look at an environment before training in it."""

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from asmpg._support.checks import MOST_STATES, check_integer, check_number
from asmpg._support.words import counted
from asmpg.analysis.check._comparison import WITH, WITHOUT, Comparison, compare
from asmpg.analysis.check._play import RandomPlay, play_at_random
from asmpg.environments import Discrete
from asmpg.interop import CompositeReader, Interface, ResolvedEnvironment, resolve
from asmpg.policies import Categorical, Gaussian, head_of
from asmpg.runs import RunConfig

#: Random play takes this share of the time, between these numbers of seconds.
_SHARE, _LEAST, _MOST = 0.05, 0.2, 3.0
#: Components with larger values than this are better scaled.
_WIDE = 5.0
_MOST_SHOWN = 8


@dataclasses.dataclass(frozen=True)
class CheckReport:
    """Whether and how an environment fits, how fast it is, and whether memory helps.

    `problem` says why it does not fit. `str(report)` is what `asmpg check` prints.
    """

    name: str
    problem: str | None = None
    stepped: str = ""
    observations: str = ""
    #: The names of the components of real observations, if they consist of several parts.
    components: tuple[str, ...] = ()
    actions: str = ""
    max_steps: int = 0
    play: RandomPlay | None = None
    warnings: tuple[str, ...] = ()
    comparison: Comparison | None = None

    @property
    def fits(self) -> bool:
        return self.problem is None

    @property
    def observation_scale(self) -> tuple[float, ...] | None:
        """The option of that name to try: the largest values in random play, if they are large."""
        if self.play is None or isinstance(self.play.seen, int):
            return None
        largest = [float(f"{max(map(abs, pair)):.2g}") for pair in self.play.seen]
        return tuple(value or 1.0 for value in largest) if max(largest) > _WIDE else None

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        report = dataclasses.asdict(self)
        if self.comparison is not None:
            found = self.comparison
            report["comparison"] |= {
                "difference": found.difference,
                "interval": found.interval,
                "verdict": found.verdict,
            }
        return report | {"fits": self.fits, "observation_scale": self.observation_scale}

    def __str__(self) -> str:
        if self.problem is not None:
            return f"{self.name} does not fit: {self.problem}"
        lines = [
            f"{self.name} fits: {self.stepped}",
            f"  observations  {self.observations}",
            f"  actions       {self.actions}",
            f"  time limit    {self.max_steps} steps",
            *self._play_lines(),
            *(f"  Gymnasium's checker: {warning}" for warning in self.warnings),
        ]
        if self.comparison is not None:
            lines += self._comparison_lines(self.comparison)
        return "\n".join(lines)

    def _play_lines(self) -> list[str]:
        play = self.play
        if play is None:
            return []
        if isinstance(play.seen, int):
            seen = f"{play.seen} different symbols"
        else:
            shown = [f"[{low:.3g}, {high:.3g}]" for low, high in play.seen[:_MOST_SHOWN]]
            if self.components:
                names = self.components[:_MOST_SHOWN]
                shown = [f"{name} in {pair}" for name, pair in zip(names, shown, strict=True)]
            seen = " × ".join(shown) + (" × …" if len(play.seen) > _MOST_SHOWN else "")
        length = "none ended" if play.mean_length is None else f"{play.mean_length:.1f} steps long"
        lines = [
            f"  random play   {play.steps:,} steps: saw {seen}; rewards {play.rewards[0]:.3g} to "
            f"{play.rewards[1]:.3g}; episodes {length}, {play.terminated} terminated, "
            f"{play.truncated} truncated",
            f"  speed         {play.steps_per_second:,.0f} steps/s of the environment alone",
        ]
        scale = self.observation_scale
        if scale is not None and len(scale) <= _MOST_SHOWN:
            lines.append(f"  try           observation_scale={scale}")
        elif scale is not None:
            shown = ", ".join(map(str, scale[:_MOST_SHOWN]))
            lines.append(
                f"  try           observation_scale=({shown}, …), {len(scale):,} numbers from "
                f"{min(scale):g} to {max(scale):g}: all of them are in the report's "
                "observation_scale, in Python and with --json"
            )
        return lines

    def _comparison_lines(self, found: Comparison) -> list[str]:
        low, high = found.interval
        groups = (
            (f"{WITH}, {found.num_states} agent states", found.with_memory),
            (WITHOUT, found.without_memory),
        )
        return [
            f"Do you need memory? Discounted return after {found.steps:,} steps, "
            f"{counted(len(found.with_memory), 'seed')} each:",
            *(
                f"  {label}: {np.mean(group):.4g} ({', '.join(f'{x:.4g}' for x in group)})"
                for label, group in groups
            ),
            f"  untrained: {found.start:.4g}",
            f"  difference {found.difference:.3g}, 95 % interval [{low:.3g}, {high:.3g}]",
            f"  {found.verdict}",
        ]


def check(
    environment: Any,
    *,
    seconds: float = 60.0,
    num_states: int = 8,
    environment_options: Mapping[str, Any] | None = None,
) -> CheckReport:
    """Check whether and how `environment` fits, how fast it is, and whether memory helps.

    `environment` is anything `learn` accepts. The comparison of `asm-ppo`, with `num_states` agent
    states, and `memoryless-ppo` takes about `seconds`, half for each, not counting compilation; 0
    skips it. An environment that does not fit raises no error; the report says why.

    >>> print(asmpg.check("CartPole-v1", seconds=0))
    """
    check_number("seconds", seconds, low=0)
    check_integer("num_states", num_states, low=1, high=MOST_STATES)
    options = dict(environment_options or {})
    name = environment if isinstance(environment, str) else _label(environment)
    try:
        resolved = resolve(environment, options)
    except ValueError as error:
        return CheckReport(name, problem=str(error))
    name = resolved.interface.name
    play = play_at_random(resolved, seconds=min(_MOST, max(_LEAST, _SHARE * seconds)))
    comparison = None
    if seconds > 0:
        config = RunConfig(environment, environment_options=options)
        comparison = compare(
            resolved,
            config,
            seconds=seconds,
            num_states=num_states,
            mean_length=play.mean_length,
        )
    return CheckReport(
        name,
        stepped="compiled" if resolved.source is None else "stepped on the host by Gymnasium",
        observations=_reading(resolved.interface),
        components=_components(resolved.interface),
        actions=_acting(resolved.interface),
        max_steps=resolved.interface.max_steps,
        play=play,
        warnings=_gymnasium_warnings(resolved),
        comparison=comparison,
    )


def _label(environment: Any) -> str:
    return getattr(environment, "__name__", type(environment).__name__)


def _reading(interface: Interface) -> str:
    space, reader = interface.observation_space, interface.reader
    if isinstance(space, Discrete):
        named = isinstance(reader, CompositeReader)
        words = f", {reader.names[0]} to {reader.names[-1]}" if named else ""
        return f"read as one of {space.n} symbols{words}: policies can be tables"
    return f"read as a vector of {counted(len(space.low), 'real number')}"


def _components(interface: Interface) -> tuple[str, ...]:
    reader = interface.reader
    return reader.names if isinstance(reader, CompositeReader) and not reader.finite else ()


def _acting(interface: Interface) -> str:
    space = interface.action_space
    match head_of(space):
        case Categorical(parts=()) as head:
            told = f"one of {head.n}"
        case Categorical() as head:
            told = f"{space}: each of {head.n} combinations has a probability of its own"
        case Gaussian():
            told = f"a real vector in {space}"
        case _:
            told = f"{space}: parts are independent given the agent state"
    return told + (", with action masks" if interface.masked else "")


def _gymnasium_warnings(resolved: ResolvedEnvironment) -> tuple[str, ...]:
    """What Gymnasium's own checker says about a Gymnasium environment."""
    if resolved.source is None:
        return ()
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    made = resolved.source.make()
    try:
        if not isinstance(made, gymnasium.Env):
            return ()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check_env(made.unwrapped, skip_render_check=True)
        found = [str(warning.message) for warning in caught]
    except (Exception, SystemExit) as error:
        found = [f"{type(error).__name__}: {error}"]
    finally:
        resolved.source.close(made)
    plain = [
        " ".join(text.replace("\x1b[33m", "").replace("\x1b[0m", "").split()) for text in found
    ]
    return tuple(dict.fromkeys(plain))
