"""ASMPG: the paper's algorithm, with options that lower the variance of its gradient."""

import functools
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from asmpg._support.checks import MOST_STATES, MOST_WIDTH, check_integer, check_number, check_one_of
from asmpg.experience import Experience, WholeEpisodes
from asmpg.gradients import (
    BARRIER_FORMS,
    STANDARDISE,
    STEP_REDUCTIONS,
    BarrierForm,
    BarrierSchedule,
    Spread,
    Standardise,
    StepReduction,
    barrier_at,
    beliefs_before,
    discounting,
    leave_one_out,
    marginal_gradient,
    normalised,
    reduced_over_steps,
    return_to_go,
    reward_to_go,
    sampled_gradient,
    standardised,
)
from asmpg.interop import Interface
from asmpg.methods._kernels import (
    KernelFactory,
    PolicyKind,
    check_kernels,
    check_networks,
    encoding_of,
    kernel_maker,
)
from asmpg.methods._method import Method, Metrics, structure
from asmpg.methods._rates import adam_by_kind
from asmpg.methods.critics import BaselineCritic, MemoryValue
from asmpg.policies import (
    Activation,
    ASMActor,
    ASMPolicy,
    InitialWeights,
    Inputs,
    Number,
    TimeIndexedPolicy,
    actor,
)

Objective = Literal["discounted", "episodic"]
Estimator = Literal["sampled", "marginal"]
Baseline = Literal["none", "leave-one-out", "critic"]
Optimiser = Literal["adam", "sgd"]
Schedule = Literal["constant", "decreasing"]
#: What the powers of the discount in a weight are counted from: the episode's start, or its step.
DiscountFrom = Literal["start", "step"]


class Learner(eqx.Module):
    """What training changes: the policy, its optimiser and, if there is one, the critic."""

    policy: ASMPolicy
    optimiser: optax.OptState
    critic: BaselineCritic | None


