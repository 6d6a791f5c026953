"""Proximal policy optimisation of a policy with memory, over whole sequences."""

import abc
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._check import check_integer, check_number, check_one_of
from asmpg.envs import Environment
from asmpg.gradients import MemoryValue, ReturnScale, generalised_advantages
from asmpg.methods._method import Experience, Method, Metrics, all_finite
from asmpg.methods._observations import ObservationKind, observation_kind
from asmpg.methods._rates import adam_by_kind
from asmpg.methods.ppo._critic import Critic, MemoryCritic, RecurrentCritic
from asmpg.methods.ppo._loss import Batch, critic_loss, policy_loss, standardised
from asmpg.policies import Actor, HistoryPolicy
from asmpg.rollouts import Gathering, HostRows, Segment, Stream, open_stream, play_on

CriticKind = Literal["gru", "memory"]
_ADAM_EPS = 1e-5


class PPOLearner(eqx.Module):
    """What learning changes, and where the environments stand between two updates."""

    policy: HistoryPolicy
    #: A running average of `policy`, which is what has been learned.
    average: HistoryPolicy
    critic: Critic
    scale: ReturnScale
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    stream: Stream
    critic_memory: Float[Array, "N d"]
    updates: Int[Array, ""]


class PPO(Method[PPOLearner]):
    """Proximal policy optimisation (Schulman et al., 2017) of a `HistoryPolicy`.

    Every update plays `segment_steps` steps in each of `num_environments` environments, which go on
    from where they stood, and estimates advantages by GAE. Then `epochs` times, in `minibatches`
    parts of whole sequences, the clipped objective is climbed, the memory recomputed from the start
    of the segment each time.
    """

    abreast: ClassVar[bool] = True
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
    num_environments: int = eqx.field(static=True, default=8)
    segment_steps: int = eqx.field(static=True, default=128)
    epochs: int = eqx.field(static=True, default=10)
    minibatches: int = eqx.field(static=True, default=4)
    clip: float = eqx.field(static=True, default=0.2)
    gradient_clip: float = eqx.field(static=True, default=0.5)
    table_learning_rate: float = eqx.field(static=True, default=0.03)
    learning_rate: float = eqx.field(static=True, default=1e-3)
    critic: CriticKind = eqx.field(static=True, default="gru")
    critic_width: int = eqx.field(static=True, default=64)
    critic_learning_rate: float = eqx.field(static=True, default=1e-3)
    averaging: float = eqx.field(static=True, default=0.0)
    decay: float | None = eqx.field(static=True, default=None)
    entropy: float = eqx.field(static=True, default=0.0)
    divergence_limit: float | None = eqx.field(static=True, default=None)
    scale_memory: float = eqx.field(static=True, default=0.9)
    observation_scale: tuple[float, ...] | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_number("discount", self.discount, low=0, high=1)
        check_number("trace", self.trace, low=0, high=1)
        check_integer("num_environments", self.num_environments, low=1)
        check_integer("segment_steps", self.segment_steps, low=1)
        check_integer("epochs", self.epochs, low=1)
        check_integer("minibatches", self.minibatches, low=1, high=self.num_environments)
        if self.num_environments % self.minibatches:
            raise ValueError(
                f"minibatches must divide num_environments, {self.num_environments}, "
                f"got {self.minibatches}"
            )
        check_number("clip", self.clip, low=0)
        check_number("gradient_clip", self.gradient_clip, low=0)
        for name in ("table_learning_rate", "learning_rate", "critic_learning_rate", "entropy"):
            check_number(name, getattr(self, name), low=0)
        check_one_of("critic", self.critic, ("gru", "memory"))
        check_integer("critic_width", self.critic_width, low=1)
        if self.divergence_limit is not None:
            check_number("divergence_limit", self.divergence_limit, low=0)
        check_number("scale_memory", self.scale_memory, low=0, high=1)

    @abc.abstractmethod
    def make_policy(self, environment: Environment[Any], key: Key[Array, ""]) -> HistoryPolicy:
        """A fresh policy for `environment`."""

    def initialise(self, environment: Environment[Any], key: Key[Array, ""]) -> PPOLearner:
        """A fresh policy and critic, and an episode begun in every environment."""
        policy_key, critic_key, stream_key = jax.random.split(key, 3)
        policy = self.make_policy(environment, policy_key)
        actor = policy.actor()
        stream = open_stream(environment, actor, stream_key, num_environments=self.num_environments)
        return self.first_learner(
            policy, self._make_critic(environment, policy, critic_key), stream
        )

    def first_learner(self, policy: HistoryPolicy, critic: Critic, stream: Stream) -> PPOLearner:
        """Nothing learned yet."""
        return PPOLearner(
            policy,
            policy,
            critic,
            ReturnScale.unknown(),
            self._policy_steps().init(eqx.filter(policy, eqx.is_inexact_array)),
            self._critic_steps().init(eqx.filter(critic, eqx.is_inexact_array)),
            stream,
            critic.start(self.num_environments),
            jnp.zeros((), jnp.int32),
        )

    def improve(
        self, environment: Environment[Any], learner: PPOLearner, key: Key[Array, ""]
    ) -> tuple[PPOLearner, Experience, Metrics]:
        """Play one segment and learn from it."""
        play_key, update_key = jax.random.split(key)
        actor = learner.policy.actor()
        stream, segment = play_on(
            environment, actor, learner.stream, play_key, steps=self.segment_steps
        )
        return self.update(learner, stream, segment, update_key)

    @property
    def gathering(self) -> Gathering:
        """A segment in each environment, which goes on from where it stood."""
        return Gathering(self.num_environments, self.segment_steps, onward=True)

    def player(self, learner: PPOLearner) -> Actor[Any]:
        """The policy as of the last update, no average."""
        return learner.policy.actor()

    def learn_from(
        self, learner: PPOLearner, rows: HostRows, key: Key[Array, ""]
    ) -> tuple[PPOLearner, Experience, Metrics]:
        """Learn from the segment."""
        return self.update(learner, rows.stream, rows.segment, key)

    def restarted(self, learner: PPOLearner, stream: Stream) -> PPOLearner:
        """What the critic remembers is forgotten where episodes start, so the stream is enough."""
        return eqx.tree_at(lambda learner: learner.stream, learner, stream)

    def update(
        self, learner: PPOLearner, stream: Stream, segment: Segment, key: Key[Array, ""]
    ) -> tuple[PPOLearner, Experience, Metrics]:
        """Learn from a segment that `learner.policy` played, from its stream up to `stream`."""
        batch, scale, critic_memory = self._evaluate(learner, segment)
        critic = learner.critic.rescaled(learner.scale, scale)
        learner = eqx.tree_at(
            lambda learner: (learner.critic, learner.scale), learner, (critic, scale)
        )
        learner, metrics = self._epochs(learner, batch, key)
        average = _mix(self.averaging, learner.average, learner.policy)
        learner = eqx.tree_at(
            lambda learner: (
                learner.average,
                learner.stream,
                learner.critic_memory,
                learner.updates,
            ),
            learner,
            (average, stream, critic_memory, learner.updates + 1),
        )
        experience = Experience(
            segment.played_steps,
            segment.played_ends,
            all_finite((segment.observations, segment.rewards, metrics["gradient_norm"])),
        )
        return learner, experience, metrics

    def actor(self, learner: PPOLearner, *, greedy: bool = False) -> Actor[Any]:
        """The policy, ready to play."""
        return learner.average.actor(greedy=greedy)

    def _make_critic(
        self, environment: Environment[Any], policy: HistoryPolicy, key: Key[Array, ""]
    ) -> Critic:
        kind = self.observations(environment)
        options = {
            "width": self.critic_width,
            "num_actions": environment.action_space.n,
            "num_observations": kind.num_observations,
            "observation_scale": kind.observation_scale,
            "key": key,
        }
        if self.critic == "gru":
            return RecurrentCritic(**options)
        return MemoryCritic(MemoryValue(memory_size=policy.memory_size, **options))

    def observations(self, environment: Environment[Any]) -> ObservationKind:
        """How the networks are to be shown the observations of `environment`."""
        return observation_kind(environment, self.observation_scale)

    def _evaluate(
        self, learner: PPOLearner, segment: Segment
    ) -> tuple[Batch, ReturnScale, Float[Array, "N d"]]:
        """What the policy and the critic that played the segment say of it."""
        memory = learner.stream.memory
        laws = learner.policy.laws(memory, segment.past, segment.observations, segment.actions)
        values = learner.critic.values(learner.critic_memory, segment, laws)
        centre, spread = learner.scale.centre, learner.scale.spread
        now, following = (centre + spread * part for part in (values.now, values.following))
        advantages = generalised_advantages(
            segment.rewards,
            now,
            following,
            segment.terminated,
            segment.ended,
            discount=self.discount,
            trace=self.trace,
        )
        targets = advantages + now
        played = jnp.ones_like(segment.ended) if segment.valid is None else segment.valid
        scale = learner.scale.updated(targets, played, memory=self.scale_memory)
        batch = Batch(
            segment,
            memory,
            learner.critic_memory,
            jnp.take_along_axis(laws.log_laws, segment.actions[..., None], axis=-1)[..., 0],
            standardised(advantages, segment.valid),
            (targets - scale.centre) / scale.spread,
        )
        return batch, scale, values.memory

    def _epochs(
        self, learner: PPOLearner, batch: Batch, key: Key[Array, ""]
    ) -> tuple[PPOLearner, Metrics]:
        order = jax.vmap(lambda key: jax.random.permutation(key, self.num_environments))(
            jax.random.split(key, self.epochs)
        ).reshape(self.epochs * self.minibatches, -1)
        trained = (
            learner.policy,
            learner.critic,
            learner.policy_optimiser,
            learner.critic_optimiser,
        )
        arrays, rest = eqx.partition(trained, eqx.is_array)

        def step(
            carry: tuple[Any, Bool[Array, ""]], chosen: Int[Array, " M"]
        ) -> tuple[tuple[Any, Bool[Array, ""]], Metrics]:
            arrays, stopped = carry
            trained, metrics = self._minibatch(
                eqx.combine(arrays, rest), batch.environments(chosen), stopped
            )
            if self.divergence_limit is not None:
                stopped = stopped | (metrics["divergence"] > self.divergence_limit)
            return (eqx.filter(trained, eqx.is_array), stopped), metrics

        (arrays, _), metrics = jax.lax.scan(step, (arrays, jnp.asarray(False)), order)
        policy, critic, policy_optimiser, critic_optimiser = eqx.combine(arrays, rest)
        learner = eqx.tree_at(
            lambda learner: (
                learner.policy,
                learner.critic,
                learner.policy_optimiser,
                learner.critic_optimiser,
            ),
            learner,
            (policy, critic, policy_optimiser, critic_optimiser),
        )
        return learner, jax.tree.map(jnp.mean, metrics)

    def _minibatch(
        self, trained: tuple[Any, ...], batch: Batch, stopped: Bool[Array, ""]
    ) -> tuple[tuple[Any, ...], Metrics]:
        """One step of the policy, unless `stopped`, and one of the critic."""
        policy, critic, policy_optimiser, critic_optimiser = trained
        gradient, (laws, metrics) = eqx.filter_grad(policy_loss, has_aux=True)(
            policy, batch, clip=self.clip, entropy=self.entropy
        )
        step, after = self._policy_steps().update(gradient, policy_optimiser)
        climbed = (eqx.apply_updates(policy, step), after)
        still = (policy, policy_optimiser)
        policy, policy_optimiser = jax.tree.map(
            lambda new, old: jnp.where(stopped, old, new) if eqx.is_array(new) else new,
            climbed,
            still,
        )
        slope, value_error = eqx.filter_value_and_grad(critic_loss)(critic, batch, laws)[::-1]
        step, critic_optimiser = self._critic_steps().update(slope, critic_optimiser)
        critic = eqx.apply_updates(critic, step)
        metrics = {
            "gradient_norm": optax.tree.norm(gradient),
            **metrics,
            "value_error": value_error,
        }
        return (policy, critic, policy_optimiser, critic_optimiser), metrics

    def _policy_steps(self) -> optax.GradientTransformation:
        return optax.chain(
            optax.clip_by_global_norm(self.gradient_clip),
            adam_by_kind(
                table=self._rate(self.table_learning_rate),
                network=self._rate(self.learning_rate),
                eps=_ADAM_EPS,
            ),
        )

    def _critic_steps(self) -> optax.GradientTransformation:
        return optax.chain(
            optax.clip_by_global_norm(self.gradient_clip),
            optax.adam(self.critic_learning_rate, eps=_ADAM_EPS),
        )

    def _rate(self, first: float) -> optax.ScalarOrSchedule:
        if self.decay is None:
            return first
        per_update = self.decay * self.epochs * self.minibatches
        return lambda count: first / (1 + count / per_update)


def _mix(old_share: float, old: Any, new: Any) -> Any:
    return jax.tree.map(
        lambda old, new: old_share * old + (1 - old_share) * new if eqx.is_array(new) else new,
        old,
        new,
    )
