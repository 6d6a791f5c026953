"""Figures as files, and numbers on their axes."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write `name.png` and `name.svg`; the same figure gives the same SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=150)
    return [path, save_svg(figure, folder / f"{name}.svg")]


def save_svg(figure: "Figure", path: Path) -> Path:
    """Write the SVG alone."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "asmpg"}):
        figure.savefig(path, metadata={"Date": None})
    return path


def short_number(value: float) -> str:
    """`200_000` as `200k`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
