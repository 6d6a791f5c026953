"""What kernels made by networks have in common."""

import equinox as eqx

from asmpg.policies._encoding import Encoding
from asmpg.policies._policy import ASMPolicy


class NetworkPolicy(ASMPolicy):
    """A factored policy whose networks are shown encoded observations and actions."""

    encoding: Encoding = eqx.field(static=True)
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)

    def __init__(self, num_states: int, encoding: Encoding):
        """The networks are the business of the subclass."""
        self.encoding = encoding
        self.num_states = num_states
        self.num_actions = encoding.num_actions
        self.num_observations = encoding.num_observations

    @property
    def factored(self) -> bool:
        """Yes."""
        return True
