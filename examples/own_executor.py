"""Run a study on your own executor: here, processes that yield to all others on the machine.

    python examples/own_executor.py

`asmpg study FILE --executor polite` works too, once `asmpg.register_executor("polite", ...)` was
called in a module that the study file names in `imports`.
"""

import argparse
import subprocess
from pathlib import Path

import asmpg
from asmpg.studies.executors import ProcessHandle, worker_command

STUDY = """
environments = ["RepeatFirst"]
seeds = 2
steps = 40_000
evaluate_every = 2_000

[entries.memory]
label = "2 agent states"
method = "asmpg"
options = { policy = "tabular", num_states = 2 }
"""


class PoliteExecutor(asmpg.Executor):
    """Jobs with the lowest priority, one at a time."""

    slots = 1

    def submit(self, folder: Path, job: str, log: Path) -> ProcessHandle:
        """Start a job; the runner polls, interrupts and kills it by its handle."""
        with open(log, "ab") as output:
            command = ["nice", "-n", "19", *worker_command(folder, job)]
            return ProcessHandle(subprocess.Popen(command, stdout=output, stderr=output))


def main(arguments: list[str] | None = None) -> None:
    """Write a small study to a file, and run it."""
    parser = argparse.ArgumentParser(description="Run a study on an executor of our own.")
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--out", type=Path, default=Path("runs/own_executor"))
    given = parser.parse_args(arguments)

    file = given.out.with_suffix(".toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(STUDY)
    folder = asmpg.study(file, out=given.out, steps=given.steps, executor=PoliteExecutor())
    print(f"The report is {folder / 'report.html'}")


if __name__ == "__main__":
    main()
