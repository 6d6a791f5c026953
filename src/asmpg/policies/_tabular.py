"""Tabular softmax kernels: factored, joint, and one for each step of an episode."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Shaped

from asmpg.policies._action_head import ActionHead
from asmpg.policies._heads import Categorical
from asmpg.policies._kernel_tables import AgentMemory, KernelTables, every_input, input_index
from asmpg.policies._networks import Number
from asmpg.policies._policy import ASMPolicy


def _sizes(num_states: int, num_actions: int, num_observations: int) -> dict[str, int]:
    return {
        "num_states": num_states,
        "num_actions": num_actions,
        "num_observations": num_observations,
    }


def _num_inputs(num_states: int, num_actions: int, num_observations: int) -> int:
    return num_observations * (1 + num_states * num_actions)


def on_every_input(
    bias: Float[Array, "S S"] | None, *, num_states: int, num_actions: int, num_observations: int
) -> Float[Array, "X S"] | float:
    """`bias[s, s']` for every input with agent state `s`; 0 without one.

    After the dummy pair it is that of an agent state that depends on the first observation, each
    its own as far as there are enough of them: so where it keeps what was, it keeps that.
    """
    if bias is None:
        return 0.0
    memory, observation = every_input(
        num_states=num_states, num_actions=num_actions, num_observations=num_observations
    )
    first = _spread(num_states)[observation % num_states]
    return bias[jnp.where(memory.first, first, memory.state)]


def _spread(num_states: int) -> Int[Array, " S"]:
    """All agent states, in an order in which neighbours by number come late after each other."""
    bits = max(1, (num_states - 1).bit_length())
    turned = [int(f"{number:0{bits}b}"[::-1], 2) for number in range(2**bits)]
    return jnp.asarray([number for number in turned if number < num_states], jnp.int32)


class TabularPolicy(ASMPolicy):
    """`nu` and `phi` with one logit for every probability."""

    nu_logits: Float[Array, "X S"]
    phi_logits: Float[Array, "S A"]
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)
    parts: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        *,
        num_states: int,
        num_actions: int,
        num_observations: int,
        key: Key[Array, ""],
        parts: tuple[int, ...] = (),
        nu_scale: Number = 1.0,
        phi_scale: Number = 1.0,
        bias: Float[Array, "S S"] | None = None,
    ):
        """Draw independent normal logits with the given standard deviations.

        `bias[s, s']` is added to the logits of going from `s` to `s'`. Actions that have `parts`
        are combinations of those.
        """
        sizes = _sizes(num_states, num_actions, num_observations)
        nu_key, phi_key = jax.random.split(key)
        inputs = _num_inputs(num_states, num_actions, num_observations)
        noise = nu_scale * jax.random.normal(nu_key, (inputs, num_states))
        self.nu_logits = noise + on_every_input(bias, **sizes)
        self.phi_logits = phi_scale * jax.random.normal(phi_key, (num_states, num_actions))
        self.num_states = num_states
        self.num_actions = num_actions
        self.num_observations = num_observations
        self.parts = parts

    @property
    def head(self) -> Categorical:
        return Categorical(self.num_actions, self.parts)

    @property
    def factored(self) -> bool:
        """Yes."""
        return True

    def log_nu(self, memory: AgentMemory, observation: Int[Array, ""]) -> Float[Array, " S"]:
        """Softmax over the row of the input."""
        return jax.nn.log_softmax(self.nu_logits[_row(self, memory, observation)])

    def log_phi(self, memory: AgentMemory, observation: Int[Array, ""]) -> Float[Array, "S A"]:
        """Softmax over the actions."""
        del memory, observation
        return jax.nn.log_softmax(self.phi_logits)

    def tabulate(self) -> KernelTables:
        """It is a table already, its rows in the order of the inputs."""
        log_nu, log_phi = map(jax.nn.log_softmax, (self.nu_logits, self.phi_logits))
        return KernelTables(log_nu[None], log_phi[None, None])


class JointTabularPolicy(ASMPolicy):
    """`pi(s, a | x)` as one softmax over all pairs `(s, a)`.

    Its factors are the marginal `nu(s | x) = sum_a pi(s, a | x)` and the conditional
    `phi(a | s, x) = pi(s, a | x) / nu(s | x)`, so actions may depend on more than the agent state.
    """

    logits: Float[Array, "X S A"]
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)
    parts: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        *,
        num_states: int,
        num_actions: int,
        num_observations: int,
        key: Key[Array, ""],
        parts: tuple[int, ...] = (),
        nu_scale: Number = 1.0,
        bias: Float[Array, "S S"] | None = None,
    ):
        """Draw independent normal logits with standard deviation `nu_scale`.

        `bias[s, s']` is added to the logits of going from `s` to `s'`. Actions that have `parts`
        are combinations of those.
        """
        sizes = _sizes(num_states, num_actions, num_observations)
        inputs = _num_inputs(num_states, num_actions, num_observations)
        noise = nu_scale * jax.random.normal(key, (inputs, num_states, num_actions))
        self.logits = noise + jnp.asarray(on_every_input(bias, **sizes))[..., None]
        self.num_states = num_states
        self.num_actions = num_actions
        self.num_observations = num_observations
        self.parts = parts

    @property
    def head(self) -> Categorical:
        return Categorical(self.num_actions, self.parts)

    @property
    def factored(self) -> bool:
        """No: a joint kernel's action may depend on its input."""
        return False

    def log_nu(self, memory: AgentMemory, observation: Int[Array, ""]) -> Float[Array, " S"]:
        """The marginal of the agent state."""
        logits = self.logits[_row(self, memory, observation)]
        return jax.nn.log_softmax(jax.nn.logsumexp(logits, axis=-1))

    def log_phi(self, memory: AgentMemory, observation: Int[Array, ""]) -> Float[Array, "S A"]:
        """The conditional of the action."""
        return jax.nn.log_softmax(self.logits[_row(self, memory, observation)], axis=-1)

    def tabulate(self) -> KernelTables:
        """It is a table already, its rows in the order of the inputs."""
        log_nu = jax.nn.log_softmax(jax.nn.logsumexp(self.logits, axis=-1))
        return KernelTables(log_nu[None], jax.nn.log_softmax(self.logits)[None])


