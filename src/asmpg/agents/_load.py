"""From a run on disk, or a file, to an agent."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from asmpg._support.checks import check_integer, check_one_of
from asmpg._support.errors import CheckpointError
from asmpg._support.files import naming
from asmpg.agents._agent import Agent
from asmpg.agents._recipe import Moment, Recipe
from asmpg.environments import Discrete
from asmpg.interop import Interface
from asmpg.methods import Method
from asmpg.policies import head_of
from asmpg.runs import Checkpoint, RunFolder, SeedStatus, Which, load_checkpoint, load_meta

_NOT_AN_AGENT = "is not an agent, or is damaged"


def load(
    run: str | Path,
    *,
    seed: int | None = None,
    which: Which = "best",
    step: int | None = None,
    method: Method[Any] | None = None,
) -> Agent:
    """Load the agent in a file written by `Agent.save`, or that of the run in a folder.

    The environment is not needed, wherever it came from, and no module is imported. From a folder,
    without `seed`, the agent is that of the seed with the highest return (the one being optimised),
    at its best evaluation or, with `which="last"`, at its last. The best evaluation of a seed is
    the latest that is not clearly worse than an earlier one, so that a lucky one is not preferred
    to all that came after it.

    If checkpoints were kept (`checkpoint_every`), `step` selects the first one at or after that
    many steps, instead of the best or the last.

    Pass your own `method` if it cannot be recreated from what is on disk.

    >>> agent = asmpg.load("runs/cheese", seed=1952)
    """
    if Path(run).is_file():
        if step is not None:
            raise ValueError(f"step must be None for a file, which holds one agent, got {step}")
        return _load_file(Path(run), seed, method)
    folder = RunFolder(run)
    checkpoint: Checkpoint = which
    if step is None:
        known = statuses(folder, which)
        seed = chosen_seed(known, seed, run=run, which=which)
    else:
        kept = kept_at(folder, step)
        known = {each: folder.status(each, steps) for each, steps in kept.items()}
        seed = chosen_seed(known, seed, run=run, which="last")
        checkpoint = kept[seed]
    config = folder.config.with_objects(method=method)
    interface, learner = load_learner(folder, config.make_method(), seed, checkpoint)
    return agent_of(Recipe(config, interface, moment_of(seed, known[seed])), learner)


def kept_at(folder: RunFolder, step: int) -> dict[int, int]:
    """For each seed, the steps of the first checkpoint kept at `step` or later."""
    check_integer("step", step, low=0)
    every = {seed: folder.kept_steps(seed) for seed in folder.config.seeds}
    found = {
        seed: next(steps for steps in kept if steps >= step)
        for seed, kept in every.items()
        if kept and kept[-1] >= step
    }
    if not found:
        longest = max(every.values(), key=len)
        have = ", ".join(map(str, longest)) or "none: train with checkpoint_every"
        raise ValueError(
            f"step must be at most that of the last checkpoint kept in {folder.path}, which has "
            f"{have}; got {step}"
        )
    return found


def load_learner(
    folder: RunFolder, method: Method[Any], seed: int, which: Checkpoint
) -> tuple[Interface, Any]:
    """The learner of a seed, and what it acts in."""
    interface = folder.config.interface
    if interface is None:
        raise CheckpointError(
            f"{folder.path / 'config.json'} does not record the interface of its environment: it "
            "is of another version"
        )
    with naming(folder.path / "config.json"):
        _check_sizes(method, interface, folder.checkpoint_path(seed, which))
        blank = _blank_learner(method, interface)
    return interface, folder.load_part(blank, seed, which, within="learner/")


def agent_of(recipe: Recipe, learner: Any, *, whole: bool = True) -> Agent:
    """What `learner` has learned in a run, as an agent.

    If it is not `whole`, it has arrays where it acts, and shapes in the place of the others.
    """
    method = recipe.method
    return Agent(
        lambda greedy: method.actor(learner, greedy=greedy),
        recipe.interface.observation_space,
        policy=method.kernels(learner),
        recipe=recipe,
        learned=getattr(learner, method.learned),
        learner=learner if whole else None,
    )


def moment_of(seed: int, status: SeedStatus) -> Moment:
    """That of the last evaluation in `status`."""
    return Moment(seed, status.steps, status.value or 0.0)


def _load_file(path: Path, seed: int | None, method: Method[Any] | None) -> Agent:
    if seed is not None:
        raise ValueError(f"seed must be None for a file, which holds one agent, got {seed}")
    recipe = read_recipe(path)
    config = recipe.config.with_objects(method=method)
    made = config.make_method()
    with naming(path, _NOT_AN_AGENT):
        _check_sizes(made, recipe.interface, path)
        blank = _blank_learner(made, recipe.interface)
    learned, _ = load_checkpoint(path, getattr(blank, made.learned))
    learner = eqx.tree_at(lambda learner: getattr(learner, made.learned), blank, learned)
    return agent_of(dataclasses.replace(recipe, config=config), learner, whole=False)


def read_recipe(path: Path) -> Recipe:
    """What the agent in a file is made of; its arrays are not looked at."""
    meta = load_meta(path)
    with naming(path, _NOT_AN_AGENT):
        recipe = Recipe.from_dict(meta)
        if recipe.config.method_by_name:
            recipe.config.make_method()
    return recipe


def _blank_learner(method: Method[Any], interface: Interface) -> Any:
    """A learner with shapes in the place of its arrays."""
    return eqx.filter_eval_shape(method.settled(interface).initialise, interface, jax.random.key(0))


def _check_sizes(method: Method[Any], interface: Interface, path: Path) -> None:
    """Refuse sizes for which the arrays in `path` cannot be enough, before any is allocated."""
    space, actions = interface.observation_space, head_of(interface.action_space).size
    symbols = space.n if isinstance(space, Discrete) else len(space.low)
    states = getattr(method, "num_states", None) or 1
    sizes = {"symbols": symbols, "actions": actions, "agent states": states}
    if isinstance(space, Discrete) and getattr(method, "policy", None) in ("auto", "tabular"):
        sizes["numbers in a table"] = symbols * (1 + states * actions) * states
    for name, size in sizes.items():
        if size > path.stat().st_size:
            raise ValueError(f"its arrays are too small for {size} {name}")


def statuses(folder: RunFolder, which: Which) -> dict[int, SeedStatus]:
    """The status of every seed that has a checkpoint."""
    check_one_of("which", which, ("best", "last"))
    every = {seed: folder.status(seed, which) for seed in folder.config.seeds}
    return {seed: status for seed, status in every.items() if status.evaluations}


def chosen_seed(
    statuses: Mapping[int, SeedStatus], seed: int | None, *, run: object, which: Which
) -> int:
    """`seed`, if it is there; that with the highest value if it is `None`."""
    values = {
        known: (status.value if which == "last" else status.best_value) or 0.0
        for known, status in statuses.items()
    }
    if not values:
        raise ValueError(f"{run} has no checkpoint yet")
    if seed is None:
        return max(values, key=lambda known: values[known])
    if seed not in values:
        raise ValueError(f"seed must be one of {', '.join(map(str, values))}, got {seed}")
    return seed
