"""ASMPG: the paper's algorithm."""

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from asmpg._check import check_integer, check_number, check_one_of
from asmpg.envs import Box, Discrete, Environment
from asmpg.gradients import Episodes, reward_to_go, sampled_gradient
from asmpg.methods._method import Experience, Method, Metrics, all_finite
from asmpg.methods._paper import PAPER_SIZES
from asmpg.policies import (
    Activation,
    ASMActor,
    ASMPolicy,
    JointTabularPolicy,
    KernelTables,
    MLPPolicy,
    TabularPolicy,
    TimeIndexedPolicy,
    actor,
)
from asmpg.rollouts import play_episodes

Objective = Literal["discounted", "episodic"]
PolicyKind = Literal["mlp", "tabular", "joint"]
Optimiser = Literal["adam", "sgd"]
Schedule = Literal["constant", "decreasing"]


class Learner(eqx.Module):
    """What learning changes: the policy and the state of the optimiser."""

    policy: ASMPolicy
    optimiser: optax.OptState


class ASMPG(Method[Learner]):
    """Agent State-Markov Policy Gradient, Algorithms 1 and 2.

    Every update plays `episodes_per_update` whole episodes, forms the gradient estimate of
    Theorem 1 (`objective="episodic"`, undiscounted) or 2 (`"discounted"`), averages it over the
    episodes, adds the gradient of the log-barrier, and takes one step uphill. The defaults are the
    paper's; `num_states` and `hidden` default to its table for its five environments.
    """

    metric_names: ClassVar[tuple[str, ...]] = ("gradient_norm", "nu_entropy", "phi_entropy")

    num_states: int | None = eqx.field(static=True, default=None)
    hidden: int | None = eqx.field(static=True, default=None)
    objective: Objective = eqx.field(static=True, default="discounted")
    discount: float = eqx.field(static=True, default=0.99)
    episodes_per_update: int = eqx.field(static=True, default=10)
    policy: PolicyKind = eqx.field(static=True, default="mlp")
    time_indexed: bool = eqx.field(static=True, default=False)
    optimiser: Optimiser = eqx.field(static=True, default="adam")
    learning_rate: float = eqx.field(static=True, default=1e-3)
    schedule: Schedule = eqx.field(static=True, default="constant")
    barrier: float = eqx.field(static=True, default=0.01)
    activation: Activation = eqx.field(static=True, default="tanh")
    observation_scale: tuple[float, ...] | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        if self.num_states is not None:
            check_integer("num_states", self.num_states, low=1)
        if self.hidden is not None:
            check_integer("hidden", self.hidden, low=1)
        check_one_of("objective", self.objective, ("discounted", "episodic"))
        check_number("discount", self.discount, low=0, high=1)
        check_integer("episodes_per_update", self.episodes_per_update, low=1)
        check_one_of("policy", self.policy, ("mlp", "tabular", "joint"))
        check_one_of("activation", self.activation, ("relu", "tanh"))
        check_one_of("optimiser", self.optimiser, ("adam", "sgd"))
        check_number("learning_rate", self.learning_rate, low=0)
        check_one_of("schedule", self.schedule, ("constant", "decreasing"))
        check_number("barrier", self.barrier, low=0)

    def initialise(self, environment: Environment[Any], key: Key[Array, ""]) -> Learner:
        """A fresh policy and optimiser for `environment`."""
        make = self._policy_maker(environment)
        if self.time_indexed:
            policy = TimeIndexedPolicy(make, horizon=environment.max_steps, key=key)
        else:
            policy = make(key)
        return Learner(policy, self._transformation().init(eqx.filter(policy, eqx.is_array)))

    def improve(
        self, environment: Environment[Any], learner: Learner, key: Key[Array, ""]
    ) -> tuple[Learner, Experience, Metrics]:
        """Play `episodes_per_update` episodes and take one step along their gradient."""
        player = self.actor(learner)
        episodes = play_episodes(environment, player, key, num_episodes=self.episodes_per_update)
        learner, metrics = self.update(learner, episodes)
        seen = (episodes.observations, episodes.rewards, metrics["gradient_norm"])
        experience = Experience(
            episodes.lengths.sum(),
            jnp.asarray(self.episodes_per_update, jnp.int32),
            all_finite(seen),
        )
        return learner, experience, metrics

    def update(self, learner: Learner, episodes: Episodes) -> tuple[Learner, Metrics]:
        """One step along the gradient estimated from `episodes`, which `learner.policy` played."""
        weights = reward_to_go(episodes, discount=self.return_discount)
        gradient, spread = sampled_gradient(learner.policy, episodes, weights, barrier=self.barrier)
        descent = jax.tree.map(jnp.negative, gradient)
        step, optimiser = self._transformation().update(descent, learner.optimiser)
        policy = eqx.apply_updates(learner.policy, step)
        metrics = {
            "gradient_norm": optax.tree.norm(gradient),
            "nu_entropy": spread.nu_entropy,
            "phi_entropy": spread.phi_entropy,
        }
        return Learner(policy, optimiser), metrics

    def actor(self, learner: Learner, *, greedy: bool = False) -> ASMActor:
        """The policy, ready to play."""
        return actor(learner.policy, greedy=greedy)

    def tables(self, learner: Learner) -> KernelTables | None:
        """The policy on every input, where observations are finite."""
        if learner.policy.num_observations is None:
            return None
        return learner.policy.tabulate()

    @property
    def return_discount(self) -> float:
        """The discount of the return that is maximised: 1 in the episodic setting."""
        return 1.0 if self.objective == "episodic" else self.discount

    def _policy_maker(self, environment: Environment[Any]) -> Callable[[Key[Array, ""]], ASMPolicy]:
        paper = PAPER_SIZES.get(environment.name)
        num_states = self.num_states or (paper.num_states if paper else None)
        if num_states is None:
            raise ValueError(
                f"num_states must be given for {environment.name}: "
                f"the paper has a number for {', '.join(PAPER_SIZES)} only"
            )
        num_actions = environment.action_space.n
        space = environment.observation_space
        if self.policy == "mlp":
            return _keyed(
                MLPPolicy,
                num_states=num_states,
                num_actions=num_actions,
                num_observations=space.n if isinstance(space, Discrete) else None,
                observation_scale=self._scale(space),
                hidden=self.hidden or (paper.hidden if paper else 64),
                activation=self.activation,
            )
        if not isinstance(space, Discrete):
            raise ValueError(
                f"policy={self.policy!r} needs discrete observations; {environment.name} shows "
                f"{space}; use policy='mlp'"
            )
        return _keyed(
            TabularPolicy if self.policy == "tabular" else JointTabularPolicy,
            num_states=num_states,
            num_actions=num_actions,
            num_observations=space.n,
        )

    def _scale(self, space: Discrete | Box) -> tuple[float, ...]:
        if isinstance(space, Discrete):
            return ()
        scale = self.observation_scale or (1.0,) * len(space.low)
        if len(scale) != len(space.low):
            raise ValueError(
                f"observation_scale must have {len(space.low)} numbers, got {len(scale)}"
            )
        return scale

    def _transformation(self) -> optax.GradientTransformation:
        rate: optax.ScalarOrSchedule = self.learning_rate
        if self.schedule == "decreasing":
            rate = functools.partial(_inverse_root, self.learning_rate)
        return optax.adam(rate) if self.optimiser == "adam" else optax.sgd(rate)


def _keyed(
    policy: Callable[..., ASMPolicy], **options: Any
) -> Callable[[Key[Array, ""]], ASMPolicy]:
    return lambda key: policy(**options, key=key)


def _inverse_root(first: float, count: Any) -> Float[Array, ""]:
    """The step size of update `count`, counted from 0: `first / sqrt(count + 1)`."""
    return first / jnp.sqrt(count + 1.0)
