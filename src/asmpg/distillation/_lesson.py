"""A teacher in its environment, and students of any size that learn from it round by round."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from asmpg._support.checks import check_integer
from asmpg._support.files import write_atomically
from asmpg.agents import Agent, load
from asmpg.distillation._fit import fit
from asmpg.distillation._histories import Examples
from asmpg.distillation._progress import DistilProgress, closeness
from asmpg.distillation._sampler import Sampler
from asmpg.distillation._teachers import Teacher, teacher_of
from asmpg.exact import BeliefPolicy, policy_returns
from asmpg.policies import ASMPolicy, FilteredPolicy, HistoryPolicy
from asmpg.runs import RunConfig, Which, check_unused
from asmpg.training import (
    Program,
    SeedState,
    TrainingResult,
    build_program,
    score_of,
    start_seed,
    train_together,
    with_progress,
)

#: What is written beside the run.
DISTIL_REPORT = "distil.json"
#: The distilled policy is among those that the best one is chosen from.
_BOTH: tuple[Which, Which] = ("best", "last")
#: One sequence of so many is held out.
_HELD_OUT = 8
_MOST_ROUNDS, _MOST_EPOCHS, _MOST_SEQUENCES = 1000, 100_000, 100_000


@dataclasses.dataclass(frozen=True)
class Distilled:
    """The students of one size, as a run, and the report on them.

    The report has, for each seed, the scores of the student as it was distilled and, if it was, as
    it was fine-tuned: of the best checkpoint, and of the last. `teacher` is the teacher's score.
    """

    result: TrainingResult
    report: dict[str, Any]

    @property
    def agent(self) -> Agent:
        """The student with the highest return."""
        return self.result.agent()


class Lesson:
    """A teacher, the environment it is learned from in, and how.

    The first of `rounds` is played by the teacher, the others by the student as it is by then;
    everything is labelled with what the teacher would do, and kept (DAgger: Ross, Gordon and
    Bagnell, 2011). After each round the student is fitted to all of it.
    """

    def __init__(
        self,
        teacher: Any,
        environment: Any = None,
        *,
        environment_options: Mapping[str, Any] | None = None,
        deterministic: bool = False,
        rounds: int = 5,
        sequences: int | None = None,
        sequence_steps: int | None = None,
        epochs: int = 100,
        patience: int = 8,
        episodes: int = 1000,
        trust: bool = False,
    ):
        """Check everything; nothing is computed. The arguments are those of `distil`."""
        check_integer("rounds", rounds, low=1, high=_MOST_ROUNDS)
        check_integer("epochs", epochs, low=1, high=_MOST_EPOCHS)
        check_integer("patience", patience, low=1)
        check_integer("episodes", episodes, low=2, high=1_000_000)
        if sequences is not None:
            check_integer("sequences", sequences, low=2, high=_MOST_SEQUENCES)
        if sequence_steps is not None:
            check_integer("sequence_steps", sequence_steps, low=1)
        who = load(teacher) if isinstance(teacher, str | Path) else teacher
        self._origin = who.config if isinstance(who, Agent) else None
        taught = who if self._origin is None else self._origin.make_method()
        known = self._origin is not None or isinstance(who, BeliefPolicy)
        self._discount = getattr(taught, "discount", None) if known else None
        self._own_states = who.num_states if isinstance(who, Agent) and who.policy else None
        if environment is None and self._origin is None:
            raise ValueError(
                "environment must be given for a teacher that is not from a run of ours"
            )
        if environment is None and environment_options:
            raise ValueError(
                "environment_options go with the name of an environment; "
                f"got: {', '.join(environment_options)}"
            )
        self._environment, self._options = environment, dict(environment_options or {})
        self._vectorization: Literal["sync", "async"] = "sync"
        if environment is None:
            assert self._origin is not None
            self._environment = self._origin.environment
            self._options = dict(self._origin.environment_options)
            self._vectorization = self._origin.vectorization
            self._resolved = self._origin.resolve(trust=trust)
        else:
            self._resolved = RunConfig(environment, environment_options=self._options).resolve()
        self._sampler = Sampler(self._resolved, sequences=sequences, steps=sequence_steps)
        self.teacher: Teacher = teacher_of(
            who, self._resolved.interface, deterministic=deterministic
        )
        self.score = score_of(self._resolved.environment)
        self._rounds, self._epochs, self._patience = rounds, epochs, patience
        self._episodes = episodes
        self._policy = who.policy if isinstance(who, Agent) else None

    @property
    def name(self) -> str:
        """That of the environment."""
        return self._resolved.interface.name

    def config(
        self,
        *,
        num_states: int,
        window: int | None,
        seeds: Sequence[int],
        options: Mapping[str, Any],
        out: str | Path | None,
    ) -> RunConfig:
        """The configuration of students; a `ValueError` for what cannot be, or `out` is taken."""
        check_integer("num_states", num_states, low=1)
        given = {"num_states": num_states, "window": window, **options}
        given = {name: value for name, value in given.items() if value is not None}
        if self._discount is not None:
            given = {"discount": self._discount, **given}
        config = RunConfig(
            self._environment,
            environment_options=self._options,
            vectorization=self._vectorization,
            method="asm-ppo",
            method_options=given,
            seeds=tuple(seeds),
        )
        build_program(config.recording(self._resolved), self._resolved)
        if out is not None:
            check_unused(Path(out))
        return config

    def teacher_score(self, *, progress: DistilProgress) -> dict[str, Any]:
        """What the teacher yields, and its number of agent states where it has any."""
        progress.doing("measuring the teacher")
        found = self._score(self.teacher, self._policy, 0)
        return {"num_states": self._own_states, **found}

    def teach(
        self,
        config: RunConfig,
        out: str | Path | None,
        *,
        finetune: int,
        teacher: Mapping[str, Any],
        verbose: int,
    ) -> Distilled:
        """Distil a student for each seed of `config`, then train on for `finetune` steps."""
        states, entries = {}, []
        program = build_program(config.recording(self._resolved), self._resolved)
        size = f"{self.name}, {self._states(config)} agent states"
        for seed in config.seeds:
            with DistilProgress(f"{size}, seed {seed}", wanted=bool(verbose)) as shown:
                states[seed], entry = self._distilled(program, seed, shown)
            entries.append(entry)
        played = min(entry["steps"] for entry in entries)
        # Fine-tuning continues the count: what was played for distilling counts, too.
        config = dataclasses.replace(config, steps=played + finetune)
        report = {
            "environment": self.name,
            "score": self.score.name,
            "num_states": self._states(config),
            "teacher": dict(teacher),
            "students": entries,
        }
        try:
            result = train_together(
                [config],
                self._resolved,
                [out],
                callbacks=with_progress((), verbose if finetune else 0),
                starts=states,
            )[0]
            for entry in entries if finetune else ():
                best, last = (self._tuned_score(result, entry["seed"], w) for w in _BOTH)
                entry["finetuned"] = {"steps": finetune, **best, "last": last}
        finally:
            if out is not None and (Path(out) / "config.json").exists():
                text = json.dumps(report, indent=2) + "\n"
                write_atomically(Path(out) / DISTIL_REPORT, lambda file: file.write(text.encode()))
        return Distilled(result, report)

    def close(self) -> None:
        """Close environments on the host."""
        self._sampler.close()

    def _distilled(
        self, program: Program, seed: int, progress: DistilProgress
    ) -> tuple[SeedState, dict[str, Any]]:
        """Where a run begins whose policy is distilled, and the report on it."""
        state = start_seed(program, seed)
        student = state.learner.policy
        learned, held_out, rounds = [], [], []
        steps = episodes = 0
        for number in range(self._rounds):
            where = f"round {number + 1} of {self._rounds}"
            progress.doing(f"{where}, playing")
            player = student if number else self.teacher
            histories = self._sampler.histories(player, seed, number)
            steps, episodes = steps + histories.num_steps, episodes + histories.num_episodes
            progress.doing(f"{where}, asking the teacher")
            examples = Examples(histories, self.teacher.labels(histories, seed, number))
            few = max(1, examples.num_sequences // _HELD_OUT)
            every = np.arange(examples.num_sequences)
            held_out.append(examples.sequences(every[:few]))
            learned.append(examples.sequences(every[few:]))
            student, fitted = fit(
                student,
                Examples.joined(learned),
                Examples.joined(held_out),
                epochs=self._epochs,
                patience=self._patience,
                generator=np.random.default_rng((seed, number)),
                progress=lambda best, where=where: progress.doing(f"{where}, {closeness(best)}"),
            )
            rounds.append({"steps": steps, **dataclasses.asdict(fitted)})
            progress.done(f"{where}, {closeness(fitted)}")
        progress.doing("measuring the student")
        entry = {
            "seed": seed,
            "steps": steps,
            "episodes": episodes,
            "rounds": rounds,
            "distilled": self._score(student, student.kernels, seed, 1),
        }
        begun = eqx.tree_at(
            lambda state: (
                state.learner.trained.policy,
                state.learner.average,
                state.steps,
                state.episodes,
            ),
            state,
            (student, student, jnp.asarray(steps), jnp.asarray(episodes)),
        )
        return begun, entry

    def _tuned_score(self, result: TrainingResult, seed: int, which: Which) -> dict[str, Any]:
        policy = result.agent(seed, which=which).policy
        assert policy is not None
        return self._score(FilteredPolicy(policy), policy, seed, 2)

    def _score(
        self, player: HistoryPolicy | Teacher, policy: ASMPolicy | None, *seeds: int
    ) -> dict[str, float | None]:
        """The mean over fresh episodes and its standard error, and the exact value if known."""
        found = self._sampler.score(player, *seeds, 1_000_000, episodes=self._episodes)
        exact = None
        sampled = not getattr(player, "deterministic", False)
        if sampled and policy is not None and policy.tabulates:
            exact = policy_returns(self._resolved.environment, policy.tabulate(), discount=1.0)
        name = self.score.name
        return {
            "value": found[name],
            "standard_error": found[f"{name}_standard_error"],
            "exact": None if exact is None else float(getattr(exact, self.score.yardstick)),
        }

    @staticmethod
    def _states(config: RunConfig) -> int:
        return int(config.method_options["num_states"])
