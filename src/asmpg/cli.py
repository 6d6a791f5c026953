"""The command line: the options of each command. Nothing heavy is imported before one runs."""

import inspect
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, UseAppendAction, arg

from asmpg._support.command_line import plain_output, read_command, shortened
from asmpg._support.errors import CheckpointError, TrainingError
from asmpg._support.interrupts import leave_interrupted, leave_on_interrupt, raise_on_interrupt
from asmpg._support.version import __version__


def _value(metavar: str) -> Any:
    return arg(metavar=metavar, help_behavior_hint="")


def _option(metavar: str, default: str = "the method's") -> Any:
    """An option that is `None` unless it is typed; `default` is what help shows for that."""
    return arg(metavar=metavar, help_behavior_hint=f"(default: {default})")


def train(
    environment: Annotated[str | None, Positional, _value("ENVIRONMENT")] = None,
    *,
    seeds: Annotated[str | None, _option("N|SEED,SEED,...", "10")] = None,
    steps: Annotated[int | None, _option("INT")] = None,
    out: Annotated[Path | None, _value("FOLDER")] = None,
    resume: Annotated[Path | None, _value("RUN")] = None,
    evaluate_every: Annotated[int | None, _option("INT")] = None,
    evaluation_episodes: Annotated[int | None, _option("INT", "100")] = None,
    greedy: bool = False,
    tensorboard: bool = False,
    quiet: bool = False,
    trust: bool = False,
    method: Annotated[str | None, _option("STR", "asm-ppo")] = None,
    num_states: Annotated[int | None, _option("INT")] = None,
    window: Annotated[int | None, _option("INT")] = None,
    hidden: Annotated[int | None, _option("INT")] = None,
    objective: Annotated[
        Literal["discounted", "episodic"] | None, _option("discounted|episodic")
    ] = None,
    discount: Annotated[float | None, _option("FLOAT")] = None,
    episodes_per_update: Annotated[int | None, _option("INT")] = None,
    policy: Annotated[
        Literal["auto", "mlp", "tabular", "joint", "matrix"] | None,
        _option("auto|mlp|tabular|joint|matrix"),
    ] = None,
    estimator: Annotated[Literal["sampled", "marginal"] | None, _option("sampled|marginal")] = None,
    baseline: Annotated[
        Literal["none", "leave-one-out", "critic"] | None, _option("none|leave-one-out|critic")
    ] = None,
    activation: Annotated[Literal["relu", "tanh"] | None, _option("relu|tanh")] = None,
    time_indexed: bool = False,
    optimiser: Annotated[Literal["adam", "sgd"] | None, _option("adam|sgd")] = None,
    learning_rate: Annotated[float | None, _option("FLOAT")] = None,
    schedule: Annotated[
        Literal["constant", "decreasing"] | None, _option("constant|decreasing")
    ] = None,
    barrier: Annotated[float | None, _option("FLOAT")] = None,
    vectorization: Annotated[Literal["sync", "async"] | None, _option("sync|async", "sync")] = None,
    step_timeout: Annotated[float | None, _value("SECONDS")] = None,
    option: Annotated[tuple[str, ...], UseAppendAction, _value("NAME=VALUE")] = (),
    environment_option: Annotated[tuple[str, ...], UseAppendAction, _value("NAME=VALUE")] = (),
) -> None:
    """Train a policy with memory in an environment, once for each seed.

    Args:
        environment: One of those that `asmpg envs` shows, or any Gymnasium id, module:Name-v0.
        seeds: How many seeds, the paper's first, or which: 1952,5235. A single one: 1952,
        steps: Environment steps of each seed.
        out: Folder of the run; runs/ENVIRONMENT-METHOD if left out.
        resume: Resume the run in this folder; options must be its own, or be left out, but for more
            steps.
        evaluate_every: Environment steps between two evaluations.
        evaluation_episodes: Fresh episodes in each evaluation.
        greedy: Evaluate with the most probable agent states and actions.
        tensorboard: Write logs for TensorBoard into the folder of the run.
        quiet: Show no progress.
        trust: With --resume, import the module that the run's environment names, module:Name-v0.
        method: asm-ppo (recommended), gru-ppo, mingru-ppo, memoryless-ppo, asmpg (as in
            the paper), asmpg-marginal, ais-kl, ais-mmd, ais-kl-fixed or ais-mmd-fixed.
        num_states: Number of agent states.
        window: How many of the last observations the action sees beside the agent state.
        hidden: Base width of the hidden layers.
        objective: Discounted return (Algorithm 2) or undiscounted return (Algorithm 1).
        discount: Discount factor.
        episodes_per_update: Whole episodes per update.
        policy: The paper's networks (mlp), tables, one table for agent states and actions jointly,
            a network from the observation to a transition matrix, or what suits the observations.
        estimator: Of asmpg: sample agent states as in the paper, or integrate them out.
        baseline: Of asmpg: what is subtracted from the returns.
        activation: Non-linearity of the networks.
        time_indexed: Separate kernels for each step of an episode.
        optimiser: Optimiser of the policy.
        learning_rate: Step size.
        schedule: Constant step size, or one that falls with the square root of the updates.
        barrier: Weight of the log-barrier.
        vectorization: Gymnasium environments in this process, or each in its own process.
        step_timeout: Seconds that a step of a Gymnasium environment may take; no limit if left out.
        option: Any other option of the method, say start=zeros; may be given several times.
        environment_option: An option of the environment, say max_steps=100; likewise.
    """
    given = _given(train, locals())
    from asmpg.commands import train as command

    raise_on_interrupt()
    command.show(given)


