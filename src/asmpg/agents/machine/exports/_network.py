"""Kernels made by a network, for real observations: what is exported, and as pure Python."""

import dataclasses
import math
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float

from asmpg.agents.machine.exports._python import literal
from asmpg.policies import MOST_DEVIATIONS, ASMPolicy, MatrixPolicy, MLPPolicy


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkKernel:
    """A network with `layers` of weights and biases, and what `phi` plays in each state.

    It is shown observations less `centre` over `scale`, and no further from 0 than `most`.

    - `"matrix"`: the network makes of an observation the logits of all rows, to which `table` is
      added; row 0 is the start of an episode, row `1 + s A + a` follows action `a` in state `s`;
    - `"mlp"`: the network is shown state, action (both zero at the start) and observation, and
      makes the logits of the next state.
    """

    kind: Literal["matrix", "mlp"]
    layers: tuple[tuple[Float[np.ndarray, "_ _"], Float[np.ndarray, " _"]], ...]
    activation: str
    table: Float[np.ndarray, "R S"]
    control: Float[np.ndarray, "S A"]
    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    most: float = math.inf
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


def network_of(policy: ASMPolicy, *, name: str, first_action: int) -> NetworkKernel:
    """What the network policies of this package hold; a `ValueError` for any other."""
    if not isinstance(policy, MatrixPolicy | MLPPolicy):
        raise ValueError(
            "policy must be a MatrixPolicy or an MLPPolicy to be exported for real observations, "
            f"got {type(policy).__name__}; train with window=0 for one, or use "
            "agent.machine().export(...), which tells typical cases apart"
        )
    if isinstance(policy, MLPPolicy) and policy.nu_logits is not None:
        raise ValueError("an MLPPolicy that started in groups cannot be exported; use groups=1")
    if not policy.num_actions:
        raise ValueError(
            f"policy must choose one of several actions to be exported, not in {policy.head.space}"
        )
    matrix = isinstance(policy, MatrixPolicy)
    states = policy.num_states
    encoding, most = policy.encoding, math.inf
    scale = np.asarray(encoding.observation_scale, np.float32)
    centre = np.zeros_like(scale)
    if encoding.normaliser is not None:
        centre, scale = (
            np.asarray(v) for v in (encoding.normaliser.mean, encoding.normaliser.scale)
        )
        most = MOST_DEVIATIONS
    layers = []
    for layer in policy.nu_layers:
        weight = np.asarray(layer.weight)
        bias = np.zeros(len(weight), np.float32) if layer.bias is None else np.asarray(layer.bias)
        layers.append((weight, bias))
    return NetworkKernel(
        kind="matrix" if matrix else "mlp",
        layers=tuple(layers),
        activation="tanh" if matrix else policy.activation,
        table=np.asarray(policy.nu_logits) if matrix else np.zeros((1, states), np.float32),
        control=np.exp(np.asarray(policy.control_table())),
        centre=centre,
        scale=scale,
        most=most,
        name=name,
        first_action=first_action,
    )


_TEMPLATE = '''\
"""{name}: {states} agent states, updated by a network; made by asmpg.

>>> policy = Policy()  # one for each episode, or policy.reset()
>>> action = policy.step(observation)
"""

import math
{imports}
LAYERS = [
{layers}
]
TABLE = {table}
CONTROL = {control}
CENTRE, SCALE, MOST = {centre}, {scale}, {most}
STATES, ACTIONS = {states}, {actions}
{draw}

def network(x):
    """Linear layers with an activation between them."""
    for number, (weight, bias) in enumerate(LAYERS):
        x = [sum(w * v for w, v in zip(row, x)) + b for row, b in zip(weight, bias)]
        if number < len(LAYERS) - 1:
            x = [{activation} for v in x]
    return x


class Policy:
    """The agent state and the action before, and how they change."""

    def __init__(self):
        self.reset()

    def reset(self):
        """Forget: an episode starts."""
        self.state = self.action = None

    def step(self, observation):
        """Take in what is seen, a list of numbers, and return the action to play."""
        seen = [(value - c) / s for value, c, s in zip(observation, CENTRE, SCALE)]
        seen = [min(max(value, -MOST), MOST) for value in seen]
{logits}
        self.state = {state}
        self.action = {action}
        return self.action + {first}
'''

_MATRIX = """\
        row = 0 if self.state is None else 1 + self.state * ACTIONS + self.action
        made = network(seen)[row * STATES : (row + 1) * STATES]
        logits = [value + known for value, known in zip(made, TABLE[row])]"""

_MLP = """\
        past = [0.0] * (STATES + ACTIONS)
        if self.state is not None:
            past[self.state] = past[STATES + self.action] = 1.0
        logits = network(past + seen)"""

_DRAW = '''

def softmax(logits):
    """Probabilities, up to a factor."""
    most = max(logits)
    return [math.exp(value - most) for value in logits]


def draw(weights):
    """An index, drawn."""
    return random.choices(range(len(weights)), weights)[0]
'''


def python_network(network: NetworkKernel, path: Path, *, deterministic: bool) -> str:
    """A module with the weights and a class `Policy`, like that of a machine."""
    del path
    layers = ",\n".join(
        f"    ({literal(weight)},\n    {literal(bias)})" for weight, bias in network.layers
    )
    control = network.control.argmax(axis=-1) if deterministic else network.control
    tanh = network.activation == "tanh"
    return _TEMPLATE.format(
        name=network.name,
        imports="" if deterministic else "import random\n",
        layers=layers,
        table=literal(network.table),
        control=literal(control),
        centre=literal(network.centre),
        scale=literal(network.scale),
        most="math.inf" if math.isinf(network.most) else network.most,
        states=network.num_states,
        actions=network.num_actions,
        draw="" if deterministic else _DRAW,
        activation="math.tanh(v)" if tanh else "max(v, 0.0)",
        logits=_MATRIX if network.kind == "matrix" else _MLP,
        state="logits.index(max(logits))" if deterministic else "draw(softmax(logits))",
        action="CONTROL[self.state]" if deterministic else "draw(CONTROL[self.state])",
        first=network.first_action,
    )
