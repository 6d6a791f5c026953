"""`asmpg train`, `asmpg evaluate` and `asmpg plot`: runs for people at a terminal."""

import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from asmpg._support.checks import shown
from asmpg.analysis import plot
from asmpg.analysis.check import check
from asmpg.environments import registered_names
from asmpg.runs import RunConfig, RunFolder, Which, default_seeds
from asmpg.training import TensorBoardLogger, evaluate, score_of, train

#: Options of `asmpg train` that do not change what is learned.
_NOT_LEARNING = {
    "out",
    "resume",
    "tensorboard",
    "quiet",
    "step_timeout",
    "trust",
    "option",
    "environment_option",
}
#: The columns of an evaluation: the names of the sampled value and of the exact one.
_MEASURES = {
    "discounted": ("discounted_return", "exact_discounted"),
    "return": ("undiscounted_return", "exact_undiscounted"),
    "reward per step": ("reward_per_step", "exact_reward_per_step"),
    "length": ("episode_length", "exact_episode_length"),
}
#: Options that go with `--resume`, whatever the run has.
_WITH_RESUME = {"resume", "tensorboard", "quiet", "step_timeout", "trust"}


def start(given: Mapping[str, Any], *, out: Path | None, tensorboard: bool, quiet: bool) -> None:
    """Train from the options given at the command line."""
    if "environment" not in given:
        raise ValueError(f"environment must be given, one of {', '.join(registered_names())}")
    known = {field.name for field in dataclasses.fields(RunConfig)}
    own = {name: value for name, value in given.items() if name in known}
    if "seeds" in own:
        own["seeds"] = read_seeds(own["seeds"])
    options = {n: value for n, value in given.items() if n not in known and n not in _NOT_LEARNING}
    config = RunConfig(
        **own,
        environment_options=read_options("environment-option", given),
        method_options={**options, **read_options("option", given)},
    )
    folder = f"{re.sub('[/:]', '-', config.environment)}-{config.method}"
    _train(
        config,
        out or Path("runs") / folder,
        tensorboard=tensorboard,
        quiet=quiet,
        step_timeout=given.get("step_timeout"),
    )


def resume(run: Path, given: Mapping[str, Any], *, tensorboard: bool, quiet: bool) -> None:
    """Go on with the run in folder `run`."""
    folder = RunFolder(run)
    _check_same(folder, {n: value for n, value in given.items() if n not in _WITH_RESUME})
    if folder.finished():
        print(f"{run} is finished: nothing left to do")
        return
    _train(
        folder.config,
        run,
        resume=True,
        trust=bool(given.get("trust")),
        tensorboard=tensorboard,
        quiet=quiet,
        step_timeout=given.get("step_timeout"),
    )


def _check_same(folder: RunFolder, given: Mapping[str, Any]) -> None:
    """Refuse options that are not those of the run, even if they are the command's defaults."""
    for option, value, known in _compared(folder, given):
        if value != known:
            has = "without it" if known is None else f"with {shown(known)}"
            raise ValueError(
                f"{option} must be left out or as in {folder.path}, a run {has}; got {shown(value)}"
            )


