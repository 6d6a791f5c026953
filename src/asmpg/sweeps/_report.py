"""The report of a sweep: its tables, its figure and one self-contained page."""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from asmpg._support.errors import TrainingError
from asmpg._support.words import clock, counted, percent, rounded
from asmpg.analysis import write_table
from asmpg.analysis.figures import Picture
from asmpg.analysis.report import document, figures_section, sessions_part, table, text
from asmpg.studies import write_text
from asmpg.sweeps._best import study_entry, train_commands
from asmpg.sweeps._figure import draw_sensitivity
from asmpg.sweeps._results import Status, TrialResult, best_trial, collect_trials
from asmpg.sweeps._search import statuses
from asmpg.sweeps._sensitivity import Sensitivity, sensitivities
from asmpg.sweeps._sweep import Sweep
from asmpg.sweeps._sweep_folder import SweepFolder


@dataclasses.dataclass(frozen=True)
class SweepReport:
    """What a sweep has found so far; `best` is `None` while no trial is done to the end."""

    path: Path
    sweep: Sweep
    results: tuple[TrialResult, ...]
    statuses: tuple[Status, ...]
    best: TrialResult | None
    sensitivities: tuple[Sensitivity, ...]

    def ranked(self) -> list[tuple[TrialResult, Status]]:
        """Those that came farthest first, the higher score first among them."""
        pairs = [
            pair
            for pair in zip(self.results, self.statuses, strict=True)
            if pair[0].failure is None and pair[0].scores
        ]
        return sorted(pairs, key=lambda pair: (-pair[0].steps, -pair[0].score))


def write_sweep_report(folder: SweepFolder) -> SweepReport:
    """Write `tables/`, `figures/` and `report.html`, as far as the sweep has come."""
    sweep, results = folder.sweep, collect_trials(folder)
    if not any(each.scores for each in results):
        reason = next((f": {each.failure}" for each in results if each.failure), "")
        raise TrainingError(f"{folder.path} has no trial with a score yet{reason}")
    report = SweepReport(
        folder.path / "report.html",
        sweep,
        tuple(results),
        tuple(statuses(sweep, results)),
        best_trial(sweep, results),
        tuple(sensitivities(sweep, results)),
    )
    write_table(folder.path / "tables" / "trials.csv", _trial_rows(report))
    write_table(folder.path / "tables" / "sensitivity.csv", _sensitivity_rows(report))
    drawn = draw_sensitivity(
        sweep, report.sensitivities, results, report.best, folder.path / "figures"
    )
    write_text(report.path, _page(folder, report, drawn))
    return report


def _trial_rows(report: SweepReport) -> Iterable[dict[str, Any]]:
    for each, status in zip(report.results, report.statuses, strict=True):
        yield {
            "trial": each.trial.number,
            "status": status,
            "steps": each.steps,
            "score": each.score,
            **{f"score_at_{end}": each.scores.get(end) for end in report.sweep.rungs},
            **{
                f"{environment}_{seed}": each.seeds[environment][place] if each.seeds else None
                for environment in report.sweep.study.environments
                for place, seed in enumerate(report.sweep.study.seeds)
            },
            **each.trial.options,
            "failure": each.failure,
        }


def _sensitivity_rows(report: SweepReport) -> Iterable[dict[str, Any]]:
    for each in report.sensitivities:
        for own in each.bins:
            low, middle, high = own.quartiles
            yield {
                "option": each.name,
                "importance": each.importance,
                "steps": report.sweep.ends[0],
                "value": own.centre,
                "lower_quartile": low,
                "median": middle,
                "upper_quartile": high,
            }


