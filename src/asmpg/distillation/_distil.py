"""`distil`: from a teacher to an agent with a finite memory, in one call."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asmpg._support.checks import check_integer
from asmpg.agents import Agent
from asmpg.distillation._lesson import Distilled, Lesson
from asmpg.distillation._progress import DistilProgress
from asmpg.runs import default_seeds


def distil(
    teacher: Any,
    environment: Any = None,
    *,
    num_states: int = 8,
    window: int | None = None,
    finetune: int = 0,
    out: str | Path | None = None,
    seeds: int | Sequence[int] = 1,
    method_options: Mapping[str, Any] | None = None,
    verbose: int = 1,
    **lesson: Any,
) -> Agent:
    """Distil `teacher` into a policy with a finite memory, and return the agent.

    First the teacher plays, and the student's distributions of actions, computed by the filter with
    the agent state integrated out, are fitted to the teacher's by cross-entropy. Then the student
    plays, the teacher says what it would have done, and the student is fitted to all data so far,
    round by round. The result is an agent of `asmpg.ASMPPO`, whose `result` is a run like any
    other; its steps count on from those played for distillation.

    Args:
        teacher: An agent, the folder of a run (its best agent) or a file of one, a `BeliefPolicy`
            of `asmpg.exact`, or any object with `predict(observation, state, episode_start,
            deterministic)` as in Stable-Baselines3.
        environment: Anything `learn` accepts; by default that of the teacher's run.
        num_states: Number of agent states of the student.
        window: Number of recent observations that its action sees; by default ASM-PPO's.
        finetune: Environment steps to fine-tune the student for with ASM-PPO.
        out: Folder of the run, which also gets a `distil.json`; without one, all stays in memory.
        seeds: Number of students, or their seeds; the agent is the one with the highest return.
        method_options: Other options of `asmpg.ASMPPO`.
        verbose: 1 shows progress on standard error, 0 shows nothing.
        **lesson: `deterministic` (learn the most probable action instead of the distribution),
            `rounds` (5), `sequences` played in parallel in each (64, on the host 16),
            `sequence_steps` (an episode's, from 128 to 1,000), maximum `epochs` per round (100),
            `patience` in epochs without improvement (8), `episodes` to measure scores on
            (1,000), `environment_options`, and `trust` in the module that a run's environment
            names.

    >>> agent = asmpg.distil("runs/CheeseMaze-gru-ppo", num_states=4, finetune=50_000)
    """
    check_integer("finetune", finetune, low=0)
    lessons = Lesson(teacher, environment, **lesson)
    try:
        return distil_by(
            lessons,
            num_states=num_states,
            window=window,
            finetune=finetune,
            out=out,
            seeds=seeds,
            method_options=method_options,
            verbose=verbose,
        ).agent
    finally:
        lessons.close()


def distil_by(
    lesson: Lesson,
    *,
    num_states: int,
    window: int | None,
    finetune: int,
    out: str | Path | None,
    seeds: int | Sequence[int],
    method_options: Mapping[str, Any] | None,
    verbose: int,
) -> Distilled:
    """The same, with everything that is known about it."""
    config = lesson.config(
        num_states=num_states,
        window=window,
        seeds=default_seeds(seeds) if isinstance(seeds, int) else seeds,
        options=method_options or {},
        out=out,
    )
    with DistilProgress(lesson.name, wanted=bool(verbose)) as shown:
        teacher = lesson.teacher_score(progress=shown)
    return lesson.teach(config, out, finetune=finetune, teacher=teacher, verbose=verbose)
