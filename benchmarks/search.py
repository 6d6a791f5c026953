"""A search over the options of methods, on tasks that no result is reported for.

    python benchmarks/search.py gru-ppo mingru-ppo --draws 32 --seeds 3 --jobs 16 --out search.jsonl
    python benchmarks/search.py gru-ppo --options sets.json --tasks tiger count --out search.jsonl
    python benchmarks/search.py --summary --out search.jsonl

Option sets are drawn from `RANGES`, the first being the defaults; a draw of the same number has the
same values of the options that two methods share. Or they are in a JSON file, as a list or as a
list for each method. Every run appends a line to the output; what is there already is not run
again, and what a killed process did is. Each process has one thread and is pinned to a core.
"""

import argparse
import collections
import contextlib
import itertools
import json
import math
import os
import queue
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

Job = dict[str, Any]
Draw = Callable[[random.Random], Any]


def log_uniform(low: float, high: float) -> Draw:
    """Two digits are enough."""
    return lambda source: float(f"{low * (high / low) ** source.random():.2g}")


def one_of(*values: Any) -> Draw:
    return lambda source: source.choice(values)


_PPO: dict[str, Draw] = {
    "learning_rate": log_uniform(2e-4, 4e-3),
    "critic_learning_rate": log_uniform(5e-4, 1e-2),
    "gae_lambda": one_of(0.5, 0.8, 0.9, 0.95),
    "value_lambda": one_of(0.9, 0.97, 0.99),
    # The last one is none.
    "decay": one_of(0.4, 0.7, 1.0, 1e3),
    "entropy_coefficient": one_of(0.0, 0.0, 0.003, 0.01),
    "clip_range": one_of(0.1, 0.2, 0.3),
    "adam_b2": one_of(0.99, 0.999),
    # The last one is none.
    "averaging": one_of(8.0, 1e6),
    "critic_keep_bias": one_of(-1.0, 0.0, 1.0),
}
_KEEP_BIAS: dict[str, Draw] = {"keep_bias": one_of(-2.0, -1.0, 0.0, 1.0)}
#: What is drawn for each method: numbers, since what changes the structure is compiled anew, and
#: one kind of recurrent weights for policy and critic. Names joined by a comma have one value.
RANGES: dict[str, dict[str, Draw]] = {
    "asm-ppo": _PPO
    | {
        "table_learning_rate": log_uniform(0.01, 0.1),
        "nu_scale": one_of(0.25, 0.5, 1.0),
        "hold": log_uniform(20, 500),
        "critic_orthogonal": one_of(False, True),
    },
    "gru-ppo": _PPO | _KEEP_BIAS | {"orthogonal,critic_orthogonal": one_of(False, True)},
    "mingru-ppo": _PPO | _KEEP_BIAS | {"critic_orthogonal": one_of(False, True)},
    "memoryless-ppo": _PPO | {"critic_orthogonal": one_of(False, True)},
}
#: Seeds that no result is reported for.
_FIRST_SEED = 70_000
#: Evaluations of a run, after that of the start.
_EVALUATIONS = 10
#: What a worker has compiled is dropped after so many option sets.
_SETS_KEPT = 60
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Search over the options of methods.")
    parser.add_argument("methods", nargs="*", metavar="METHOD")
    parser.add_argument("--options", type=Path, help="a JSON list of sets, or one for each method")
    parser.add_argument("--draws", type=int, default=16, help="how many sets, without --options")
    parser.add_argument("--draw-seed", type=int, default=0)
    parser.add_argument("--tasks", nargs="+", metavar="TASK", help="all by default")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, help="processes; as many as cores by default")
    parser.add_argument("--out", type=Path, default=Path("search.jsonl"))
    parser.add_argument("--summary", action="store_true", help="print what the file says")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    if arguments.worker:
        work()
    elif arguments.summary:
        print(summary(read(arguments.out), arguments.methods, arguments.tasks))
    else:
        jobs = all_jobs(arguments)
        run_all(jobs, arguments.out, arguments.jobs or len(cores()))


