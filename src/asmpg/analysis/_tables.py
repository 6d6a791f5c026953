"""The tables of a study, as CSV files."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from asmpg.analysis._claims import judge
from asmpg.analysis._results import Results
from asmpg.analysis._summary import SHARES, Summary
from asmpg.analysis.statistics import Interval
from asmpg.runs import MEMORY_MEASURES
from asmpg.studies import best_episodes, write_text

Row = dict[str, Any]


def write_tables(results: Results, summary: Summary, folder: Path) -> list[Path]:
    """Write all tables into `folder`: they hold scores and steps, no wall times."""
    tables = {
        "results": _results(results, summary),
        "summary": summary_rows(results, summary),
        "comparisons": _comparisons(summary),
        "overall": _overall(summary),
        "curves": _curves(results),
    }
    if results.study.claims:
        tables["claims"] = claim_rows(results)
    if results.study.published:
        tables["published"] = _published(results)
    paths = []
    for name, rows in tables.items():
        paths.append(folder / f"{name}.csv")
        write_table(paths[-1], rows)
    return paths


def summary_rows(results: Results, summary: Summary) -> list[Row]:
    """A row for each entry in each environment."""
    rows = []
    for environment in results.environments:
        for entry in results.entries(environment):
            cell = summary.cells[environment, entry]
            final, best = cell.final_scores, cell.best_scores
            row: Row = {
                "environment": environment,
                "entry": entry,
                "label": results.study.entry(entry).label,
                "score": results.scores[environment].name,
                "steps": results.curves[environment, entry].targets[-1],
                "seeds": len(final),
                **_spread("final_iqm", cell.final),
                "final_mean": final.mean(),
                "final_median": np.median(final),
                "final_worst": final.min(),
                **_spread("best_iqm", cell.best),
                "best_median": np.median(best),
                "best_worst": best.min(),
                **_spread("area_iqm", cell.area),
                "area_median": np.median(results.curves[environment, entry].area),
                **_spread("normalised_final_iqm", cell.normalised),
            }
            for share in SHARES:
                steps = cell.steps_to[share]
                name = f"steps_to_{share:.0%}".rstrip("%")
                row[f"{name}_median"] = None if steps is None else np.median(steps)
                row[f"{name}_worst"] = None if steps is None else steps.max()
                row[f"{name}_seeds"] = None if steps is None else int(np.isfinite(steps).sum())
            for measure in MEMORY_MEASURES:
                own = results.curves[environment, entry].memory.get(measure)
                ends = None if own is None else np.mean([each.scores[-1] for each in own])
                row[f"final_{measure}"] = ends
            rows.append(row)
    return rows


def _results(results: Results, summary: Summary) -> Iterable[Row]:
    for environment in results.environments:
        for entry in results.entries(environment):
            curves, cell = results.curves[environment, entry], summary.cells[environment, entry]
            for index, seed in enumerate(curves.seeds):
                ends = np.asarray([curves.final[index], curves.best[index]])
                normalised = results.normalised(environment, ends)
                row: Row = {
                    "environment": environment,
                    "entry": entry,
                    "seed": seed,
                    "score": results.scores[environment].name,
                    "steps": int(curves.own[index].steps[-1]),
                    "final": ends[0],
                    "best": ends[1],
                    "best_steps": int(curves.best_steps[index]),
                    "best_episodes": best_episodes(results.study),
                    "area": curves.area[index],
                    "normalised_final": None if normalised is None else normalised[0],
                    "normalised_best": None if normalised is None else normalised[1],
                }
                for share in SHARES:
                    steps = cell.steps_to[share]
                    name = f"steps_to_{share:.0%}".rstrip("%")
                    row[name] = None if steps is None else steps[index]
                yield row


def _comparisons(summary: Summary) -> Iterable[Row]:
    for comparison in summary.comparisons.values():
        yield {
            "environment": comparison.environment or "all",
            "ours": comparison.ours,
            "theirs": comparison.theirs,
            "measure": comparison.measure,
            **_spread("probability_of_improvement", comparison.improvement),
            **_spread("iqm_difference", comparison.difference),
        }


def claim_rows(results: Results) -> Iterable[Row]:
    """A row for each verdict on a claim."""
    for verdict in judge(results):
        yield {
            "claim": verdict.claim.name,
            "label": verdict.claim.label,
            "environment": verdict.environment,
            "measure": verdict.measure,
            "seeds": verdict.seeds,
            "number_of_seeds": verdict.number,
            "ours": verdict.claim.ours,
            "closest": verdict.closest,
            **_spread("ours_iqm", verdict.ours),
            **_spread("iqm_difference_to_closest", verdict.difference),
            "verdict": verdict.verdict,
            "highest_mean": verdict.highest_mean,
            "highest_median": verdict.highest_median,
        }


def _overall(summary: Summary) -> Iterable[Row]:
    for (entry, measure), interval in summary.overall.items():
        yield {"entry": entry, "measure": measure, **_spread("normalised_iqm", interval)}


def _curves(results: Results) -> Iterable[Row]:
    for environment in results.environments:
        for entry in results.entries(environment):
            curves = results.curves[environment, entry]
            count = len(curves.seeds)
            error = curves.scores.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else None
            for index, steps in enumerate(curves.steps):
                scores = curves.scores[:, index]
                yield {
                    "environment": environment,
                    "entry": entry,
                    "steps": round(steps),
                    "mean": scores.mean(),
                    "standard_error": None if error is None else error[index],
                    "median": np.median(scores),
                    "worst": scores.min(),
                    "best": scores.max(),
                }


def _published(results: Results) -> Iterable[Row]:
    for each in results.study.published:
        for environment, value in each.values.items():
            yield {
                "environment": environment,
                "published": each.name,
                "label": each.label,
                "value": value,
                "source": each.source,
            }


def _spread(name: str, interval: Interval | None) -> Row:
    value, low, high = interval or (None, None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def write_table(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write `rows`, which have the same keys, as CSV."""
    text = io.StringIO()
    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(text, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _cell(value) for name, value in row.items()})
    write_text(path, text.getvalue())


def _cell(value: Any) -> Any:
    """Seven digits for numbers, nothing for those that are not known."""
    if isinstance(value, float | np.floating):
        return f"{value:.7g}" if math.isfinite(value) else ("" if math.isnan(value) else "inf")
    return value