def _row(
    policy: TabularPolicy | JointTabularPolicy, memory: AgentMemory, observation: Int[Array, ""]
) -> Int[Array, ""]:
    assert policy.num_observations is not None
    return input_index(
        memory,
        observation,
        num_observations=policy.num_observations,
        num_actions=policy.num_actions,
    )


class TimeIndexedPolicy(ASMPolicy):
    """`(nu_t, phi_t)` for `t = 1, ..., H`: a stack of policies, one for each step."""

    steps: ASMPolicy
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)

    def __init__(
        self,
        make: Callable[[Key[Array, ""]], ASMPolicy],
        *,
        horizon: int,
        key: Key[Array, ""],
    ):
        """Stack `make(key)` over `horizon` independent keys."""
        self.steps = eqx.filter_vmap(make)(jax.random.split(key, horizon))
        self.num_states = self.steps.num_states
        self.num_actions = self.steps.num_actions
        self.num_observations = self.steps.num_observations

    @property
    def head(self) -> ActionHead:
        return self.steps.head

    @property
    def factored(self) -> bool:
        """No: the action depends on time as well."""
        return False

    def log_nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """`log nu_t`, with `t - 1` the number of actions played."""
        return self._at(memory).log_nu(memory, observation)

    def log_phi(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, "S A"]:
        """`log phi_t`, with `t - 1` the number of actions played."""
        return self._at(memory).log_phi(memory, observation)

    def tabulate(self) -> KernelTables:
        """The tables of all steps."""
        tables = eqx.filter_vmap(lambda policy: policy.tabulate())(self.steps)
        return jax.tree.map(lambda leaf: leaf[:, 0], tables)

    def _at(self, memory: AgentMemory) -> ASMPolicy:
        return jax.tree.map(lambda leaf: leaf[memory.time], self.steps)
