"""Options of the commands about a run."""

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
    """Evaluate the policies of a run on fresh episodes."""

    run: Run
    """Folder of the run."""
    episodes: int = 1000
    """Episodes per seed."""
    greedy: bool = False
    """Take the most probable agent states and actions instead of sampling them."""
    seed: Integer = None
    """Evaluate only this seed."""
    which: Which = "best"
    """Use the policy of each seed's best evaluation, or of its last."""
    step: Integer = None
    """Use the first checkpoint kept (--checkpoint-every) at or after this step instead."""
    trust: Trust = False
    as_json: Json = False


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Plot the learning curve of a run, with the environment's yardsticks."""

    run: Run
    """Folder of the run."""
    out: Folder = None
    """Folder for the figures; the run's folder if omitted."""
    trust: bool = False
    """Allow importing the module in the run's environment id, if needed."""


@dataclass(frozen=True, kw_only=True)
class Show:
    """Show an agent's memory as a machine: a table, figures, and a page to watch it play."""

    run: Run
    """Folder of the run."""
    seed: Integer = None
    """Seed of the agent; the best one, with the others beside it, if omitted."""
    minimise: bool = False
    """Print and draw the machine hardened and minimised, with what that costs."""
    out: Folder = None
    """Folder for the figures and the page; the run's folder if omitted."""
    which: Which = "best"
    """Use the policy of each seed's best evaluation, or of its last."""
    words: bool = False
    """Describe each state in words instead of printing the table."""
    tolerance: float = 1e-6
    """Merge states whose probabilities differ by no more than this."""
    cases: int = 16
    """Number of typical cases that real observations are assigned to."""
    episodes: int = 2
    """Episodes on the page; the machines of other seeds play one each."""
    history: int = 0
    """Train the seed again, and draw its machine at this many points of the run."""
    quiet: Suppress[Fixed[bool]] = False


@dataclass(frozen=True, kw_only=True)
class _Distillation:
    """Options shared by `asmpg distil` and `asmpg compress`."""

    run: Run
    """Folder of the teacher's run, or file of a saved agent; with --teacher belief or qmdp, a
    built-in environment with a finite model, or a POMDP file."""
    num_states: int | str
    teacher: Literal["agent", "belief", "qmdp"] = "agent"
    """The agent of a run, or a policy that tracks the belief in the environment RUN and acts by
    QMDP (qmdp) or by the vectors of the point-based solver (belief)."""
    window: Annotated[int | None, own("INT", "ASM-PPO's")] = None
    """Number of recent observations that the action sees besides the agent state."""
    finetune: Annotated[int, value("STEPS")] = 0
    """Environment steps to fine-tune the student for with ASM-PPO."""
    out: Folder = None
    seed: Integer = None
    """Seed of the teacher; the best one if omitted."""
    which: Which = "best"
    """Use the teacher's policy of its best evaluation, or of its last."""
    seeds: Annotated[str, SEEDS] = "1"
    """Number of students per size, or their seeds: 1952,5235."""
    deterministic: bool = False
    """Learn the teacher's most probable action instead of its distribution."""
    rounds: int = 5
    """Number of rounds; the teacher plays the first one, the student the others."""
    sequences: Annotated[int | None, own("INT", "64, on the host 16")] = None
    """Number of sequences played in parallel in each round."""
    epochs: int = 100
    """Maximum number of epochs per round."""
    episodes: int = 1000
    """Fresh episodes to measure scores on."""
    option: Settings = ()
    """Any other option of ASM-PPO; may be repeated."""
    trust: Trust = False
    quiet: Quiet = False
    as_json: Json = False


@dataclass(frozen=True, kw_only=True)
class Distil(_Distillation):
    """Distil the agent of a run, whatever its memory, into a policy with a finite memory."""

    num_states: int = 8
    """Number of agent states of the student."""
    out: Folder = None
    """Folder of the student's run; by default RUN-N-states, for an environment in runs/."""


@dataclass(frozen=True, kw_only=True)
class Compress(_Distillation):
    """Distil the agent of a run into memories of several sizes, and plot the score of each."""

    num_states: Annotated[str, value("N,N,...")] = "2,4,8"
    """Numbers of agent states to try."""
    out: Folder = None
    """Folder for the students' runs, the table and the figure; by default RUN-compressed, for an
    environment in runs/."""
