"""The tables of how fast things are, from what `benchmarks/speed.py` measured."""

import json
from pathlib import Path
from typing import Any

from json_results import markdown


def _found(results: Path, machine: str, part: str) -> Any:
    return json.loads((results / "speed" / machine / f"{part}.json").read_text())["found"]


def startup(results: Path) -> str:
    """Seconds until training begins, and of whole runs, with programs compiled and found."""
    until_training = [
        sum(wall for phase, (wall, _) in run["phases"].items() if "training" not in phase)
        for run in _found(results, "cpu", "startup")
    ]
    lines = [["from Python start to the first update", *(f"{s:.1f} s" for s in until_training)]]
    seconds: dict[str, list[str]] = {}
    for row in _found(results, "cpu", "command-line"):
        seconds.setdefault(row["run"], []).append(f"{row['wall_seconds']:.2g} s")
    lines += [[f"`asmpg train {run}`, in total", *cells] for run, cells in seconds.items()]
    return markdown(["", "first time", "again, with the compiled programs cached"], lines)


def environments(results: Path) -> str:
    """Million steps per second, with CPU cores and in the largest batch on a GPU."""
    cpu, gpu = (_found(results, on, "environments")["steps_per_second"] for on in ("cpu", "h200"))
    columns = list(next(iter(cpu.values())))
    lines = []
    for name, rates in cpu.items():
        on_gpu = gpu.get(name, {}).get("batch 16384")
        cells = [rates.get(column) for column in columns] + [on_gpu]
        label = name if on_gpu else f"Gymnasium's {name}"
        lines.append([label, *("" if cell is None else _million(cell) for cell in cells)])
    batches = [column.removeprefix("batch ") for column in columns if "batch" in column]
    through_gymnasium = [f"`{column}`" for column in columns if "make" in column]
    headings = [f"batch {batches[0]}", *batches[1:], *through_gymnasium]
    return markdown(["", *headings, f"H200, {batches[-1]}"], lines)


def training(results: Path) -> str:
    """What `python benchmarks/training.py` measured of the paper's algorithm on CPU cores."""
    lines = [
        [
            name,
            f"{row['compile_seconds']:.1f}",
            *(
                f"{row[f'{when}_{what}_per_second']:,.0f}"
                for what in ("steps", "updates")
                for when in ("early", "late")
            ),
            f"{row['late_share_of_matrix_rate']:.0%}",
            f"{row['total_seconds']:.0f}",
        ]
        for name, row in _found(results, "cpu", "asmpg")["training"].items()
    ]
    rates = ["steps/s early", "late", "updates/s early", "late"]
    return markdown(["", "compile, s", *rates, "of the matrix rate", "whole run, s"], lines)


def host(results: Path) -> str:
    """What `python benchmarks/host.py` printed."""
    found = _found(results, "cpu", "host")
    lines = [
        [label, f"{row['steps_per_second']:,}", f"{row['steps_per_cpu_second']:,}"]
        for label, row in found["training"].items()
    ]
    alone = found["environment_alone_steps_per_second"]
    lines.append(["the environment alone", f"{alone:,}", ""])
    return markdown(["", "steps per second", "per second of processor time"], lines)


def many_seeds(results: Path) -> str:
    """1000 seeds on a GPU: where the time of a run goes."""
    lines = []
    for part in ("many-seeds", "many-seeds-longer", "asmpg"):
        found = _found(results, "h200", part)
        (row,) = found["training"].values()
        lines.append(
            [
                f"`{found['provenance']['method']}`",
                f"{found['provenance']['steps']:,}",
                f"{row['total_seconds']:.0f}",
                f"{row['compile_seconds']:.1f}",
                _million(row["late_steps_per_second"]),
                f"{row['idle_seconds']:.1f}",
                f"{row['share_of_the_whole']:.1%}",
            ]
        )
    heading = ["steps a seed", "run, s", "programs, s", "million steps/s at the end"]
    return markdown(["", *heading, "the GPU waits, s", "of the run"], lines)


def from_the_prompt(results: Path) -> str:
    """Seconds of `asmpg train` with 1000 seeds on a GPU."""
    lines = [
        [f"`asmpg train {row['run']}`", row["programs"], f"{row['wall_seconds']:.1f}"]
        for row in _found(results, "h200", "command-line")
    ]
    return markdown(["", "programs are", "seconds"], lines)


def updates(results: Path) -> str:
    """Milliseconds of playing and learning on a GPU, by the way of filtering."""
    rows = _found(results, "h200", "updates")["rows"]
    lines = [
        [
            f"{row['seeds']:,}",
            row["filter"],
            *(f"{row[part]:.0f}" for part in ("play_ms", "learn_ms", "evaluate_ms")),
            f"{row['steps_per_second'] / 1e6:.2g}",
        ]
        for row in sorted(rows, key=lambda row: (-row["seeds"], row["learn_ms"]))
    ]
    heading = ["seeds", "filter", "playing", "learning", "an evaluation", "million steps/s"]
    return markdown(heading, lines)


def _million(rate: float) -> str:
    return f"{rate / 1e6:.0f}" if rate >= 9.95e6 else f"{rate / 1e6:.2g}"
