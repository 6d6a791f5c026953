"""The page."""

import json
import shlex
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from asmpg._support.words import clock, counted
from asmpg.analysis._results import Results
from asmpg.analysis._summary import SHARES, Cell, Summary
from asmpg.analysis._words import interval_text, number, percent
from asmpg.analysis._yardstick_lines import LINES
from asmpg.analysis.figures import Picture, short_number
from asmpg.analysis.report._answer import Answer, answer
from asmpg.analysis.report._html import definitions, picture, table, text
from asmpg.analysis.report._provenance import provenance
from asmpg.exact import YARDSTICK_LABELS
from asmpg.studies import StudyFolder, best_episodes


def page(
    folder: StudyFolder, results: Results, summary: Summary, pictures: Sequence[Picture]
) -> str:
    """The whole report as one HTML page: no other file, no network."""
    title = f"Study: {results.study.name}"
    body = "".join(
        (
            _head(folder, results),
            _answer(results, answer(results, summary)),
            _figures(pictures),
            _table(results, summary),
            _configurations(folder),
            provenance(folder, results),
            _reproduce(folder),
        )
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_asset('report.css')}</style></head>"
        f"<body><main><h1>{text(title)}</h1>{body}</main>"
        f"<script>{_asset('report.js')}</script></body></html>\n"
    )


def reproduce_command(folder: StudyFolder) -> str:
    """What to type to run the study again."""
    options = [f"--{name}={value}" for name, value in folder.changes.items()]
    words = ["asmpg", "study", folder.source, *options, f"--out=runs/{folder.study.name}"]
    return shlex.join(words)


def _asset(name: str) -> str:
    return resources.files("asmpg.analysis.report").joinpath(name).read_text(encoding="utf-8")


def _head(folder: StudyFolder, results: Results) -> str:
    study = results.study
    jobs, missing = len(study.jobs()), len(results.missing)
    wall = sum(session["wall_seconds"] for session in folder.sessions())
    facts = [
        counted(len(study.environments), "environment"),
        counted(len(study.entries), "method"),
        counted(len(study.seeds), "seed"),
        counted(study.steps, "step"),
        *(
            f"{counted(entry.steps, 'step')} for {entry.label}"
            for entry in study.entries
            if entry.steps is not None and entry.steps != study.steps
        ),
        f"{clock(wall)} of wall time",
    ]
    warning = (
        f'<p class="warning">{missing} of {jobs} runs are missing or unfinished, and left out: '
        f"{text(', '.join(results.missing))}</p>"
        if missing
        else ""
    )
    return (
        f"<p>{text(study.description)}</p><p class='facts'>{text(' · '.join(facts))}</p>{warning}"
    )


def _answer(results: Results, found: Answer) -> str:
    environments = "".join(
        f"<li><b>{text(name)}</b>: {text(sentence)}.</li>"
        for name, sentence in found.environments.items()
    )
    parts = [f"<h2>Who wins where</h2><ul class='answer'>{environments}</ul>"]
    if found.overall:
        ranked = "".join(f"<li>{text(line)}</li>" for line in found.overall)
        parts.append(
            "<h3>All environments together</h3><p>Interquartile mean of the normalised scores, "
            f"0 for the random policy and 1 for the history optimum:</p><ol>{ranked}</ol>"
        )
    if found.against:
        label = results.study.entries[0].label
        lines = "".join(
            f"<li>than <b>{text(other)}</b>: {text(sentence)}.</li>"
            for other, sentence in found.against.items()
        )
        parts.append(f"<h3>Where {text(label)} ends higher or lower</h3><ul>{lines}</ul>")
    parts.append(
        "<p class='note'>By the interquartile mean over seeds at the last evaluation, with 95 % "
        "bootstrap intervals in brackets. “Higher” and “lower” are said only where the interval "
        "of the difference leaves out zero.</p>"
    )
    return f"<section id='answer'>{''.join(parts)}</section>"


