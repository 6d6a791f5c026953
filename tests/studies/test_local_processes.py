"""Processes on this machine: which cores they are pinned to."""

import sys

import pytest

from asmpg.studies.executors import LocalExecutor, _local


@pytest.mark.parametrize(
    ("slots", "cpus", "cores"),
    [
        (4, 1, ["0", "1", "2", "3"]),
        (2, 2, ["0,1", "2,3"]),
        # There is room for another study.
        (3, 1, [None, None, None]),
        (1, 2, [None]),
        # More than there are.
        (5, 1, [None] * 5),
    ],
)
def test_jobs_are_pinned_where_they_fill_the_machine(tmp_path, monkeypatch, slots, cpus, cores):
    started = []

    def command(folder, *arguments):
        started.append(arguments)
        return [sys.executable, "-c", "input()"]

    monkeypatch.setattr(_local, "core_numbers", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(_local, "worker_command", command)
    executor = LocalExecutor("cpu", slots, cpus)
    handles = [executor.submit(tmp_path, str(job), tmp_path / "log") for job in range(slots)]
    for handle in handles:
        handle.kill()
    given = [[word for word in words if word.startswith("--cores=")] for words in started]
    assert given == [[f"--cores={own}"] if own else [] for own in cores]
    # What has ended leaves its cores to the next.
    executor.submit(tmp_path, "next", tmp_path / "log").kill()
    assert started[-1][2:] == started[0][2:]