class ASMPG(Method[Learner]):
    """Agent State-Markov Policy Gradient, Algorithms 1 and 2.

    Every update plays `episodes_per_update` whole episodes, forms the gradient estimate of
    Theorem 1 (`objective="episodic"`, undiscounted) or 2 (`"discounted"`), averages it over the
    episodes, adds the gradient of the log-barrier, and takes one ascent step. The defaults are the
    paper's; in its five environments, `num_states` and `hidden` default to the values in its table.

    Where the paper can be read in several ways, the reading is an option: the `activation`, the
    `initial_weights` and the `inputs` of its networks, the `barrier_form`, `discount_from`,
    `step_reduction`, and whether returns are standardised (`standardise`). The defaults are the
    reading under which most of its claims hold: the mean over the steps of each episode, which
    biases the estimate, and orthogonal initialisation of the networks (`initial_weights=None`). For
    Algorithm 2 to the letter, use `step_reduction="episode-sum"`.

    Beyond the paper: `estimator="marginal"` integrates the agent state out; a `baseline` is
    subtracted from the weights (all of these leave the estimate unbiased); `normalise` divides the
    weights by their root mean square (biased); the barrier may fade over the fraction
    `barrier_fade` of the run; `nu` may start sharper (`nu_scale`) or in `groups` of agent states
    that are kept for `hold` steps; actions may depend on a `window` of observations and on `counts`
    of them; and tables of logits may have a learning rate of their own (`table_learning_rate`).
    """

    metric_names: ClassVar[tuple[str, ...]] = ("gradient_norm", "nu_entropy", "phi_entropy")
    learned: ClassVar[str] = "policy"

    num_states: int | None = structure(None)
    hidden: int | None = structure(None)
    objective: Objective = structure("discounted")
    discount: float = 0.99
    episodes_per_update: int = structure(10)
    estimator: Estimator = structure("sampled")
    baseline: Baseline = structure("none")
    normalise: bool = structure(False)
    discount_from: DiscountFrom = structure("start")
    standardise: Standardise = structure("none")
    step_reduction: StepReduction = structure("episode-mean")
    policy: PolicyKind | KernelFactory = structure("mlp")
    time_indexed: bool = structure(False)
    nu_scale: float = 1.0
    groups: int = structure(1)
    hold: float = 100.0
    window: int = structure(0)
    counts: bool = structure(False)
    optimiser: Optimiser = structure("adam")
    learning_rate: float = 1e-3
    table_learning_rate: float | None = None
    schedule: Schedule = structure("constant")
    barrier: float = 0.01
    barrier_form: BarrierForm = structure("visited-mean")
    barrier_schedule: BarrierSchedule = structure("constant")
    barrier_fade: float = 1.0
    critic_width: int = structure(64)
    critic_learning_rate: float = 3e-3
    critic_steps: int = structure(10)
    activation: Activation = structure("tanh")
    initial_weights: InitialWeights | None = structure(None)
    inputs: Inputs = structure("one-hot")
    observation_scale: tuple[float, ...] | None = structure(None)

    def __check_init__(self):
        if self.num_states is not None:
            check_integer("num_states", self.num_states, low=1, high=MOST_STATES)
        check_one_of("objective", self.objective, ("discounted", "episodic"))
        check_number("discount", self.discount, low=0, high=1)
        check_integer("episodes_per_update", self.episodes_per_update, low=1)
        check_one_of("estimator", self.estimator, ("sampled", "marginal"))
        check_one_of("baseline", self.baseline, ("none", "leave-one-out", "critic"))
        if self.baseline == "leave-one-out" and self.episodes_per_update < 2:
            raise ValueError(
                "episodes_per_update must be at least 2 for baseline='leave-one-out', "
                f"got {self.episodes_per_update}"
            )
        check_one_of("discount_from", self.discount_from, ("start", "step"))
        check_one_of("standardise", self.standardise, STANDARDISE)
        if self.normalise and self.standardise != "none":
            raise ValueError(
                f"standardise must be 'none' for normalise=True, got {self.standardise!r}"
            )
        check_one_of("step_reduction", self.step_reduction, STEP_REDUCTIONS)
        check_kernels(
            self.policy,
            hidden=self.hidden,
            nu_scale=self.nu_scale,
            groups=self.groups,
            hold=self.hold,
            window=self.window,
            counts=self.counts,
        )
        if self.time_indexed and self.window:
            raise ValueError(f"window must be 0 for time_indexed=True, got {self.window}")
        check_one_of("activation", self.activation, ("relu", "tanh"))
        check_networks(self.policy, initial_weights=self.initial_weights, inputs=self.inputs)
        check_one_of("optimiser", self.optimiser, ("adam", "sgd"))
        check_number("learning_rate", self.learning_rate, low=0)
        if self.table_learning_rate is not None:
            check_number("table_learning_rate", self.table_learning_rate, low=0)
            if self.optimiser == "sgd":
                raise ValueError("table_learning_rate must be None for optimiser='sgd'")
        check_one_of("schedule", self.schedule, ("constant", "decreasing"))
        check_number("barrier", self.barrier, low=0)
        check_one_of("barrier_form", self.barrier_form, BARRIER_FORMS)
        if self.barrier_form == "all-inputs" and self.window:
            raise ValueError(f"window must be 0 for barrier_form='all-inputs', got {self.window}")
        check_one_of("barrier_schedule", self.barrier_schedule, ("constant", "linear"))
        check_number("barrier_fade", self.barrier_fade, low=1e-6)
        check_integer("critic_width", self.critic_width, low=1, high=MOST_WIDTH)
        check_number("critic_learning_rate", self.critic_learning_rate, low=0)
        check_integer("critic_steps", self.critic_steps, low=1)

    @property
    def collects(self) -> WholeEpisodes:
        return WholeEpisodes(self.episodes_per_update)

    @property
    def return_discount(self) -> Number:
        """1 in the episodic setting."""
        return 1.0 if self.objective == "episodic" else self.discount

    def initialise(self, interface: Interface, key: Key[Array, ""]) -> Learner:
        """A fresh policy and optimiser, and a critic if requested."""
        make = kernel_maker(
            interface,
            self.policy,
            num_states=self.num_states,
            hidden=self.hidden,
            activation=self.activation,
            encoding=encoding_of(interface, self.observation_scale),
            nu_scale=self.nu_scale,
            groups=self.groups,
            hold=self.hold,
            window=self.window,
            counts=self.counts,
            initial_weights=self.initial_weights or "orthogonal",
            inputs=self.inputs,
        )
        policy_key, critic_key = jax.random.split(key)
        if self.time_indexed:
            policy = TimeIndexedPolicy(make, horizon=interface.max_steps, key=policy_key)
        else:
            policy = make(policy_key)
        critic = None
        if self.baseline == "critic":
            critic = self._make_critic(interface, policy, critic_key)
        optimiser = self._transformation().init(eqx.filter(policy, eqx.is_inexact_array))
        return Learner(policy, optimiser, critic)

    def actor(self, learner: Learner, *, training: bool = False, greedy: bool = False) -> ASMActor:
        """The policy, in training too."""
        del training
        return actor(learner.policy, greedy=greedy)

    def kernels(self, learner: Learner) -> ASMPolicy:
        return learner.policy

    def update(
        self,
        learner: Learner,
        experience: Experience,
        key: Key[Array, ""],
        *,
        progress: Number = 0.0,
    ) -> tuple[Learner, Metrics]:
        """Take one step along the gradient estimated from whole episodes."""
        del key
        weights, critic = self.weights(learner, experience)
        gradient, spread = self.gradient(learner, experience, weights, progress=progress)
        descent = jax.tree.map(jnp.negative, gradient)
        step, optimiser = self._transformation().update(descent, learner.optimiser)
        policy = eqx.apply_updates(learner.policy, step)
        metrics = {
            "gradient_norm": optax.tree.norm(gradient),
            "nu_entropy": spread.nu_entropy,
            "phi_entropy": spread.phi_entropy,
        }
        return Learner(policy, optimiser, critic), metrics

    def gradient(
        self,
        learner: Learner,
        episodes: Experience,
        weights: Float[Array, "T N"],
        *,
        progress: Number = 0.0,
    ) -> tuple[ASMPolicy, Spread]:
        """The estimate of the gradient, including the barrier's."""
        estimate = sampled_gradient if self.estimator == "sampled" else marginal_gradient
        barrier = barrier_at(
            self.barrier, progress, schedule=self.barrier_schedule, fade=self.barrier_fade
        )
        return estimate(
            learner.policy, episodes, weights, barrier=barrier, barrier_form=self.barrier_form
        )

    def weights(
        self, learner: Learner, episodes: Experience
    ) -> tuple[Float[Array, "T N"], BaselineCritic | None]:
        """The weights of the scores, and the critic after this batch.

        The baseline is the critic's from before this batch, which it must not have seen.
        """
        from_step = self.discount_from == "step"
        weigh = return_to_go if from_step else reward_to_go
        weights = weigh(episodes, discount=self.return_discount)
        critic = learner.critic
        if self.baseline == "leave-one-out":
            weights = weights - leave_one_out(weights, episodes.valid)
        elif critic is not None:
            remembered = self._remembered(learner.policy, episodes)
            returns = return_to_go(episodes, discount=self.return_discount)
            powers = 1.0 if from_step else discounting(episodes, discount=self.return_discount)
            weights = weights - powers * critic.values(remembered, episodes)
            critic = critic.fitted(
                remembered,
                episodes,
                returns,
                learning_rate=self.critic_learning_rate,
                steps=self.critic_steps,
            )
        if self.normalise:
            weights = normalised(weights, episodes.valid)
        elif self.standardise != "none":
            weights = standardised(weights, episodes.valid, episodes.first, over=self.standardise)
        return reduced_over_steps(weights, episodes, reduction=self.step_reduction), critic

    def _remembered(self, policy: ASMPolicy, episodes: Experience) -> Float[Array, "T N S"]:
        """What the estimator conditions on: the agent state, or the belief over it."""
        if self.estimator == "marginal":
            return beliefs_before(policy, episodes)
        return jax.nn.one_hot(episodes.past.state, policy.num_states)

    def _make_critic(
        self, interface: Interface, policy: ASMPolicy, key: Key[Array, ""]
    ) -> BaselineCritic:
        value = MemoryValue(
            width=self.critic_width,
            memory_size=policy.num_states,
            encoding=encoding_of(interface, self.observation_scale),
            key=key,
        )
        return BaselineCritic.fresh(value, learning_rate=self.critic_learning_rate)

    def _transformation(self) -> optax.GradientTransformation:
        rate = self._rate(self.learning_rate)
        if self.optimiser == "sgd":
            return optax.sgd(rate)
        if self.table_learning_rate is None:
            return optax.adam(rate)
        return adam_by_kind(table=self._rate(self.table_learning_rate), network=rate)

    def _rate(self, first: Number) -> optax.ScalarOrSchedule:
        return first if self.schedule == "constant" else functools.partial(_inverse_root, first)


def _inverse_root(first: Number, count: Any) -> Float[Array, ""]:
    """The step size of update `count`, counted from 0: `first / sqrt(count + 1)`."""
    return first / jnp.sqrt(count + 1.0)