def _figures(pictures: Sequence[Picture]) -> str:
    shown = "".join(
        f"<figure id='{text(each.name)}'><h3>{text(each.title)}</h3>"
        f"{picture(each.paths[-1], each.narrow, each.title)}"
        f"<figcaption>{text(each.caption)}</figcaption></figure>"
        for each in pictures
    )
    return f"<section id='figures'><h2>Figures</h2>{shown}</section>"


def _table(results: Results, summary: Summary) -> str:
    headings = ["environment", "method", "score", "steps", "seeds", "last: IQM", "median", "worst"]
    headings += ["best: IQM", "normalised", *(f"steps to {percent(share)}" for share in SHARES)]
    rows = []
    for environment in results.environments:
        for entry in results.entries(environment):
            cell = summary.cells[environment, entry]
            steps = results.curves[environment, entry].targets[-1]
            normalised = cell.normalised
            rows.append(
                [
                    environment,
                    results.study.entry(entry).label,
                    results.scores[environment].label,
                    (f"{steps:,}", steps),
                    len(cell.final_scores),
                    (interval_text(cell.final), cell.final.value),
                    _rounded(np.median(cell.final_scores)),
                    _rounded(cell.final_scores.min()),
                    (interval_text(cell.best), cell.best.value),
                    _rounded(normalised.value) if normalised else ("–", None),
                    *(_steps(cell, share) for share in SHARES),
                ]
            )
    return (
        "<section id='table'><h2>Table</h2><p>Click a heading to sort. IQM is the interquartile "
        "mean with its 95 % interval, at the last evaluation and of the best checkpoint of each "
        f"seed on {best_episodes(results.study):,} fresh episodes; steps are the median over seeds "
        "until the share of the way from random to the history optimum is reached and kept, with "
        "the number of seeds that get there.</p>"
        f"{table(headings, rows, name='summary')}{_yardsticks(results)}</section>"
    )


def _yardsticks(results: Results) -> str:
    kinds = (*LINES, "full_state")
    rows = []
    for environment, lines in results.yardsticks.items():
        cells = [
            (lines[kind].text, lines[kind].value) if kind in lines else ("–", None)
            for kind in kinds
        ]
        rows.append([environment, results.scores[environment].label, *cells])
    headings = ["environment", "score", *(YARDSTICK_LABELS[kind] for kind in kinds)]
    return (
        "<h3>Yardsticks</h3><p>What policies of several kinds are worth: ≈ is nearly so, ≥ the "
        f"best that was found.</p>{table(headings, rows, name='yardsticks')}"
    )


def _rounded(value: Any) -> tuple[str, float]:
    return number(float(value)), float(value)


def _steps(cell: Cell, share: float) -> tuple[str, float | None]:
    steps = cell.steps_to[share]
    if steps is None:
        return "–", None
    reached, median = int(np.isfinite(steps).sum()), float(np.median(steps))
    shown = short_number(median) if np.isfinite(median) else "–"
    return f"{shown} ({reached} of {counted(len(steps), 'seed')})", median


def _configurations(folder: StudyFolder) -> str:
    study = folder.study
    parts = []
    for entry in study.entries:
        full = study.config(study.environments[0], entry, study.seeds).to_dict()
        shown = {"method": entry.method, **full["method_options"]}
        shown |= {
            name: full[name]
            for name in ("steps", "evaluate_every", "evaluation_episodes", "greedy")
        }
        values = {
            name: "by environment" if value is None else json.dumps(value)
            for name, value in shown.items()
        }
        parts.append(
            f"<details><summary>{text(entry.label)}</summary>{definitions(values)}</details>"
        )
    seeds = ", ".join(map(str, study.seeds))
    file = (folder.path / "study.toml").read_text(encoding="utf-8")
    return (
        f"<section id='configurations'><h2>Configurations</h2><p>Seeds: {text(seeds)}.</p>"
        f"{''.join(parts)}<details><summary>The file of the study</summary>"
        f"<pre>{text(file)}</pre></details></section>"
    )


def _reproduce(folder: StudyFolder) -> str:
    return (
        "<section id='reproduce'><h2>Reproduce this</h2>"
        f"<pre>{text(reproduce_command(folder))}</pre></section>"
    )
