"""Tables of README and docs from what studies left: steps to a target, the paper, its readings."""

import functools
import json
import math
import statistics
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from asmpg.analysis.statistics import interquartile_mean_interval
from json_results import grouped, markdown, median, read_csv, read_rows

PAPER = ("asmpg", "ais-kl", "ais-mmd")
FIXED = ("ais-kl-fixed", "ais-mmd-fixed")
AFTER = ("asmpg-marginal", "asm-ppo", "gru-ppo", "memoryless-ppo")


def thousands(steps: str) -> str:
    return "never" if math.isinf(float(steps)) else f"{int(float(steps) / 1000 + 0.5)}k"


def steps_to(share: str, results: Path) -> str:
    """Median and worst of the steps to `share` percent, by environment and method."""
    summary = read_csv(results / "efficiency" / "tables" / "summary.csv")
    labels = list(dict.fromkeys(row["label"] for row in summary))
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    for row in summary:
        median, worst = (thousands(row[f"steps_to_{share}_{of}"]) for of in ("median", "worst"))
        reached, seeds = row[f"steps_to_{share}_seeds"], row["seeds"]
        cell = median if median == worst == "never" else f"{median} / {worst}"
        some = 0 < int(reached) < int(seeds)
        cells[row["environment"]][row["label"]] = f"{cell} ({reached})" if some else cell
    rows = [[name, *(found[label] for label in labels)] for name, found in cells.items()]
    return markdown(["", *labels], rows)


def paper_claims(results: Path) -> str:
    """By environment, measure and method, the highest of the paper's three in bold.

    Interquartile means of the last evaluations with their intervals, and medians of the best
    checkpoints, as the paper has them.
    """
    entries = (*PAPER, *FIXED)
    lines, labels = [], []
    for environment, rows in _paper(results).items():
        own = [rows[entry] for entry in entries]
        labels = [row["label"] for row in own]
        for label, measure in (("last", "final_iqm"), ("best", "best_median")):
            highest = max(float(row[measure]) for row in own[: len(PAPER)])
            cells = []
            for place, row in enumerate(own):
                value = float(row[measure])
                cell = f"{value:.3g}"
                if place < len(PAPER) and value == highest:
                    cell = f"**{cell}**"
                cells.append(cell + _interval(row, "final_iqm") if label == "last" else cell)
            lines.append([environment, label, *cells])
    return markdown(["", "", *labels], lines)


def paper_methods(results: Path) -> str:
    """Interquartile means of the last evaluations; over all environments, of normalised ones."""
    entries = ("asmpg", *AFTER)
    lines, labels = [], []
    for environment, rows in _paper(results).items():
        own = [rows[entry] for entry in entries]
        labels = [f"{row['label']}, {int(row['steps']) // 1000}k steps" for row in own]
        cells = [f"{float(row['final_iqm']):.3g}{_interval(row, 'final_iqm')}" for row in own]
        lines.append([environment, *cells])
    overall = {
        row["entry"]: row
        for row in read_csv(results / "paper" / "tables" / "overall.csv")
        if row["measure"] == "final"
    }
    own = [overall[entry] for entry in entries]
    cells = [f"{float(row['normalised_iqm']):.3f}{_interval(row, 'normalised_iqm')}" for row in own]
    lines.append(["all, 0 random to 1 optimum", *cells])
    return markdown(["", *labels], lines)


def costs(results: Path) -> str:
    """What 100,000 runs of the paper's study would take, from the seconds of its jobs."""
    runs = {row["entry"]: row for rows in _paper(results).values() for row in rows.values()}
    seconds: dict[str, dict[str, float]] = defaultdict(dict)
    for path in sorted((results / "paper" / "sessions").glob("*.json")):
        for name, job in json.loads(path.read_text())["jobs"].items():
            if job["status"] == "finished":
                environment, entry = name.split("/")[:2]
                seconds[entry][environment] = job["seconds"] / int(runs[entry]["seeds"])
    lines = []
    for entry, found in sorted(seconds.items(), key=lambda item: sum(item[1].values())):
        each = statistics.fmean(found.values())
        hours = each * 100_000 / 3600
        cells = [f"{each:.1f}", f"{hours:.0f}", f"{hours / 1000:.2f}", f"${hours * 0.04:.0f}"]
        lines.append([runs[entry]["label"], f"{int(runs[entry]['steps']):,}", *cells])
    heading = [
        "",
        "steps of a run",
        "core-seconds a run",
        "core-hours for 100,000",
        "hours on 1000 cores",
        "at $0.04 a core-hour",
    ]
    return markdown(heading, lines)


def _paper(results: Path) -> dict[str, dict[str, dict[str, str]]]:
    """The rows of its summary, by environment and entry."""
    found: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for row in read_csv(results / "paper" / "tables" / "summary.csv"):
        found[row["environment"]][row["entry"]] = row
    return found


def _interval(row: dict[str, str], measure: str) -> str:
    low, high = (float(row[f"{measure}_{end}"]) for end in ("low", "high"))
    return f" [{low:.3g}, {high:.3g}]"


