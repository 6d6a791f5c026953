"""AIS as a method: the baselines AIS-KL and AIS-MMD."""

from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import optax
from jaxtyping import Array, Key

from asmpg._support.checks import MOST_WIDTH, check_integer, check_number, check_one_of
from asmpg.experience import Collection, Experience, Rollouts, WholeEpisodes
from asmpg.gradients import STANDARDISE, Standardise
from asmpg.interop import Interface
from asmpg.methods._kernels import encoding_of, number_of_states
from asmpg.methods._method import Method, Metrics, given, structure
from asmpg.methods.ais._losses import (
    ReturnBaseline,
    Segments,
    ais_gradient,
    ais_loss,
    weigh_steps,
)
from asmpg.methods.ais._networks import AISActor, AISNetworks, Start, Variant
from asmpg.policies import INITIAL_WEIGHTS, Activation, InitialWeights, Number

Batch = Literal["steps", "episodes"]
#: The reference's weight of the reward loss and learning rate of the policy.
_REWARD_WEIGHT: dict[Variant, float] = {"kl": 1e-4, "mmd": 1e-3}
_POLICY_RATE: dict[Variant, float] = {"kl": 6e-4, "mmd": 8e-4}


class AISLearner(eqx.Module):
    """What training changes: the networks, and one optimiser per loss."""

    networks: AISNetworks
    state_optimiser: optax.OptState
    policy_optimiser: optax.OptState


