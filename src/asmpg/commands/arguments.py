"""What each command is told, as a dataclass: `tyro` makes the command line of it.

Nothing heavy is imported here: `asmpg --help` answers at once. The fields of a command, with those
of its groups of options, are the arguments of its `show`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Fixed, OmitArgPrefixes, Positional, Suppress, UseAppendAction, arg


def _value(metavar: str) -> Any:
    return arg(metavar=metavar, help_behavior_hint="")


def _option(metavar: str, default: str = "the method's") -> Any:
    """An option that is `None` unless it is typed; `default` is what help shows for that."""
    return arg(metavar=metavar, help_behavior_hint=f"(default: {default})")


_Run = Annotated[Path, Positional, arg(metavar="RUN")]
_Folder = Annotated[Path | None, _value("FOLDER")]
_Integer = Annotated[int | None, _value("INT")]
_OwnInteger = Annotated[int | None, _option("INT")]
_OwnFloat = Annotated[float | None, _option("FLOAT")]
_Seeds = _value("N|SEED,SEED,...")
_Settings = Annotated[tuple[str, ...], UseAppendAction, _value("NAME=VALUE")]
_Which = Literal["best", "last"]
_Quiet = Annotated[bool, arg(help="Show no progress.")]
_NoCompileCache = Annotated[
    bool, arg(help="Neither use nor keep compiled programs in the user's cache folder.")
]
_Json = Annotated[bool, arg(name="json", help="Print JSON instead of a table.")]
_Trust = Annotated[
    bool, arg(help="Import the module that the run's environment names, module:Name-v0.")
]


@dataclass(frozen=True, kw_only=True)
class _MethodOptions:
    num_states: _OwnInteger = None
    """Number of agent states."""
    window: _OwnInteger = None
    """How many of the last observations the action sees beside the agent state."""
    counts: Annotated[bool | None, _option("{True,False}")] = None
    """Whether the action also sees how often each observation came so far in the episode."""
    policy: Annotated[
        Literal["auto", "mlp", "tabular", "joint", "matrix"] | None,
        _option("auto|mlp|tabular|joint|matrix"),
    ] = None
    """The paper's networks (mlp), tables, one table for agent states and actions jointly, a network
    from the observation to a transition matrix, or what suits the observations."""
    hidden: _OwnInteger = None
    """Base width of the hidden layers."""
    critic: Annotated[
        Literal["auto", "history", "gru", "memory", "both", "linear", "latent"] | None,
        _option("auto|history|gru|memory|both|linear|latent"),
    ] = None
    """What the critic reads: the latent state of the environment and the policy's memory (latent),
    a recurrent memory of its own (gru, linear), the policy's, both, or what suits the observations
    (history). auto is latent for asm-ppo in compiled environments, else history."""
    learning_rate: _OwnFloat = None
    """Step size of networks; that of tables is --option table_learning_rate=0.03."""
    discount: _OwnFloat = None
    """Discount factor; that of a POMDP file where the environment is one."""
    entropy_coefficient: _OwnFloat = None
    """Weight of the entropy bonus at the start; it fades."""
    num_environments: _OwnInteger = None
    """Environments that are played in side by side."""
    rollout_steps: _OwnInteger = None
    """Steps in each environment for an update."""
    epochs: _OwnInteger = None
    """Passes over the data of an update."""
    option: _Settings = ()
    """Any other option of the method, say start=zeros; may be given several times."""


@dataclass(frozen=True, kw_only=True)
class _EvaluationOptions:
    evaluate_every: _OwnInteger = None
    """Environment steps between two evaluations."""
    evaluation_episodes: Annotated[int | None, _option("INT", "100; 30 on the host")] = None
    """Fresh episodes in each evaluation."""
    greedy: bool = False
    """Evaluate with the most probable agent states and actions."""


@dataclass(frozen=True, kw_only=True)
class _RecordOptions:
    checkpoint_every: Annotated[int | None, _value("STEPS")] = None
    """Keep a checkpoint in every so many steps, beside the best and the last."""
    tensorboard: bool = False
    """Write logs for TensorBoard into the folder of the run."""
    wandb: Annotated[str | None, _value("PROJECT")] = None
    """Log to this project of Weights & Biases, a run there for each seed."""


@dataclass(frozen=True, kw_only=True)
class _EnvironmentOptions:
    environment_option: _Settings = ()
    """An option of the environment, say max_steps=100; may be given several times."""
    vectorization: Annotated[Literal["sync", "async"] | None, _option("sync|async", "sync")] = None
    """Gymnasium environments in this process, or each in its own process."""
    step_timeout: Annotated[float | None, _value("SECONDS")] = None
    """Seconds that a step of a Gymnasium environment may take; no limit if left out."""
    trust: bool = False
    """With --resume, import the module that the run's environment names, module:Name-v0."""