def all_jobs(arguments: argparse.Namespace) -> list[Job]:
    """One for each option set, task and method: its seeds share what is compiled.

    All tasks and methods have as many option sets when time runs out.
    """
    from asmpg.methods import PRESETS
    from search_tasks import SEARCH_TASKS

    for kind, given, known in (
        ("METHOD", arguments.methods, PRESETS),
        ("TASK", arguments.tasks or (), SEARCH_TASKS),
    ):
        for name in given:
            if name not in known:
                sys.exit(f"{kind} must be one of {', '.join(known)}, got {name!r}")
    if not arguments.methods:
        sys.exit("at least one METHOD is needed")
    sets = {}
    for method in arguments.methods:
        if arguments.options is not None:
            given = json.loads(arguments.options.read_text())
            sets[method] = given[method] if isinstance(given, dict) else given
        elif method in RANGES:
            sets[method] = draw(method, arguments.draws, arguments.draw_seed)
        else:
            sys.exit(f"there are no RANGES for {method}: give its option sets by --options")
        for options in sets[method]:
            PRESETS[method].make(options, name=method)
    return [
        {
            "method": method,
            "options": options,
            "task": task,
            "steps": SEARCH_TASKS[task].steps,
            "seeds": [_FIRST_SEED + seed for seed in range(arguments.seeds)],
        }
        for options_of in itertools.zip_longest(*sets.values())
        for task in arguments.tasks or SEARCH_TASKS
        for method, options in zip(sets, options_of, strict=True)
        if options is not None
    ]


def draw(method: str, count: int, seed: int) -> list[dict[str, Any]]:
    """The defaults, then `count - 1` draws; each option has random numbers of its own."""
    return [{}] + [
        {
            name: choose(random.Random(f"{seed} {place} {names}"))
            for names, choose in RANGES[method].items()
            for name in names.split(",")
        }
        for place in range(1, count)
    ]


def identity(job: Job, seed: int) -> str:
    names = ("method", "options", "task", "steps")
    return json.dumps([*(job[name] for name in names), seed], sort_keys=True)


def read(path: Path) -> list[Job]:
    """All whole lines; what a killed process left of a last one is passed over."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def run_all(jobs: Iterable[Job], out: Path, processes: int) -> None:
    """Hand out the jobs that are missing, and write down each as it ends."""
    known = {identity(run, run["seed"]) for run in read(out)}
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    missing = 0
    for job in jobs:
        seeds = [seed for seed in job["seeds"] if identity(job, seed) not in known]
        missing += len(seeds)
        if seeds:
            waiting.put(job | {"seeds": seeds})
    print(f"{missing} runs on {processes} processes", flush=True)
    if out.exists() and (text := out.read_text()) and not text.endswith("\n"):
        out.write_text(text[: text.rfind("\n") + 1])
    began, lock = time.monotonic(), threading.Lock()
    with out.open("a") as file:
        done = Record(file, lock, missing, began)
        places = cores()
        threads = [
            threading.Thread(
                target=keep_busy, args=(places[n % len(places)], waiting, done), daemon=True
            )
            for n in range(min(processes, waiting.qsize()))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Record:
    """Where finished runs are written down, by one thread at a time."""

    def __init__(self, file: TextIO, lock: threading.Lock, total: int, began: float):
        self.file, self.lock, self.total, self.began = file, lock, total, began
        self.count = 0

    def write(self, result: Job) -> None:
        with self.lock:
            self.file.write(json.dumps(result) + "\n")
            self.file.flush()
            self.count += 1
            last = result["error"] if "error" in result else f"{result['curve'][-1][1]:.4g}"
            minutes = (time.monotonic() - self.began) / 60
            print(
                f"{self.count}/{self.total}, {minutes:.1f} min: {result['method']} on "
                f"{result['task']}, {json.dumps(result['options'])}: {last}",
                flush=True,
            )


def keep_busy(core: int, waiting: "queue.SimpleQueue[Job]", done: Record) -> None:
    """Feed a process on `core`, and another one if that dies, until nothing is waiting."""
    process = None
    while True:
        try:
            job = waiting.get_nowait()
        except queue.Empty:
            break
        if process is None:
            process = start_worker(core)
        assert process.stdin is not None
        assert process.stdout is not None
        seeds = list(job["seeds"])
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            while seeds and (line := process.stdout.readline()):
                done.write(json.loads(line))
                seeds.pop(0)
        if seeds:
            print(f"a process ended with {process.wait()}, not written down: {job}", flush=True)
            process = None
    if process is not None and process.stdin:
        process.stdin.close()
        process.wait()


def start_worker(core: int) -> "subprocess.Popen[str]":
    flags = f"{os.environ.get('XLA_FLAGS', '')} {_ONE_THREAD['XLA_FLAGS']}".strip()
    return subprocess.Popen(
        [sys.executable, __file__, "--worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **_ONE_THREAD, "XLA_FLAGS": flags, "ASMPG_SEARCH_CORE": str(core)},
        text=True,
        # Ctrl-C is not theirs: they exit when their standard input is closed.
        start_new_session=True,
    )


def work() -> None:
    """Run the jobs on standard input, a line each; exit at once when it is closed."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(os.environ["ASMPG_SEARCH_CORE"])})
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    environments: dict[str, Any] = {}
    for count in itertools.count(1):
        job = jobs.get()
        if count % _SETS_KEPT == 0:
            import jax

            jax.clear_caches()
        for seed in job.pop("seeds"):
            print(json.dumps(job | {"seed": seed} | run(job, seed, environments)), flush=True)


