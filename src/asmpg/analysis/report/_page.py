"""The report as an HTML page."""

import json
import shlex
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from asmpg._support.files import naming, read_json
from asmpg._support.words import clock, counted, percent, rounded, short_number
from asmpg.analysis._results import Results
from asmpg.analysis._summary import SHARES, Cell, Summary
from asmpg.analysis._yardstick_lines import LINES
from asmpg.analysis.figures import Picture
from asmpg.analysis.report._answer import Answer, answer
from asmpg.analysis.report._claims import claims_section
from asmpg.analysis.report._html import definitions, picture, table, text
from asmpg.analysis.report._machines import machine_section, median_machines
from asmpg.exact import YARDSTICK_LABELS
from asmpg.studies import Published, Study, StudyFolder, best_episodes


def page(
    folder: StudyFolder, results: Results, summary: Summary, pictures: Sequence[Picture]
) -> str:
    """The whole report as one HTML page: no other file, no network."""
    title = f"Study: {results.study.name}"
    body = "".join(
        (
            _head(folder, results),
            _answer(results, answer(results, summary)),
            claims_section(results),
            figures_section(pictures),
            machine_section(median_machines(folder, results)),
            _table(results, summary),
            _configurations(folder),
            _provenance(folder, results),
            _reproduce(folder),
        )
    )
    return document(title, body)


