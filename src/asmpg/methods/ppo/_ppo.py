"""Proximal policy optimisation of a policy with memory, over whole sequences."""

import abc
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key

from asmpg._support.checks import MOST_WIDTH, check_integer, check_number, check_one_of
from asmpg.environments import Environment
from asmpg.experience import Gathering, HostRows, Segment, Stream, open_stream, play_on
from asmpg.gradients import generalised_advantages
from asmpg.methods._kernels import encoding_of
from asmpg.methods._method import Experience, Method, Metrics, Progress, all_finite
from asmpg.methods._rates import adam_by_kind
from asmpg.methods.critics import Critic, MemoryCritic, MemoryValue, RecurrentCritic, ReturnScale
from asmpg.methods.ppo._epochs import Batch, Passes, Trained, standardised
from asmpg.policies import Actor, Encoding, HistoryPolicy

CriticKind = Literal["auto", "gru", "memory", "both"]
#: Real observations are divided by this, unless told otherwise.
_OBSERVATION_SCALE = 0.5
_ADAM_EPS = 1e-5


class PPOLearner(eqx.Module):
    """What learning changes, and where the environments stand between two updates."""

    trained: Trained
    #: A running average of the policy: what has been learned.
    average: HistoryPolicy
    scale: ReturnScale
    stream: Stream
    critic_memory: Float[Array, "N d"]
    updates: Int[Array, ""]

    @property
    def policy(self) -> HistoryPolicy:
        """The policy that plays in training."""
        return self.trained.policy

    @property
    def critic(self) -> Critic:
        """The critic, which is used in training only."""
        return self.trained.critic


