"""Options of `asmpg train`, in groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import OmitArgPrefixes, Positional, arg

from asmpg.commands.arguments._kinds import (
    Folder,
    NoCompileCache,
    OwnFloat,
    OwnInteger,
    Quiet,
    Settings,
    own,
    value,
)


@dataclass(frozen=True, kw_only=True)
class _MethodOptions:
    num_states: OwnInteger = None
    """Number of agent states."""
    window: OwnInteger = None
    """Number of recent observations that the action sees besides the agent state."""
    counts: Annotated[bool | None, own("{True,False}")] = None
    """Whether the action also sees how often each observation has occurred in the episode."""
    policy: Annotated[
        Literal["auto", "mlp", "tabular", "joint", "matrix"] | None,
        own("auto|mlp|tabular|joint|matrix"),
    ] = None
    """The paper's networks (mlp), tables (tabular), one table for agent states and actions jointly
    (joint), a network from the observation to a transition matrix (matrix), or whichever suits the
    observations (auto)."""
    hidden: OwnInteger = None
    """Base width of the hidden layers."""
    critic: Annotated[
        Literal["auto", "history", "gru", "memory", "both", "linear", "latent"] | None,
        own("auto|history|gru|memory|both|linear|latent"),
    ] = None
    """What the critic reads: the environment's latent state and the policy's memory (latent), a
    recurrent memory of its own (gru, linear), the policy's memory (memory), both of these (both),
    or whichever suits the observations (history). auto is latent for asm-ppo in compiled
    environments, else history."""
    learning_rate: OwnFloat = None
    """Learning rate of networks; that of tables is --option table_learning_rate=0.03."""
    discount: OwnFloat = None
    """Discount factor; for a POMDP file, the default is the file's."""
    entropy_coefficient: OwnFloat = None
    """Initial weight of the entropy bonus; it decays to 0 over the run."""
    num_environments: OwnInteger = None
    """Number of parallel environments."""
    rollout_steps: OwnInteger = None
    """Steps per environment in each update."""
    epochs: OwnInteger = None
    """Passes over the data of each update."""
    option: Settings = ()
    """Any other option of the method, e.g. start=zeros; may be repeated."""


@dataclass(frozen=True, kw_only=True)
class _EvaluationOptions:
    evaluate_every: OwnInteger = None
    """Environment steps between evaluations."""
    evaluation_episodes: Annotated[int | None, own("INT", "100; 30 on the host")] = None
    """Fresh episodes per evaluation."""
    greedy: bool = False
    """Evaluate with the most probable agent states and actions."""


@dataclass(frozen=True, kw_only=True)
class _RecordOptions:
    checkpoint_every: Annotated[int | None, value("STEPS")] = None
    """Keep a checkpoint every this many steps, besides the best and the last."""
    tensorboard: bool = False
    """Write TensorBoard logs to the folder of the run."""
    wandb: Annotated[str | None, value("PROJECT")] = None
    """Log to this Weights & Biases project, one W&B run per seed."""


@dataclass(frozen=True, kw_only=True)
class _EnvironmentOptions:
    environment_option: Settings = ()
    """Environment option, e.g. max_steps=100; may be repeated."""
    vectorization: Annotated[Literal["sync", "async"] | None, own("sync|async", "sync")] = None
    """Step Gymnasium environments in this process (sync), or each in its own process (async)."""
    step_timeout: Annotated[float | None, value("SECONDS")] = None
    """Maximum seconds per step of a Gymnasium environment; no limit if omitted."""
    trust: bool = False
    """With --resume, allow importing the module in the run's environment id, module:Name-v0."""


