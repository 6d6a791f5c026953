"""`learn`: from a method and an environment to an agent, in one call."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jax

from asmpg._support.compile_cache import use_compile_cache
from asmpg._support.devices import on_device
from asmpg.agents import Agent
from asmpg.interop import Interface
from asmpg.methods import ASMPPO, Method, with_array_numbers
from asmpg.runs import RunConfig, default_seeds, own_discount
from asmpg.training._callbacks import Callback
from asmpg.training._continue import check_start, starting_from
from asmpg.training._loop import train_together, with_progress
from asmpg.training._program import build_program


def learn(
    method: Any,
    environment: Any = None,
    *,
    steps: int | None = None,
    start: Agent | None = None,
    seeds: int | Sequence[int] = 1,
    out: str | Path | None = None,
    resume: bool = False,
    callbacks: Iterable[Callback] = (),
    verbose: int = 1,
    device: Any = None,
    checkpoint_every: int | None = None,
    evaluate_every: int | None = None,
    evaluation_episodes: int | None = None,
    greedy: bool = False,
    stop_at: float | None = None,
    patience: int | None = None,
    vectorization: Literal["sync", "async"] = "sync",
    step_timeout: float | None = None,
    environment_options: Mapping[str, Any] | None = None,
) -> Any:
    """Train `method` on `environment`, and return the agent with the policy of its best evaluation.

    The best evaluation is the latest that is not clearly worse than an earlier one, by the return
    being optimised; `agent.result.agent(which="last")` has the final policy.

    Args:
        method: The method to train, e.g. `asmpg.ASMPPO(num_states=8)`; `method.learn(...)` is the
            same. A list of methods that differ only in numbers is one compiled program, and they
            are trained side by side. If omitted, as in `asmpg.learn("CheeseMaze")`, it is that of
            `start`, or `asmpg.ASMPPO()`, with the discount of a POMDP file.
        environment: The name of a built-in environment, an `Environment`, or a gymnax-style object,
            all of which are compiled; or a Gymnasium id, a Gymnasium environment (which is copied),
            a function that makes one or makes a vector environment, or a `VecEnv`, which are
            stepped on the host.
        steps: Environment steps per seed; by default the method's (150,000 for PPO).
        start: An agent to continue training from, of the same kind, in the same environment or
            another one with the same spaces. Its policy, critic and optimisers are carried over, as
            far as it has them: an agent from a file has only its policy. Steps count from 0, and
            schedules start over.
        seeds: Number of seeds, or the seeds themselves. With several, the agent is that of the best
            one.
        out: Folder of the run; without one, everything stays in memory. With several methods, their
            runs are in its subfolders `0`, `1` and so on.
        resume: Resume the run in `out`.
        callbacks: Callbacks, which may stop training by returning `False`; see `asmpg.Callback`.
        verbose: 0 shows nothing, 1 shows progress on standard error, 2 also prints every evaluation
            with all metrics.
        device: Device to run compiled code on: `"cpu"`, `"gpu"`, `"cuda:1"`, or one of
            `jax.devices()`; by default JAX's.
        checkpoint_every: Keep a checkpoint in `out` every this many steps, for `asmpg.load(out,
            step=...)`; the best and the last one are always kept.
        evaluate_every: Steps between evaluations; by default the method's, or a tenth of `steps` on
            the host.
        evaluation_episodes: Episodes per evaluation; by default 100, or 30 on the host.
        greedy: Evaluate with the most probable agent states and actions.
        stop_at: Stop a seed once one of its evaluations reaches this score (the one that progress
            shows: what the environment declares, else the undiscounted return). With several seeds,
            training ends when all have stopped.
        patience: Stop a seed after this many evaluations in a row without a new best score.
        vectorization: Step Gymnasium environments in this process (`"sync"`), or each in its own
            (`"async"`).
        step_timeout: Maximum seconds for one step of all Gymnasium environments, resets included,
            before the run ends with a `TrainingError`; no limit by default. It does not affect what
            is learned, and is not recorded.
        environment_options: Options of an environment given by name or id.

    Returns:
        The agent, or one per method. Its `result` is the whole run, with the metrics of all
        evaluations and the agents of the other seeds.
    """
    if start is not None:
        check_start(start)
    if environment is None:
        known = None if start is None else start.config
        environment = method
        method = _default_method(environment) if known is None else known.make_method()
    methods = _listed(method)
    use_compile_cache()
    numbers = {
        "steps": steps,
        "evaluate_every": evaluate_every,
        "evaluation_episodes": evaluation_episodes,
    }
    given: dict[str, Any] = {name: number for name, number in numbers.items() if number is not None}
    configs = [
        RunConfig(
            environment,
            environment_options=dict(environment_options or {}),
            method=each,
            seeds=default_seeds(seeds) if isinstance(seeds, int) else tuple(seeds),
            greedy=greedy,
            stop_at=stop_at,
            patience=patience,
            vectorization=vectorization,
            **given,
        )
        for each in methods
    ]
    alone = isinstance(method, Method)
    outs = [out if out is None or alone else Path(out) / str(n) for n in range(len(methods))]
    with on_device(device):
        resolved = configs[0].resolve().with_step_timeout(step_timeout)
        _check_alike(methods, resolved.interface)
        starts = {}
        if start is not None:
            starts = starting_from(start, build_program(configs[0], resolved), configs[0].seeds)
        results = train_together(
            configs,
            resolved,
            outs,
            resume=resume,
            callbacks=with_progress(callbacks, verbose),
            starts=starts,
            checkpoint_every=checkpoint_every,
        )
        agents = [result.agent() for result in results]
    return agents[0] if alone else agents


def _default_method(environment: Any) -> ASMPPO:
    discount = own_discount(environment)
    return ASMPPO() if discount is None else ASMPPO(discount=discount)


def _listed(method: Any) -> list[Method[Any]]:
    methods = [method] if isinstance(method, Method) else list(method)
    if not methods or not all(isinstance(each, Method) for each in methods):
        raise ValueError(f"method must be a method, or a list of methods, got {methods!r}")
    return methods


def _check_alike(methods: Sequence[Method[Any]], interface: Interface) -> None:
    """Refuse methods that are not one compiled program."""
    structures = [
        jax.tree.structure(with_array_numbers(each.settled(interface))) for each in methods
    ]
    for place, each in enumerate(structures):
        if each != structures[0]:
            raise ValueError(
                "methods that are trained together must differ in numbers only: sizes, kinds and "
                f"switches of the method at {place} are not those of the first; train it on its own"
            )
