"""From a run on disk to an agent."""

from collections.abc import Mapping
from pathlib import Path

from asmpg._check import check_one_of
from asmpg.training._agent import Agent
from asmpg.training._program import Program, SeedState
from asmpg.training._run_folder import RunFolder, Which
from asmpg.training._standing import Standing


def load(run: str | Path, *, seed: int | None = None, which: Which = "best") -> Agent:
    """The agent of the run in folder `run`.

    Without `seed` it is that of the seed with the highest score, as of its best evaluation or, with
    `which="last"`, of its last.

    >>> agent = asmpg.load("runs/cheese", seed=1952)
    """
    folder = RunFolder(run)
    seed = chosen_seed(standings(folder, which), seed, run=run, which=which)
    program = folder.config.build()
    state, _ = folder.load(program, seed, which)
    return agent_of(program, state)


def agent_of(program: Program, state: SeedState) -> Agent:
    """What a seed has learned by `state`, as an agent."""
    return Agent(
        lambda greedy: program.method.actor(state.learner, greedy=greedy),
        program.environment.observation_space,
        policy=program.method.kernels(state.learner),
    )


def standings(folder: RunFolder, which: Which) -> dict[int, Standing]:
    """The standing of every seed that has a checkpoint."""
    check_one_of("which", which, ("best", "last"))
    every = {seed: folder.standing(seed, which) for seed in folder.config.seeds}
    return {seed: standing for seed, standing in every.items() if standing.evaluations}


def chosen_seed(
    standings: Mapping[int, Standing], seed: int | None, *, run: object, which: Which
) -> int:
    """`seed`, if it is there; the seed with the highest score if it is `None`."""
    scores = {
        known: (standing.score if which == "last" else standing.best_score) or 0.0
        for known, standing in standings.items()
    }
    if not scores:
        raise ValueError(f"{run} has no checkpoint yet")
    if seed is None:
        return max(scores, key=lambda known: scores[known])
    if seed not in scores:
        raise ValueError(f"seed must be one of {', '.join(map(str, scores))}, got {seed}")
    return seed