@dataclass(frozen=True, kw_only=True)
class _PaperOptions:
    objective: Annotated[
        Literal["discounted", "episodic"] | None, _option("discounted|episodic")
    ] = None
    """Discounted return (Algorithm 2) or undiscounted return (Algorithm 1)."""
    episodes_per_update: _OwnInteger = None
    """Whole episodes per update."""
    estimator: Annotated[Literal["sampled", "marginal"] | None, _option("sampled|marginal")] = None
    """Of asmpg: sample agent states as in the paper, or integrate them out."""
    baseline: Annotated[
        Literal["none", "leave-one-out", "critic"] | None, _option("none|leave-one-out|critic")
    ] = None
    """Of asmpg: what is subtracted from the returns."""
    standardise: Annotated[
        Literal["none", "batch", "episode"] | None, _option("none|batch|episode")
    ] = None
    """Of asmpg and ais: returns minus their mean, divided by their standard deviation, of the batch
    or of each episode."""
    discount_from: Annotated[Literal["start", "step"] | None, _option("start|step")] = None
    """Of asmpg: discount rewards from the start of the episode, or from the step that is
    weighted."""
    step_reduction: Annotated[
        Literal["episode-sum", "episode-mean", "batch-mean"] | None,
        _option("episode-sum|episode-mean|batch-mean"),
    ] = None
    """Of asmpg: sum over the steps of an episode, or their mean, or that over all steps of a
    batch."""
    activation: Annotated[Literal["relu", "tanh"] | None, _option("relu|tanh")] = None
    """Non-linearity of the networks."""
    initial_weights: Annotated[
        Literal["uniform", "orthogonal", "small-last-layer"] | None,
        _option("uniform|orthogonal|small-last-layer"),
    ] = None
    """Of asmpg and ais: how linear layers start; uniform is PyTorch's default."""
    inputs: Annotated[
        Literal["one-hot", "embedding", "index"] | None, _option("one-hot|embedding|index")
    ] = None
    """Of asmpg: how its networks are shown agent states, actions and finite observations."""
    time_indexed: bool = False
    """Separate kernels for each step of an episode."""
    optimiser: Annotated[Literal["adam", "sgd"] | None, _option("adam|sgd")] = None
    """Optimiser of the policy."""
    schedule: Annotated[
        Literal["constant", "decreasing"] | None, _option("constant|decreasing")
    ] = None
    """Constant step size, or one that falls with the square root of the updates."""
    barrier: _OwnFloat = None
    """Weight of the log-barrier."""
    barrier_form: Annotated[
        Literal["visited-mean", "visited-sum", "all-inputs", "entropy"] | None,
        _option("visited-mean|visited-sum|all-inputs|entropy"),
    ] = None
    """Of asmpg: the log-barrier's mean over visited steps, its sum over those of an episode, its
    mean over all inputs, or an entropy bonus instead."""


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a policy with memory in an environment, once for each seed."""

    environment: Annotated[str | None, Positional, _value("ENVIRONMENT")] = None
    """One of those that `asmpg envs` shows, a POMDP file, or any Gymnasium id, module:Name-v0."""
    method: Annotated[str | None, _option("STR", "asm-ppo")] = None
    """asm-ppo (recommended), gru-ppo, mingru-ppo, memoryless-ppo, asmpg (as in the paper),
    asmpg-marginal, ais-kl, ais-mmd, ais-kl-fixed or ais-mmd-fixed."""
    steps: _OwnInteger = None
    """Environment steps of each seed."""
    seeds: Annotated[str | None, _option("N|SEED,SEED,...", "10")] = None
    """How many seeds, the paper's first, or which: 1952,5235. A single one: 1952,"""
    out: _Folder = None
    """Folder of the run; runs/ENVIRONMENT-METHOD if left out."""
    resume: Annotated[Path | None, _value("RUN")] = None
    """Resume the run in this folder; options must be its own, or be left out, but for more
    steps, --stop-at and --patience."""
    stop_at: Annotated[float | None, _value("SCORE")] = None
    """Stop a seed once one of its evaluations reaches SCORE; the run ends when all seeds have."""
    patience: Annotated[int | None, _value("EVALUATIONS")] = None
    """Stop a seed once so many of its evaluations in a row brought no new best score."""
    device: Annotated[str | None, _value("cpu|gpu|cuda:0")] = None
    """What to compute on; what jax prefers if left out."""
    quiet: _Quiet = False
    verbose: Annotated[int | None, _option("0|1|2", "1")] = None
    """0 is --quiet, 1 shows progress, 2 prints every evaluation as well."""
    no_compile_cache: _NoCompileCache = False
    asm_ppo: OmitArgPrefixes[_MethodOptions] = _MethodOptions()
    """Of the recommended method; other methods have some of them, too."""
    evaluation: OmitArgPrefixes[_EvaluationOptions] = _EvaluationOptions()
    """How the policy is measured while it is trained."""
    record: OmitArgPrefixes[_RecordOptions] = _RecordOptions()
    """What is kept beside checkpoints and metrics.csv."""
    environment_: Annotated[_EnvironmentOptions, OmitArgPrefixes, arg(name="environment")] = (
        _EnvironmentOptions()
    )
    """Of the environment, and of how Gymnasium environments are stepped."""
    paper: OmitArgPrefixes[_PaperOptions] = _PaperOptions()
    """Of the paper's methods, asmpg, asmpg-marginal and ais-*."""


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure the policies of a run with fresh episodes."""

    run: _Run
    """Folder of the run."""
    episodes: int = 1000
    """Episodes for each seed."""
    greedy: bool = False
    """Take the most probable agent states and actions instead of sampling them."""
    seed: _Integer = None
    """This seed only."""
    which: _Which = "best"
    """The policy of the best evaluation of each seed, or of the last."""
    step: _Integer = None
    """The first policy that was kept (--checkpoint-every) at so many steps or more, instead."""
    trust: _Trust = False
    as_json: _Json = False


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Draw the learning curve of a run, with the environment's yardsticks."""

    run: _Run
    """Folder of the run."""
    out: _Folder = None
    """Where the pictures go; into the folder of the run if left out."""
    trust: bool = False
    """Import the module that the run's environment names, if that is needed."""


