"""`asmpg solve`: bounds on the optimal value of a finite model, and controllers of each size."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rich.box
from rich.console import Console
from rich.table import Table

from asmpg._support.checks import check_integer, check_number
from asmpg._support.files import naming, read_json, write_atomically
from asmpg.agents.machine import Machine, Setting
from asmpg.analysis.figures import draw_controller_values
from asmpg.commands._options import read_options
from asmpg.environments import AbstractFiniteEnvironment
from asmpg.environments.pomdp_files import PomdpEnvironment
from asmpg.exact import (
    SolvedController,
    ValueBounds,
    policy_graphs,
    solve_controller,
    value_bounds,
)
from asmpg.interop import resolve

SIZES = (1, 2, 4, 8, 16)
_DISCOUNT = 0.99
#: The share of the time that goes to the bounds; the controllers start from them.
_FOR_BOUNDS = 0.4
_FILE = "solve.json"
#: What is read of a file that was begun.
_BOUNDS = ("lower", "upper", "full_state", "fast_informed", "seconds")
_CONTROLLER = ("num_states", "value", "seconds")


def solve(
    environment: Any,
    *,
    num_states: Sequence[int] = SIZES,
    seconds: float = 60.0,
    discount: float | None = None,
    out: str | Path | None = None,
    environment_options: Mapping[str, Any] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Bound the optimal value of a finite model, and search for the best controller of each size.

    `environment` is a POMDP file, or anything else that `learn` accepts, if its model is finite.
    The horizon is infinite; `discount` defaults to the file's, or 0.99. Two fifths of `seconds` go
    to the bounds. With `out`, everything is written to that folder, and sizes already in it are not
    solved again; each size has its tables and its machine for Graphviz (and, if nothing is observed
    before the first action, as an `.fsc` file).

    >>> asmpg.solve("4x3_nonterminating.pomdp", num_states=(2, 4))["bounds"]["upper"]
    """
    sizes = _checked_sizes(num_states)
    check_number("seconds", seconds, low=0)
    made = resolve(environment, dict(environment_options or {})).environment
    if not isinstance(made, AbstractFiniteEnvironment):
        raise ValueError(f"environment must have a finite model to be solved, got {environment!r}")
    if discount is None:
        discount = _DISCOUNT if made.discount is None else made.discount
    problem = _problem(made, discount)
    folder = None if out is None else Path(out)
    report = _begun(folder, problem) or problem
    done = {entry["num_states"]: entry for entry in report.get("controllers", [])}
    missing = [size for size in sizes if size not in done]
    if missing:
        _solve_missing(made, discount, seconds, missing, report, folder, progress)
    if folder is not None:
        draw_controller_values(report, folder / "values.png")
    return {**report, "controllers": [e for e in report["controllers"] if e["num_states"] in sizes]}


def _solve_missing(
    environment: AbstractFiniteEnvironment,
    discount: float,
    seconds: float,
    missing: Sequence[int],
    report: dict[str, Any],
    folder: Path | None,
    progress: Callable[[str], object],
) -> None:
    """Add what is missing to `report`, and write it after every size."""
    started = time.monotonic()
    bounds = value_bounds(
        environment.model,
        discount=discount,
        seconds=_FOR_BOUNDS * seconds,
        progress=lambda low, high: progress(f"optimal value between {low:.5g} and {high:.5g}"),
    )
    report["bounds"] = _tighter(bounds, report.get("bounds"))
    controllers: list[dict[str, Any]] = report.setdefault("controllers", [])
    progress("cutting the machine of the lower bound down to size")
    left = seconds - (time.monotonic() - started)
    graphs = policy_graphs(
        environment.model, discount=discount, bounds=bounds, sizes=missing, seconds=left / 2
    )
    best: SolvedController | None = None
    for position, size in enumerate(missing):
        progress(f"searching for a controller with {size} agent states")
        left = max(0.0, seconds - (time.monotonic() - started)) / (len(missing) - position)
        begun = time.monotonic()
        found = solve_controller(
            environment.model,
            num_states=size,
            discount=discount,
            graph=graphs[size],
            seconds=left,
        )
        if best is not None and best.value > found.value:
            # Fewer states are enough: a larger controller need not use all of them.
            found = best
        best = found
        entry = {
            "num_states": size,
            "value": found.value,
            "began": found.began,
            "seconds": round(time.monotonic() - begun, 2),
        }
        controllers.append(entry)
        controllers.sort(key=lambda each: each["num_states"])
        report["bounds"]["lower"] = max(report["bounds"]["lower"], found.value)
        if folder is not None:
            _write(folder, size, report, found, environment)


