"""Kernels made by a network, or shown a window, as a Python class that needs nothing else."""

import math
from pathlib import Path

from asmpg.agents.machine.exports._network import LayerArrays, NetworkKernel
from asmpg.agents.machine.exports._python import literal

_TEMPLATE = '''\
"""{name}: {states} agent states, {updated}; made by asmpg.

>>> policy = Policy()  # one for each episode, or policy.reset()
>>> action = policy.step(observation)
"""

import math
{imports}
LAYERS = {layers}
TABLE = {table}
CONTROL = {control}
CENTRE, SCALE, MOST = {centre}, {scale}, {most}
STATES, ACTIONS, OBSERVATIONS = {states}, {actions}, {symbols}
{window_layers}{draw}

def network(layers, x, activate):
    """Linear layers with an activation between them."""
    for number, (weight, bias) in enumerate(layers):
        x = [sum(w * v for w, v in zip(row, x)) + b for row, b in zip(weight, bias)]
        if number < len(layers) - 1:
            x = [activate(v) for v in x]
    return x


class Policy:
    """The agent state and the action before{and_window}, and how they change."""

    def __init__(self):
        self.reset()

    def reset(self):
        """Forget: an episode starts."""
        self.state = self.action = None
{forget}
    def step(self, observation):
        """Take in what is seen, {kind}, and return the action to play."""
{seen}
{logits}
        self.state = {state}
{acts}
        return self.action + {first}
'''

_REAL = """\
        seen = [(value - c) / s for value, c, s in zip(observation, CENTRE, SCALE)]
        seen = [min(max(value, -MOST), MOST) for value in seen]"""

_FINITE = """\
        seen = [float(symbol == observation) for symbol in range(OBSERVATIONS)]"""

_LOGITS = {
    "matrix": """\
        row = 0 if self.state is None else 1 + self.state * ACTIONS + self.action
        made = network(LAYERS, seen, math.tanh)[row * STATES : (row + 1) * STATES]
        logits = [value + known for value, known in zip(made, TABLE[row])]""",
    "mlp": """\
        past = [0.0] * (STATES + ACTIONS)
        if self.state is not None:
            past[self.state] = past[STATES + self.action] = 1.0
        made = network(LAYERS, past + seen, {activation})
        known = TABLE[0 if self.state is None else 1 + self.state]
        logits = [value + more for value, more in zip(made, known)]""",
    "table": """\
        row = 0 if self.state is None else 1 + self.state * ACTIONS + self.action
        logits = TABLE[row * OBSERVATIONS + observation]""",
}

_FORGET = """\
        self.seen, self.done = [0.0] * {seen}, [0.0] * {done}
"""

_WINDOW_ACTS = """\
        made = network(WINDOW_LAYERS, seen + self.seen + self.done, math.tanh)
        made = made[self.state * ACTIONS : (self.state + 1) * ACTIONS]
        scores = [value + known for value, known in zip(made, CONTROL[self.state])]
        self.action = {action}
        done = [float(action == self.action) for action in range(ACTIONS)]
        self.seen = (seen + self.seen)[: len(self.seen)]
        self.done = (done + self.done)[: len(self.done)]"""

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
    activation = "math.tanh" if network.activation == "tanh" else "lambda v: max(v, 0.0)"
    finite = network.num_observations is not None
    seen, done = network.kept
    control = network.control.argmax(axis=-1) if deterministic else network.control
    action = "CONTROL[self.state]" if deterministic else "draw(CONTROL[self.state])"
    acts = f"        self.action = {action}"
    if network.window:
        control = network.log_control
        action = "scores.index(max(scores))" if deterministic else "draw(softmax(scores))"
        acts = _WINDOW_ACTS.format(action=action)
    return _TEMPLATE.format(
        name=network.name,
        updated="updated by a table" if network.kind == "table" else "updated by a network",
        imports="" if deterministic else "import random\n",
        layers=_layers(network.layers),
        table=literal(network.table),
        control=literal(control),
        centre=literal(network.centre),
        scale=literal(network.scale),
        most="math.inf" if math.isinf(network.most) else network.most,
        states=network.num_states,
        actions=network.num_actions,
        symbols=network.num_observations,
        window_layers=f"WINDOW_LAYERS = {_layers(network.window_layers)}\n"
        if network.window
        else "",
        draw="" if deterministic else _DRAW,
        and_window=", the last observations and actions" if seen else "",
        forget=_FORGET.format(seen=seen, done=done) if network.window else "",
        kind="a number" if finite else "a list of numbers",
        seen=_FINITE if finite else _REAL,
        logits=_LOGITS[network.kind].format(activation=activation),
        state="logits.index(max(logits))" if deterministic else "draw(softmax(logits))",
        acts=acts,
        first=network.first_action,
    )


def _layers(layers: LayerArrays) -> str:
    rows = [f"    ({literal(weight)},\n    {literal(bias)}),\n" for weight, bias in layers]
    return "[\n" + "".join(rows) + "]" if rows else "[]"