def evaluate(
    run: Annotated[Path, Positional, arg(metavar="RUN")],
    *,
    episodes: int = 1000,
    greedy: bool = False,
    seed: Annotated[int | None, _value("INT")] = None,
    which: Literal["best", "last"] = "best",
    trust: bool = False,
    json: bool = False,
) -> None:
    """Measure the policies of a run with fresh episodes.

    Args:
        run: Folder of the run.
        episodes: Episodes for each seed.
        greedy: Take the most probable agent states and actions instead of sampling them.
        seed: This seed only.
        which: The policy of the best evaluation of each seed, or of the last.
        trust: Import the module that the run's environment names, module:Name-v0.
        json: Print JSON instead of a table.
    """
    from asmpg.commands import evaluate as command

    raise_on_interrupt()
    command.show(
        run, episodes=episodes, greedy=greedy, seed=seed, which=which, trust=trust, as_json=json
    )


def plot(
    run: Annotated[Path, Positional, arg(metavar="RUN")],
    *,
    out: Annotated[Path | None, _value("FOLDER")] = None,
    trust: bool = False,
) -> None:
    """Draw the learning curve of a run, with the environment's yardsticks.

    Args:
        run: Folder of the run.
        out: Where the pictures go; into the folder of the run if left out.
        trust: Import the module that the run's environment names, if that is needed.
    """
    from asmpg.commands import plot as command

    raise_on_interrupt()
    command.show(run, out=out, trust=trust)


def show(
    run: Annotated[Path, Positional, arg(metavar="RUN")],
    *,
    seed: Annotated[int | None, _value("INT")] = None,
    minimise: bool = False,
    out: Annotated[Path | None, _value("FOLDER")] = None,
    which: Literal["best", "last"] = "best",
    words: bool = False,
    tolerance: float = 1e-6,
    cases: int = 16,
    episodes: int = 2,
    history: int = 0,
) -> None:
    """Show the memory of an agent as a machine: a table, pictures, and a page to watch it play.

    Args:
        run: Folder of the run.
        seed: The agent of this seed; the best one, and the others beside it, if left out.
        minimise: Print and draw it hardened and minimised, with what that costs.
        out: Where pictures and page go; into the folder of the run if left out.
        which: The policy of the best evaluation of each seed, or of the last.
        words: Print what each state has seen instead of the table.
        tolerance: States are merged whose probabilities differ by no more.
        cases: Real observations are told apart by so many typical cases.
        episodes: Episodes on the page; the machines of other seeds play one each.
        history: Train the seed once more, and draw its machine at so many moments of the run.
    """
    from asmpg.commands import show as command

    raise_on_interrupt()
    command.show(
        run,
        out=out,
        seed=seed,
        which=which,
        minimise=minimise,
        tolerance=tolerance,
        cases=cases,
        episodes=episodes,
        history=history,
        words=words,
        quiet=False,
    )