def document(title: str, body: str) -> str:
    """A page that needs no other file, in the style of all reports."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_asset('report.css')}</style></head>"
        f"<body><main><h1>{text(title)}</h1>{body}</main>"
        f"<script>{_asset('report.js')}</script></body></html>\n"
    )


def reproduce_command(folder: StudyFolder) -> str:
    """The command that runs the study again."""
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
        *_fewer_steps(study),
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


def _fewer_steps(study: Study) -> list[str]:
    """The environments in which there are fewer steps, by how many there are."""
    fewer = [steps for steps in study.environment_steps.values() if steps < study.steps]
    return [
        f"{counted(steps, 'step')} in {counted(fewer.count(steps), 'environment')}"
        for steps in sorted(set(fewer))
    ]


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
        "bootstrap intervals in brackets. “Higher” and “lower” mean that the interval of the "
        "difference excludes zero.</p>"
    )
    return f"<section id='answer'>{''.join(parts)}</section>"


def figures_section(pictures: Sequence[Picture]) -> str:
    """The pictures with their captions."""
    shown = "".join(
        f"<figure id='{text(each.name)}'><h3>{text(each.title)}</h3>"
        f"{picture(each.paths[-1], each.narrow, each.title)}"
        f"<figcaption>{text(each.caption)}</figcaption></figure>"
        for each in pictures
    )
    return f"<section id='figures'><h2>Figures</h2>{shown}</section>"


def _table(results: Results, summary: Summary) -> str:
    headings = ["environment", "method", "score", "steps", "seeds", "last: IQM", "median", "worst"]
    headings += [
        "best: IQM",
        "area: IQM",
        "normalised",
        *(f"steps to {percent(share)}" for share in SHARES),
    ]
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
                    (cell.final.text, cell.final.value),
                    _rounded(np.median(cell.final_scores)),
                    _rounded(cell.final_scores.min()),
                    (cell.best.text, cell.best.value),
                    (cell.area.text, cell.area.value),
                    _rounded(normalised.value) if normalised else ("–", None),
                    *(_steps(cell, share) for share in SHARES),
                ]
            )
    return (
        "<section id='table'><h2>Table</h2><p>Click a heading to sort. IQM is the interquartile "
        "mean with its 95 % interval: at the last evaluation (last), of the best checkpoint of "
        f"each seed on {best_episodes(results.study):,} fresh episodes (best), and of the area "
        "under the learning curve divided by its steps, which is the mean score during training "
        "(area). “Steps to” is the median over seeds of the steps until this share of the way from "
        "random to the history optimum is reached and kept, with the number of seeds that reach "
        "it.</p>"
        f"{table(headings, rows, name='summary')}{_yardsticks(results)}{_published(results)}"
        "</section>"
    )


def _yardsticks(results: Results) -> str:
    known = {kind for lines in results.yardsticks.values() for kind in lines}
    kinds = [kind for kind in (*LINES, "full_state") if kind in known]
    rows = []
    for environment, lines in results.yardsticks.items():
        cells = [
            (lines[kind].text, lines[kind].value) if kind in lines else ("–", None)
            for kind in kinds
        ]
        rows.append([environment, results.scores[environment].label, *cells])
    headings = ["environment", "score", *(YARDSTICK_LABELS[kind] for kind in kinds)]
    return (
        "<h3>Yardsticks</h3><p>The values of several kinds of policies: ≈ approximate, ≥ the best "
        f"one found, ≤ an upper bound.</p>{table(headings, rows, name='yardsticks')}"
    )


def _published(results: Results) -> str:
    """A column for each published result, and where they come from."""
    published = results.study.published
    if not published:
        return ""
    rows = [
        [environment, *(_published_cell(each, environment) for each in published)]
        for environment in results.study.environments
        if any(environment in each.values for each in published)
    ]
    headings = ["environment", *(each.label for each in published)]
    sources = {each.label: each.source for each in published if each.source}
    return (
        "<h3>Published values</h3><p>Measured by others, in other ways; not by this study.</p>"
        f"{table(headings, rows, name='published')}{definitions(sources) if sources else ''}"
    )


def _published_cell(published: Published, environment: str) -> tuple[str, float | None]:
    value = published.values.get(environment)
    return ("–", None) if value is None else _rounded(value)


def _rounded(value: Any) -> tuple[str, float]:
    return rounded(float(value)), float(value)


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
        f"{''.join(parts)}<details><summary>The study file</summary>"
        f"<pre>{text(file)}</pre></details></section>"
    )


def _provenance(folder: StudyFolder, results: Results) -> str:
    """Versions, machines and times of all sessions, and the time each run took."""
    sessions = folder.sessions()
    parts = [sessions_part(sessions)]
    parts.append(f"<h3>Runs</h3>{_runs(folder, results, sessions)}")
    return f"<section id='provenance'><h2>Versions, machine and time</h2>{''.join(parts)}</section>"


def sessions_part(sessions: Sequence[dict[str, Any]]) -> str:
    """When, where and with which versions jobs ran."""
    return f"<h3>Sessions</h3>{''.join(map(_session, sessions))}" if sessions else ""


def _session(session: dict[str, Any]) -> str:
    machine = session["machine"]
    troubles = [
        f"{name}: {trouble}" for name, job in session["jobs"].items() for trouble in job["troubles"]
    ]
    memory = f", {machine['memory_gib']} GiB" if machine["memory_gib"] else ""
    cores = counted(machine["cores"], "core")
    facts = {
        "started": session["began"],
        "wall time": clock(session["wall_seconds"]),
        "machine": f"{machine['processor']}, {cores}{memory}, {machine['system']}",
        "jobs at a time": session["jobs_at_a_time"],
        "versions": ", ".join(
            f"{name} {session['made_with'][name]}" for name in ("asmpg", "jax", "python")
        ),
        "commit": session["made_with"]["commit"] or "–",
        "retries and failures": "; ".join(troubles) or "none",
    }
    return definitions(facts)


def _runs(folder: StudyFolder, results: Results, sessions: list[dict[str, Any]]) -> str:
    rows = []
    for job in folder.study.jobs():
        if job.name in results.missing:
            continue
        path = folder.run_path(job) / "config.json"
        with naming(path):
            made = read_json(path)["made_with"]
            device, version = made["device"], made["jax"]
        records = [session["jobs"][job.name] for session in sessions if job.name in session["jobs"]]
        seconds = sum(record["seconds"] for record in records)
        attempts = sum(record["attempts"] for record in records)
        rows.append([job.name, (clock(seconds), seconds), attempts, device, f"jax {version}"])
    headings = ["run", "time", "attempts", "device", "made with"]
    count = text(f"{counted(len(rows), 'run')}: time on one core or device, compilation included")
    return f"<details><summary>{count}</summary>{table(headings, rows, name='runs')}</details>"


def _reproduce(folder: StudyFolder) -> str:
    return (
        "<section id='reproduce'><h2>Reproduce this</h2>"
        f"<pre>{text(reproduce_command(folder))}</pre></section>"
    )
