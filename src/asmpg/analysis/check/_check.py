"""Looking at an environment before training in it."""

import warnings
from collections.abc import Mapping
from typing import Any

from asmpg._support.checks import MOST_STATES, check_integer, check_number
from asmpg.analysis.check._comparison import compare
from asmpg.analysis.check._play import play_at_random
from asmpg.analysis.check._report import CheckReport
from asmpg.environments import Discrete
from asmpg.interop import ResolvedEnvironment, resolve
from asmpg.runs import RunConfig

#: Random play takes this share of the time, between these numbers of seconds.
_SHARE, _LEAST, _MOST = 0.05, 0.2, 3.0


def check(
    environment: Any,
    *,
    seconds: float = 60.0,
    num_states: int = 8,
    environment_options: Mapping[str, Any] | None = None,
) -> CheckReport:
    """Tell whether and how `environment` fits, what it costs, and whether memory helps.

    `environment` is whatever `learn` takes. The comparison of `asm-ppo`, with `num_states` agent
    states, and `memoryless-ppo` takes about `seconds`, half of them each and compilation not
    counted; with 0 it is left out. An environment that does not fit is no error: the report says
    why.

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
        observations=_reading(resolved),
        actions=resolved.interface.num_actions,
        max_steps=resolved.interface.max_steps,
        play=play,
        warnings=_gymnasium_warnings(resolved),
        comparison=comparison,
    )


def _label(environment: Any) -> str:
    return getattr(environment, "__name__", type(environment).__name__)


def _reading(resolved: ResolvedEnvironment) -> str:
    space = resolved.interface.observation_space
    if isinstance(space, Discrete):
        return f"read as one of {space.n} symbols: policies can be tables"
    size = len(space.low)
    return f"read as a vector of {size} real number{'s' if size > 1 else ''}"


def _gymnasium_warnings(resolved: ResolvedEnvironment) -> tuple[str, ...]:
    """What Gymnasium's own checker has to say of an environment of its."""
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
