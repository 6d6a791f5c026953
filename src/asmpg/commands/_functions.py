"""Every command of the command line as a function of the same name.

Those whose names are not taken are at the top as well: `asmpg.train`, `asmpg.evaluate`,
`asmpg.plot`, `asmpg.check`, `asmpg.report` and `asmpg.verify`; `asmpg.study` and `asmpg.envs` are
packages.
"""

from pathlib import Path
from typing import Any, Literal

from asmpg import theory
from asmpg.analysis import plot as plot
from asmpg.analysis.check import check as check
from asmpg.commands._envs import entries
from asmpg.commands._studies import report as report
from asmpg.commands._studies import run
from asmpg.training import evaluate as evaluate
from asmpg.training import train as train


def study(
    name: str,
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
    seeds: str | None = None,
    steps: int | None = None,
    device: Literal["auto", "cpu", "gpu"] = "auto",
    patience: float = 600.0,
    retries: int = 2,
    quiet: bool = False,
) -> Path:
    """Run what is missing of a study and report on it; returns its folder.

    The arguments are those of `asmpg study`.

    >>> asmpg.commands.study("quick", out="runs/quick")
    """
    return run(
        name,
        out=None if out is None else Path(out),
        jobs=jobs,
        seeds=seeds,
        steps=steps,
        device=device,
        patience=patience,
        retries=retries,
        quiet=quiet,
    )


def envs(name: str | None = None, *, recompute: bool = False) -> list[dict[str, Any]]:
    """The paper's environments, or the one called `name`, with what policies are worth in them.

    >>> asmpg.commands.envs("CheeseMaze")[0]["values"]["history_optimal"]
    """
    return entries(name, recompute=recompute)


def verify(*, quick: bool = False) -> list[theory.Row]:
    """Run the paper's theorems: what is claimed, predicted and measured, row by row.

    >>> [row for row in asmpg.verify(quick=True) if row.verdict == "fails"]
    """
    return list(theory.verify(theory.QUICK if quick else theory.FULL))
