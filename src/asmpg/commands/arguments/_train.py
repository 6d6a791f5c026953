"""What `asmpg train` is told, in groups."""

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
    """How many of the last observations the action sees beside the agent state."""
    counts: Annotated[bool | None, own("{True,False}")] = None
    """Whether the action also sees how often each observation came so far in the episode."""
    policy: Annotated[
        Literal["auto", "mlp", "tabular", "joint", "matrix"] | None,
        own("auto|mlp|tabular|joint|matrix"),
    ] = None
    """The paper's networks (mlp), tables, one table for agent states and actions jointly, a network
    from the observation to a transition matrix, or what suits the observations."""
    hidden: OwnInteger = None
    """Base width of the hidden layers."""
    critic: Annotated[
        Literal["auto", "history", "gru", "memory", "both", "linear", "latent"] | None,
        own("auto|history|gru|memory|both|linear|latent"),
    ] = None
    """What the critic reads: the latent state of the environment and the policy's memory (latent),
    a recurrent memory of its own (gru, linear), the policy's, both, or what suits the observations
    (history). auto is latent for asm-ppo in compiled environments, else history."""
    learning_rate: OwnFloat = None
    """Step size of networks; that of tables is --option table_learning_rate=0.03."""
    discount: OwnFloat = None
    """Discount factor; that of a POMDP file where the environment is one."""
    entropy_coefficient: OwnFloat = None
    """Weight of the entropy bonus at the start; it fades."""
    num_environments: OwnInteger = None
    """Environments that are played in side by side."""
    rollout_steps: OwnInteger = None
    """Steps in each environment for an update."""
    epochs: OwnInteger = None
    """Passes over the data of an update."""
    option: Settings = ()
    """Any other option of the method, say start=zeros; may be given several times."""


@dataclass(frozen=True, kw_only=True)
class _EvaluationOptions:
    evaluate_every: OwnInteger = None
    """Environment steps between two evaluations."""
    evaluation_episodes: Annotated[int | None, own("INT", "100; 30 on the host")] = None
    """Fresh episodes in each evaluation."""
    greedy: bool = False
    """Evaluate with the most probable agent states and actions."""


@dataclass(frozen=True, kw_only=True)
class _RecordOptions:
    checkpoint_every: Annotated[int | None, value("STEPS")] = None
    """Keep a checkpoint in every so many steps, beside the best and the last."""
    tensorboard: bool = False
    """Write logs for TensorBoard into the folder of the run."""
    wandb: Annotated[str | None, value("PROJECT")] = None
    """Log to this project of Weights & Biases, a run there for each seed."""


@dataclass(frozen=True, kw_only=True)
class _EnvironmentOptions:
    environment_option: Settings = ()
    """An option of the environment, say max_steps=100; may be given several times."""
    vectorization: Annotated[Literal["sync", "async"] | None, own("sync|async", "sync")] = None
    """Gymnasium environments in this process, or each in its own process."""
    step_timeout: Annotated[float | None, value("SECONDS")] = None
    """Seconds that a step of a Gymnasium environment may take; no limit if left out."""
    trust: bool = False
    """With --resume, import the module that the run's environment names, module:Name-v0."""