def _compared(folder: RunFolder, given: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Every option given, its value, and what the run has: `None` if it has no such option."""
    config = folder.config
    learning = config.to_dict()["method_options"]
    own = {field.name for field in dataclasses.fields(config)}
    for name, value in given.items():
        option = name.replace("_", "-")
        if name == "out":
            yield "--out", str(value.resolve()), str(folder.path.resolve())
        elif name == "seeds":
            yield "--seeds", read_seeds(value), config.seeds
        elif name in ("option", "environment_option"):
            known = learning if name == "option" else _environment_options(config)
            for key, item in read_options(option, given).items():
                yield f"--{option} {key}", item, known.get(key)
        else:
            word = "ENVIRONMENT" if name == "environment" else f"--{option}"
            yield word, value, getattr(config, name) if name in own else learning.get(name)


def _environment_options(config: RunConfig) -> dict[str, Any]:
    """Those of the run, with the defaults that the environment has where it is one of ours."""
    known = config.interface
    ours = known is None or (known.by_name and not known.on_host)
    environment = config.resolve(trust=False).environment if ours else None
    defaults = {} if environment is None else environment.options()
    return json.loads(json.dumps({**defaults, **config.environment_options}))


def _train(
    config: RunConfig,
    out: Path,
    *,
    resume: bool = False,
    trust: bool = False,
    tensorboard: bool,
    quiet: bool,
    step_timeout: float | None,
) -> None:
    callbacks = [TensorBoardLogger(out / "tensorboard")] if tensorboard else []
    try:
        result = train(
            config,
            out,
            resume=resume,
            callbacks=callbacks,
            progress=not quiet,
            trust=trust,
            step_timeout=step_timeout,
        )
    except KeyboardInterrupt:
        begun = (out / "config.json").exists()
        further = f"; go on with: asmpg train --resume {out}" if begun else ""
        raise KeyboardInterrupt(f"stopped{further}") from None
    score = score_of(result.program.environment)
    last = {row["seed"]: row[score.name] for row in result.rows}
    values = np.asarray(list(last.values()))
    found = f"{values.mean():.4g}"
    if len(values) > 1:
        error = values.std(ddof=1) / math.sqrt(len(values))
        found += f" ± {error:.2g} (mean and standard error of {len(values)} seeds)"
    print(f"At the last evaluation: {score.label} {found}")
    print(f"The run is in {out}; draw it with: asmpg plot {out}")


def show_evaluation(
    run: Path,
    *,
    episodes: int,
    greedy: bool,
    seed: int | None,
    which: Which,
    trust: bool,
    as_json: bool,
) -> None:
    """Measure the policies of a run, and print the numbers."""
    entries = evaluate(run, episodes=episodes, greedy=greedy, seed=seed, which=which, trust=trust)
    if as_json:
        print(json.dumps(entries, indent=2))
        return
    table = Table(
        title=f"{run}: {episodes:,} episodes with the {which} policy of each seed",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("seed", *_MEASURES):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in entries:
        sampled = [
            f"{entry[name]:.3g} ± {entry[f'{name}_standard_error']:.2g}"
            for name, _ in _MEASURES.values()
        ]
        table.add_row(str(entry["seed"]), *sampled)
        exact = [entry.get(name) for _, name in _MEASURES.values()]
        if None not in exact:
            table.add_row("exact", *(f"{value:.3g}" for value in exact), style="dim")
    Console().print(table)
    print("± standard error; all digits with --json")


def show_check(
    environment: str, *, seconds: float, num_states: int, as_json: bool, options: Mapping[str, Any]
) -> None:
    """Look at an environment, and print what was found."""
    with Console(stderr=True).status(f"Checking {environment}"):
        report = check(
            environment, seconds=seconds, num_states=num_states, environment_options=options
        )
    if not report.fits:
        raise ValueError(str(report))
    print(json.dumps(report.to_dict(), indent=2) if as_json else report)


def plot_and_show(run: Path, *, out: Path | None, trust: bool) -> None:
    """Draw the learning curve, and say where."""
    with Console(stderr=True).status("Computing the yardsticks and drawing"):
        paths = plot(run, out, trust=trust)
    for path in paths:
        print(f"Drew {path}")


def read_seeds(text: str) -> tuple[int, ...]:
    """`10` is a number of seeds, `1952,5235` (or `1952,`) are the seeds themselves."""
    accepted = "seeds must be a number of seeds, or the seeds separated by commas"
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{accepted}, got {text!r}") from None
    if "," in text:
        return tuple(numbers)
    if not numbers:
        raise ValueError(f"{accepted}, got {text!r}")
    return default_seeds(numbers[0])


def read_options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """`["start=zeros", "head_width=20"]` as a dictionary; values are JSON, or else words."""
    options = {}
    for text in given.get(name.replace("-", "_"), ()):
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"--{name} must be NAME=VALUE, got {text!r}")
        try:
            options[key] = json.loads(value)
        except json.JSONDecodeError:
            options[key] = value
        except (RecursionError, ValueError):
            # ValueError: an integer of more digits than Python will read.
            raise ValueError(f"--{name} {key} is nested too deeply, or too long a number") from None
    return options
