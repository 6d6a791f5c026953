"""`asmpg plot`: the learning curve of a run."""

from pathlib import Path

from rich.console import Console

from asmpg.analysis.figures import plot as plot


def show(run: Path, *, out: Path | None, trust: bool) -> None:
    """Draw, and print the paths."""
    with Console(stderr=True).status("Computing the yardsticks and drawing"):
        paths = plot(run, out, trust=trust)
    for path in paths:
        print(f"Drew {path}")
