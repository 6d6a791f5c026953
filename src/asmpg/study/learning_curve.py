"""`asmpg plot`: the learning curve of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg.exact import Yardstick
from asmpg.training import Program, Row, RunFolder, Score, score_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The yardsticks drawn, with their line styles: they differ without colour.
_LINES = {
    "random": ("uniformly random", (0, (1, 2))),
    "memoryless": ("best memoryless", (0, (6, 2, 1, 2))),
    "history_optimal": ("history optimum", (0, (8, 3))),
}
_KNOWN_BY = {"exact": "", "grid": "≈ ", "search": "≥ ", "simulation": "≈ "}


def plot(run: str | Path, out: str | Path | None = None) -> list[Path]:
    """Draw the score of a run over its steps, as `learning_curve.png` and `.svg`.

    The files go into the folder `out`, by default that of the run; their paths are returned. The
    score is that of `asmpg.training.score_of`; for finite models it is computed exactly, and the
    one sampled at evaluations is shown beside it.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('figures need matplotlib: pip install "asmpg[plot]"') from None

    folder = RunFolder(run)
    program = folder.config.build()
    score = score_of(program.environment)
    rows = folder.rows()
    if not rows:
        raise ValueError(f"{run} has no evaluations yet")
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    _draw_seeds(axes, folder, rows, score)
    lines = _yardsticks(program, score)
    _draw_yardsticks(axes, lines)
    axes.set_title(f"{program.environment.name}, {folder.config.method}", loc="left")
    axes.set_xlabel("environment steps")
    axes.set_ylabel(score.label)
    axes.set_xlim(0, folder.config.steps)
    axes.xaxis.set_major_formatter(lambda value, _: _short(value))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    target = folder.path if out is None else Path(out)
    target.mkdir(parents=True, exist_ok=True)
    paths = [target / f"learning_curve.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=150)
    return paths


def _draw_seeds(axes: "Axes", folder: RunFolder, rows: list[Row], score: Score) -> None:
    steps = np.asarray(folder.config.evaluation_steps)
    # The exact value is that of the policy that draws; with greedy evaluations, it is another one.
    known = not np.isnan(rows[0][score.exact]) and not folder.config.greedy
    main = score.exact if known else score.name
    curves = [_curve(rows, seed, main) for seed in folder.config.seeds]
    curves = [curve for curve in curves if len(curve)]
    common = min(map(len, curves))
    for curve in curves:
        axes.plot(steps[: len(curve)], curve, color="0.6", linewidth=0.7, zorder=2)
    table = np.stack([curve[:common] for curve in curves])
    mean, x = table.mean(axis=0), steps[:common]
    kind = "exact" if known else "sampled"
    axes.plot([], [], color="0.6", linewidth=0.7, label="each seed")
    axes.plot(
        x, mean, color="black", linewidth=2, zorder=4, label=f"mean of {len(curves)} seeds, {kind}"
    )
    if len(curves) > 1:
        error = table.std(axis=0, ddof=1) / np.sqrt(len(curves))
        axes.fill_between(
            x,
            mean - error,
            mean + error,
            color="0.8",
            zorder=1,
            label="± standard error",
        )
    if known:
        sampled = [_curve(rows, seed, score.name)[:common] for seed in folder.config.seeds]
        sampled = np.stack([curve for curve in sampled if len(curve)])
        axes.plot(
            x,
            sampled.mean(axis=0),
            linestyle="none",
            marker="o",
            markevery=-(-common // 50),
            markersize=3.5,
            markerfacecolor="white",
            markeredgecolor="black",
            markeredgewidth=0.7,
            zorder=3,
            label=f"mean of {len(curves)} seeds, sampled",
        )


def _curve(rows: list[Row], seed: int, name: str) -> np.ndarray:
    return np.asarray([row[name] for row in rows if row["seed"] == seed])


def _yardsticks(program: Program, score: Score) -> list[tuple[float, str, Any]]:
    from asmpg.exact import yardsticks

    try:
        values = yardsticks(program.environment, discount=program.discount)
    except ValueError:
        return []
    lines = []
    for name, (label, style) in _LINES.items():
        yardstick: Yardstick | None = getattr(values, name)
        if yardstick is None:
            continue
        value = getattr(yardstick, score.yardstick)
        if value is not None:
            number = f"{_KNOWN_BY[yardstick.kind]}{value:.4g}".replace("-", "−")
            lines.append((value, f"{label}\n{number}", style))
    return lines


def _draw_yardsticks(axes: "Axes", lines: list[tuple[float, str, Any]]) -> None:
    for value, _, style in lines:
        axes.axhline(value, color="black", linewidth=1, linestyle=style, zorder=1)
    low, high = axes.get_ylim()
    room = 0.09 * (high - low)
    place = -np.inf
    for value, label, _ in sorted(lines):
        # A label that would touch the one below moves up.
        place = max(value, place + room)
        axes.annotate(
            label,
            xy=(1, place),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            annotation_clip=False,
        )


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
