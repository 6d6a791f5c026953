"""What `asmpg solve` draws: values against sizes, and machines for Graphviz."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asmpg.environments import FiniteModel
from asmpg.policies import KernelTables

#: Observations named on one arrow; more are counted.
_MOST_NAMED = 6


def draw_values(report: Mapping[str, Any], path: Path) -> None:
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


def machine_dot(
    tables: KernelTables, model: FiniteModel, actions: Sequence[str], observations: Sequence[str]
) -> str:
    """The most probable choices of a policy as a graph, in the language of Graphviz.

    Drawn is what can be reached from the start by them, with the observations that can come first,
    and those that some action can show.
    """
    starting = np.flatnonzero((model.start[:, None] * model.start_observation).any(axis=0))
    symbols, states = tables.num_observations, tables.num_states
    nu = np.asarray(tables.log_nu)[0].argmax(axis=-1)
    first, update = nu[:symbols], nu[symbols:].reshape(states, tables.num_actions, symbols)
    control = np.asarray(tables.log_phi)[0, 0].argmax(axis=-1)
    lines = ["digraph {", "  rankdir=LR;", '  start [shape=point, label=""];']
    lines += _arrows("start", first[starting], [observations[o] for o in starting.tolist()])
    waiting = sorted(set(first[starting].tolist()))
    reached = set(waiting)
    while waiting:
        state = waiting.pop(0)
        shown = np.flatnonzero(model.observation[control[state]].any(axis=0))
        following = update[state, control[state]][shown]
        lines.append(f"  s{state} [label={_quoted(f'{state}: {actions[control[state]]}')}];")
        lines += _arrows(f"s{state}", following, [observations[o] for o in shown.tolist()])
        new = sorted(set(following.tolist()) - reached)
        reached |= set(new)
        waiting += new
    return "\n".join([*lines, "}"]) + "\n"


def _arrows(source: str, following: np.ndarray, observations: Sequence[str]) -> list[str]:
    """One arrow for all observations that lead to the same state."""
    lines = []
    for target in np.unique(following).tolist():
        seen = [observations[symbol] for symbol in np.flatnonzero(following == target).tolist()]
        if len(seen) == len(observations):
            label = "any"
        else:
            more = f" and {len(seen) - _MOST_NAMED} more" if len(seen) > _MOST_NAMED else ""
            label = ", ".join(seen[:_MOST_NAMED]) + more
        lines.append(f"  {source} -> s{target} [label={_quoted(label)}];")
    return lines


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
