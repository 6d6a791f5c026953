"""The compiled part of training: from one evaluation to the next."""

import functools
import math
from collections.abc import Iterator
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.devices import current_device
from asmpg._support.interrupts import worker_threads
from asmpg._support.machine import available_cores
from asmpg.environments import Discrete, Environment
from asmpg.exact import ExactReturns, policy_returns
from asmpg.experience import (
    Experience,
    Stream,
    WholeEpisodes,
    all_finite,
    collect,
    open_stream,
    play_for_returns,
)
from asmpg.interop import Interface, ResolvedEnvironment
from asmpg.methods import Method, Metrics, with_array_numbers
from asmpg.policies import Number, watched
from asmpg.runs import RunConfig

#: What an evaluation measured, by the names of the columns of `metrics.csv`.
Evaluation = dict[str, Float[Array, ""]]


class SeedState(eqx.Module):
    """All there is to one seed between two evaluations; training resumes from it exactly.

    `stream` is where compiled environments are in their episodes, for methods whose rollouts
    continue; those on the host cannot be saved.
    """

    learner: Any
    stream: Stream | None
    key: Key[Array, ""]
    #: Evaluations have a stream of their own: more or fewer of them do not change training.
    evaluation_key: Key[Array, ""]
    steps: Int[Array, ""]
    episodes: Int[Array, ""]
    updates: Int[Array, ""]
    #: Whether every reward, observation and gradient so far was a finite number.
    finite: Bool[Array, ""]


class Program(eqx.Module):
    """Training of `method`, one seed at a time, as pure compiled functions.

    Without an `environment`, experience comes from the host, and evaluations take place there.
    """

    environment: Environment[Any] | None
    method: Method[Any]
    #: The length of the run: schedules follow the share of it that is done.
    total_steps: Int[Array, ""]
    interface: Interface = eqx.field(static=True)
    #: Which return is optimised.
    objective: Literal["discounted", "undiscounted"] = eqx.field(static=True)
    evaluation_episodes: int = eqx.field(static=True, default=100)
    greedy: bool = eqx.field(static=True, default=False)

    @eqx.filter_jit
    def start(self, seed: Int[Array, ""]) -> SeedState:
        """The state of `seed` before its first step."""
        learner_key, key, evaluation_key, stream_key = jax.random.split(jax.random.key(seed), 4)
        zero = jnp.zeros((), jnp.int32)
        learner = self.method.initialise(self.interface, learner_key)
        stream = None
        if self.environment is not None:
            actor = self.method.actor(learner, training=True)
            stream = open_stream(self.environment, actor, self.method.collects, stream_key)
        return SeedState(learner, stream, key, evaluation_key, zero, zero, zero, jnp.asarray(True))

    @eqx.filter_jit
    def advance(self, state: SeedState, until: Int[Array, ""]) -> tuple[SeedState, Evaluation]:
        """Update until at least `until` environment steps are done, then evaluate."""
        state, average = self.update_until(state, until)
        return state, self.evaluate(state) | average

    @eqx.filter_jit
    def update_until(self, state: SeedState, until: Int[Array, ""]) -> tuple[SeedState, Metrics]:
        """Update until at least `until` environment steps are done; the metrics are averages."""
        nothing = {name: jnp.zeros(()) for name in self.method.metric_names}
        before = state.updates
        arrays, rest = eqx.partition(state, eqx.is_array)

        def unfinished(carry: tuple[SeedState, Metrics]) -> Bool[Array, ""]:
            state, _ = carry
            return (state.steps < until) & state.finite

        def update(carry: tuple[SeedState, Metrics]) -> tuple[SeedState, Metrics]:
            arrays, total = carry
            state, metrics = self._play_and_learn(eqx.combine(arrays, rest))
            return eqx.filter(state, eqx.is_array), jax.tree.map(jnp.add, total, metrics)

        arrays, total = jax.lax.while_loop(unfinished, update, (arrays, nothing))
        state = eqx.combine(arrays, rest)
        return state, jax.tree.map(lambda metric: metric / (state.updates - before), total)

    def learn(
        self, state: SeedState, experience: Experience, stream: Stream | None = None
    ) -> tuple[SeedState, Metrics]:
        """One update from what was played for it."""
        key, update_key = jax.random.split(state.key)
        learner, metrics = self.method.update(
            state.learner, experience, update_key, progress=self.progress(state)
        )
        state = SeedState(
            learner,
            stream,
            key,
            state.evaluation_key,
            state.steps + experience.num_steps,
            state.episodes + experience.num_episodes,
            state.updates + 1,
            state.finite & experience.finite & all_finite(metrics),
        )
        return state, metrics

    def progress(self, state: SeedState) -> Float[Array, ""]:
        """The share of the run that is done."""
        return state.steps / self.total_steps

    @property
    def discount(self) -> Number:
        """That of the discounted returns in evaluations: the environment's own, or the method's."""
        own = None if self.environment is None else self.environment.discount
        return getattr(self.method, "discount", 0.99) if own is None else own

    def _play_and_learn(self, state: SeedState) -> tuple[SeedState, Metrics]:
        assert self.environment is not None
        key, play_key = jax.random.split(state.key)
        actor = self.method.actor(state.learner, training=True)
        stream, experience = collect(
            self.environment, actor, self.method.collects, state.stream, play_key
        )
        state = eqx.tree_at(lambda state: state.key, state, key)
        return self.learn(state, experience, stream)

    @eqx.filter_jit
    def evaluate(self, state: SeedState) -> Evaluation:
        """Play whole episodes, and work out exact returns where those are known."""
        assert self.environment is not None
        count, learner, nan = self.evaluation_episodes, state.learner, jnp.full((), jnp.nan)
        returns = play_for_returns(
            self.environment,
            watched(self.method.actor(learner, greedy=self.greedy), self.method.kernels(learner)),
            jax.random.fold_in(state.evaluation_key, state.updates),
            num_episodes=count,
            discount=self.discount,
        )
        optimised = getattr(returns, self.objective)
        exact = self._exact(state)
        error = jnp.std(optimised, ddof=1) / count**0.5 if count > 1 else nan
        return {
            "discounted_return": returns.discounted.mean(),
            "undiscounted_return": returns.undiscounted.mean(),
            "reward_per_step": returns.reward_per_step,
            "episode_length": returns.lengths.mean(),
            "standard_error": error,
            "exact_discounted": jnp.asarray(exact.discounted),
            "exact_undiscounted": jnp.asarray(exact.undiscounted),
            "exact_reward_per_step": jnp.asarray(exact.reward_per_step),
            "memory_entropy": nan if returns.use is None else returns.use.mean_entropy,
            "states_in_use": nan if returns.use is None else returns.use.states_in_use,
        }

    def _exact(self, state: SeedState) -> ExactReturns:
        tables = self.method.tables(state.learner, greedy=self.greedy)
        found = policy_returns(self.environment, tables, discount=self.discount)
        return found or ExactReturns(*(jnp.full((), jnp.nan) for _ in range(4)))