@dataclass(frozen=True, kw_only=True)
class Show:
    """Show the memory of an agent as a machine: a table, pictures, and a page to watch it play."""

    run: _Run
    """Folder of the run."""
    seed: _Integer = None
    """The agent of this seed; the best one, and the others beside it, if left out."""
    minimise: bool = False
    """Print and draw it hardened and minimised, with what that costs."""
    out: _Folder = None
    """Where pictures and page go; into the folder of the run if left out."""
    which: _Which = "best"
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
class _JobOptions:
    executor: Annotated[str, _value("NAME")] = "local"
    """Where runs take place: local, this machine, ray, slurm, or the name of a registered
    executor."""
    executor_option: _Settings = ()
    """An option of the executor, such as partition=gpu or time=60 for slurm; may be repeated."""
    address: Annotated[str | None, _value("ADDRESS")] = None
    """Where the Ray cluster is: HOST:PORT, ray://HOST:PORT or auto."""
    jobs: _Integer = None
    """Runs at a time; one per core on CPUs, one on a GPU, what a cluster holds if left out."""
    cpus: _Integer = None
    """CPU cores, and threads, of each run; 1 if left out."""
    gpus: Annotated[float | None, _value("FLOAT")] = None
    """GPUs that a cluster gives to each run; Ray takes parts, 0.25."""
    memory: Annotated[float | None, _value("GIB")] = None
    """GiB of memory that a cluster gives to each run; its own choice if left out."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """What the runs compute on."""
    patience: float = 600.0
    """Seconds without progress after which a run is restarted."""
    retries: int = 2
    """How often a run that failed is restarted."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Run methods in environments side by side, and compare them.

    What is done already is not done again: after a failure, a Ctrl-C or a power cut, the same
    command resumes the study.
    """

    name: Annotated[str, Positional, arg(metavar="STUDY")]
    """A study that comes with the package, quick, methods, paper, readings, efficiency, popgym or
    cassandra, or a TOML file."""
    out: _Folder = None
    """Folder of the study; runs/NAME if left out."""
    seeds: Annotated[str | None, _Seeds] = None
    """How many seeds, or which: 1952,5235; the study's if left out."""
    steps: _Integer = None
    """Environment steps of each seed at most; the study's if left out."""
    environments: Annotated[str | None, _value("NAME,NAME,...")] = None
    """Those to run, by name or by pattern, 'popgym-*Easy'; all if left out."""
    entries: Annotated[str | None, _value("NAME,NAME,...")] = None
    """Those to run, by name or by pattern; all if left out."""
    quiet: _Quiet = False
    no_compile_cache: _NoCompileCache = False
    running: OmitArgPrefixes[_JobOptions] = _JobOptions()
    """Where runs take place, and what becomes of those that fail."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Try out options of a method, and draw how much each of them matters.

    What is done already is not done again: after a failure, a Ctrl-C or a power cut, the same
    command resumes the sweep.
    """

    file: Annotated[str, Positional, arg(metavar="FILE")]
    """A TOML file with the options to try: a grid, at random, or by Optuna."""
    out: _Folder = None
    """Folder of the sweep; runs/NAME if left out."""
    quiet: _Quiet = False
    no_compile_cache: _NoCompileCache = False
    running: OmitArgPrefixes[_JobOptions] = _JobOptions()
    """Where runs take place, and what becomes of those that fail."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write tables, figures and report of a study or a sweep again, as far as it has come."""

    folder: Annotated[Path, Positional, arg(metavar="FOLDER")]
    """Folder of the study or the sweep."""
    trust: bool = False
    """Import the modules that it names in "imports"."""


