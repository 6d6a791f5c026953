"""Kernels made by a network, or shown a window: what is exported, in arrays."""

import dataclasses
import math
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from asmpg.policies import (
    MOST_DEVIATIONS,
    ASMPolicy,
    Encoding,
    KernelTables,
    Layers,
    MatrixPolicy,
    MLPPolicy,
    WindowPolicy,
)

#: The logarithm that stands for that of zero.
_LEAST = -1e30
#: Weights and biases.
LayerArrays = tuple[tuple[Float[np.ndarray, "_ _"], Float[np.ndarray, " _"]], ...]


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkKernel:
    """How agent states change, by `layers` and a `table`, and what is played in each.

    Real observations are shown less `centre` over `scale`, and no further from 0 than `most`;
    finite ones, of which there are `num_observations`, one-hot.

    - `"matrix"`: the network makes of an observation the logits of all rows, to which `table` is
      added; row 0 is the start of an episode, row `1 + s A + a` follows action `a` in state `s`;
    - `"mlp"`: the network is shown state, action (both zero at the start) and observation, and
      makes the logits of the next state, to which row 0, or `1 + s`, of `table` is added;
    - `"table"`: row `o` of `table` has the logits at the start of an episode, row
      `(1 + s A + a) O + o` those after action `a` in state `s`.

    `control` are probabilities. With a `window`, these are the softmax of their logarithms and of
    row `s` of what `window_layers` make of the last `window` observations and the actions between
    them, newest first, observations first; zeros stand for what was before the episode.
    """

    kind: Literal["matrix", "mlp", "table"]
    layers: LayerArrays
    activation: str
    table: Float[np.ndarray, "R S"]
    control: Float[np.ndarray, "S A"]
    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    most: float = math.inf
    num_observations: int | None = None
    window: int = 0
    window_layers: LayerArrays = ()
    name: str = "policy"
    first_action: int = 0

    @property
    def num_states(self) -> int:
        """Number of agent states."""
        return self.control.shape[0]

    @property
    def num_actions(self) -> int:
        """Number of actions."""
        return self.control.shape[1]

    @property
    def log_control(self) -> Float[np.ndarray, "S A"]:
        """What a window's network adds to."""
        return np.log(np.maximum(self.control, np.finfo(np.float32).tiny))

    @property
    def kept(self) -> tuple[int, int]:
        """How many numbers a window keeps of observations, and of actions."""
        earlier = max(self.window - 1, 0)
        return earlier * (self.num_observations or len(self.scale)), earlier * self.num_actions


def network_of(policy: ASMPolicy, *, name: str, first_action: int) -> NetworkKernel:
    """What the policies of this package hold; a `ValueError` for any other."""
    window, window_layers, hidden = 0, (), policy
    if isinstance(policy, WindowPolicy):
        if policy.counts:
            raise ValueError("policy must have counts=False to be exported, got one that counts")
        window, hidden = policy.window, policy.hidden
        if policy.window_layers is not None:
            window_layers = _arrays(policy.layers_by_step())
    if not policy.num_actions:
        raise ValueError(
            f"policy must choose one of several actions to be exported, not in {policy.head.space}"
        )
    parts: dict[str, Any]
    if policy.num_observations is not None and isinstance(hidden, ASMPolicy):
        parts = _table(hidden.tabulate())
    elif isinstance(hidden, MatrixPolicy):
        parts = {"kind": "matrix", "activation": "tanh", "table": np.asarray(hidden.nu_logits)}
        parts |= {"layers": _arrays(hidden.nu_layers), **_shown(hidden.encoding)}
    elif isinstance(hidden, MLPPolicy):
        table = np.zeros((1 + hidden.num_states, hidden.num_states), np.float32)
        if hidden.nu_logits is not None:
            table[1:] = np.asarray(hidden.nu_logits)
        parts = {"kind": "mlp", "activation": hidden.activation, "table": table}
        parts |= {"layers": _arrays(hidden.one_hot_layers), **_shown(hidden.encoding)}
    else:
        raise ValueError(
            "policy must be a MatrixPolicy or an MLPPolicy to be exported for real observations, "
            f"got {type(hidden).__name__}; use agent.machine().export(...), which tells typical "
            "cases apart"
        )
    assert isinstance(hidden, ASMPolicy)
    return NetworkKernel(
        **parts,
        control=np.exp(np.asarray(hidden.control_table())),
        num_observations=policy.num_observations,
        window=window,
        window_layers=window_layers,
        name=name,
        first_action=first_action,
    )


def _table(tables: KernelTables) -> dict[str, Any]:
    nothing = np.zeros(0, np.float32)
    return {
        "kind": "table",
        "layers": (),
        "activation": "tanh",
        "table": np.maximum(np.asarray(tables.log_nu[0]), np.float32(_LEAST)),
        "centre": nothing,
        "scale": nothing,
    }


def _shown(encoding: Encoding) -> dict[str, Any]:
    """How observations are shown to the networks."""
    if encoding.normaliser is not None:
        mean, scale = encoding.normaliser.mean, encoding.normaliser.scale
        return {"centre": np.asarray(mean), "scale": np.asarray(scale), "most": MOST_DEVIATIONS}
    scale = np.asarray(encoding.observation_scale, np.float32)
    return {"centre": np.zeros_like(scale), "scale": scale}


def _arrays(layers: Layers) -> LayerArrays:
    arrays = []
    for layer in layers:
        weight = np.asarray(layer.weight)
        bias = np.zeros(len(weight), np.float32) if layer.bias is None else np.asarray(layer.bias)
        arrays.append((weight, bias))
    return tuple(arrays)
