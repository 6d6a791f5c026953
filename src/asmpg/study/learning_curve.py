"""`asmpg plot`: the learning curve of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg.envs import Environment, registered_names
from asmpg.study._yardstick_lines import yardstick_lines
from asmpg.study.figures import draw_yardsticks, short_number
from asmpg.training import Row, RunConfig, RunFolder, Score, score_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(run: str | Path, out: str | Path | None = None, *, trust: bool = False) -> list[Path]:
    """Draw the score of a run over its steps, as `learning_curve.png` and `.svg`.

    The files go into the folder `out`, by default that of the run; their paths are returned. The
    score is that of `asmpg.training.score_of`; for finite models it is computed exactly, and the
    one sampled at evaluations is shown beside it. Environments of Gymnasium are not needed; where a
    run does not record what its environment looks like, `trust` allows to import its module.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("figures need matplotlib: pip install matplotlib") from None

    folder = RunFolder(run)
    program = folder.config.build(_environment(folder.config, trust=trust))
    score = score_of(program.environment)
    rows = folder.rows()
    if not rows:
        raise ValueError(f"{run} has no evaluations yet")
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    _draw_seeds(axes, folder, rows, score)
    lines = yardstick_lines(program.environment, score, discount=program.discount)
    draw_yardsticks(axes, lines)
    axes.set_title(f"{program.environment.name}, {folder.config.method}", loc="left")
    axes.set_xlabel("environment steps")
    axes.set_ylabel(score.label)
    axes.set_xlim(0, folder.config.steps)
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    target = folder.path if out is None else Path(out)
    target.mkdir(parents=True, exist_ok=True)
    paths = [target / f"learning_curve.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=150)
    return paths


def _environment(config: RunConfig, *, trust: bool) -> Environment[Any] | None:
    """The environment itself where it is needed: for its yardsticks, which only ours have."""
    if config.interface is not None and config.environment not in registered_names():
        return None
    return config.place(trust=trust).environment


def _draw_seeds(axes: "Axes", folder: RunFolder, rows: list[Row], score: Score) -> None:
    steps = np.asarray(folder.config.evaluation_steps)
    # The exact value is that of the policy that draws; with greedy evaluations, it is another one.
    known = not np.isnan(rows[0][score.exact]) and not folder.config.greedy
    main = score.exact if known else score.name
    curves = [_curve(rows, seed, main) for seed in folder.config.seeds]
    curves = [curve for curve in curves if len(curve)]
    several = len(curves) > 1
    which = f"mean of {len(curves)} seeds" if several else f"seed {rows[0]['seed']}"
    common = min(map(len, curves))
    for curve in curves:
        axes.plot(steps[: len(curve)], curve, color="0.6", linewidth=0.7, zorder=2)
    table = np.stack([curve[:common] for curve in curves])
    mean, x = table.mean(axis=0), steps[:common]
    kind = "exact" if known else "sampled"
    if several:
        axes.plot([], [], color="0.6", linewidth=0.7, label="each seed")
    axes.plot(x, mean, color="black", linewidth=2, zorder=4, label=f"{which}, {kind}")
    if several:
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
            label=f"{which}, sampled",
        )


def _curve(rows: list[Row], seed: int, name: str) -> np.ndarray:
    return np.asarray([row[name] for row in rows if row["seed"] == seed])