def _page(folder: SweepFolder, report: SweepReport, drawn: Picture) -> str:
    title = f"Sweep: {report.sweep.name}"
    parts = (
        _head(folder, report),
        _best(report),
        figures_section([drawn]),
        _importance(report.sensitivities),
        _trials(report),
        f"<section id='configurations'><h2>The sweep file</h2><pre>{text(folder.text)}</pre>"
        "</section>",
        "<section id='provenance'><h2>Versions, machine and time</h2>"
        f"{sessions_part(folder.sessions())}</section>",
        "<section id='reproduce'><h2>Reproduce this</h2>"
        f"<pre>{text(f'asmpg sweep sweep.toml --out=runs/{report.sweep.name}')}</pre></section>",
    )
    return document(title, "".join(parts))


def _head(folder: SweepFolder, report: SweepReport) -> str:
    sweep = report.sweep
    study, count = sweep.study, report.statuses.count
    wall = sum(session["wall_seconds"] for session in folder.sessions())
    seeds = ", ".join(map(str, study.seeds))
    facts = [
        *study.environments,
        sweep.entry.method,
        f"{counted(sweep.trials, 'trial')} by {sweep.how}",
        f"{count('finished')} finished, {count('stopped')} stopped early, {count('failed')} failed",
        counted(study.steps, "step"),
        f"seeds {seeds}",
        f"{clock(wall)} of wall time",
    ]
    missing = sweep.trials - len(report.results) + count("unfinished")
    warning = (
        f'<p class="warning">{missing} of {counted(sweep.trials, "trial")} are missing or '
        "unfinished.</p>"
        if missing
        else ""
    )
    return (
        f"<p>{text(study.description)}</p><p class='facts'>{text(' · '.join(facts))}</p>{warning}"
    )


def _best(report: SweepReport) -> str:
    if report.best is None:
        return "<section id='answer'><h2>Best trial</h2><p>None is done to the end.</p></section>"
    trial = report.best.trial
    words = ", ".join(f"{name} = {value}" for name, value in trial.options.items())
    return (
        f"<section id='answer'><h2>Best trial</h2><p>Trial {trial.number} with score "
        f"{text(rounded(report.best.score))}: {text(words)}. It is the highest of many, so a fresh "
        "run is likely to score less; on other seeds it is measured by</p>"
        f"<pre>{text(chr(10).join(train_commands(report.sweep, trial)))}</pre>"
        f"<p>or as an entry of a study:</p><pre>{text(study_entry(report.sweep, trial))}</pre>"
        "</section>"
    )


def _importance(found: Sequence[Sensitivity]) -> str:
    rows = [
        [
            each.name,
            ("–", None) if each.importance is None else (percent(each.importance), each.importance),
            "; ".join(f"{_shown(own.centre)}: {rounded(own.quartiles[1])}" for own in each.bins),
        ]
        for each in found
    ]
    headings = ["option", "variance explained", "median score by value"]
    return (
        "<section id='importance'><h2>How much each option matters</h2>"
        f"{table(headings, rows, name='sensitivity')}</section>"
    )


def _trials(report: SweepReport) -> str:
    names = list(report.sweep.dimensions)
    rows = []
    for each, status in zip(report.results, report.statuses, strict=True):
        scored = (rounded(each.score), each.score) if each.scores else ("–", None)
        rows.append(
            [
                each.trial.number,
                status if each.failure is None else f"failed: {each.failure}",
                (f"{each.steps:,}", each.steps),
                scored,
                *(_cell(each.trial.options[name]) for name in names),
            ]
        )
    headings = ["trial", "status", "steps", "score", *names]
    objective = {
        "final": "at the last evaluation",
        "best": "at the highest evaluation, which flatters all of them",
        "area": "averaged over all steps",
    }[report.sweep.objective]
    return (
        "<section id='table'><h2>Trials</h2><p>Click a heading to sort. The score is the "
        f"interquartile mean over seeds, {objective} up to the steps shown, exact where that is "
        "known; scores at different steps do not compare.</p>"
        f"{table(headings, rows, name='trials')}</section>"
    )


def _cell(value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (_shown(value), value) if number else str(value)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
