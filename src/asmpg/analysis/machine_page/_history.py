"""How the memory came about: the machine at several moments of a run."""

import csv
import dataclasses
import io
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from asmpg._support.checks import check_integer
from asmpg._support.files import write_atomically
from asmpg._support.words import counted, short_number
from asmpg.agents import agent_of
from asmpg.agents.machine import Machine
from asmpg.agents.machine.pictures import draw_machine
from asmpg.runs import RunFolder
from asmpg.training import build_program

#: A state is in use if it takes up this share of all steps.
_IN_USE = 0.01
#: Rarer edges would make small pictures hard to read.
_THRESHOLD = 0.01


@dataclasses.dataclass(frozen=True)
class Moment:
    """The machine after so many environment steps of training."""

    steps: int
    machine: Machine

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
    state, found = program.start(jnp.asarray(seed, jnp.int32)), []
    for until in chosen:
        state, _ = program.advance(state, jnp.asarray(until))
        agent = agent_of(folder.config, resolved.interface, state.learner)
        found.append(Moment(int(state.steps), agent.machine(resolved.environment)))
    return found


def write_history(history: list[Moment], folder: Path) -> tuple[Path, Path, Path]:
    """`memory.csv`, and a strip of the machines as `memory.png` and `memory.svg`."""
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
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(3.2 * len(history), 6.2), layout="constrained")
    grid = figure.add_gridspec(2, len(history), height_ratios=(4, 1.2))
    for column, each in enumerate(history):
        axes = figure.add_subplot(grid[0, column])
        draw_machine(axes, each.machine, threshold=_THRESHOLD, titled=False)
        axes.set_title(
            f"{short_number(each.steps)} steps\n{counted(each.states_in_use, 'state')} in use",
            fontsize=10,
        )
    axes = figure.add_subplot(grid[1, :])
    steps = [each.steps for each in history]
    lines = axes.plot(
        steps, [each.nu_entropy for each in history], "o-", color="#0072b2", label="entropy of nu"
    )
    axes.set_ylabel("nats")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("environment steps")
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
    other = axes.twinx()
    used = [each.states_in_use for each in history]
    lines += other.plot(steps, used, "s--", color="#d55e00", label="states in use")
    other.set_ylim(0, max(used) + 1)
    other.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.legend(handles=lines, loc="upper right", fontsize=8, frameon=False)
    return figure
