"""Proximal policy optimisation of a policy with memory, over whole sequences."""

import abc
import typing
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key

from asmpg._support.checks import MOST_WIDTH, check_integer, check_number, check_one_of
from asmpg.environments import Discrete
from asmpg.experience import Experience, Rollouts
from asmpg.gradients import generalised_advantages
from asmpg.interop import Interface
from asmpg.methods._kernels import encoding_of
from asmpg.methods._method import Method, Metrics, given, structure, with_structure
from asmpg.methods._rates import adam_by_kind
from asmpg.methods.critics import Critic, CriticKind, ReturnScale, latents_of, make_critic
from asmpg.methods.ppo._epochs import Batch, Passes, Trained, distributions_along, standardised
from asmpg.policies import Actor, Encoding, HistoryPolicy, Normaliser, Number, with_observations

PPOKind = TypeVar("PPOKind", bound="PPO")
#: A critic of the user's own: called with the interface of the environment, the policy and a key.
CriticFactory = Callable[[Interface, HistoryPolicy, Key[Array, ""]], Critic]
#: Real observations are divided by this, unless told otherwise.
_OBSERVATION_SCALE = 0.5
#: Observations that may be larger are normalised, unless told otherwise.
_LARGE = 10.0
_ADAM_EPS = 1e-5
#: What is left after an update of the largest spread of advantages that was seen: half after 140.
_SPREAD_KEPT = 0.995
#: With the latent critic, which knows more than a noisy return.
_LATENT_GAE_LAMBDA = 0.8


class PPOLearner(eqx.Module):
    """What training changes, and what the critic remembers between two updates."""

    trained: Trained
    #: A running average of the policy: what has been learned.
    average: HistoryPolicy
    scale: ReturnScale
    critic_memory: Float[Array, "N d"]
    updates: Int[Array, ""]
    #: The largest standard deviation of advantages; it is forgotten slowly.
    largest_spread: Float[Array, ""]

    @property
    def policy(self) -> HistoryPolicy:
        """The policy that acts in training."""
        return self.trained.policy

    @property
    def critic(self) -> Critic:
        """The critic, which is used only in training."""
        return self.trained.critic


