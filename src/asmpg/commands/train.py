"""`asmpg train`: start or resume a run, and print its result."""

import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from asmpg._support.checks import shown
from asmpg._support.words import counted
from asmpg.commands._options import read_options, read_seeds
from asmpg.environments import registered_names
from asmpg.runs import RunConfig, RunFolder
from asmpg.training import Callback, TensorBoardLogger, WandbLogger, score_of
from asmpg.training import train as train

#: Options that may be given with `--resume`, whatever the run has.
_WITH_RESUME = {
    "resume",
    "device",
    "checkpoint_every",
    "tensorboard",
    "wandb",
    "quiet",
    "verbose",
    "step_timeout",
    "trust",
}
#: Options that do not change what is learned, or are read separately.
_NOT_LEARNING = _WITH_RESUME | {"out", "option", "environment_option"}


def show(**options: Any) -> None:
    """Train, and print the last score; `options` that are `None`, false or empty are not set."""
    given = {n: value for n, value in options.items() if _is_given(value)}
    if "resume" in given:
        folder = RunFolder(given["resume"])
        config, out = folder.config, folder.path
        asked = {n: value for n, value in given.items() if n not in _WITH_RESUME}
        changed = {name: asked.pop(name) for name in ("stop_at", "patience") if name in asked}
        if asked.get("steps", 0) > config.steps:
            changed["steps"] = asked.pop("steps")
        config = dataclasses.replace(config, **changed)
        _check_same(folder, asked)
        if config == folder.config and folder.finished():
            print(f"{folder.path} is finished: nothing left to do without more --steps")
            return
    else:
        config = _config(given)
        name = f"{re.sub('[/:]', '-', config.environment)}-{config.method}"
        out = given.get("out") or Path("runs") / name
    _train(config, out, given)


def _is_given(value: Any) -> bool:
    # 0 is given, although it equals False.
    return value is not None and value is not False and value != ()


def _config(given: Mapping[str, Any]) -> RunConfig:
    if "environment" not in given:
        raise ValueError(f"environment must be given, one of {', '.join(registered_names())}")
    known = {field.name for field in dataclasses.fields(RunConfig)}
    own = {name: value for name, value in given.items() if name in known}
    if "seeds" in own:
        own["seeds"] = read_seeds(own["seeds"])
    options = {n: value for n, value in given.items() if n not in known and n not in _NOT_LEARNING}
    return RunConfig(
        **own,
        environment_options=_read(given, "environment_option"),
        method_options={**options, **_read(given, "option")},
    )


def _read(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    return read_options(name.replace("_", "-"), given.get(name, ()))


def _check_same(folder: RunFolder, given: Mapping[str, Any]) -> None:
    """Refuse options that are not those of the run, even if they are the command's defaults."""
    for option, value, known in _compared(folder, given):
        if value != known:
            has = "without it" if known is None else f"with {shown(known)}"
            if option == "--steps":
                raise ValueError(
                    f"--steps must be at least {known:,}, those of {folder.path}; got {value:,}"
                )
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
            for key, item in _read(given, name).items():
                yield f"--{option} {key}", item, known.get(key)
        else:
            word = "ENVIRONMENT" if name == "environment" else f"--{option}"
            yield word, value, getattr(config, name) if name in own else learning.get(name)


def _environment_options(config: RunConfig) -> dict[str, Any]:
    """The run's, with the environment's defaults if it is one of ours."""
    known = config.interface
    ours = known is None or (known.by_name and not known.on_host)
    environment = config.resolve(trust=False).environment if ours else None
    defaults = {} if environment is None else environment.options()
    return json.loads(json.dumps({**defaults, **config.environment_options}))


def _train(config: RunConfig, out: Path, given: Mapping[str, Any]) -> None:
    callbacks: list[Callback] = []
    if given.get("tensorboard"):
        callbacks.append(TensorBoardLogger(out / "tensorboard"))
    if "wandb" in given:
        callbacks.append(WandbLogger(given["wandb"], folder=out))
    try:
        result = train(
            config,
            out,
            resume="resume" in given,
            callbacks=callbacks,
            verbose=0 if given.get("quiet") else given.get("verbose", 1),
            device=given.get("device"),
            checkpoint_every=given.get("checkpoint_every"),
            trust=bool(given.get("trust")),
            step_timeout=given.get("step_timeout"),
        )
    except KeyboardInterrupt:
        begun = (out / "config.json").exists()
        further = f"; resume with: asmpg train --resume {out}" if begun else ""
        raise KeyboardInterrupt(f"stopped{further}") from None
    score = score_of(result.program.environment)
    last = {row["seed"]: row[score.name] for row in result.rows}
    values = np.asarray(list(last.values()))
    found = f"{values.mean():.4g}"
    if len(values) > 1:
        error = values.std(ddof=1) / math.sqrt(len(values))
        found += f" ± {error:.2g} (mean and standard error of {len(values)} seeds)"
    print(f"At the last evaluation: {score.label} {found}")
    for line in _early_stops(config, out):
        print(line)
    print(f"The run is in {out}; plot it with: asmpg plot {out}")


def _early_stops(config: RunConfig, out: Path) -> Iterator[str]:
    """How many seeds stopped before their last step, by the rule that stopped them."""
    if config.stop_at is None and config.patience is None:
        return
    folder = RunFolder(out)
    statuses = {seed: folder.status(seed) for seed in config.seeds}
    told = {
        "stop_at": f"stopped at a score of {config.stop_at}",
        "patience": f"stopped after {config.patience} evaluations without a new best score",
    }
    for rule, what in told.items():
        seeds = [seed for seed, status in statuses.items() if status.stopped == rule]
        if seeds:
            yield f"{len(seeds)} of {counted(len(statuses), 'seed')} {what}"
