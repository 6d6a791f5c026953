"""`asmpg plot`: the learning curve of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg._support.words import short_number
from asmpg.analysis._results import SeedCurve, common_grid, memory_curves, seed_curves
from asmpg.analysis._yardstick_lines import yardstick_lines
from asmpg.analysis.figures._panels import MEMORY_LABELS, draw_yardsticks, save
from asmpg.environments import Environment, is_pomdp_file, registered_names
from asmpg.runs import MEMORY_MEASURES, RunConfig, RunFolder
from asmpg.training import Score, score_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(run: str | Path, out: str | Path | None = None, *, trust: bool = False) -> list[Path]:
    """Plot the score of a run over its steps, as `learning_curve.png` and `.svg`.

    Below it, for methods with agent states: the entropy of `nu` and the states in use.

    The files are written to the folder `out`, by default the run's; their paths are returned. The
    score is that of `asmpg.training.score_of`; for finite models, it is computed exactly, and the
    one sampled at evaluations is shown beside it. Gymnasium environments are not created; if a run
    does not record the spaces of its environment, `trust` allows importing its module.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("figures need matplotlib: pip install matplotlib") from None

    folder = RunFolder(run)
    environment = _environment(folder.config, trust=trust)
    score = score_of(environment)
    if not folder.rows():
        raise ValueError(f"{run} has no evaluations yet")
    memory = memory_curves(folder.rows(), list(seed_curves(folder.rows(), "steps")))
    figure = Figure(figsize=(8, 6.3 if memory else 4.5), layout="constrained")
    if memory:
        axes, below = figure.subplots(2, sharex=True, height_ratios=(2.6, 1))
        draw_memory(below, folder.config, memory)
    else:
        axes = below = figure.subplots()
    draw_run(axes, folder, score)
    if environment is not None:
        discount = environment.discount
        if discount is None:
            discount = folder.config.to_dict()["method_options"].get("discount", 0.99)
        draw_yardsticks(axes, yardstick_lines(environment, score, discount=discount))
    axes.set_title(f"{folder.config.environment_name}, {folder.config.method_name}", loc="left")
    below.set_xlabel("environment steps")
    axes.set_ylabel(score.label)
    axes.set_xlim(0, max(folder.config.steps, axes.dataLim.x1))
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return save(figure, folder.path if out is None else Path(out), "learning_curve")


def _environment(config: RunConfig, *, trust: bool) -> Environment[Any] | None:
    """The environment itself where it is needed: for its yardsticks, which only ours have."""
    name = config.environment
    if config.interface is not None and name not in registered_names() and not is_pomdp_file(name):
        return None
    return config.resolve(trust=trust).environment


def draw_memory(axes: "Axes", config: RunConfig, memory: Mapping[str, Sequence[SeedCurve]]) -> None:
    """The entropy of `nu` and, on an axis of its own, the states in use; means over seeds."""
    from matplotlib.ticker import MaxNLocator

    other = axes.twinx()
    reached = min(each.steps[-1] for curves in memory.values() for each in curves)
    targets = [steps for steps in config.evaluation_steps if steps <= reached]
    sides = ((axes, "#0072b2", "solid"), (other, "#d55e00", "dashed"))
    for (own, colour, style), name in zip(sides, MEMORY_MEASURES, strict=True):
        steps, values = common_grid(targets, memory[name])
        own.plot(steps, values.mean(axis=0), color=colour, linestyle=style, linewidth=1.6)
        own.set_ylim(0, 1.15 * max(values.mean(axis=0).max(), 0.1))
        own.set_ylabel(f"{MEMORY_LABELS[name]}\n({style})", color=colour, fontsize=9)
        own.tick_params(axis="y", labelsize=9)
        own.spines[["top"]].set_visible(False)
    other.yaxis.set_major_locator(MaxNLocator(4, integer=True))


def draw_run(axes: "Axes", folder: RunFolder, score: Score) -> None:
    """Draw every seed at the steps it took, and the mean up to where all of them are."""
    rows = folder.rows()
    # The exact value is that of the sampling policy; greedy evaluations are of another one.
    known = not np.isnan(rows[0][score.exact]) and not folder.config.greedy
    curves = list(seed_curves(rows, score.exact if known else score.name).values())
    reached = min(each.steps[-1] for each in curves)
    targets = [steps for steps in folder.config.evaluation_steps if steps <= reached]
    steps, table = common_grid(targets, curves)
    mean, several = table.mean(axis=0), len(curves) > 1
    name = f"mean of {len(curves)} seeds" if several else "1 seed"
    kind = "exact" if known else "sampled"
    axes.plot(steps, mean, color="black", linewidth=2, zorder=4, label=f"{name}, {kind}")
    if several:
        for each in curves:
            axes.plot(each.steps, each.scores, color="0.6", linewidth=0.7, zorder=2)
        axes.plot([], [], color="0.6", linewidth=0.7, label="each seed")
        error = table.std(axis=0, ddof=1) / np.sqrt(len(curves))
        low, high = mean - error, mean + error
        axes.fill_between(steps, low, high, color="0.8", zorder=1, label="± standard error")
    if known:
        sampled = list(seed_curves(rows, score.name).values())
        axes.plot(
            steps,
            common_grid(targets, sampled)[1].mean(axis=0),
            linestyle="none",
            marker="o",
            markevery=-(-len(steps) // 50),
            markersize=3.5,
            markerfacecolor="white",
            markeredgecolor="black",
            markeredgewidth=0.7,
            zorder=3,
            label=f"{name}, sampled",
        )
