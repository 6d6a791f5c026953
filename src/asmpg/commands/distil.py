"""`asmpg distil`: a finite memory that imitates the agent of a run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import rich.box
from rich.console import Console
from rich.table import Table

from asmpg._support.checks import check_integer
from asmpg.agents import Agent, load
from asmpg.commands._options import read_options, read_seeds
from asmpg.distillation import DISTIL_REPORT
from asmpg.distillation import distil as distil
from asmpg.exact import BeliefPolicy, Solver
from asmpg.runs import Which

#: The solver of each teacher that knows the model.
_SOLVERS: dict[str, Solver] = {"belief": "point-based", "qmdp": "qmdp"}


def show(run: Path, *, num_states: int, out: Path | None, as_json: bool, **asked: Any) -> None:
    """Distil the agent of a seed, or a belief policy, and print the scores."""
    check_integer("num_states", num_states, low=1)
    folder = out or default_folder(run, f"{num_states}-states", asked["teacher"])
    teacher, options = read_lesson(run, **asked)
    distil(teacher, num_states=num_states, out=folder, **options)
    report = json.loads((folder / DISTIL_REPORT).read_text())
    if as_json:
        print(json.dumps(report, indent=2))
        return
    students = [{"num_states": num_states, **entry} for entry in report["students"]]
    Console().print(score_table({**report, "students": students}))
    print(f"The run is in {folder}; inspect its memory with: asmpg show {folder}")


def default_folder(run: Path, ending: str, teacher: str) -> Path:
    """Beside the teacher's run, or in `runs` for an environment."""
    if teacher == "agent":
        return run.with_name(f"{run.name}-{ending}")
    return Path("runs") / f"{run.stem}-{teacher}-{ending}"


def read_lesson(
    run: Path,
    *,
    teacher: str,
    seed: int | None,
    which: Which,
    seeds: str,
    option: Sequence[str],
    quiet: bool,
    **others: Any,
) -> tuple[Agent | BeliefPolicy, dict[str, Any]]:
    """The teacher, and the arguments that `distil` and `compress` share."""
    read = {"seeds": read_seeds(seeds), "method_options": read_options("option", option)}
    options = {**others, **read, "verbose": int(not quiet)}
    if teacher == "agent":
        return load(run, seed=seed, which=which), options
    if seed is not None:
        raise ValueError(f"seed goes with the agent of a run, not with --teacher {teacher}")
    environment = str(run)
    solved = BeliefPolicy(environment, solver=_SOLVERS[teacher])
    return solved, {**options, "environment": environment}


def score_table(report: Mapping[str, Any]) -> Table:
    """The teacher and the students: sizes, scores, and how close they came."""
    tuned = any("finetuned" in entry for entry in report["students"])
    label = str(report["score"]).replace("_", " ")
    table = Table(
        title=f"{report['environment']}: {label}",
        caption="KL: from the teacher's distributions, in nats per step; "
        "agreement: of the most probable actions",
        box=rich.box.SIMPLE,
    )
    scores = ["distilled", *(["fine-tuned"] if tuned else [])]
    for heading in ("", "agent states", *scores, "KL", "agreement"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for cells in _rows(report, tuned=tuned):
        table.add_row(*cells)
    return table


def _rows(report: Mapping[str, Any], *, tuned: bool) -> Iterator[list[str]]:
    teacher = report["teacher"]
    own = teacher["num_states"]
    blank = [""] if tuned else []
    yield ["teacher", "–" if own is None else str(own), _score(teacher), *blank, "", ""]
    for entry in report["students"]:
        last = entry["rounds"][-1]
        yield [
            f"seed {entry['seed']}",
            str(entry["num_states"]),
            _score(entry["distilled"]),
            *([_score(entry["finetuned"])] if tuned else []),
            "–" if last["kl"] is None else f"{last['kl']:.4f}",
            "–" if last["agreement"] is None else f"{100 * last['agreement']:.1f} %",
        ]


def _score(found: Mapping[str, Any]) -> str:
    """The exact score where it is known."""
    if found["exact"] is not None:
        return f"{found['exact']:.4g}"
    return f"{found['value']:.4g} ± {found['standard_error']:.2g}"
