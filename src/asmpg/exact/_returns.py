"""What an episode yields on average."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

Scalar = Float[Array, ""] | float
#: One number, or one for each policy of a batch.
Numbers = Scalar | Float[Array, "*batch"] | Float[np.ndarray, "*batch"]


class ExactReturns(eqx.Module):
    """Expected outcome of an episode of at most `H` steps, `T` being its length.

    - `discounted`: `E[sum_{t<=T} gamma^(t-1) r_t]`;
    - `undiscounted`: `E[sum_{t<=T} r_t]`;
    - `episode_length`: `E[T]`;
    - `termination`: probability of ending before the time limit cuts the episode off.
    """

    discounted: Numbers
    undiscounted: Numbers
    episode_length: Numbers
    termination: Numbers

    @property
    def reward_per_step(self) -> Numbers:
        """The pooled reward per step, `E[return] / E[T]`."""
        return self.undiscounted / self.episode_length
