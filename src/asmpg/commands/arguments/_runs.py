"""What commands about a run are told."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import Fixed, Suppress

from asmpg.commands.arguments._kinds import (
    SEEDS,
    Folder,
    Integer,
    Json,
    Quiet,
    Run,
    Settings,
    Trust,
    Which,
    own,
    value,
)


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure the policies of a run with fresh episodes."""

    run: Run
    """Folder of the run."""
    episodes: int = 1000
    """Episodes for each seed."""
    greedy: bool = False
    """Take the most probable agent states and actions instead of sampling them."""
    seed: Integer = None
    """This seed only."""
    which: Which = "best"
    """The policy of the best evaluation of each seed, or of the last."""
    step: Integer = None
    """The first policy that was kept (--checkpoint-every) at so many steps or more, instead."""
    trust: Trust = False
    as_json: Json = False


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Draw the learning curve of a run, with the environment's yardsticks."""

    run: Run
    """Folder of the run."""
    out: Folder = None
    """Where the pictures go; into the folder of the run if left out."""
    trust: bool = False
    """Import the module that the run's environment names, if that is needed."""


@dataclass(frozen=True, kw_only=True)
class Show:
    """Show the memory of an agent as a machine: a table, pictures, and a page to watch it play."""

    run: Run
    """Folder of the run."""
    seed: Integer = None
    """The agent of this seed; the best one, and the others beside it, if left out."""
    minimise: bool = False
    """Print and draw it hardened and minimised, with what that costs."""
    out: Folder = None
    """Where pictures and page go; into the folder of the run if left out."""
    which: Which = "best"
    """The policy of the best evaluation of each seed, or of the last."""
    words: bool = False
    """Print what each state has seen instead of the table."""
    tolerance: float = 1e-6
    """States are merged whose probabilities differ by no more."""
    cases: int = 16
    """Real observations are told apart by so many typical cases."""
    episodes: int = 2
    """Episodes on the page; the machines of other seeds play one each."""
    history: int = 0
    """Train the seed once more, and draw its machine at so many moments of the run."""
    quiet: Suppress[Fixed[bool]] = False


@dataclass(frozen=True, kw_only=True)
class _Distillation:
    """What `asmpg distil` and `asmpg compress` have in common."""

    run: Run
    """Folder of the run of the teacher, or a file that an agent was saved in; for a teacher that
    knows the model, an environment of ours with a finite one, or a POMDP file."""
    num_states: int | str
    teacher: Literal["agent", "belief", "qmdp"] = "agent"
    """The agent of a run; or who tracks the belief in the environment RUN, and acts by the vectors
    of the point-based solver, or by QMDP."""
    window: Annotated[int | None, own("INT", "ASM-PPO's")] = None
    """How many of the last observations actions see beside the agent state."""
    finetune: Annotated[int, value("STEPS")] = 0
    """Environment steps of ASM-PPO afterwards."""
    out: Folder = None
    seed: Integer = None
    """The teacher is the agent of this seed; the best one if left out."""
    which: Which = "best"
    """The teacher as of the best evaluation of its seed, or of the last."""
    seeds: Annotated[str, SEEDS] = "1"
    """How many students of a size, or which: 1952,5235."""
    deterministic: bool = False
    """Learn the teacher's most probable action instead of its distribution."""
    rounds: int = 5
    """The first is played by the teacher, the others by the student."""
    sequences: Annotated[int | None, own("INT", "64, on the host 16")] = None
    """So many are played side by side in each round."""
    epochs: int = 100
    """In each round at most."""
    episodes: int = 1000
    """Fresh episodes that scores are measured with."""
    option: Settings = ()
    """Any other option of ASM-PPO; may be given several times."""
    trust: Trust = False
    quiet: Quiet = False
    as_json: Json = False


@dataclass(frozen=True, kw_only=True)
class Distil(_Distillation):
    """Fit a finite memory to what the agent of a run does, whatever memory that has."""

    num_states: int = 8
    """Agent states of the student."""
    out: Folder = None
    """Folder of the student's run; RUN-N-states if left out, for an environment in runs/."""


@dataclass(frozen=True, kw_only=True)
class Compress(_Distillation):
    """Distil the agent of a run into memories of several sizes, and draw what each is worth."""

    num_states: Annotated[str, value("N,N,...")] = "2,4,8"
    """Numbers of agent states."""
    out: Folder = None
    """Folder of the students' runs, the table and the picture; RUN-compressed if left out, for an
    environment in runs/."""