def build_program(config: RunConfig, resolved: ResolvedEnvironment) -> Program:
    """The program of a run; a `ValueError` if its parts do not go together or are too large."""
    method = config.make_method()
    program = Program(
        resolved.environment,
        with_array_numbers(method.settled(resolved.interface)),
        jax.device_put(np.int32(config.steps)),
        interface=resolved.interface,
        objective="undiscounted" if method.return_discount == 1 else "discounted",
        evaluation_episodes=config.evaluation_episodes,
        greedy=config.greedy,
    )
    check_memory(program.method, program.interface, seed_shapes(program))
    return program


#: For what runs once: with all optimisations, compiling it takes longer.
HASTILY: Any = {"compiler_options": {"xla_backend_optimization_level": 0}}
#: For training on GPUs: sums in an order that never changes, and no trial runs of every product,
#: which would take most of the time of compiling.
_ON_GPUS: Any = {
    "compiler_options": {"xla_gpu_deterministic_ops": True, "xla_gpu_autotune_level": 0}
}


def compiled(function: Any) -> Any:
    """Compile a function of pytrees as training is compiled on the device at hand."""
    options = _ON_GPUS if current_device().platform == "gpu" else {}
    return eqx.filter_jit(function, **options)


@functools.cache
def start_compiled() -> Any:
    """`Program.start`, compiled hastily, and by XLA's older emitters while it has them.

    That takes half the time, and the states are the same, bit for bit.
    """
    options: Any = {**HASTILY["compiler_options"], "xla_cpu_use_fusion_emitters": False}
    try:
        jax.jit(lambda: 0, compiler_options=options).lower().compile()
    except jax.errors.JaxRuntimeError:  # no such option
        options = HASTILY["compiler_options"]

    def start(program: Program, seed: Int[Array, ""]) -> SeedState:
        return program.start(seed)

    keywords: Any = {"compiler_options": options}
    return eqx.filter_jit(start, **keywords)


