"""A batch of steps in segments, as the losses want it."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg.methods.ais._networks import LSTMState


class Segments(eqx.Module):
    """`N` lanes of `T` steps, time first; every lane holds one segment of an episode or more.

    Row `t` holds `o_t`, `a_t`, the reward `r_t` and the observation `o_{t+1}` they led to (also
    where the episode ended or was cut there), and whether that ended the episode. A segment starts
    where `first` (row 0 is always a start) and runs up to the next start, the end of the batch, or
    the first row that is not `valid`. Rows that are not valid are padding: they must be finite,
    and mean nothing. `starts` holds the recurrent states that the segments started from; only its
    rows at `first` are read.
    """

    observations: Shaped[Array, "T N *observation"]
    actions: Int[Array, "T N"]
    rewards: Float[Array, "T N"]
    next_observations: Shaped[Array, "T N *observation"]
    terminated: Bool[Array, "T N"]
    first: Bool[Array, "T N"]
    valid: Bool[Array, "T N"]
    starts: LSTMState

    @property
    def last(self) -> Bool[Array, "T N"]:
        """The last valid step of every segment: termination, truncation, or end of the batch."""
        goes_on = self.valid[1:] & ~self.first[1:]
        return self.valid & ~jnp.concatenate([goes_on, jnp.zeros_like(self.valid[:1])])

    @property
    def previous_actions(self) -> Int[Array, "T N"]:
        """`a_{t-1}`; means nothing at `first`."""
        return jnp.roll(self.actions, 1, axis=0)

    @property
    def previous_rewards(self) -> Float[Array, "T N"]:
        """`r_{t-1}`; means nothing at `first`."""
        return jnp.roll(self.rewards, 1, axis=0)

    def returns(self, discount: float | Float[Array, ""]) -> Float[Array, "T N"]:
        """`G_t = r_t + discount (1 - last_t) G_{t+1}`: nothing is added at a cut."""
        rewards = jnp.where(self.valid, self.rewards, 0.0)

        def step(
            following: Float[Array, " N"], row: tuple[Array, Array]
        ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
            reward, last = row
            total = reward + discount * jnp.where(last, 0.0, following)
            return total, total

        rows = (rewards, self.last)
        _, returns = jax.lax.scan(step, jnp.zeros_like(rewards[0]), rows, reverse=True)
        return returns
