"""Teachers, their students of several sizes, and automata extracted from them: one table.

    python benchmarks/distil.py --tasks CheeseMaze --seeds 1952, [--out runs/distil]
    python benchmarks/distil.py --gather --out runs/distil

For each task and seed: a teacher, students of 2, 4, 8 and 16 agent states as they were distilled
and after fine-tuning, and, where AALpy can be imported and the task has a finite model, what its
Alergia makes of the same number of histories. `--alone` also trains memories of the same sizes
without a teacher, for as many steps as teacher and fine-tuning have together. Each task and seed
becomes OUT/TASK-SEED.json; those that are there are not done again. `--quick` tries everything out
with little training.
"""

import argparse
import contextlib
import importlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tables
from asmpg.agents import load
from asmpg.distillation import Histories, Lesson, Sampler, distil_by, teacher_of
from asmpg.environments import PAPER_ENVIRONMENTS, AbstractFiniteEnvironment
from asmpg.exact import policy_returns
from asmpg.policies import KernelTables
from asmpg.runs import RunConfig
from asmpg.training import evaluate, score_of, train
from json_results import Row, file_of, read_seeds, write_rows

POPGYM = (
    "popgym-RepeatFirstEasy",
    "popgym-RepeatPreviousEasy",
    "popgym-MultiarmedBanditEasy",
    "popgym-NoisyPositionOnlyCartPoleEasy",
)
TASKS = (*PAPER_ENVIRONMENTS, *POPGYM)
#: Of the teacher; where more are needed to learn anything.
STEPS, LONGER = 150_000, {"popgym-NoisyPositionOnlyCartPoleEasy": 400_000}
FINETUNE = 50_000
SIZES = (2, 4, 8, 16)
#: Of Alergia; the best automaton of at most as many states counts, which is in its favour.
EPSILONS = tuple(float(f"{each:.2g}") for each in np.geomspace(1e-6, 1.9, 12))
#: The histories that Alergia is given: as many steps as five rounds of distilling have.
ROUNDS = 5
KINDS = ("distilled", "fine-tuned, best", "fine-tuned, last")
QUICK: dict[str, Any] = {"rounds": 2, "epochs": 2, "sequences": 8, "episodes": 20}


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Distilling, and extraction by AALpy, side by side."
    )
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), metavar="TASK")
    parser.add_argument("--seeds", type=read_seeds, default="3", metavar="N|SEED,SEED,...")
    parser.add_argument("--teacher", default="gru-ppo", metavar="METHOD")
    parser.add_argument("--window", type=int, default=0, help="of the students")
    parser.add_argument("--alone", action="store_true", help="train without a teacher as well")
    parser.add_argument("--out", type=Path, default=Path("runs/distil"))
    parser.add_argument("--gather", action="store_true", help="print the table of what is there")
    parser.add_argument("--quick", action="store_true", help="a little of everything")
    arguments = parser.parse_args()
    if not arguments.gather:
        for task in arguments.tasks:
            for seed in arguments.seeds:
                file = file_of(arguments.out, task, seed)
                if not file.exists():
                    write_rows(file, list(measure(task, seed, arguments)))
    print(tables.distil(arguments.out), end="")


def measure(task: str, seed: int, arguments: argparse.Namespace) -> Iterator[Row]:
    """All rows of a task and a seed."""
    quick = arguments.quick
    steps = 1_000 if quick else LONGER.get(task, STEPS)
    finetune, sizes = (500, SIZES[:2]) if quick else (FINETUNE, SIZES)
    folder = arguments.out / "runs" / f"{task}-{seed}"
    teacher = folder / "teacher"
    _train(RunConfig(task, method=arguments.teacher, seeds=(seed,), steps=steps), teacher, quick)
    chosen: dict[str, Any] = QUICK if quick else {"rounds": ROUNDS}
    lesson = Lesson(load(teacher), **chosen)
    row = {"task": task, "seed": seed, "score": lesson.score.name}
    for size in sizes:
        out = folder / str(size)
        # What a killed process left.
        shutil.rmtree(out, ignore_errors=True)
        report = distil_by(
            lesson,
            num_states=size,
            window=arguments.window,
            finetune=finetune,
            out=out,
            seeds=(seed,),
            method_options=None,
            verbose=1,
        ).report
        (entry,) = report["students"]
        if size == sizes[0]:
            yield {**row, "kind": "teacher", "num_states": None, **_value(report["teacher"])}
        tuned = entry["finetuned"]
        for kind, score in zip(KINDS, (entry["distilled"], tuned, tuned["last"]), strict=True):
            kl = entry["rounds"][-1]["kl"]
            yield {**row, "kind": kind, "num_states": size, "kl": kl, **_value(score)}
    lesson.close()
    for size in sizes if arguments.alone else ():
        options = {"num_states": size, "window": arguments.window}
        config = RunConfig(task, method_options=options, seeds=(seed,), steps=steps + finetune)
        _train(config, folder / f"{size}-alone", quick)
        (entry,) = evaluate(folder / f"{size}-alone", episodes=20 if quick else 1_000)
        name = lesson.score.name
        exact = entry.get(f"exact_{lesson.score.yardstick}")
        error = entry[f"{name}_standard_error"]
        score = {"exact": exact, "value": entry[name], "standard_error": error}
        yield {**row, "kind": "alone", "num_states": size, **_value(score)}
    if _alergia() is not None:
        for size, value in extracted(task, seed, teacher, sizes):
            found = {"value": value, "standard_error": 0.0}
            yield {**row, "kind": "alergia", "num_states": size, **found}


