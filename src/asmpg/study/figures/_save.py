"""Figures as files, and numbers on their axes."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write `name.png` and `name.svg`; the same figure gives the same SVG."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with rc_context({"svg.hashsalt": "asmpg"}):
        figure.savefig(paths[0], dpi=150)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def short_number(value: float) -> str:
    """`200_000` as `200k`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