def start_seed(program: Program, seed: int) -> SeedState:
    """The state of `seed` before its first step."""
    return start_compiled()(program, jax.device_put(np.int32(seed)))


def compile_side_by_side(program: Program, *, starts: bool) -> None:
    """Compile what a seed on its own needs, as many programs at a time as there are cores.

    XLA works outside of Python's lock: while it compiles one program, the next is traced. Those who
    call the functions later find them compiled. `starts` says whether any seed starts from nothing.
    With one core there is nothing to gain: in other threads, compiling takes a tenth longer.
    """
    state, number = jax.tree.map(_blank, seed_shapes(program)), jax.device_put(np.int32(0))
    functions: Any = Program  # type checkers do not see that they are compiled

    def traced() -> Iterator[Any]:
        yield functions.update_until.lower(program, state, number)
        yield functions.evaluate.lower(program, state)
        if starts:
            yield start_compiled().lower(program, number)

    with worker_threads(available_cores()) as pool:
        for job in [pool.submit(each.compile) for each in traced()]:
            job.result()


def _blank(leaf: Any) -> Any:
    """Zeros of a shape; what is none stays."""
    if not isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(_blank(jax.eval_shape(jax.random.key_data, leaf)))
    return jax.device_put(np.zeros(leaf.shape, leaf.dtype))


def seed_shapes(program: Program) -> Any:
    """The state of a seed with shapes in the place of its arrays."""
    return eqx.filter_eval_shape(program.start, jax.ShapeDtypeStruct((), jnp.int32))


#: What one seed may take up: its policy, critic, optimisers and environments, in bytes.
_MOST_BYTES = 8 * 2**30
#: Steps are counted in 32 bits, and those of one update are in memory together.
_MOST_STEPS_OF_UPDATE = 100_000_000


def check_memory(method: Method[Any], interface: Interface, state: Any) -> None:
    """Raise a `ValueError` if a seed with a state of these shapes, or one update, is too large."""
    size = sum(_bytes(leaf) for leaf in jax.tree.leaves(state))
    space = interface.observation_space
    if size > _MOST_BYTES:
        shown = f"{space.n:,}" if isinstance(space, Discrete) else "real"
        acted = interface.action_space
        done = f"{acted.n:,} actions" if isinstance(acted, Discrete) else f"actions in {acted}"
        raise ValueError(
            f"the method's options must fit in memory: one seed would take {_gib(size)} with "
            f"{shown} observations and {done}, at most "
            f"{_gib(_MOST_BYTES)} is accepted; use fewer agent states or narrower networks, or "
            "make many observations a few real features"
        )
    collects = method.collects
    limit = interface.max_steps if isinstance(collects, WholeEpisodes) else collects.steps
    steps = collects.environments * limit
    if steps > _MOST_STEPS_OF_UPDATE:
        raise ValueError(
            f"an update must play at most {_MOST_STEPS_OF_UPDATE:,} steps, got up to {steps:,}: "
            f"{collects.environments:,} environments of {limit:,} steps; use fewer environments, "
            "episodes or steps for an update, or a smaller max_steps"
        )
    seen = 1 if isinstance(space, Discrete) else len(space.low)
    size = 4 * steps * (seen + 4 + int(getattr(method, "num_states", None) or 0))
    if size > _MOST_BYTES:
        raise ValueError(
            f"an update must fit in memory: {steps:,} steps would take {_gib(size)}, at most "
            f"{_gib(_MOST_BYTES)} is accepted; use fewer environments, episodes or steps for it"
        )


def _bytes(leaf: Any) -> int:
    if not hasattr(leaf, "shape"):
        return 0
    # A PRNG key is a few integers.
    key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return math.prod(leaf.shape) * (16 if key else leaf.dtype.itemsize)


def _gib(size: int) -> str:
    return f"{size / 2**30:,.0f} GiB"