def study(
    name: Annotated[str, Positional, arg(metavar="STUDY")],
    *,
    out: Annotated[Path | None, _value("FOLDER")] = None,
    executor: Annotated[str, _value("NAME")] = "local",
    jobs: Annotated[int | None, _value("INT")] = None,
    seeds: Annotated[str | None, _value("N|SEED,SEED,...")] = None,
    steps: Annotated[int | None, _value("INT")] = None,
    environments: Annotated[str | None, _value("NAME,NAME,...")] = None,
    entries: Annotated[str | None, _value("NAME,NAME,...")] = None,
    device: Literal["auto", "cpu", "gpu"] = "auto",
    patience: float = 600.0,
    retries: int = 2,
    quiet: bool = False,
) -> None:
    """Run methods in environments side by side, and compare them.

    What is done already is not done again: after a failure, a Ctrl-C or a power cut, the same
    command resumes the study.

    Args:
        name: A study that comes with the package, paper, quick, efficiency or popgym, or a
            TOML file.
        out: Folder of the study; runs/NAME if left out.
        executor: Where runs take place: local, this machine, or the name of a registered executor.
        jobs: Runs at a time; one per core on CPUs, one on a GPU if left out.
        seeds: How many seeds, or which: 1952,5235; the study's if left out.
        steps: Environment steps of each seed at most; the study's if left out.
        environments: Those to run, by name or by pattern, 'popgym-*Easy'; all if left out.
        entries: Those to run, by name or by pattern; all if left out.
        device: What the runs compute on.
        patience: Seconds without progress after which a run is restarted.
        retries: How often a run that failed is restarted.
        quiet: Show no progress.
    """
    from asmpg.commands import study as command

    raise_on_interrupt()
    command.show(
        name,
        out=out,
        executor=executor,
        jobs=jobs,
        seeds=seeds,
        steps=steps,
        environments=environments,
        entries=entries,
        device=device,
        patience=patience,
        retries=retries,
        quiet=quiet,
    )


def report(
    folder: Annotated[Path, Positional, arg(metavar="FOLDER")], *, trust: bool = False
) -> None:
    """Write the tables, the figures and the report of a study again, as far as it has come.

    Args:
        folder: Folder of the study.
        trust: Import the modules that the study names in "imports".
    """
    from asmpg.commands import report as command

    raise_on_interrupt()
    command.show(folder, trust=trust)


def envs(
    name: Annotated[str | None, Positional, _value("NAME")] = None,
    *,
    json: bool = False,
    pictures: Annotated[Path | None, _value("FOLDER")] = None,
    recompute: bool = False,
) -> None:
    """Show the environments and the values of several kinds of policies in them.

    Args:
        name: Show this environment only, in detail.
        json: Print JSON instead of a table.
        pictures: Draw into this folder; one environment is always drawn, into "pictures".
        recompute: Also run the slow solvers, those of environments with continuous observations.
    """
    from asmpg.commands import envs as command

    raise_on_interrupt()
    command.show(name, as_json=json, pictures=pictures, recompute=recompute)


def verify(
    *,
    quick: bool = False,
    json: bool = False,
    out: Annotated[Path | None, _value("FOLDER")] = None,
) -> None:
    """Run the paper's theorems: measure every claim and compare it with what is predicted.

    Args:
        quick: Fewer processes, runs and search steps: a minute instead of ten.
        json: Print JSON instead of a table.
        out: Draw the figures into this folder, and write the rows there as JSON.
    """
    from asmpg.commands import verify as command

    raise_on_interrupt()
    if not command.show(quick=quick, as_json=json, out=out):
        sys.exit(1)