class PPO(Method[PPOLearner]):
    """Proximal policy optimisation (Schulman et al., 2017) of a `HistoryPolicy`.

    Every update learns from `rollout_steps` steps in each of `num_environments` environments, which
    continue where they were, and estimates advantages by GAE (with `gae_lambda`; `value_lambda` is
    for the critic's targets, the same if `None`). The clipped objective is then maximised for
    `epochs` epochs over `minibatches` minibatches of whole sequences, recomputing the memory from
    the start of the rollout each time; the policy stops once the approximate KL exceeds
    `target_kl`. The entropy bonus decays from `entropy_coefficient` to 0. `learning_rate` is that
    of networks. The options in `by_observations` have defaults that depend on the kind of
    observations; `gae_lambda` is at most 0.8 with the latent critic.

    The policy's learning rates decay as `1 / (1 + (progress / decay)^2)` with the fraction of the
    run that is done, or stay constant if `decay` is `None`. The learned policy is the average of
    the policies after each update, where the newest has weight `(1 + averaging) / (updates +
    averaging)` (Shamir and Zhang, 2013), or the newest alone if `averaging` is `None`.

    Advantages are standardised. Once a task is solved, they are little more than the critic's
    errors, yet would still move the policy as far: while their standard deviation is below
    `advantage_floor` times the largest recent one, the policy's learning rates are reduced in
    proportion.

    The `critic` is a recurrent network (`"gru"`), a network on the policy's own memory
    (`"memory"`), or a recurrent network that also reads that memory (`"both"`); `"history"` is
    `"both"` if observations are finite, else `"gru"`. `"linear"` is like `"history"`, but its
    memory is a linear recurrence, computed without a loop over the steps of a rollout. `"latent"`
    sees the latent state of the environment and the policy's memory, in training only: compiled
    environments have such a state, Gymnasium environments provide it in the entry `latent` of
    `info`. `"auto"` is `"history"` unless the class says otherwise. Recurrent weights are
    initialised orthogonally if `critic_orthogonal` (by default if observations are finite), and
    `critic_keep_bias` is added to the bias of the gate that keeps the memory. For any other
    `Critic`, pass a function that makes it.

    Real observations are divided by `observation_scale` or, with `normalise_observations`,
    standardised by their running mean and standard deviation, which are saved with the policy and
    change only in training. By default, observations are normalised if one may be larger than 10.
    """

    learned: ClassVar[str] = "average"
    metric_names: ClassVar[tuple[str, ...]] = (
        "gradient_norm",
        "entropy",
        "approximate_kl",
        "clip_fraction",
        "value_loss",
    )

    #: By option, the default where observations are finite, and where they are real.
    by_observations: ClassVar[dict[str, tuple[float, float]]] = {
        "gae_lambda": (0.9, 0.95),
        "learning_rate": (7e-4, 3e-4),
        "critic_keep_bias": (0.0, 0.0),
        "advantage_floor": (0.1, 0.1),
    }

    discount: float = 0.99
    gae_lambda: float | None = None
    value_lambda: float | None = 0.97
    num_environments: int = structure(8)
    rollout_steps: int = structure(128)
    epochs: int = structure(10)
    minibatches: int = structure(4)
    clip_range: float = 0.2
    max_grad_norm: float = 0.5
    table_learning_rate: float = 0.03
    learning_rate: float | None = None
    adam_b2: float = 0.999
    decay: float | None = 0.68
    averaging: float | None = 8.0
    entropy_coefficient: float = 0.003
    target_kl: float | None = None
    advantage_floor: float | None = None
    critic: CriticKind | CriticFactory = structure("auto")
    latent: str = structure("latent")
    critic_width: int = structure(64)
    critic_orthogonal: bool | None = structure(None)
    critic_keep_bias: float | None = None
    critic_learning_rate: float = 4e-3
    return_scale_decay: float = 0.9
    observation_scale: tuple[float, ...] | None = structure(None)
    normalise_observations: bool | None = structure(None)

    def __check_init__(self):
        for name in (
            "discount",
            "gae_lambda",
            "value_lambda",
            "adam_b2",
            "advantage_floor",
            "return_scale_decay",
        ):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), low=0, high=1)
        for name in ("num_environments", "rollout_steps", "epochs"):
            check_integer(name, getattr(self, name), low=1)
        check_integer("critic_width", self.critic_width, low=1, high=MOST_WIDTH)
        check_integer("minibatches", self.minibatches, low=1, high=self.num_environments)
        if self.num_environments % self.minibatches:
            raise ValueError(
                f"minibatches must divide num_environments, {self.num_environments}, "
                f"got {self.minibatches}"
            )
        for name in (
            "clip_range",
            "max_grad_norm",
            "table_learning_rate",
            "learning_rate",
            "critic_learning_rate",
            "averaging",
            "entropy_coefficient",
            "target_kl",
        ):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), low=0)
        if self.critic_keep_bias is not None:
            check_number("critic_keep_bias", self.critic_keep_bias)
        if self.decay is not None:
            check_number("decay", self.decay, low=1e-3)
        if self.observation_scale is not None and self.normalise_observations:
            raise ValueError("observation_scale must be None for normalise_observations=True")
        if not callable(self.critic):
            check_one_of("critic", self.critic, typing.get_args(CriticKind))

    def defaults(self, interface: Interface) -> dict[str, Number]:
        """By the kind of observations and critic; `value_lambda` is `gae_lambda`."""
        place = 0 if isinstance(interface.observation_space, Discrete) else 1
        chosen = {name: kinds[place] for name, kinds in self.by_observations.items()}
        if self.critic_kind(interface) == "latent":
            chosen["gae_lambda"] = min(chosen["gae_lambda"], _LATENT_GAE_LAMBDA)
        gae_lambda = chosen["gae_lambda"] if self.gae_lambda is None else self.gae_lambda
        return {**chosen, "value_lambda": gae_lambda}

    def settled(self: PPOKind, interface: Interface) -> PPOKind:
        """With the kind of critic settled as well."""
        method = super().settled(interface)
        return with_structure(method, critic=self.critic_kind(interface))

    def critic_kind(self, interface: Interface) -> CriticKind | CriticFactory:
        """The critic that was asked for, or what `"auto"` stands for."""
        return self.default_critic(interface) if self.critic == "auto" else self.critic

    def default_critic(self, interface: Interface) -> CriticKind:
        """What `critic="auto"` stands for."""
        del interface
        return "history"

    @abc.abstractmethod
    def make_policy(self, interface: Interface, key: Key[Array, ""]) -> HistoryPolicy:
        """A fresh policy."""

    @property
    def collects(self) -> Rollouts:
        latent = self.latent if self.critic == "latent" else None
        return Rollouts(self.num_environments, self.rollout_steps, latent=latent)

    @property
    def return_discount(self) -> Number:
        return self.discount

    def initialise(self, interface: Interface, key: Key[Array, ""]) -> PPOLearner:
        policy_key, critic_key = jax.random.split(key)
        policy = self.make_policy(interface, policy_key)
        critic = self._make_critic(interface, policy, critic_key)
        return PPOLearner(
            self._passes(progress=0.0).start(policy, critic),
            policy,
            ReturnScale.unknown(),
            critic.start(self.num_environments),
            jnp.zeros((), jnp.int32),
            jnp.zeros(()),
        )

    def continued(self, fresh: PPOLearner, earlier: PPOLearner) -> PPOLearner:
        """Everything except what the critic remembers of the episodes left behind.

        A critic of another kind or size, such as a compiled environment's on the host, starts
        afresh, with its optimiser.
        """
        trained, new = earlier.trained, fresh.trained
        if not _alike(trained.critic, new.critic):
            trained = Trained(
                trained.policy, new.critic, trained.policy_optimiser, new.critic_optimiser
            )
        return eqx.tree_at(
            lambda learner: (learner.trained, learner.critic_memory),
            earlier,
            (trained, fresh.critic_memory),
        )

    def with_learned(self, fresh: PPOLearner, learned: HistoryPolicy) -> PPOLearner:
        return eqx.tree_at(
            lambda learner: (learner.trained.policy, learner.average), fresh, (learned, learned)
        )

    def actor(
        self, learner: PPOLearner, *, training: bool = False, greedy: bool = False
    ) -> Actor[Any]:
        """The average policy; in training, the newest one acts."""
        policy = learner.policy if training else learner.average
        return policy.actor(greedy=greedy)

    def update(
        self,
        learner: PPOLearner,
        experience: Experience,
        key: Key[Array, ""],
        *,
        progress: Number = 0.0,
    ) -> tuple[PPOLearner, Metrics]:
        """Learn from rollouts that `learner.policy` collected."""
        batch, scale, critic_memory = self._evaluate(learner, experience)
        largest = jnp.maximum(_SPREAD_KEPT * learner.largest_spread, batch.spread)
        trained = eqx.tree_at(
            lambda trained: trained.critic,
            learner.trained,
            learner.critic.rescaled(learner.scale, scale),
        )
        rate = self._rate(progress) * self._certainty(batch.spread, largest)
        trained, metrics = self._passes(progress=progress).run(trained, batch, key, rate=rate)
        updates = learner.updates + 1
        average = self._averaged(learner.average, trained.policy, updates)
        policy, average = with_observations(
            (trained.policy, average), experience.observations, experience.valid
        )
        critic = trained.critic.having_seen(experience)
        trained = eqx.tree_at(lambda part: (part.policy, part.critic), trained, (policy, critic))
        return PPOLearner(trained, average, scale, critic_memory, updates, largest), metrics

    def encoding(self, interface: Interface) -> Encoding:
        """How the networks encode the observations and actions of an environment."""
        encoding = encoding_of(interface, self.observation_scale, default=_OBSERVATION_SCALE)
        space, wanted = interface.observation_space, self.normalise_observations
        if isinstance(space, Discrete) or wanted is False:
            return encoding
        large = max(map(abs, (*space.low, *space.high))) > _LARGE
        if not (wanted or (large and self.observation_scale is None)):
            return encoding
        normaliser = Normaliser.unknown(len(space.low))
        return eqx.tree_at(
            lambda e: e.normaliser, encoding, normaliser, is_leaf=lambda x: x is None
        )

    def _make_critic(
        self, interface: Interface, policy: HistoryPolicy, key: Key[Array, ""]
    ) -> Critic:
        if callable(self.critic):
            return self.critic(interface, policy, key)
        return make_critic(
            self.critic,
            policy,
            self.encoding(interface),
            latents=latents_of(interface, self.latent) if self.critic == "latent" else None,
            width=self.critic_width,
            orthogonal=self.critic_orthogonal,
            keep_bias=given(self.critic_keep_bias),
            key=key,
        )

    def _evaluate(
        self, learner: PPOLearner, experience: Experience
    ) -> tuple[Batch, ReturnScale, Float[Array, "N d"]]:
        """What the policy and the critic that were there say of the experience."""
        distributions = distributions_along(learner.policy, experience)
        values = learner.critic.values(learner.critic_memory, experience, distributions)
        now, following = map(learner.scale.returns, (values.now, values.following))

        def advantages(gae_lambda: Number | None) -> Float[Array, "T N"]:
            return generalised_advantages(
                experience.rewards,
                now,
                following,
                experience.terminated,
                experience.ended,
                discount=self.discount,
                gae_lambda=given(gae_lambda),
                parallel=learner.policy.in_parallel,
            )

        gains = advantages(self.gae_lambda)
        targets = now + advantages(self.value_lambda)
        scale = learner.scale.updated(targets, experience.valid, memory=self.return_scale_decay)
        batch = Batch(
            experience,
            learner.critic_memory,
            distributions.log_probability,
            *standardised(gains, experience.valid),
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

    def _passes(self, *, progress: Number) -> Passes:
        return Passes(
            epochs=self.epochs,
            minibatches=self.minibatches,
            clip_range=self.clip_range,
            entropy_coefficient=self.entropy_coefficient * (1 - progress),
            target_kl=self.target_kl,
            policy_steps=adam_by_kind(
                table=self.table_learning_rate,
                network=given(self.learning_rate),
                b2=self.adam_b2,
                eps=_ADAM_EPS,
                max_norm=self.max_grad_norm,
            ),
            critic_steps=optax.flatten(
                optax.chain(
                    optax.clip_by_global_norm(self.max_grad_norm),
                    optax.adam(self.critic_learning_rate, eps=_ADAM_EPS),
                )
            ),
        )

    def _rate(self, progress: Number) -> Number:
        """What share of their first values the rates of the policy have."""
        return 1.0 if self.decay is None else 1 / (1 + (progress / self.decay) ** 2)

    def _certainty(self, spread: Float[Array, ""], largest: Float[Array, ""]) -> Number:
        """Less than 1 where the advantages have less than their floor as a standard deviation."""
        floor = given(self.advantage_floor) * largest
        return jnp.where(spread < floor, spread / jnp.maximum(floor, 1e-30), 1.0)


def _alike(one: Critic, other: Critic) -> bool:
    """Whether both have arrays of the same shapes, whatever their values."""
    shapes = (jax.tree.map(jnp.shape, eqx.filter(critic, eqx.is_array)) for critic in (one, other))
    return bool(eqx.tree_equal(*shapes))