class AIS(Method[AISLearner]):
    """Approximate information states (Subramanian et al., 2022) with REINFORCE on top.

    A recurrent encoder is trained to predict rewards and observations; the policy reads its state
    and is trained by plain policy gradient, which does not reach the encoder. The defaults are
    those of the reference implementation, including the surprising ones; each is an option:

    - `start`: every episode starts from a random normal recurrent state; `"zeros"` starts from
      zeros.
    - `predict_terminal_observation`: the last observation of a segment is never predicted.
    - `reward_weight`: 1e-4 (KL) or 1e-3 (MMD), so rewards are hardly predicted at all.
    - `head_width`: half the dimension, a single unit at dimension 3.
    - `batch`: `"steps"` collects exactly `batch_steps` from a reset, cutting off the last episode
      and its return; `"episodes"` collects whole episodes.
    - `return_baseline`: none; `"batch-mean"` subtracts the mean return of the batch.
    - `standardise`: none; returns can be standardised over the `"batch"` or over each `"episode"`.
    - `activation`: tanh; the reference's larger networks have ReLU, no input layer
      (`input_width=0`), a linear policy (`policy_width=0`), and start from zeros.
    - `initial_weights`: PyTorch's default; the LSTM always uses it.

    `dimension` defaults to the paper's number of agent states in the environment.
    """

    learned: ClassVar[str] = "networks"
    metric_names: ClassVar[tuple[str, ...]] = (
        "gradient_norm",
        "reward_loss",
        "observation_loss",
        "policy_loss",
    )

    variant: Variant = structure("kl")
    dimension: int | None = structure(None)
    discount: float = 0.99
    start: Start = structure("normal")
    predict_terminal_observation: bool = structure(False)
    reward_weight: float | None = None
    state_learning_rate: float = 3e-3
    policy_learning_rate: float | None = None
    input_width: int | None = structure(None)
    head_width: int | None = structure(None)
    policy_width: int | None = structure(None)
    batch: Batch = structure("steps")
    batch_steps: int = structure(200)
    episodes_per_update: int = structure(10)
    return_baseline: ReturnBaseline = structure("none")
    standardise: Standardise = structure("none")
    activation: Activation = structure("tanh")
    initial_weights: InitialWeights = structure("uniform")
    observation_scale: tuple[float, ...] | None = structure(None)

    def __check_init__(self):
        check_one_of("variant", self.variant, ("kl", "mmd"))
        for name, low in (
            ("dimension", 1),
            ("input_width", 0),
            ("head_width", 1),
            ("policy_width", 0),
        ):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), low=low, high=MOST_WIDTH)
        check_number("discount", self.discount, low=0, high=1)
        if self.reward_weight is not None:
            check_number("reward_weight", self.reward_weight, low=0, high=1)
        check_number("state_learning_rate", self.state_learning_rate, low=0)
        if self.policy_learning_rate is not None:
            check_number("policy_learning_rate", self.policy_learning_rate, low=0)
        check_one_of("batch", self.batch, ("steps", "episodes"))
        check_integer("batch_steps", self.batch_steps, low=1)
        check_integer("episodes_per_update", self.episodes_per_update, low=1)
        check_one_of("return_baseline", self.return_baseline, ("none", "batch-mean"))
        check_one_of("standardise", self.standardise, STANDARDISE)
        check_one_of("activation", self.activation, ("relu", "tanh"))
        check_one_of("initial_weights", self.initial_weights, INITIAL_WEIGHTS)

    def defaults(self, interface: Interface) -> dict[str, Number]:
        """The variant's, in every environment."""
        del interface
        return {
            "reward_weight": _REWARD_WEIGHT[self.variant],
            "policy_learning_rate": _POLICY_RATE[self.variant],
        }

    @property
    def collects(self) -> Collection:
        """A fixed number of steps in one environment, from a reset, or whole episodes."""
        if self.batch == "steps":
            return Rollouts(1, self.batch_steps, continuing=False)
        return WholeEpisodes(self.episodes_per_update)

    @property
    def return_discount(self) -> Number:
        return self.discount

    def initialise(self, interface: Interface, key: Key[Array, ""]) -> AISLearner:
        if interface.masked:
            raise ValueError(f"AIS does not support action masks, and {interface.name} has some")
        encoding = encoding_of(interface, self.observation_scale)
        networks = AISNetworks(
            dimension=number_of_states(interface.name, self.dimension, option="dimension"),
            num_actions=interface.num_actions,
            num_observations=encoding.num_observations,
            observation_scale=encoding.observation_scale,
            variant=self.variant,
            start=self.start,
            input_width=self.input_width,
            head_width=self.head_width,
            policy_width=self.policy_width,
            activation=self.activation,
            initial_weights=self.initial_weights,
            key=key,
        )
        state, policy = _split(networks)
        state_rate, policy_rate = self._transformations()
        return AISLearner(networks, state_rate.init(state), policy_rate.init(policy))

    def actor(
        self, learner: AISLearner, *, training: bool = False, greedy: bool = False
    ) -> AISActor:
        """Encoder and policy, in training too."""
        del training
        return AISActor(learner.networks, greedy)

    def update(
        self,
        learner: AISLearner,
        experience: Experience,
        key: Key[Array, ""],
        *,
        progress: Number = 0.0,
    ) -> tuple[AISLearner, Metrics]:
        """Take one step on both losses; nothing follows a schedule."""
        del key, progress
        segments = Segments.from_experience(experience)
        steps = weigh_steps(
            segments,
            discount=self.discount,
            predict_terminal_observation=self.predict_terminal_observation,
            return_baseline=self.return_baseline,
            standardise=self.standardise,
        )
        whole = eqx.filter_grad(ais_loss, has_aux=True)
        differentiate = whole if self.batch == "steps" else ais_gradient
        gradient, parts = differentiate(learner.networks, steps, given(self.reward_weight))
        moves, states = [], []
        for part, optimiser, rate in zip(
            _split(gradient),
            (learner.state_optimiser, learner.policy_optimiser),
            self._transformations(),
            strict=True,
        ):
            move, state = rate.update(part, optimiser)
            moves.append(move)
            states.append(state)
        networks = eqx.apply_updates(learner.networks, eqx.combine(*moves))
        metrics = {
            "gradient_norm": optax.tree.norm(gradient),
            **{name: parts[name] for name in self.metric_names[1:]},
        }
        return AISLearner(networks, *states), metrics

    def _transformations(
        self,
    ) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
        rates = (self.state_learning_rate, given(self.policy_learning_rate))
        state, policy = map(optax.adam, rates)
        return state, policy


def _split(networks: AISNetworks) -> tuple[Any, Any]:
    """The parameters of encoder and heads, and those of the policy."""
    arrays = eqx.filter(networks, eqx.is_inexact_array)
    is_policy = jax.tree.map(lambda _: False, arrays)
    is_policy = eqx.tree_at(
        lambda tree: tree.policy, is_policy, jax.tree.map(lambda _: True, arrays.policy)
    )
    policy, state = eqx.partition(arrays, is_policy)
    return state, policy