def check(
    environment: Annotated[str, Positional, arg(metavar="ENVIRONMENT")],
    *,
    seconds: float = 60.0,
    num_states: int = 8,
    json: bool = False,
    environment_option: Annotated[tuple[str, ...], UseAppendAction, _value("NAME=VALUE")] = (),
) -> None:
    """Check whether an environment fits, what it costs, and whether memory helps in it.

    Args:
        environment: One of ours, or any Gymnasium id, module:Name-v0.
        seconds: How long to compare a policy with memory and one without; 0 skips that.
        num_states: Agent states of the policy with memory.
        json: Print JSON instead of text.
        environment_option: An option of the environment; may be given several times.
    """
    from asmpg.commands import check as command

    raise_on_interrupt()
    command.show(
        environment,
        seconds=seconds,
        num_states=num_states,
        as_json=json,
        environment_option=environment_option,
    )


def solve(
    environment: Annotated[str, Positional, arg(metavar="FILE")],
    *,
    num_states: Annotated[str, _value("N,N,...")] = "1,2,4,8,16",
    time: Annotated[float, _value("SECONDS")] = 60.0,
    discount: Annotated[float | None, _option("FLOAT", "the file's, or 0.99")] = None,
    json: bool = False,
    out: Annotated[Path | None, _value("FOLDER")] = None,
    environment_option: Annotated[tuple[str, ...], UseAppendAction, _value("NAME=VALUE")] = (),
) -> None:
    """Bound the best value of a POMDP, and search the best controller of each size.

    Args:
        environment: A POMDP file, or one of ours whose model is finite.
        num_states: Numbers of agent states.
        time: Seconds for everything; two fifths of them go to the bounds.
        discount: Discount factor.
        json: Print JSON instead of a table.
        out: Write results, pictures and machines there; sizes that are there are not solved again.
        environment_option: An option of the environment, say stop_at_goals=true.
    """
    from asmpg.commands import solve as command

    raise_on_interrupt()
    command.show(
        environment,
        num_states=num_states,
        seconds=time,
        discount=discount,
        as_json=json,
        out=out,
        environment_option=environment_option,
    )


