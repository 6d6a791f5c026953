"""The values of controllers, by their number of agent states."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def draw_controller_values(report: Mapping[str, Any], path: Path) -> None:
    """The value of each size, between the bounds, into `path`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    sizes = [entry["num_states"] for entry in report["controllers"]]
    axes.plot(sizes, [entry["value"] for entry in report["controllers"]], "o-", color="black")
    bounds = report["bounds"]
    for name, style in (("upper", "-"), ("lower", "--"), ("full_state", ":")):
        label = {"upper": "upper bound", "lower": "best known", "full_state": "full state"}[name]
        axes.axhline(bounds[name], linestyle=style, color="0.5", label=label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_xlabel("agent states")
    axes.set_ylabel(f"value, discount {report['discount']:g}")
    axes.set_title(report["name"], loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