@dataclass(frozen=True, kw_only=True)
class Envs:
    """Show the environments and the values of several kinds of policies in them."""

    name: Annotated[str | None, Positional, _value("NAME")] = None
    """Show this environment only, in detail."""
    as_json: _Json = False
    pictures: _Folder = None
    """Draw into this folder; one environment is always drawn, into "pictures"."""
    recompute: bool = False
    """Also run the slow solvers, those of environments with continuous observations."""


@dataclass(frozen=True, kw_only=True)
class Verify:
    """Run the paper's theorems: measure every claim and compare it with what is predicted."""

    quick: bool = False
    """Fewer processes, runs and search steps: a minute instead of ten."""
    as_json: _Json = False
    out: _Folder = None
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
    environment_option: _Settings = ()
    """An option of the environment; may be given several times."""


@dataclass(frozen=True, kw_only=True)
class Solve:
    """Bound the best value of a POMDP, and search the best controller of each size."""

    environment: Annotated[str, Positional, arg(metavar="FILE")]
    """A POMDP file, or one of ours whose model is finite."""
    num_states: Annotated[str, _value("N,N,...")] = "1,2,4,8,16"
    """Numbers of agent states."""
    seconds: Annotated[float, arg(name="time", metavar="SECONDS", help_behavior_hint="")] = 60.0
    """Seconds for everything; two fifths of them go to the bounds."""
    discount: Annotated[float | None, _option("FLOAT", "the file's, or 0.99")] = None
    """Discount factor."""
    as_json: _Json = False
    out: _Folder = None
    """Write results, pictures and machines there; sizes that are there are not solved again."""
    environment_option: _Settings = ()
    """An option of the environment, say stop_at_goals=true."""


@dataclass(frozen=True, kw_only=True)
class _Distillation:
    """What `asmpg distil` and `asmpg compress` have in common."""

    run: _Run
    """Folder of the run of the teacher, or a file that an agent was saved in; for a teacher that
    knows the model, an environment of ours with a finite one, or a POMDP file."""
    num_states: int | str
    teacher: Literal["agent", "belief", "qmdp"] = "agent"
    """The agent of a run; or who tracks the belief in the environment RUN, and acts by the vectors
    of the point-based solver, or by QMDP."""
    window: Annotated[int | None, _option("INT", "ASM-PPO's")] = None
    """How many of the last observations actions see beside the agent state."""
    finetune: Annotated[int, _value("STEPS")] = 0
    """Environment steps of ASM-PPO afterwards."""
    out: _Folder = None
    seed: _Integer = None
    """The teacher is the agent of this seed; the best one if left out."""
    which: _Which = "best"
    """The teacher as of the best evaluation of its seed, or of the last."""
    seeds: Annotated[str, _Seeds] = "1"
    """How many students of a size, or which: 1952,5235."""
    deterministic: bool = False
    """Learn the teacher's most probable action instead of its distribution."""
    rounds: int = 5
    """The first is played by the teacher, the others by the student."""
    sequences: Annotated[int | None, _option("INT", "64, on the host 16")] = None
    """So many are played side by side in each round."""
    epochs: int = 100
    """In each round at most."""
    episodes: int = 1000
    """Fresh episodes that scores are measured with."""
    option: _Settings = ()
    """Any other option of ASM-PPO; may be given several times."""
    trust: _Trust = False
    quiet: _Quiet = False
    as_json: _Json = False


@dataclass(frozen=True, kw_only=True)
class Distil(_Distillation):
    """Fit a finite memory to what the agent of a run does, whatever memory that has."""

    num_states: int = 8
    """Agent states of the student."""
    out: _Folder = None
    """Folder of the student's run; RUN-N-states if left out, for an environment in runs/."""


@dataclass(frozen=True, kw_only=True)
class Compress(_Distillation):
    """Distil the agent of a run into memories of several sizes, and draw what each is worth."""

    num_states: Annotated[str, _value("N,N,...")] = "2,4,8"
    """Numbers of agent states."""
    out: _Folder = None
    """Folder of the students' runs, the table and the picture; RUN-compressed if left out, for an
    environment in runs/."""


COMMANDS: dict[str, type] = {
    command.__name__.lower(): command
    for command in (
        *(Train, Evaluate, Plot, Show, Study, Sweep, Report, Envs, Verify, Check, Solve),
        *(Distil, Compress),
    )
}
