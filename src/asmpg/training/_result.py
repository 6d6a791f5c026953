"""What training gives back."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp

from asmpg.agents import Agent, agent_of, chosen_seed, load
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
        """The agent of `seed`, or of the seed with the highest return, as `asmpg.load` gives it."""
        if self.folder is not None:
            own = self.config.method if isinstance(self.config.method, Method) else None
            agent = load(self.folder, seed=seed, which=which, method=own)
        else:
            statuses = {
                known: saved.status
                for known, saved in self.seeds.items()
                if saved.status.evaluations
            }
            saved = self.seeds[chosen_seed(statuses, seed, run="the run", which=which)]
            state = saved.best if which == "best" else saved.last
            arrays = jax.tree.map(lambda leaf: jnp.asarray(leaf) if is_array(leaf) else leaf, state)
            agent = agent_of(self.config, self.program.interface, arrays.learner)
        agent.result = self
        return agent