def readings(results: Path) -> str:
    """By environment and reading, the last evaluations with their intervals, and the verdicts.

    Scores are of the seeds that all three have. A verdict on the seeds that choices are made by
    comes first, then that on the others.
    """
    ends: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in read_csv(results / "readings" / "tables" / "results.csv"):
        ends[row["environment"], row["entry"]][row["seed"]] = float(row["final"])
    with (results / "readings" / "study.toml").open("rb") as file:
        claims = tomllib.load(file)["claims"]
    verdicts: dict[tuple[str, str], dict[tuple[str, str], str]] = defaultdict(dict)
    for row in read_csv(results / "readings" / "tables" / "claims.csv"):
        place = (row["environment"], row["claim"])
        verdicts[place][row["measure"], row["seeds"]] = row["verdict"]
    lines = []
    for (environment, claim), found in sorted(verdicts.items(), key=lambda item: item[0][0]):
        own = [
            ends[environment, name] for name in (claims[claim]["ours"], *claims[claim]["theirs"])
        ]
        shared = sorted(set.intersection(*map(set, own)))
        cells = [_interquartile(tuple(seeds[seed] for seed in shared)) for seeds in own]
        said = [
            ", ".join(
                found[measure, seeds]
                for seeds in ("selection", "confirmation")
                if (measure, seeds) in found
            )
            for measure in ("final", "best", "area")
        ]
        lines.append([environment, claims[claim]["label"], *cells, *said])
    heading = ["", "reading", "ASMPG", "AIS-KL", "AIS-MMD", "last", "best", "area"]
    return markdown(heading, lines)


@functools.cache
def _interquartile(scores: tuple[float, ...]) -> str:
    """The mean of the middle half with its 95 % interval, as the report has it."""
    found = interquartile_mean_interval([np.asarray(scores)])
    return f"{found.value:.3g} [{found.low:.3g}, {found.high:.3g}]"


def activations(results: Path) -> str:
    """Interquartile means of the last evaluations with either activation, by reading."""
    scores = _scores(results)
    entries = ("asmpg-best", "asmpg-best-relu", "asmpg", "asmpg-relu")
    lines = []
    for environment in dict.fromkeys(environment for environment, _ in scores):
        own = [scores[environment, entry] for entry in entries]
        cells = [f"{float(row['final_iqm']):.3g}{_interval(row, 'final_iqm')}" for row in own]
        lines.append([environment, *cells])
    heading = ["", "default, tanh", "default, ReLU", "as printed, tanh", "as printed, ReLU"]
    return markdown(heading, lines)


def _scores(results: Path) -> dict[tuple[str, str], dict[str, str]]:
    """The summary of the readings, by environment and entry."""
    summary = read_csv(results / "readings" / "tables" / "summary.csv")
    return {(row["environment"], row["entry"]): row for row in summary}


def gradient_noise(found: dict[str, Any]) -> str:
    """What benchmarks/step_reduction.py measured."""
    reductions = ("episode-sum", "episode-mean")
    lines = []
    for row in found["rows"]:
        noises = [row[reduction] for reduction in reductions]
        known = all(noise is not None and noise < found["batches"] / 4 for noise in noises)
        lines.append(
            [
                row["environment"],
                row["initial_weights"],
                f"{row['steps']:,}",
                *("all noise" if noise is None else f"{noise:.3g}" for noise in noises),
                f"{min(row['cosine'], 1):.2f}" if known and row["cosine"] is not None else "",
                "" if row["told"] is None else f"{row['told']:.2g}",
            ]
        )
    heading = ["", "initial weights", "steps learned", "noise, sum", "mean", "cosine", "told, nats"]
    return markdown(heading, lines)


def constants_table(folder: Path, environment: str) -> str:
    """What benchmarks/constants.py left: medians of the last evaluations, by draw."""
    own = [row for row in read_rows(folder) if row["environment"] == environment]
    lines, heading = [], []
    for (draw,), rows in grouped(own, "draw").items():
        methods = {name: same for (name,), same in grouped(rows, "method").items()}
        scores = [
            median([row["undiscounted_return"] for row in methods.get(name, [])]) for name in PAPER
        ]
        drawn: dict[str, Any] = rows[0]["constants"]
        lines.append([str(draw), *map(_constant, drawn.values()), *scores])
        heading = ["draw", *drawn, "ASMPG", "AIS-KL", "AIS-MMD"]
    return markdown(heading, lines)


def _constant(value: float | list[float]) -> str:
    """Of doses, those of the mild and the aggressive one."""
    return " / ".join(f"{part:g}" for part in (value[1:] if isinstance(value, list) else [value]))


def readings_held(results: Path) -> str:
    """In how many of the five environments each reading's claim holds, by measure and seeds."""
    held: dict[str, dict[tuple[str, str], list[bool]]] = defaultdict(lambda: defaultdict(list))
    for row in read_csv(results / "readings" / "tables" / "claims.csv"):
        held[row["label"]][row["measure"], row["seeds"]].append(row["verdict"] == "holds")
    lines = [
        [label]
        + [
            ", ".join(
                f"{sum(found[measure, seeds])} of {len(found[measure, seeds])}"
                for seeds in ("selection", "confirmation")
                if found[measure, seeds]
            )
            for measure in ("final", "best", "area")
        ]
        for label, found in held.items()
    ]
    heading = ["reading", "last evaluation", "best checkpoint", "area under the curve"]
    return markdown(heading, lines)