@dataclass(frozen=True, kw_only=True)
class _PaperOptions:
    objective: Annotated[Literal["discounted", "episodic"] | None, own("discounted|episodic")] = (
        None
    )
    """Discounted return (Algorithm 2) or undiscounted return (Algorithm 1)."""
    episodes_per_update: OwnInteger = None
    """Whole episodes per update."""
    estimator: Annotated[Literal["sampled", "marginal"] | None, own("sampled|marginal")] = None
    """Of asmpg: sample agent states as in the paper, or integrate them out."""
    baseline: Annotated[
        Literal["none", "leave-one-out", "critic"] | None, own("none|leave-one-out|critic")
    ] = None
    """Of asmpg: what is subtracted from the returns."""
    standardise: Annotated[
        Literal["none", "batch", "episode"] | None, own("none|batch|episode")
    ] = None
    """Of asmpg and ais: returns minus their mean, divided by their standard deviation, of the batch
    or of each episode."""
    discount_from: Annotated[Literal["start", "step"] | None, own("start|step")] = None
    """Of asmpg: discount rewards from the start of the episode, or from the step that is
    weighted."""
    step_reduction: Annotated[
        Literal["episode-sum", "episode-mean", "batch-mean"] | None,
        own("episode-sum|episode-mean|batch-mean"),
    ] = None
    """Of asmpg: sum over the steps of an episode, as Algorithm 2 is printed, or their mean (the
    default), or that over all steps of a batch."""
    activation: Annotated[Literal["relu", "tanh"] | None, own("relu|tanh")] = None
    """Non-linearity of the networks."""
    initial_weights: Annotated[
        Literal["uniform", "orthogonal", "small-last-layer"] | None,
        own("uniform|orthogonal|small-last-layer"),
    ] = None
    """Of asmpg, orthogonal by default, and ais: how linear layers start; uniform is PyTorch's."""
    inputs: Annotated[
        Literal["one-hot", "embedding", "index"] | None, own("one-hot|embedding|index")
    ] = None
    """Of asmpg: how its networks are shown agent states, actions and finite observations."""
    time_indexed: bool = False
    """Separate kernels for each step of an episode."""
    optimiser: Annotated[Literal["adam", "sgd"] | None, own("adam|sgd")] = None
    """Optimiser of the policy."""
    schedule: Annotated[Literal["constant", "decreasing"] | None, own("constant|decreasing")] = None
    """Constant step size, or one that falls with the square root of the updates."""
    barrier: OwnFloat = None
    """Weight of the log-barrier."""
    barrier_form: Annotated[
        Literal["visited-mean", "visited-sum", "all-inputs", "entropy"] | None,
        own("visited-mean|visited-sum|all-inputs|entropy"),
    ] = None
    """Of asmpg: the log-barrier's mean over visited steps, its sum over those of an episode, its
    mean over all inputs, or an entropy bonus instead."""


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a policy with memory in an environment, once for each seed."""

    environment: Annotated[str | None, Positional, value("ENVIRONMENT")] = None
    """One of those that `asmpg envs` shows, a POMDP file, or any Gymnasium id, module:Name-v0."""
    method: Annotated[str | None, own("STR", "asm-ppo")] = None
    """asm-ppo (recommended), gru-ppo, mingru-ppo, memoryless-ppo, asmpg (as in the paper),
    asmpg-marginal, ais-kl, ais-mmd, ais-kl-fixed or ais-mmd-fixed."""
    steps: OwnInteger = None
    """Environment steps of each seed."""
    seeds: Annotated[str | None, own("N|SEED,SEED,...", "10")] = None
    """How many seeds, the paper's first, or which: 1952,5235. A single one: 1952,"""
    out: Folder = None
    """Folder of the run; runs/ENVIRONMENT-METHOD if left out."""
    resume: Annotated[Path | None, value("RUN")] = None
    """Resume the run in this folder; options must be its own, or be left out, but for more
    steps, --stop-at and --patience."""
    stop_at: Annotated[float | None, value("SCORE")] = None
    """Stop a seed once one of its evaluations reaches SCORE; the run ends when all seeds have."""
    patience: Annotated[int | None, value("EVALUATIONS")] = None
    """Stop a seed once so many of its evaluations in a row brought no new best score."""
    device: Annotated[str | None, value("cpu|gpu|cuda:0")] = None
    """What to compute on; what jax prefers if left out."""
    quiet: Quiet = False
    verbose: Annotated[int | None, own("0|1|2", "1")] = None
    """0 is --quiet, 1 shows progress, 2 prints every evaluation as well."""
    no_compile_cache: NoCompileCache = False
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
