"""Teachers, their students of several sizes, and automata extracted from them: one table.

    python benchmarks/distil.py [--tasks CheeseMaze ...] [--teacher gru-ppo] [--seeds 3]
    python benchmarks/distil.py --summary --out runs/distil

For each task and seed: a teacher, students of 2, 4, 8 and 16 agent states as they were distilled
and after fine-tuning, and, where AALpy can be imported and the task has a finite model, what its
Alergia makes of the same number of histories. Every result is a line of OUT/results.jsonl; what is
there already is not done again, and runs lie beside it.
"""

import argparse
import collections
import contextlib
import importlib
import json
import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from asmpg.agents import load
from asmpg.distillation import Histories, Lesson, Sampler, distil_by, teacher_of
from asmpg.environments import PAPER_ENVIRONMENTS, AbstractFiniteEnvironment
from asmpg.exact import policy_returns
from asmpg.policies import KernelTables
from asmpg.runs import RunConfig, default_seeds
from asmpg.training import score_of, train

SIZES = (2, 4, 8, 16)
#: Of Alergia; the best automaton of at most as many states counts, which is in its favour.
EPSILONS = tuple(float(f"{each:.2g}") for each in np.geomspace(1e-6, 1.9, 12))
#: The histories that Alergia is given: as many steps as five rounds of distilling have.
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Distilling, and extraction by AALpy, side by side."
    )
    parser.add_argument("--tasks", nargs="+", default=list(PAPER_ENVIRONMENTS), metavar="TASK")
    parser.add_argument("--teacher", default="gru-ppo", metavar="METHOD")
    parser.add_argument("--teacher-steps", type=int, default=150_000)
    parser.add_argument("--finetune", type=int, default=50_000)
    parser.add_argument("--num-states", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/distil"))
    parser.add_argument("--summary", action="store_true", help="print the table of what is there")
    arguments = parser.parse_args()
    if not arguments.summary:
        for task in arguments.tasks:
            for seed in default_seeds(arguments.seeds):
                measure(task, seed, arguments)
    summarise(arguments.out / "results.jsonl")


def measure(task: str, seed: int, arguments: argparse.Namespace) -> None:
    """All lines of a task and a seed that are missing."""
    file = arguments.out / "results.jsonl"
    done = {(line["task"], line["seed"], line["kind"], line["num_states"]) for line in _lines(file)}
    missing = [n for n in arguments.num_states if (task, seed, "distilled", n) not in done]
    automata = (task, seed, "alergia", arguments.num_states[-1]) not in done
    if not missing and not (automata and _alergia()):
        return
    folder = arguments.out / task / str(seed)
    teacher = folder / "teacher"
    config = RunConfig(task, method=arguments.teacher, seeds=(seed,), steps=arguments.teacher_steps)
    train(config, teacher, resume=(teacher / "config.json").exists())
    lesson = Lesson(load(teacher), rounds=ROUNDS)
    for size in missing:
        out = folder / str(size)
        # What a killed process left.
        shutil.rmtree(out, ignore_errors=True)
        report = distil_by(
            lesson,
            num_states=size,
            window=arguments.window,
            finetune=arguments.finetune,
            out=out,
            seeds=(seed,),
            method_options=None,
            progress=True,
        ).report
        (entry,) = report["students"]
        # The one by which a size counts as done comes last.
        tuned = entry.get("finetuned", {"last": None})
        scores = {
            "teacher": report["teacher"],
            "finetuned, best": tuned if arguments.finetune else None,
            "finetuned, last": tuned["last"],
            "distilled": entry["distilled"],
        }
        for kind, score in scores.items():
            key = (task, seed, kind, None if kind == "teacher" else size)
            if score is not None and key not in done:
                line = dict(zip(("task", "seed", "kind", "num_states"), key, strict=True))
                line |= {"score": report["score"], "kl": entry["rounds"][-1]["kl"]}
                _append(file, line | _value(score))
                done.add(key)
    lesson.close()
    if automata and _alergia():
        for size, value in extracted(task, seed, teacher, arguments.num_states):
            line = {"task": task, "seed": seed, "kind": "alergia", "num_states": size}
            _append(file, {**line, "value": value, "standard_error": 0.0})


def extracted(
    task: str, seed: int, teacher: Path, sizes: list[int]
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


def summarise(file: Path) -> None:
    """Print a row for each task and kind, medians over seeds."""
    found: dict[Any, list[float]] = collections.defaultdict(list)
    for line in _lines(file):
        if line["value"] is not None:
            found[line["task"], line["kind"], line["num_states"]].append(line["value"])
    sizes = sorted({size for _, _, size in found if size is not None})
    print(f"| task | | teacher | {' | '.join(map(str, sizes))} |")
    print(f"| --- | --- | --- |{' --- |' * len(sizes)}")
    for task, kind in dict.fromkeys((task, kind) for task, kind, _ in found if kind != "teacher"):
        cells = [_median(found.get((task, "teacher", None)))]
        cells += [_median(found.get((task, kind, size))) for size in sizes]
        print(f"| {task} | {kind} | {' | '.join(cells)} |")


def _median(values: list[float] | None) -> str:
    return f"{statistics.median(values):.4g}" if values else "–"


def _value(score: dict[str, Any]) -> dict[str, float]:
    if score["exact"] is not None:
        return {"value": score["exact"], "standard_error": 0.0}
    return {name: score[name] for name in ("value", "standard_error")}


def _alergia() -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module("aalpy.learning_algs")
    return None


def _lines(file: Path) -> list[dict[str, Any]]:
    """Whole lines only: a killed process may have left a part of one."""
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1] if line.endswith("}")]


def _append(file: Path, line: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "a") as out:
        out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
