"""Options of the commands about environments, and of `asmpg verify`."""

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from asmpg.commands.arguments._kinds import (
    Folder,
    Json,
    Settings,
    own,
    value,
)


@dataclass(frozen=True, kw_only=True)
class Envs:
    """Show the environments, with the values of several kinds of policies in each."""

    name: Annotated[str | None, Positional, value("NAME")] = None
    """Show only this environment, in detail."""
    as_json: Json = False
    pictures: Folder = None
    """Folder to draw into; a single environment is always drawn, by default into "pictures"."""
    recompute: bool = False
    """Also run the slow solvers, for environments with continuous observations."""


@dataclass(frozen=True, kw_only=True)
class Verify:
    """Check the paper's theorems: measure every claim and compare it with the prediction."""

    quick: bool = False
    """Fewer processes, runs and search steps: a minute instead of ten."""
    as_json: Json = False
    out: Folder = None
    """Folder for the figures, and for the rows as JSON."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Check whether an environment fits, how fast it is, and whether memory helps in it."""

    environment: Annotated[str, Positional, arg(metavar="ENVIRONMENT")]
    """A built-in environment, a POMDP file, or any Gymnasium id, e.g. module:Name-v0."""
    seconds: float = 60.0
    """Seconds to spend comparing a policy with memory and one without; 0 skips this."""
    num_states: int = 8
    """Number of agent states of the policy with memory."""
    as_json: Annotated[bool, arg(name="json")] = False
    """Print JSON instead of text."""
    environment_option: Settings = ()
    """Environment option; may be repeated."""


@dataclass(frozen=True, kw_only=True)
class Solve:
    """Bound the optimal value of a POMDP, and search for the best controller of each size."""

    environment: Annotated[str, Positional, arg(metavar="FILE")]
    """A POMDP file, or a built-in environment with a finite model."""
    num_states: Annotated[str, value("N,N,...")] = "1,2,4,8,16"
    """Numbers of agent states to search controllers for."""
    seconds: Annotated[float, arg(name="time", metavar="SECONDS", help_behavior_hint="")] = 60.0
    """Total time in seconds; two fifths of it go to the bounds."""
    discount: Annotated[float | None, own("FLOAT", "the file's, or 0.99")] = None
    """Discount factor."""
    as_json: Json = False
    out: Folder = None
    """Folder for results, figures and machines; sizes already in it are not solved again."""
    environment_option: Settings = ()
    """Environment option, e.g. stop_at_goals=true; may be repeated."""
