"""The memory of the median seed in each environment, as a machine."""

import dataclasses

import numpy as np

from asmpg._support.errors import CheckpointError, TrainingError
from asmpg.agents import load
from asmpg.agents.machine import Machine
from asmpg.agents.machine.pictures import drawn
from asmpg.analysis._results import Results
from asmpg.analysis.report._html import text
from asmpg.studies import StudyFolder


@dataclasses.dataclass(frozen=True)
class MedianMachine:
    """The machine of one run, hardened and minimised."""

    environment: str
    label: str
    seed: int
    machine: Machine


def median_machines(folder: StudyFolder, results: Results) -> list[MedianMachine]:
    """For each environment, that of the first entry with agent states.

    The seed is the one whose score at the last evaluation is the median, or just above it. Entries
    without a machine, and runs whose checkpoints are gone, are skipped.
    """
    found = []
    for environment in results.environments:
        for entry in results.entries(environment):
            seed = _median_seed(results, environment, entry)
            machine = _machine(folder, environment, entry, seed)
            if machine is not None:
                label = results.study.entry(entry).label
                found.append(MedianMachine(environment, label, seed, machine))
                break
    return found


def _median_seed(results: Results, environment: str, entry: str) -> int:
    curves = results.curves[environment, entry]
    order = np.argsort(curves.final, kind="stable")
    return curves.seeds[order[len(order) // 2]]


def _machine(folder: StudyFolder, environment: str, entry: str, seed: int) -> Machine | None:
    for job in folder.study.jobs():
        if (job.environment, job.entry) == (environment, entry) and seed in job.config.seeds:
            try:
                agent = load(folder.run_path(job), seed=seed, which="last")
                return agent.machine().harden().minimise()
            except (CheckpointError, TrainingError, ValueError):
                return None
    return None


def machine_section(machines: list[MedianMachine]) -> str:
    """The section of the report; empty if there are no machines."""
    if not machines:
        return ""
    shown = "".join(
        f"<figure><h3>{text(each.environment)}: {text(each.label)}, seed {each.seed}</h3>"
        f"{drawn(each.machine, title=each.environment, identifier=f'median{number}')}"
        f"<details><summary>As a table, with the cost of each step</summary>"
        f"<pre>{text(each.machine)}</pre></details></figure>"
        for number, each in enumerate(machines)
    )
    return (
        "<section id='machines'><h2>What the agents remember</h2><p>The memory of the median seed, "
        "hardened and minimised: a box is an agent state with the action it plays, and an arrow "
        f"shows which observations lead from it to another.</p>{shown}</section>"
    )
