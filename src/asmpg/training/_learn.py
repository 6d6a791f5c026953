"""`learn`: from a method and an environment to an agent, in one call."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from asmpg.environments import Environment, make, registered_names
from asmpg.interop import Place, find_place
from asmpg.methods import PRESETS, Method
from asmpg.methods.ais import AIS
from asmpg.training._agent import Agent
from asmpg.training._callback import Callback
from asmpg.training._config import RunConfig, default_seeds
from asmpg.training._loop import train


def learn(
    method: Method[Any],
    environment: Any,
    *,
    steps: int | None = None,
    seeds: int | Sequence[int] = 1,
    out: str | Path | None = None,
    resume: bool = False,
    callbacks: Iterable[Callback] = (),
    progress: bool = True,
    evaluate_every: int | None = None,
    evaluation_episodes: int | None = None,
    greedy: bool = False,
    vectorization: Literal["sync", "async"] = "sync",
    step_timeout: float | None = None,
    environment_options: Mapping[str, Any] | None = None,
) -> Agent:
    """Train `method` on `environment`, and return the agent with the policy of its best evaluation.

    The best is the latest that is not clearly worse than an earlier one, by the return that is
    optimised; `agent.result.agent(which="last")` is that of the end.

    Args:
        method: What learns, say `asmpg.ASMPPO(num_states=8)`; `method.learn(...)` is the same.
        environment: One of ours by name, or an `Environment`, or an object in the style of gymnax:
            compiled. An id of Gymnasium, an environment of Gymnasium (which is copied), or a
            function that makes one or makes a vector environment: stepped on the host.
        steps: Environment steps of each seed; by default the method's: 150,000 for PPO.
        seeds: How many seeds, or which. With several the agent is that of the one that scores best.
        out: Folder of the run; without one, everything stays in memory.
        resume: Go on with the run in `out`.
        callbacks: Who listens: see `asmpg.Callback`.
        progress: Show progress on standard error.
        evaluate_every: Steps between evaluations: the method's, or on the host a tenth of `steps`.
        evaluation_episodes: Episodes in each evaluation: 100, or on the host 30.
        greedy: Evaluate with the most probable agent states and actions.
        vectorization: Step environments of Gymnasium in this process, or each in its own.
        step_timeout: Seconds that one step of all environments of Gymnasium, resets included, may
            take before the run ends with a `TrainingError`; no limit by default. It changes nothing
            that is learned, and is not recorded.
        environment_options: Options that go with a name or an id.

    Returns:
        The agent. The whole run is its `result`, with the metrics of all evaluations and the agents
        of the other seeds.
    """
    options = dict(environment_options or {})
    place = find_place(environment, options, vectorization=vectorization)
    place = place.with_step_timeout(step_timeout)
    name, options, given = _called(environment, options, place)
    numbers = {
        "steps": steps,
        "evaluate_every": evaluate_every,
        "evaluation_episodes": evaluation_episodes,
    }
    given_numbers: dict[str, Any] = {key: n for key, n in numbers.items() if n is not None}
    config = RunConfig(
        name,
        environment_options=options,
        method=preset_name(method),
        method_options=_options(method),
        seeds=default_seeds(seeds) if isinstance(seeds, int) else tuple(seeds),
        greedy=greedy,
        vectorization=vectorization,
        interface=place.interface if place.source is not None else None,
        **given_numbers,
    )
    result = train(
        config,
        out,
        resume=resume,
        callbacks=callbacks,
        progress=progress,
        environment=given,
        step_timeout=step_timeout,
    )
    return result.agent()


def preset_name(method: Method[Any]) -> str:
    """The name under which `asmpg train` knows the class of `method`."""
    if isinstance(method, AIS):
        return f"ais-{method.variant}"
    for name, preset in PRESETS.items():
        if preset.method is type(method):
            return name
    known = ", ".join(sorted({preset.method.__name__ for preset in PRESETS.values()}))
    raise ValueError(f"method must be one of {known}, got {type(method).__name__}")


def _options(method: Method[Any]) -> dict[str, Any]:
    return {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}


def _called(
    environment: Any, options: dict[str, Any], place: Place
) -> tuple[str, dict[str, Any], Any]:
    """The name of the environment, its options, and what must be handed in beside them."""
    if isinstance(environment, str):
        return (environment if place.source else place.environment.name), options, None
    if place.source is not None:
        return place.source.name, {}, environment
    found = place.environment
    if found.name in registered_names() and _rebuilds(found):
        return found.name, found.options(), None
    return found.name, {}, found


def _rebuilds(environment: Environment[Any]) -> bool:
    """Whether name and options are enough to make `environment` again, from JSON as well."""
    try:
        options = environment.options()
        json.dumps(options, allow_nan=False)
        again = make(environment.name, **options)
    except (ValueError, TypeError, AttributeError):
        return False
    return type(again) is type(environment) and again.options() == options