def _listen(jobs: "queue.SimpleQueue[Job]") -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))
    os._exit(0)


def run(job: Job, seed: int, environments: dict[str, Any]) -> Job:
    """The scores by steps, and the seconds they took, compilation included."""
    from asmpg._support.errors import TrainingError
    from asmpg.methods import PRESETS
    from asmpg.runs import RunConfig
    from asmpg.training import train
    from search_tasks import SEARCH_TASKS

    task = SEARCH_TASKS[job["task"]]
    if job["task"] not in environments:
        environments[job["task"]] = task.make()
    config = RunConfig(
        environments[job["task"]],
        method=PRESETS[job["method"]].make(job["options"], name=job["method"]),
        seeds=(seed,),
        steps=task.steps,
        evaluate_every=task.steps // _EVALUATIONS,
    )
    began = time.monotonic()
    try:
        rows = train(config, verbose=0).rows
    except TrainingError as error:
        return {"error": str(error)}
    curve = [[int(row["steps"]), round(float(row[task.measure]), 5)] for row in rows]
    return {"curve": curve, "seconds": round(time.monotonic() - began, 1)}


def area(curve: Sequence[Sequence[float]]) -> float:
    """The mean of the scores over the steps, linear in between."""
    pieces = [
        (later - earlier) * (before + after) / 2
        for (earlier, before), (later, after) in itertools.pairwise(curve)
    ]
    return sum(pieces) / (curve[-1][0] - curve[0][0])


def summary(runs: Sequence[Job], methods: Sequence[str], tasks: Sequence[str] | None) -> str:
    """A Markdown table, the best option set first.

    A cell is the median and the worst score of the seeds at the end, and the median area under the
    curve. The last columns are means over tasks and seeds of scores that are normalised to [0, 1]:
    at the end, under the curve, and of both. Runs that failed count as 0.
    """
    from search_tasks import SEARCH_TASKS

    names = [name for name in SEARCH_TASKS if name in (tasks or SEARCH_TASKS)]
    sets: dict[tuple[str, str], dict[str, list[Job]]] = {}
    for job in runs:
        current = job["task"] in names and job["steps"] == SEARCH_TASKS[job["task"]].steps
        if current and (not methods or job["method"] in methods):
            place = (job["method"], json.dumps(job["options"], sort_keys=True))
            sets.setdefault(place, collections.defaultdict(list))[job["task"]].append(job)
    rows = []
    for (method, options), found in sets.items():
        cells, ends, areas = [], [], []
        for name in names:
            task, curves = SEARCH_TASKS[name], [job.get("curve") for job in found[name]]
            last = [curve[-1][1] if curve else math.nan for curve in curves]
            under = [
                [[steps, task.normalised(score)] for steps, score in curve] if curve else None
                for curve in curves
            ]
            cells.append(_cell(last, [area(curve) for curve in curves if curve]))
            if curves:
                ends.append(statistics.fmean(map(task.normalised, last)))
                areas.append(statistics.fmean(area(curve) if curve else 0.0 for curve in under))
        end, whole = statistics.fmean(ends), statistics.fmean(areas)
        seeds = min(len(found[name]) for name in names)
        rows.append(((end + whole) / 2, [method, *cells, str(seeds), f"{end:.3f}"], whole, options))
    rows.sort(key=lambda row: -row[0])
    heading = ["method", *names, "seeds", "end", "area", "both", "options"]
    lines = [" | ".join(heading), " | ".join(["---"] * len(heading))]
    for both, cells, whole, options in rows:
        lines.append(" | ".join([*cells, f"{whole:.3f}", f"{both:.3f}", f"`{options}`"]))
    return "\n".join(f"| {line} |" for line in lines)


def _cell(last: Sequence[float], areas: Sequence[float]) -> str:
    if not last:
        return "-"
    ranked = sorted(-math.inf if math.isnan(score) else score for score in last)
    under = f"{statistics.median(areas):.3g}" if areas else "-"
    return f"{statistics.median(ranked):.3g} / {ranked[0]:.3g} / {under}"


if __name__ == "__main__":
    main()
