"""The options of a trial to go on with: as a command line, and as an entry of a study."""

import json
import shlex
from typing import Any

from asmpg.sweeps._sweep import Sweep, Trial


def train_commands(sweep: Sweep, trial: Trial) -> list[str]:
    """What trains with the options of `trial`, in each environment, on the paper's seeds."""
    options = [f"--option={name}={_json(own)}" for name, own in sweep.options(trial).items()]
    return [
        shlex.join(
            [
                *("asmpg", "train", environment),
                f"--method={sweep.entry.method}",
                f"--steps={sweep.study.steps}",
                *options,
                *(
                    f"--environment-option={name}={_json(own)}"
                    for name, own in sweep.study.environment_options.get(environment, {}).items()
                ),
            ]
        )
        for environment in sweep.study.environments
    ]


def study_entry(sweep: Sweep, trial: Trial) -> str:
    """An entry with the options of `trial`, for the file of a study."""
    options = ", ".join(f"{name} = {_toml(own)}" for name, own in sweep.options(trial).items())
    lines = [
        f"[entries.{sweep.entry.method}-tuned]",
        f"method = {_toml(sweep.entry.method)}",
        f"options = {{ {options} }}",
    ]
    return "\n".join(lines)


def _json(value: Any) -> str:
    """As `--option NAME=VALUE` reads it; text without quotes, where it cannot be taken for more."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value)


def _toml(value: Any) -> str:
    """Numbers, words, booleans and lists are written as in JSON."""
    return json.dumps(value, ensure_ascii=False)