@dataclass(frozen=True, kw_only=True)
class _PaperOptions:
    objective: Annotated[Literal["discounted", "episodic"] | None, own("discounted|episodic")] = (
        None
    )
    """Discounted return (Algorithm 2) or undiscounted return (Algorithm 1)."""
    episodes_per_update: OwnInteger = None
    """Whole episodes per update."""
    estimator: Annotated[Literal["sampled", "marginal"] | None, own("sampled|marginal")] = None
    """For asmpg: sample agent states as in the paper, or integrate them out."""
    baseline: Annotated[
        Literal["none", "leave-one-out", "critic"] | None, own("none|leave-one-out|critic")
    ] = None
    """For asmpg: what to subtract from the returns."""
    standardise: Annotated[
        Literal["none", "batch", "episode"] | None, own("none|batch|episode")
    ] = None
    """For asmpg and ais: standardise returns over the batch, or over each episode."""
    discount_from: Annotated[Literal["start", "step"] | None, own("start|step")] = None
    """For asmpg: discount rewards from the episode's start, or from the step being weighted."""
    step_reduction: Annotated[
        Literal["episode-sum", "episode-mean", "batch-mean"] | None,
        own("episode-sum|episode-mean|batch-mean"),
    ] = None
    """For asmpg: sum over the steps of an episode, as Algorithm 2 is printed, mean over them (the
    default), or mean over all steps of a batch."""
    activation: Annotated[Literal["relu", "tanh"] | None, own("relu|tanh")] = None
    """Activation function of the networks."""
    initial_weights: Annotated[
        Literal["uniform", "orthogonal", "small-last-layer"] | None,
        own("uniform|orthogonal|small-last-layer"),
    ] = None
    """For asmpg (default: orthogonal) and ais: initialisation of linear layers; uniform is
    PyTorch's."""
    inputs: Annotated[
        Literal["one-hot", "embedding", "index"] | None, own("one-hot|embedding|index")
    ] = None
    """For asmpg: how its networks encode agent states, actions and finite observations."""
    time_indexed: bool = False
    """Separate kernels for each step of an episode."""
    optimiser: Annotated[Literal["adam", "sgd"] | None, own("adam|sgd")] = None
    """Optimiser of the policy."""
    schedule: Annotated[Literal["constant", "decreasing"] | None, own("constant|decreasing")] = None
    """Constant step size, or one that decays with the square root of the number of updates."""
    barrier: OwnFloat = None
    """Weight of the log-barrier."""
    barrier_form: Annotated[
        Literal["visited-mean", "visited-sum", "all-inputs", "entropy"] | None,
        own("visited-mean|visited-sum|all-inputs|entropy"),
    ] = None
    """For asmpg: the log-barrier's mean over visited steps, its sum over those of an episode, its
    mean over all inputs, or an entropy bonus instead."""


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a policy with memory in an environment, once per seed."""

    environment: Annotated[str | None, Positional, value("ENVIRONMENT")] = None
    """One listed by `asmpg envs`, a POMDP file, or any Gymnasium id, e.g. module:Name-v0."""
    method: Annotated[str | None, own("STR", "asm-ppo")] = None
    """asm-ppo (recommended), gru-ppo, mingru-ppo, memoryless-ppo, asmpg (as in the paper),
    asmpg-marginal, ais-kl, ais-mmd, ais-kl-fixed or ais-mmd-fixed."""
    steps: OwnInteger = None
    """Environment steps per seed."""
    seeds: Annotated[str | None, own("N|SEED,SEED,...", "10")] = None
    """Number of seeds, the paper's first, or a list of seeds: 1952,5235. A single one: 1952,"""
    out: Folder = None
    """Folder of the run; runs/ENVIRONMENT-METHOD if omitted."""
    resume: Annotated[Path | None, value("RUN")] = None
    """Resume the run in this folder; options must match the run's or be omitted, except for more
    steps, --stop-at and --patience."""
    stop_at: Annotated[float | None, value("SCORE")] = None
    """Stop a seed once one of its evaluations reaches SCORE; the run ends when all have."""
    patience: Annotated[int | None, value("EVALUATIONS")] = None
    """Stop a seed after this many evaluations in a row without a new best score."""
    device: Annotated[str | None, value("cpu|gpu|cuda:0")] = None
    """Device to run on; JAX's default if omitted."""
    quiet: Quiet = False
    verbose: Annotated[int | None, own("0|1|2", "1")] = None
    """0 is --quiet, 1 shows progress, 2 also prints every evaluation."""
    no_compile_cache: NoCompileCache = False
    asm_ppo: OmitArgPrefixes[_MethodOptions] = _MethodOptions()
    """Options of the recommended method; other methods share some of them."""
    evaluation: OmitArgPrefixes[_EvaluationOptions] = _EvaluationOptions()
    """How the policy is evaluated during training."""
    record: OmitArgPrefixes[_RecordOptions] = _RecordOptions()
    """What to record besides checkpoints and metrics.csv."""
    environment_: Annotated[_EnvironmentOptions, OmitArgPrefixes, arg(name="environment")] = (
        _EnvironmentOptions()
    )
    """Options of the environment, and of how Gymnasium environments are stepped."""
    paper: OmitArgPrefixes[_PaperOptions] = _PaperOptions()
    """Options of the paper's methods: asmpg, asmpg-marginal and ais-*."""
