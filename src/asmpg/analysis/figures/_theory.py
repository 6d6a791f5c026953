"""The bounds of the theorems: how they fall with the updates, and how loose they are."""

from pathlib import Path

from asmpg.theory import Row


def draw_convergence(rows: list[Row], folder: Path) -> Path:
    """What real runs measured, and the bound, over the number of updates."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    curved = [row for row in rows if row.curve is not None]
    columns = 4
    height = -(-len(curved) // columns)
    figure = Figure(figsize=(3.1 * columns, 2.7 * height), layout="constrained")
    grid = figure.subplots(height, columns, squeeze=False)
    for axes in grid.flat[len(curved) :]:
        axes.set_axis_off()
    for axes, row in zip(grid.flat, curved, strict=False):
        assert row.curve is not None
        axes.loglog(
            row.curve.updates, row.curve.bound, color="black", linestyle="--", label="bound"
        )
        axes.loglog(row.curve.updates, row.curve.measured, "o-", color="C0", label="measured")
        axes.set_title(row.claim.replace(": ", "\n", 1), fontsize=8)
        axes.set_xlabel("updates K", fontsize=8)
        axes.tick_params(which="both", labelsize=7)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.2)
    grid.flat[0].set_ylabel("average |grad J|²", fontsize=8)
    grid.flat[0].legend(fontsize=8, frameon=False)
    path = folder / "theory-convergence.png"
    figure.savefig(path, dpi=110)
    return path


def draw_looseness(rows: list[Row], folder: Path) -> Path:
    """How many times each bound is larger than the largest value found."""
    from matplotlib.figure import Figure

    loose = [(row.claim, row.looseness) for row in rows if row.looseness is not None]
    names, factors = zip(*reversed(loose), strict=True)
    figure = Figure(figsize=(8, 0.8 + 0.24 * len(loose)), layout="constrained")
    axes = figure.subplots()
    heights = range(len(loose))
    axes.barh(list(heights), factors, left=1e-3, color="C0", height=0.6)
    axes.set_yticks(list(heights), names, fontsize=8)
    for height, factor in zip(heights, factors, strict=True):
        axes.text(
            1.08 * factor,
            height,
            f"{factor:,.0f}" if factor > 100 else f"{factor:.3g}",
            va="center",
            fontsize=7,
        )
    axes.set_xscale("log")
    axes.set_xlim(0.9, 4 * max(factors))
    axes.set_xlabel("bound / largest value found")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    path = folder / "theory-looseness.png"
    figure.savefig(path, dpi=110)
    return path
