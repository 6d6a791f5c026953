"""How far the jobs of a study have come, and how long the rest will take."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal

from asmpg.study._study import Job
from asmpg.study.executors import Handle

Status = Literal["waiting", "running", "finished", "failed"]
#: The speed of a running job counts from this share of it on.
_TELLING = 0.1


@dataclasses.dataclass
class JobState:
    """A job on its way. Times are seconds; `seconds` is what earlier attempts took.

    `startup` is the part of its time that all attempts took to their first evaluation.
    """

    job: Job
    status: Status = "waiting"
    evaluations: int = 0
    #: Those that were there when this session began: they tell nothing of its speed.
    evaluations_before: int = 0
    attempts: int = 0
    seconds: float = 0.0
    startup: float = 0.0
    started: bool = False
    #: What went wrong in each attempt that failed.
    troubles: list[str] = dataclasses.field(default_factory=list)
    handle: Handle | None = None
    began: float = 0.0
    advanced: float = 0.0

    @property
    def total(self) -> int:
        """How many evaluations the whole job has."""
        return len(self.job.config.seeds) * len(self.job.config.evaluation_steps)

    @property
    def share(self) -> float:
        """How much of the job is done."""
        return 1.0 if self.status == "finished" else min(1.0, self.evaluations / self.total)

    @property
    def work(self) -> float:
        """The size of the job: environment steps of all its seeds."""
        return float(self.job.config.steps * len(self.job.config.seeds))

    def spent(self, now: float) -> float:
        """Seconds so far, in all attempts of this session."""
        return self.seconds + (now - self.began if self.status == "running" else 0.0)


def share_done(states: Iterable[JobState]) -> float:
    """How much of all the work is done."""
    states = list(states)
    return sum(state.share * state.work for state in states) / sum(state.work for state in states)


def seconds_left(states: Sequence[JobState], now: float, slots: int) -> float | None:
    """How long it will take, by the speed of the entry so far, or else of all; `None` if unknown.

    A job that has not begun to train will first take as long to start as the others took.
    """
    spent: dict[str, float] = {}
    done: dict[str, float] = {}
    known = [state for state in states if state.started and state.share >= _TELLING]
    for state in known:
        entry = state.job.entry
        work = (state.share - state.evaluations_before / state.total) * state.work
        spent[entry] = spent.get(entry, 0.0) + state.spent(now) - state.startup
        done[entry] = done.get(entry, 0.0) + work
    if not sum(done.values()):
        return None
    startup = sum(state.startup for state in known) / sum(state.attempts for state in known)
    overall = sum(spent.values()) / sum(done.values())
    left = []
    for state in states:
        if state.status in ("waiting", "running"):
            entry = state.job.entry
            rate = spent[entry] / done[entry] if done.get(entry) else overall
            left.append((1 - state.share) * state.work * rate)
            if state.status == "waiting":
                left[-1] += startup
            elif not state.started:
                left[-1] += max(0.0, startup - (now - state.began))
    return max([sum(left) / slots, *left], default=0.0)
