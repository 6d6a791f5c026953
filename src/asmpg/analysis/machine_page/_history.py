"""How the memory came about: the machine at several moments of a run."""

import csv
import dataclasses
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from asmpg._support.checks import check_integer
from asmpg._support.files import write_atomically
from asmpg._support.words import short_number
from asmpg.agents import Recipe, agent_of
from asmpg.agents.machine import Machine, Value
from asmpg.agents.machine.pictures import draw_sheet, graph_of, placed
from asmpg.runs import RunFolder
from asmpg.training import build_program, start_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A state is in use if it takes up this share of all steps.
_IN_USE = 0.01
#: Rarer edges would make small pictures hard to read.
_THRESHOLD = 0.005
#: Of the strip, in pixels.
_NARROWEST, _GAP, _HEADING, _CURVES = 260.0, 30.0, 60.0, 240.0
_CURVE_NAMES = ("nu_entropy", "states_in_use")


@dataclasses.dataclass(frozen=True)
class Moment:
    """The machine after so many environment steps; `small` is it hardened and minimised."""

    steps: int
    machine: Machine
    small: Machine

    @property
    def states_in_use(self) -> int:
        """How many states take up at least a hundredth of all steps."""
        return int((self.machine.shares >= _IN_USE).sum())

    @property
    def nu_entropy(self) -> float:
        """The entropy of the next state in nats, averaged over the inputs as they come."""
        machine = self.machine
        assert machine.visits is not None
        entropy = [
            -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1)
            for p in (machine.start, machine.update)
        ]
        total = machine.visits.start @ entropy[0] + np.sum(machine.visits.inputs * entropy[1])
        return float(total / machine.visits.steps)


def memory_history(run: str | Path, *, seed: int, moments: int = 6) -> list[Moment]:
    """Train `seed` of a run once more, and look at its machine `moments` times on the way.

    Training repeats itself bit for bit on the same CPU, so these are the machines that the run went
    through. It takes as long as that seed took.
    """
    check_integer("moments", moments, low=2, high=100)
    folder = RunFolder(run)
    resolved = folder.config.resolve(trust=False)
    if resolved.environment is None:
        raise ValueError(
            f"history is for compiled environments, which repeat themselves; "
            f"{resolved.interface.name} is stepped on the host"
        )
    program = build_program(folder.config, resolved)
    due = folder.config.evaluation_steps
    chosen = sorted({due[round(i * (len(due) - 1) / (moments - 1))] for i in range(moments)})
    state, found = start_seed(program, seed), []
    for until in chosen:
        state, _ = program.advance(state, jnp.asarray(until))
        agent = agent_of(Recipe(folder.config, resolved.interface), state.learner)
        machine = agent.machine(resolved.environment)
        found.append(Moment(int(state.steps), machine, machine.harden().minimise()))
    return found


def write_history(history: list[Moment], folder: Path) -> tuple[Path, Path, Path]:
    """`memory.csv`, and a strip of the small machines as `memory.png` and `memory.svg`."""
    table, figure = folder / "memory.csv", _strip(history)
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(["steps", "nu_entropy", "states_in_use", "discounted", "reward_per_step"])
    for each in history:
        value = each.machine.value
        assert value is not None
        numbers = (each.nu_entropy, each.states_in_use, value.discounted, value.reward_per_step)
        writer.writerow([each.steps, *(f"{number:.6g}" for number in numbers)])
    write_atomically(table, lambda file: file.write(content.getvalue().encode()))
    paths = (folder / "memory.png", folder / "memory.svg")
    for path in paths:
        figure.savefig(path, dpi=150)
    return table, *paths


def _strip(history: list[Moment]) -> Any:
    """The small machines in their own sizes, side by side, above two curves."""
    from matplotlib.figure import Figure

    graphs = [graph_of(each.small, _THRESHOLD) for each in history]
    sheets = [placed(graph, "layered") for graph in graphs]
    widths = [max(sheet.width, _NARROWEST) + _GAP for sheet in sheets]
    width, tallest = sum(widths), max(sheet.height for sheet in sheets)
    height = tallest + _HEADING + _CURVES
    figure = Figure(figsize=(width / 100, height / 100), dpi=100)
    left = 0.0
    for each, sheet, own in zip(history, sheets, widths, strict=True):
        bottom = (height - _HEADING - sheet.height) / height
        axes = figure.add_axes((left / width, bottom, own / width, sheet.height / height))
        draw_sheet(axes, sheet)
        axes.set_xlim((sheet.width - own) / 2, (sheet.width + own) / 2)
        value = each.small.value
        lines = [f"{short_number(each.steps)} steps", "" if value is None else _value(value)]
        axes.set_title("\n".join(lines), fontsize=10)
        left += own
    below = (110 / width, 50 / height, 1 - 220 / width, (_CURVES - 80) / height)
    _draw_curves(figure.add_axes(below), history)
    return figure


def _value(value: Value) -> str:
    return f"discounted {value.discounted:.4g}, per step {value.reward_per_step:.3g}"


def _draw_curves(axes: "Axes", history: list[Moment]) -> None:
    from matplotlib.ticker import MaxNLocator

    steps = [each.steps for each in history]
    entropy, used = ([getattr(each, name) for each in history] for name in _CURVE_NAMES)
    lines = axes.plot(steps, entropy, "o-", color="#0072b2", label="entropy of nu (left)")
    axes.set_ylabel("nats")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("environment steps")
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
    other = axes.twinx()
    lines += other.plot(steps, used, "s--", color="#d55e00", label="states in use (right)")
    other.set_ylabel("states")
    other.set_ylim(0, max(used) + 1)
    other.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.legend(handles=lines, loc="upper center", ncols=2, fontsize=9, frameon=False)
