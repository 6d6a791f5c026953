"""From a run on disk to an agent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asmpg._support.checks import check_one_of
from asmpg._support.errors import CheckpointError
from asmpg._support.files import naming
from asmpg.environments import Discrete
from asmpg.interop import Interface
from asmpg.training import _checkpoint
from asmpg.training._agent import Agent
from asmpg.training._config import RunConfig
from asmpg.training._learned import blank_learner, with_learned
from asmpg.training._recipe import Recipe
from asmpg.training._run_folder import RunFolder, Which
from asmpg.training._standing import Standing

_NOT_AN_AGENT = "is not an agent, or is damaged"


def load(run: str | Path, *, seed: int | None = None, which: Which = "best") -> Agent:
    """The agent in a file that `Agent.save` wrote, or that of the run in a folder.

    The environment is not needed, wherever it came from, and no module is imported. In a folder,
    without `seed`, it is that of the seed with the highest return (the one that is optimised), as
    of its best evaluation or, with `which="last"`, of its last. The best evaluation of a seed is
    the latest that is not clearly worse than an earlier one: a lucky one is not preferred to all
    that came after it.

    >>> agent = asmpg.load("runs/cheese", seed=1952)
    """
    if Path(run).is_file():
        return _load_file(Path(run), seed)
    folder = RunFolder(run)
    seed = chosen_seed(standings(folder, which), seed, run=run, which=which)
    if folder.config.interface is None:
        raise CheckpointError(
            f"{folder.path / 'config.json'} does not record the interface of its environment: it "
            "is of another version"
        )
    with naming(folder.path / "config.json"):
        recipe = Recipe(folder.config, folder.config.interface)
        _check_sizes(recipe, folder.checkpoint_path(seed, which))
        program = folder.config.build()
    return agent_of(folder.config, folder.load_learned(program, seed, which))


def agent_of(config: RunConfig, learner: Any) -> Agent:
    """What `learner` has learned in a run, as an agent."""
    described = config.described()
    recipe = Recipe(config, config.interface or Interface.of(described, by_name=True))
    return _agent(recipe, learner)


def _load_file(path: Path, seed: int | None) -> Agent:
    if seed is not None:
        raise ValueError(f"seed must be None for a file, which holds one agent, got {seed}")
    recipe = read_recipe(path)
    with naming(path, _NOT_AN_AGENT):
        _check_sizes(recipe, path)
        blank = blank_learner(recipe.method, recipe.environment)
    learned, _ = _checkpoint.load(path, getattr(blank, recipe.method.learned))
    return _agent(recipe, with_learned(recipe.method, blank, learned))


def read_recipe(path: Path) -> Recipe:
    """What the agent in a file is made of; its arrays are not looked at."""
    meta = _checkpoint.load_meta(path)
    with naming(path, _NOT_AN_AGENT):
        recipe = Recipe.from_dict(meta)
        recipe.config.make_method()
    return recipe


def _check_sizes(recipe: Recipe, path: Path) -> None:
    """Refuse sizes for which the arrays in `path` cannot be enough, before any is allocated."""
    method, space = recipe.method, recipe.environment.observation_space
    symbols = space.n if isinstance(space, Discrete) else len(space.low)
    states, actions = getattr(method, "num_states", None) or 1, recipe.interface.num_actions
    sizes = {"symbols": symbols, "actions": actions, "agent states": states}
    if isinstance(space, Discrete) and getattr(method, "policy", None) in ("auto", "tabular"):
        sizes["numbers in a table"] = symbols * (1 + states * actions) * states
    for name, size in sizes.items():
        if size > path.stat().st_size:
            raise ValueError(f"its arrays are too small for {size} {name}")


def _agent(recipe: Recipe, learner: Any) -> Agent:
    method = recipe.method
    return Agent(
        lambda greedy: method.actor(learner, greedy=greedy),
        recipe.environment.observation_space,
        policy=method.kernels(learner),
        recipe=recipe,
        learned=getattr(learner, method.learned),
    )


def standings(folder: RunFolder, which: Which) -> dict[int, Standing]:
    """The standing of every seed that has a checkpoint."""
    check_one_of("which", which, ("best", "last"))
    every = {seed: folder.standing(seed, which) for seed in folder.config.seeds}
    return {seed: standing for seed, standing in every.items() if standing.evaluations}


def chosen_seed(
    standings: Mapping[int, Standing], seed: int | None, *, run: object, which: Which
) -> int:
    """`seed`, if it is there; that with the highest value if it is `None`."""
    values = {
        known: (standing.value if which == "last" else standing.best_value) or 0.0
        for known, standing in standings.items()
    }
    if not values:
        raise ValueError(f"{run} has no checkpoint yet")
    if seed is None:
        return max(values, key=lambda known: values[known])
    if seed not in values:
        raise ValueError(f"seed must be one of {', '.join(map(str, values))}, got {seed}")
    return seed
