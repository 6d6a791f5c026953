"""What training gives back."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp

from asmpg.training._agent import Agent
from asmpg.training._callback import Row
from asmpg.training._checkpoint import is_array
from asmpg.training._config import RunConfig
from asmpg.training._load import agent_of, chosen_seed, load
from asmpg.training._program import Program
from asmpg.training._run_folder import Which
from asmpg.training._standing import SavedSeed


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
            return self._marked(load(self.folder, seed=seed, which=which))
        standings = {known: saved.standing for known, saved in self.seeds.items()}
        saved = self.seeds[chosen_seed(standings, seed, run="the run", which=which)]
        state = saved.best if which == "best" else saved.last
        arrays = jax.tree.map(lambda leaf: jnp.asarray(leaf) if is_array(leaf) else leaf, state)
        return self._marked(agent_of(self.config, arrays.learner))

    def _marked(self, agent: Agent) -> Agent:
        agent.result = self
        return agent
