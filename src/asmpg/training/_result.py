"""The result of training."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp

from asmpg.agents import Agent, Recipe, agent_of, chosen_seed, load, moment_of
from asmpg.methods import Method
from asmpg.runs import Row, RunConfig, SavedSeed, Which, is_array
from asmpg.training._program import Program


@dataclasses.dataclass(frozen=True)
class TrainingResult:
    """A finished run: the metrics of every evaluation, and the agents.

    The agents are in `folder`, or in memory, as `seeds`, if the run had none.
    """

    config: RunConfig
    program: Program
    rows: list[Row]
    folder: Path | None = None
    seeds: dict[int, SavedSeed] = dataclasses.field(default_factory=dict)

    def agent(self, seed: int | None = None, *, which: Which = "best") -> Agent:
        """The agent of `seed`, or of the seed with the highest return, as from `asmpg.load`."""
        if self.folder is not None:
            own = self.config.method if isinstance(self.config.method, Method) else None
            agent = load(self.folder, seed=seed, which=which, method=own)
        else:
            statuses = {
                known: saved.status
                for known, saved in self.seeds.items()
                if saved.status.evaluations
            }
            seed = chosen_seed(statuses, seed, run="the run", which=which)
            saved = self.seeds[seed]
            status = saved.status.at_best if which == "best" else saved.status
            state = saved.best if which == "best" else saved.last
            arrays = jax.tree.map(lambda leaf: jnp.asarray(leaf) if is_array(leaf) else leaf, state)
            recipe = Recipe(self.config, self.program.interface, moment_of(seed, status))
            agent = agent_of(recipe, arrays.learner)
        agent.result = self
        return agent