def distil(
    run: Annotated[Path, Positional, arg(metavar="RUN")],
    *,
    num_states: int = 8,
    window: Annotated[int | None, _option("INT", "ASM-PPO's")] = None,
    finetune: Annotated[int, _value("STEPS")] = 0,
    out: Annotated[Path | None, _value("FOLDER")] = None,
    seed: Annotated[int | None, _value("INT")] = None,
    which: Literal["best", "last"] = "best",
    seeds: Annotated[str, _value("N|SEED,SEED,...")] = "1",
    deterministic: bool = False,
    rounds: int = 5,
    sequences: Annotated[int | None, _option("INT", "64, on the host 16")] = None,
    epochs: int = 100,
    episodes: int = 1000,
    option: Annotated[tuple[str, ...], UseAppendAction, _value("NAME=VALUE")] = (),
    trust: bool = False,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Fit a finite memory to what the agent of a run does, whatever memory that has.

    Args:
        run: Folder of the run of the teacher, or a file that an agent was saved in.
        num_states: Agent states of the student.
        window: How many of the last observations its action sees beside the agent state.
        finetune: Environment steps of ASM-PPO afterwards.
        out: Folder of the student's run; RUN-N-states if left out.
        seed: The teacher is the agent of this seed; the best one if left out.
        which: The teacher as of the best evaluation of its seed, or of the last.
        seeds: How many students, or which: 1952,5235.
        deterministic: Learn the teacher's most probable action instead of its distribution.
        rounds: The first is played by the teacher, the others by the student.
        sequences: So many are played side by side in each round.
        epochs: In each round at most.
        episodes: Fresh episodes that scores are measured with.
        option: Any other option of ASM-PPO; may be given several times.
        trust: Import the module that the run's environment names, module:Name-v0.
        quiet: Show no progress.
        json: Print JSON instead of a table.
    """
    from asmpg.commands import distil as command

    raise_on_interrupt()
    command.show(
        run,
        num_states=num_states,
        window=window,
        finetune=finetune,
        out=out,
        seed=seed,
        which=which,
        seeds=seeds,
        option=option,
        quiet=quiet,
        as_json=json,
        lesson={
            "deterministic": deterministic,
            "rounds": rounds,
            "sequences": sequences,
            "epochs": epochs,
            "episodes": episodes,
            "trust": trust,
        },
    )


def compress(
    run: Annotated[Path, Positional, arg(metavar="RUN")],
    *,
    num_states: Annotated[str, _value("N,N,...")] = "2,4,8",
    window: Annotated[int | None, _option("INT", "ASM-PPO's")] = None,
    finetune: Annotated[int, _value("STEPS")] = 0,
    out: Annotated[Path | None, _value("FOLDER")] = None,
    seed: Annotated[int | None, _value("INT")] = None,
    which: Literal["best", "last"] = "best",
    seeds: Annotated[str, _value("N|SEED,SEED,...")] = "1",
    deterministic: bool = False,
    rounds: int = 5,
    sequences: Annotated[int | None, _option("INT", "64, on the host 16")] = None,
    epochs: int = 100,
    episodes: int = 1000,
    option: Annotated[tuple[str, ...], UseAppendAction, _value("NAME=VALUE")] = (),
    trust: bool = False,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Distil the agent of a run into memories of several sizes, and draw what each is worth.

    Args:
        run: Folder of the run of the teacher, or a file that an agent was saved in.
        num_states: Numbers of agent states.
        window: How many of the last observations actions see beside the agent state.
        finetune: Environment steps of ASM-PPO afterwards.
        out: Folder of the students' runs, the table and the picture; RUN-compressed if left out.
        seed: The teacher is the agent of this seed; the best one if left out.
        which: The teacher as of the best evaluation of its seed, or of the last.
        seeds: How many students of each size, or which: 1952,5235.
        deterministic: Learn the teacher's most probable action instead of its distribution.
        rounds: The first is played by the teacher, the others by the student.
        sequences: So many are played side by side in each round.
        epochs: In each round at most.
        episodes: Fresh episodes that scores are measured with.
        option: Any other option of ASM-PPO; may be given several times.
        trust: Import the module that the run's environment names, module:Name-v0.
        quiet: Show no progress.
        json: Print JSON instead of a table.
    """
    from asmpg.commands import compress as command

    raise_on_interrupt()
    command.show(
        run,
        num_states=num_states,
        window=window,
        finetune=finetune,
        out=out,
        seed=seed,
        which=which,
        seeds=seeds,
        option=option,
        quiet=quiet,
        as_json=json,
        lesson={
            "deterministic": deterministic,
            "rounds": rounds,
            "sequences": sequences,
            "epochs": epochs,
            "episodes": episodes,
            "trust": trust,
        },
    )


COMMANDS = {
    "train": train,
    "evaluate": evaluate,
    "plot": plot,
    "show": show,
    "study": study,
    "report": report,
    "envs": envs,
    "verify": verify,
    "check": check,
    "solve": solve,
    "distil": distil,
    "compress": compress,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; exit with 2 on wrong usage, 1 on failure, 130 on Ctrl-C.

    While modules are imported Ctrl-C ends the process at once; each command calls
    `raise_on_interrupt` once it has imported its own.
    """
    plain_output()
    try:
        _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt as interrupt:
        leave_interrupted(" ".join(map(str, interrupt.args)) or "stopped")
    finally:
        leave_on_interrupt()


def _run(given: Sequence[str]) -> None:
    if given == ["--version"]:
        print(f"asmpg {__version__}")
        return
    command = read_command(
        COMMANDS,
        given,
        prog="asmpg",
        description="Reinforcement learning with a learned, finite memory.",
    )
    try:
        command()
    except BrokenPipeError:
        # The reader of our output is gone; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (CheckpointError, TrainingError, OSError, ImportError) as error:
        _stop(f"error: {error}", code=1)
    except ValueError as error:
        _stop(f"error: {error}", code=2)


def _stop(message: str, *, code: int) -> None:
    print(f"asmpg: {shortened(message)}", file=sys.stderr)
    sys.exit(code)


def _given(command: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that were typed: all options are `None`, false or empty unless they are."""
    parameters = inspect.signature(command).parameters
    return {name: value for name, value in arguments.items() if value != parameters[name].default}


if __name__ == "__main__":
    main()
