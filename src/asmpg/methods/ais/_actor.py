"""Acting on the information state."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.methods.ais._networks import AISNetworks, LSTMState
from asmpg.policies import Actor, draw


class AISMemory(eqx.Module):
    """The recurrent state, the last action, and whether there was none yet."""

    recurrent: LSTMState
    action: Int[Array, "*batch"]
    first: Bool[Array, "*batch"]


class AISActor(Actor[AISMemory]):
    """Encodes `(o_t, a_{t-1}, r_{t-1})`, then draws `a_t` from the policy on `z_t`."""

    networks: AISNetworks
    greedy: bool = eqx.field(static=True, default=False)

    def start(self, key: Key[Array, ""]) -> AISMemory:
        """A start state of the encoder: fresh noise or zeros."""
        recurrent = self.networks.start_state(key)
        return AISMemory(recurrent, jnp.zeros((), jnp.int32), jnp.ones((), bool))

    def act(
        self,
        memory: AISMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, "2"],
    ) -> AISMemory:
        """One step of the encoder and one draw."""
        recurrent = self.networks.encode_step(
            memory.recurrent, observation, memory.action, reward, memory.first
        )
        law = jnp.exp(self.networks.log_policy(recurrent.hidden))
        action = draw(law, uniforms[0], greedy=self.greedy)
        return AISMemory(recurrent, action, jnp.zeros((), bool))