def _train(config: RunConfig, folder: Path, quick: bool) -> None:
    train(config, folder, resume=(folder / "config.json").exists(), verbose=int(not quick))


def extracted(
    task: str, seed: int, teacher: Path, sizes: Sequence[int]
) -> Iterator[tuple[int, float | None]]:
    """What the best automaton of at most each size is worth; `None` if there is none as small."""
    resolved = RunConfig(task).resolve()
    environment = resolved.environment
    if not isinstance(environment, AbstractFiniteEnvironment):
        return
    sampler = Sampler(resolved, sequences=None, steps=None)
    who = teacher_of(load(teacher), resolved.interface)
    data = [
        episode
        for number in range(ROUNDS)
        for episode in words(sampler.histories(who, seed, number))
    ]
    score, values = score_of(environment), {}
    for epsilon in EPSILONS:
        automaton = _alergia().run_Alergia(data, automaton_type="mdp", eps=epsilon)
        tables = controller(automaton, environment)
        found = policy_returns(environment, tables, discount=1.0)
        value = float(getattr(found, score.yardstick))
        values[tables.num_states] = max(value, values.get(tables.num_states, -np.inf))
    for size in sizes:
        small = [value for states, value in values.items() if states <= size]
        yield size, max(small, default=None)


def words(histories: Histories) -> Iterator[list[Any]]:
    """Each episode as AALpy wants it: a first output, then pairs of observation and action."""
    parts = (histories.observations, histories.actions, histories.time)
    for column in zip(*(np.asarray(part).T for part in parts), strict=True):
        episode: list[Any] = []
        for observation, action, time in zip(*column, strict=True):
            if time == 0:
                if episode:
                    yield episode
                episode = ["start"]
            episode.append((int(observation), int(action)))
        yield episode


def controller(automaton: Any, environment: AbstractFiniteEnvironment) -> KernelTables:
    """The automaton as a policy: its states are agent states, each plays what it puts out.

    On observations that it has never met in a state it goes to any state.
    """
    model = environment.model
    states = [state for state in automaton.states if state is not automaton.initial_state]
    number = {state.state_id: place for place, state in enumerate(states)}

    def moves(state: Any) -> np.ndarray:
        rows = np.zeros((model.num_observations, len(states)))
        for observation, targets in state.transitions.items():
            for target, probability in targets:
                if target.state_id in number:
                    rows[observation, number[target.state_id]] += probability
        total = rows.sum(axis=1, keepdims=True)
        return np.where(total > 0, rows / np.where(total > 0, total, 1), 1 / len(states))

    update = np.stack([moves(state) for state in states])
    shape = (len(states), model.num_actions, model.num_observations, len(states))
    return KernelTables.from_probabilities(
        start=moves(automaton.initial_state),
        update=np.broadcast_to(update[:, None], shape),
        control=np.eye(model.num_actions)[[state.output for state in states]],
    )


def _value(score: dict[str, Any]) -> dict[str, float]:
    if score["exact"] is not None:
        return {"value": score["exact"], "standard_error": 0.0}
    return {name: score[name] for name in ("value", "standard_error")}


def _alergia() -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module("aalpy.learning_algs")
    return None


if __name__ == "__main__":
    main()
