"""What commands about an environment are told, and what `asmpg verify` is."""

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
    """Show the environments and the values of several kinds of policies in them."""

    name: Annotated[str | None, Positional, value("NAME")] = None
    """Show this environment only, in detail."""
    as_json: Json = False
    pictures: Folder = None
    """Draw into this folder; one environment is always drawn, into "pictures"."""
    recompute: bool = False
    """Also run the slow solvers, those of environments with continuous observations."""


@dataclass(frozen=True, kw_only=True)
class Verify:
    """Run the paper's theorems: measure every claim and compare it with what is predicted."""

    quick: bool = False
    """Fewer processes, runs and search steps: a minute instead of ten."""
    as_json: Json = False
    out: Folder = None
    """Draw the figures into this folder, and write the rows there as JSON."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Check whether an environment fits, what it costs, and whether memory helps in it."""

    environment: Annotated[str, Positional, arg(metavar="ENVIRONMENT")]
    """One of ours, a POMDP file, or any Gymnasium id, module:Name-v0."""
    seconds: float = 60.0
    """How long to compare a policy with memory and one without; 0 skips that."""
    num_states: int = 8
    """Agent states of the policy with memory."""
    as_json: Annotated[bool, arg(name="json")] = False
    """Print JSON instead of text."""
    environment_option: Settings = ()
    """An option of the environment; may be given several times."""


@dataclass(frozen=True, kw_only=True)
class Solve:
    """Bound the best value of a POMDP, and search the best controller of each size."""

    environment: Annotated[str, Positional, arg(metavar="FILE")]
    """A POMDP file, or one of ours whose model is finite."""
    num_states: Annotated[str, value("N,N,...")] = "1,2,4,8,16"
    """Numbers of agent states."""
    seconds: Annotated[float, arg(name="time", metavar="SECONDS", help_behavior_hint="")] = 60.0
    """Seconds for everything; two fifths of them go to the bounds."""
    discount: Annotated[float | None, own("FLOAT", "the file's, or 0.99")] = None
    """Discount factor."""
    as_json: Json = False
    out: Folder = None
    """Write results, pictures and machines there; sizes that are there are not solved again."""
    environment_option: Settings = ()
    """An option of the environment, say stop_at_goals=true."""