def _tighter(bounds: ValueBounds, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """The new bounds, or those of before where they were tighter."""
    found = {name: getattr(bounds, name) for name in (*_BOUNDS, "trials")}
    found["seconds"] = round(bounds.seconds, 2)
    if before is not None:
        found["lower"] = max(found["lower"], before["lower"])
        found["upper"] = min(found["upper"], before["upper"])
    return found


def _problem(environment: AbstractFiniteEnvironment, discount: float) -> dict[str, Any]:
    """What is solved, so that a folder of something else is not mistaken for it."""
    model, digest = environment.model, hashlib.sha256()
    for name in ("successor", "probability", "reward", "observation", "start", "terminal"):
        digest.update(np.ascontiguousarray(getattr(model, name)).tobytes())
    digest.update(np.ascontiguousarray(model.start_observation).tobytes())
    return {
        "name": environment.name,
        "states": model.num_states,
        "actions": model.num_actions,
        "observations": model.num_observations,
        "discount": discount,
        "model": digest.hexdigest(),
    }


def _begun(folder: Path | None, problem: Mapping[str, Any]) -> dict[str, Any] | None:
    """The report of an earlier call, if it was for the same problem."""
    if folder is None or not (folder / _FILE).exists():
        return None
    report = read_json(folder / _FILE)
    with naming(folder / _FILE):
        for name, value in problem.items():
            if report[name] != value:
                raise ValueError(
                    f"it is of another problem, whose {name} is {report[name]!r} and not {value!r}"
                )
        for name in _BOUNDS:
            check_number(name, report["bounds"][name])
        for entry in report["controllers"]:
            for name in _CONTROLLER:
                check_number(name, entry[name])
    return report


def _write(
    folder: Path,
    size: int,
    report: Mapping[str, Any],
    found: SolvedController,
    environment: AbstractFiniteEnvironment,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tables = found.tables
    machine = Machine.of_policy(tables, Setting(environment, report["discount"]))
    machine = machine.harden().drop_unused()
    machine.export(folder / f"machine-{size}.dot")
    if isinstance(environment, PomdpEnvironment) and not environment.first_observation:
        machine.export(folder / f"machine-{size}.fsc")
    write_atomically(
        folder / f"controller-{size}.npz",
        lambda file: np.savez(file, log_nu=tables.log_nu, log_phi=tables.log_phi),
    )
    text = json.dumps(report, indent=2) + "\n"
    write_atomically(folder / _FILE, lambda file: file.write(text.encode()))


def _checked_sizes(num_states: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(num_states)
    if not sizes:
        raise ValueError("num_states must be a list of sizes, at least one, got none")
    for size in sizes:
        check_integer("num_states", size, low=1, high=1_000)
    return tuple(sorted(set(sizes)))


def read_sizes(text: str) -> tuple[int, ...]:
    """`1,2,4` as numbers."""
    try:
        return _checked_sizes([int(part) for part in text.split(",") if part.strip()])
    except ValueError:
        raise ValueError(
            f"num-states must be integers in [1, 1000] separated by commas, got {text!r}"
        ) from None


def show(
    environment: str,
    *,
    num_states: str,
    seconds: float,
    discount: float | None,
    as_json: bool,
    out: Path | None,
    environment_option: Sequence[str],
) -> None:
    """Solve, and print bounds and controllers."""
    sizes = read_sizes(num_states)
    options = read_options("environment-option", environment_option)
    console = Console(stderr=True)
    with console.status(f"Solving {environment}") as status:
        report = solve(
            environment,
            num_states=sizes,
            seconds=seconds,
            discount=discount,
            out=out,
            environment_options=options,
            progress=lambda line: status.update(f"{environment}: {line}"),
        )
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        Console().print(_table(report))
    if out is not None:
        console.print(f"Wrote {out / _FILE}, {out / 'values.png'} and a machine per size")


def _table(report: Mapping[str, Any]) -> Table:
    bounds = report["bounds"]
    table = Table(
        title=f"{report['name']}: {report['states']} states, {report['actions']} actions, "
        f"{report['observations']} observations, discount {report['discount']:g}",
        caption=f"No policy is worth more than {bounds['upper']:.6g}; "
        f"the best one found is worth {bounds['lower']:.6g}",
        box=rich.box.SIMPLE,
    )
    for heading in ("agent states", "value", "below the upper bound", "began as", "seconds"):
        table.add_column(heading, justify="left" if heading == "began as" else "right")
    for entry in report["controllers"]:
        table.add_row(
            str(entry["num_states"]),
            f"{entry['value']:.6g}",
            f"{bounds['upper'] - entry['value']:.4g}",
            str(entry.get("began", "")),
            f"{entry['seconds']:.1f}",
        )
    return table