class PPO(Method[PPOLearner]):
    """Proximal policy optimisation (Schulman et al., 2017) of a `HistoryPolicy`.

    Every update plays `segment_steps` steps in each of `num_environments` environments, which go on
    from where they stood, and estimates advantages by GAE (`trace` is its lambda; `value_trace` the
    one of the critic's targets, the same if `None`). Then `epochs` times, in `minibatches` parts of
    whole sequences, the clipped objective is climbed, the memory recomputed from the start of the
    segment each time; no further in an update once the policy has diverged by `divergence_limit`.

    Rates of the policy fall as `1 / (1 + (progress / decay)^2)` with the share of the run that is
    done, or not at all if `decay` is `None`. What has been learned is the average of the policies
    after each update, the weight of the newest being `(1 + averaging) / (updates + averaging)`
    (Shamir and Zhang, 2013), or the newest alone if `averaging` is `None`.

    The `critic` is a recurrent network (`"gru"`), a network on the policy's own memory
    (`"memory"`), or a recurrent one that reads that as well (`"both"`); `"auto"` is `"both"` where
    observations are finite, else `"gru"`.
    """

    learned: ClassVar[str] = "average"
    metric_names: ClassVar[tuple[str, ...]] = (
        "gradient_norm",
        "entropy",
        "divergence",
        "clipped",
        "value_error",
    )

    discount: float = eqx.field(static=True, default=0.99)
    trace: float = eqx.field(static=True, default=0.95)
    value_trace: float | None = eqx.field(static=True, default=0.97)
    num_environments: int = eqx.field(static=True, default=8)
    segment_steps: int = eqx.field(static=True, default=128)
    epochs: int = eqx.field(static=True, default=10)
    minibatches: int = eqx.field(static=True, default=4)
    clip: float = eqx.field(static=True, default=0.2)
    gradient_clip: float = eqx.field(static=True, default=0.5)
    table_learning_rate: float = eqx.field(static=True, default=0.03)
    learning_rate: float = eqx.field(static=True, default=7e-4)
    second_moment: float = eqx.field(static=True, default=0.99)
    decay: float | None = eqx.field(static=True, default=0.68)
    averaging: float | None = eqx.field(static=True, default=8.0)
    entropy: float = eqx.field(static=True, default=0.0)
    divergence_limit: float | None = eqx.field(static=True, default=None)
    critic: CriticKind = eqx.field(static=True, default="auto")
    critic_width: int = eqx.field(static=True, default=64)
    critic_learning_rate: float = eqx.field(static=True, default=4e-3)
    scale_memory: float = eqx.field(static=True, default=0.9)
    observation_scale: tuple[float, ...] | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        for name in ("discount", "trace", "value_trace", "second_moment", "scale_memory"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), low=0, high=1)
        for name in ("num_environments", "segment_steps", "epochs"):
            check_integer(name, getattr(self, name), low=1)
        check_integer("critic_width", self.critic_width, low=1, high=MOST_WIDTH)
        check_integer("minibatches", self.minibatches, low=1, high=self.num_environments)
        if self.num_environments % self.minibatches:
            raise ValueError(
                f"minibatches must divide num_environments, {self.num_environments}, "
                f"got {self.minibatches}"
            )
        for name in (
            "clip",
            "gradient_clip",
            "table_learning_rate",
            "learning_rate",
            "critic_learning_rate",
            "averaging",
            "entropy",
            "divergence_limit",
        ):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), low=0)
        if self.decay is not None:
            check_number("decay", self.decay, low=1e-3)
        check_one_of("critic", self.critic, ("auto", "gru", "memory", "both"))

    @abc.abstractmethod
    def make_policy(self, environment: Environment[Any], key: Key[Array, ""]) -> HistoryPolicy:
        """A fresh policy for `environment`."""

    def initialise(self, environment: Environment[Any], key: Key[Array, ""]) -> PPOLearner:
        """A fresh policy and critic, and an episode begun in every environment."""
        policy_key, critic_key, stream_key = jax.random.split(key, 3)
        policy = self.make_policy(environment, policy_key)
        critic = self._make_critic(environment, policy, critic_key)
        return PPOLearner(
            self._passes().start(policy, critic),
            policy,
            ReturnScale.unknown(),
            open_stream(
                environment, policy.actor(), stream_key, num_environments=self.num_environments
            ),
            critic.start(self.num_environments),
            jnp.zeros((), jnp.int32),
        )

    def improve(
        self,
        environment: Environment[Any],
        learner: PPOLearner,
        key: Key[Array, ""],
        *,
        progress: Progress = 0.0,
    ) -> tuple[PPOLearner, Experience, Metrics]:
        """Play one segment and learn from it."""
        play_key, update_key = jax.random.split(key)
        actor = learner.policy.actor()
        stream, segment = play_on(
            environment, actor, learner.stream, play_key, steps=self.segment_steps
        )
        return self.update(learner, stream, segment, update_key, progress=progress)

    @property
    def return_discount(self) -> float:
        """That of the advantages."""
        return self.discount

    @property
    def gathering(self) -> Gathering:
        """A segment in each environment, which goes on from where it stood."""
        return Gathering(self.num_environments, self.segment_steps, onward=True)

    def player(self, learner: PPOLearner) -> Actor[Any]:
        """The policy as of the last update, no average."""
        return learner.policy.actor()

    def learn_from(
        self,
        learner: PPOLearner,
        rows: HostRows,
        key: Key[Array, ""],
        *,
        progress: Progress = 0.0,
    ) -> tuple[PPOLearner, Experience, Metrics]:
        """Learn from the segment."""
        return self.update(learner, rows.stream, rows.segment, key, progress=progress)

    def restarted(self, learner: PPOLearner, stream: Stream) -> PPOLearner:
        """What the critic remembers is forgotten where episodes start, so the stream is enough."""
        return eqx.tree_at(lambda learner: learner.stream, learner, stream)

    def update(
        self,
        learner: PPOLearner,
        stream: Stream,
        segment: Segment,
        key: Key[Array, ""],
        *,
        progress: Progress = 0.0,
    ) -> tuple[PPOLearner, Experience, Metrics]:
        """Learn from a segment that `learner.policy` played, from its stream up to `stream`."""
        batch, scale, critic_memory = self._evaluate(learner, segment)
        trained = eqx.tree_at(
            lambda trained: trained.critic,
            learner.trained,
            learner.critic.rescaled(learner.scale, scale),
        )
        trained, metrics = self._passes().run(trained, batch, key, rate=self._rate(progress))
        experience = Experience(
            segment.played_steps,
            segment.played_ends,
            all_finite((segment.observations, segment.rewards, metrics["gradient_norm"])),
        )
        updates = learner.updates + 1
        average = self._averaged(learner.average, trained.policy, updates)
        learner = PPOLearner(trained, average, scale, stream, critic_memory, updates)
        return learner, experience, metrics

    def actor(self, learner: PPOLearner, *, greedy: bool = False) -> Actor[Any]:
        """The average policy, ready to play."""
        return learner.average.actor(greedy=greedy)

    def encoding(self, environment: Environment[Any]) -> Encoding:
        """How the networks are shown the observations and actions of `environment`."""
        return encoding_of(environment, self.observation_scale, default=_OBSERVATION_SCALE)

    def _make_critic(
        self, environment: Environment[Any], policy: HistoryPolicy, key: Key[Array, ""]
    ) -> Critic:
        encoding = self.encoding(environment)
        kind = self.critic
        if kind == "auto":
            kind = "gru" if encoding.num_observations is None else "both"
        options = {
            "width": self.critic_width,
            "memory_size": 0 if kind == "gru" else policy.memory_size,
            "encoding": encoding,
            "key": key,
        }
        if kind == "memory":
            return MemoryCritic(MemoryValue(**options))
        return RecurrentCritic(**options)

    def _evaluate(
        self, learner: PPOLearner, segment: Segment
    ) -> tuple[Batch, ReturnScale, Float[Array, "N d"]]:
        """What the policy and the critic that played the segment say of it."""
        memory = learner.stream.memory
        laws = learner.policy.laws(memory, segment.past, segment.observations, segment.actions)
        values = learner.critic.values(learner.critic_memory, segment, laws)
        centre, spread = learner.scale.centre, learner.scale.spread
        now, following = (centre + spread * part for part in (values.now, values.following))

        def advantages(trace: float) -> Float[Array, "T N"]:
            return generalised_advantages(
                segment.rewards,
                now,
                following,
                segment.terminated,
                segment.ended,
                discount=self.discount,
                trace=trace,
            )

        gains = advantages(self.trace)
        targets = now + (gains if self.value_trace is None else advantages(self.value_trace))
        played = jnp.ones_like(segment.ended) if segment.valid is None else segment.valid
        scale = learner.scale.updated(targets, played, memory=self.scale_memory)
        batch = Batch(
            segment,
            memory,
            learner.critic_memory,
            laws.log_probability(segment.actions),
            standardised(gains, segment.valid),
            (targets - scale.centre) / scale.spread,
        )
        return batch, scale, values.memory

    def _averaged(
        self, average: HistoryPolicy, newest: HistoryPolicy, updates: Int[Array, ""]
    ) -> HistoryPolicy:
        if self.averaging is None:
            return newest
        weight = (1 + self.averaging) / (updates + self.averaging)
        return jax.tree.map(
            lambda old, new: old + weight * (new - old) if eqx.is_array(new) else new,
            average,
            newest,
        )

    def _passes(self) -> Passes:
        return Passes(
            epochs=self.epochs,
            minibatches=self.minibatches,
            clip=self.clip,
            entropy=self.entropy,
            divergence_limit=self.divergence_limit,
            policy_steps=optax.chain(
                optax.clip_by_global_norm(self.gradient_clip),
                adam_by_kind(
                    table=self.table_learning_rate,
                    network=self.learning_rate,
                    b2=self.second_moment,
                    eps=_ADAM_EPS,
                ),
            ),
            critic_steps=optax.chain(
                optax.clip_by_global_norm(self.gradient_clip),
                optax.adam(self.critic_learning_rate, eps=_ADAM_EPS),
            ),
        )

    def _rate(self, progress: Progress) -> Progress:
        """What share of their first values the rates of the policy have."""
        return 1.0 if self.decay is None else 1 / (1 + (progress / self.decay) ** 2)
