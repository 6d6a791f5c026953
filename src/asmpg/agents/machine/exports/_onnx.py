"""ONNX: one step as a graph, with the memory as explicit input and output.

| input           | type          | meaning                                              |
| --------------- | ------------- | ---------------------------------------------------- |
| `observation`   | int64 [N]     | or float [N, d] where observations are real          |
| `last_state`    | int64 [N]     | the output `state` of the step before                |
| `last_action`   | int64 [N]     | the output `action` of the step before               |
| `episode_start` | bool [N]      | where this is true, the last two mean nothing        |
| `uniforms`      | float [N, 2]  | random numbers in [0, 1), of stochastic policies only |

A window of `k > 1` observations has two more inputs, `last_window_observations` and
`last_window_actions`: the outputs of the step before without `last_`, zeros before the first.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg.agents.machine.exports._network import LayerArrays, NetworkKernel

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

_OPSET = 17
#: Version of the file format; runtimes of the last years read it.
_IR_VERSION = 8


class _Builder:
    """Collects the nodes and constants of a graph; values are known by their names."""

    def __init__(self):
        try:
            self._onnx: Any = importlib.import_module("onnx")
        except ImportError:
            raise ImportError('ONNX files need onnx: pip install "asmpg[onnx]"') from None
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, value: Any) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, *inputs: str, to: str | None = None, **attributes: Any) -> str:
        name = to or f"value_{len(self._nodes)}"
        made = self._onnx.helper.make_node(kind, list(inputs), [name], **attributes)
        self._nodes.append(made)
        return name

    def model(
        self,
        name: str,
        inputs: Sequence[tuple[str, Any, list[Any]]],
        kept: Sequence[tuple[str, Any, list[Any]]] = (),
    ) -> bytes:
        """The graph; beside action and state it puts out what is `kept` of a window."""
        helper, numbers = self._onnx.helper, self._onnx.TensorProto
        outputs = [("action", np.int64, ["N"]), ("state", np.int64, ["N"]), *kept]
        kinds = {np.int64: numbers.INT64, np.float32: numbers.FLOAT, np.bool_: numbers.BOOL}
        described = [
            [helper.make_tensor_value_info(each, kinds[kind], shape) for each, kind, shape in part]
            for part in (inputs, outputs)
        ]
        graph = helper.make_graph(self._nodes, name, *described, self._constants)
        opset = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(
            graph, opset_imports=opset, ir_version=_IR_VERSION, producer_name="asmpg"
        )
        self._onnx.checker.check_model(model)
        return model.SerializeToString()

    def draw(self, cumulative: str, column: int) -> str:
        """How many of the cumulative probabilities, the last left out, a uniform number exceeds."""
        uniform = self.node("Gather", "uniforms", self.constant(np.array([column])), axis=1)
        above = self.node("GreaterOrEqual", uniform, cumulative)
        counted = self._as_integers(above)
        axes = self.constant(np.array([1]))
        return self.node("ReduceSum", counted, axes, keepdims=0)

    def _as_integers(self, value: str) -> str:
        name = f"value_{len(self._nodes)}"
        kind = self._onnx.TensorProto.INT64
        self._nodes.append(self._onnx.helper.make_node("Cast", [value], [name], to=kind))
        return name


def _inputs(observation: tuple[str, Any, list[Any]], deterministic: bool) -> list[Any]:
    inputs = [
        observation,
        ("last_state", np.int64, ["N"]),
        ("last_action", np.int64, ["N"]),
        ("episode_start", np.bool_, ["N"]),
    ]
    return inputs if deterministic else [*inputs, ("uniforms", np.float32, ["N", 2])]


def onnx_machine(machine: "Machine", path: Path) -> bytes:
    """Look-up in tables; real observations are numbered by the nearest typical case first."""
    del path
    build = _Builder()
    states, actions, symbols = machine.num_states, machine.num_actions, machine.num_observations
    seen = "observation"
    described = ("observation", np.int64, ["N"])
    if machine.cases is not None:
        described = ("observation", np.float32, ["N", len(machine.cases.scale)])
        seen = _nearest(build, machine.cases.centres, machine.cases.scale)
    pair = _pair(build, states, actions, machine.first_action)
    row = build.node("Mul", pair, build.constant(np.int64(symbols)))
    row = build.node("Add", row, seen)
    row = build.node("Add", row, build.constant(np.int64(symbols)))
    row = build.node("Where", "episode_start", seen, row)
    nu = np.concatenate([machine.start, machine.update.reshape(-1, states)])
    state = _looked_up(build, nu, row, 0, machine.deterministic, to="state")
    index = state
    if len(machine.control) > 1:
        index = build.node("Mul", seen, build.constant(np.int64(states)))
        index = build.node("Add", index, state)
    phi = machine.control.reshape(-1, actions)
    action = _looked_up(build, phi, index, 1, machine.deterministic)
    build.node("Add", action, build.constant(np.int64(machine.first_action)), to="action")
    return build.model(machine.name, _inputs(described, machine.deterministic))


def _pair(build: _Builder, states: int, actions: int, first_action: int) -> str:
    """`s A + a`; whatever was handed in at the start of an episode becomes zero."""
    zero = build.constant(np.int64(0))
    state = build.node("Where", "episode_start", zero, "last_state")
    action = build.node("Sub", "last_action", build.constant(np.int64(first_action)))
    action = build.node("Where", "episode_start", zero, action)
    return build.node("Add", build.node("Mul", state, build.constant(np.int64(actions))), action)


def _nearest(build: _Builder, centres: np.ndarray, scale: np.ndarray) -> str:
    expanded = build.node("Unsqueeze", "observation", build.constant(np.array([1])))
    away = build.node("Sub", expanded, build.constant(centres.astype(np.float32)))
    away = build.node("Div", away, build.constant(scale.astype(np.float32)))
    distance = build.node(
        "ReduceSum", build.node("Mul", away, away), build.constant(np.array([2])), keepdims=0
    )
    return build.node("ArgMin", distance, axis=1, keepdims=0)


def _looked_up(
    build: _Builder,
    rows: np.ndarray,
    index: str,
    column: int,
    deterministic: bool,
    to: str | None = None,
) -> str:
    """The most probable entry of a row, or one that is drawn."""
    if deterministic:
        return build.node("Gather", build.constant(rows.argmax(axis=-1)), index, to=to)
    cumulative = np.cumsum(rows, axis=-1)[:, :-1].astype(np.float32)
    drawn = build.draw(build.node("Gather", build.constant(cumulative), index), column)
    return drawn if to is None else build.node("Identity", drawn, to=to)


def onnx_network(network: NetworkKernel, path: Path, *, deterministic: bool) -> bytes:
    """The logits of `nu`, then what the state plays; with a window, a network says that as well."""
    del path
    build = _Builder()
    states, actions, symbols = network.num_states, network.num_actions, network.num_observations
    if symbols is None:
        described = ("observation", np.float32, ["N", len(network.scale)])
        seen = _scaled(build, network)
    else:
        described = ("observation", np.int64, ["N"])
        seen = _one_hot(build, "observation", symbols)
    row = build.node(
        "Add", _pair(build, states, actions, network.first_action), build.constant(np.int64(1))
    )
    row = build.node("Where", "episode_start", build.constant(np.int64(0)), row)
    logits = _nu_logits(build, network, seen, row)
    state = _chosen(build, logits, states, 0, deterministic, to="state")
    kept: list[tuple[str, Any, list[Any]]] = []
    if network.window:
        kept = [(name, np.float32, ["N", size]) for name, size in _kept(network) if size]
        action = _window_action(build, network, seen, state, deterministic)
    else:
        action = _looked_up(build, network.control, state, 1, deterministic)
    build.node("Add", action, build.constant(np.int64(network.first_action)), to="action")
    before = [(f"last_{name}", kind, shape) for name, kind, shape in kept]
    return build.model(network.name, [*_inputs(described, deterministic), *before], kept)


def _scaled(build: _Builder, network: NetworkKernel) -> str:
    seen = build.node("Sub", "observation", build.constant(network.centre))
    seen = build.node("Div", seen, build.constant(network.scale))
    if np.isfinite(network.most):
        edges = (np.float32(-network.most), np.float32(network.most))
        seen = build.node("Clip", seen, *map(build.constant, edges))
    return seen


def _nu_logits(build: _Builder, network: NetworkKernel, seen: str, row: str) -> str:
    """The logits of the next state; `row` is 0 at the start, else `1 + s A + a`."""
    table = build.constant(network.table)
    if network.num_observations is not None:
        row = build.node("Mul", row, build.constant(np.int64(network.num_observations)))
        return build.node("Gather", table, build.node("Add", row, "observation"))
    states, actions = network.num_states, network.num_actions
    if network.kind == "mlp":
        made = _apply(build, network, _with_past(build, seen, row, states, actions))
        of_row = np.concatenate([[0], 1 + np.arange(states * actions) // actions])
        known = build.constant(network.table[of_row])
        return build.node("Add", made, build.node("Gather", known, row))
    shape = build.constant(np.array([-1, *network.table.shape]))
    made = build.node("Reshape", _apply(build, network, seen), shape)
    row = build.node("Unsqueeze", row, build.constant(np.array([1])))
    return build.node("GatherND", build.node("Add", made, table), row, batch_dims=1)


def _chosen(
    build: _Builder,
    logits: str,
    count: int,
    column: int,
    deterministic: bool,
    to: str | None = None,
) -> str:
    """The most probable of `count`, or one that is drawn."""
    if deterministic:
        return build.node("ArgMax", logits, axis=1, keepdims=0, to=to)
    cumulative = build.node(
        "CumSum", build.node("Softmax", logits, axis=1), build.constant(np.int64(1))
    )
    kept = [build.constant(np.array([number])) for number in (0, count - 1, 1)]
    drawn = build.draw(build.node("Slice", cumulative, *kept), column)
    return drawn if to is None else build.node("Identity", drawn, to=to)


def _kept(network: NetworkKernel) -> Sequence[tuple[str, int]]:
    """What a window keeps for the next step, and how many numbers that is."""
    return tuple(zip(("window_observations", "window_actions"), network.kept, strict=True))


def _window_action(
    build: _Builder, network: NetworkKernel, seen: str, state: str, deterministic: bool
) -> str:
    """Show the window to its network, choose, and push what was seen and done into the window."""
    states, actions = network.num_states, network.num_actions
    start = build.node("Unsqueeze", "episode_start", build.constant(np.array([1])))
    nothing = build.constant(np.float32(0))
    before = {
        name: build.node("Where", start, nothing, f"last_{name}")
        for name, size in _kept(network)
        if size
    }
    shown = build.node("Concat", seen, *before.values(), axis=1) if before else seen
    made = _apply_layers(build, network.window_layers, "Tanh", shown)
    made = build.node("Reshape", made, build.constant(np.array([-1, states, actions])))
    made = build.node("Add", made, build.constant(network.log_control.astype(np.float32)))
    row = build.node("Unsqueeze", state, build.constant(np.array([1])))
    scores = build.node("GatherND", made, row, batch_dims=1)
    action = _chosen(build, scores, actions, 1, deterministic)
    newest = (seen, _one_hot(build, action, actions))
    for (name, size), new in zip(_kept(network), newest, strict=True):
        if size:
            line = build.node("Concat", new, before[name], axis=1)
            ends = [build.constant(np.array([number])) for number in (0, size, 1)]
            build.node("Slice", line, *ends, to=name)
    return action


def _one_hot(build: _Builder, index: str, count: int) -> str:
    return build.node("Gather", build.constant(np.eye(count, dtype=np.float32)), index)


def _with_past(build: _Builder, seen: str, row: str, states: int, actions: int) -> str:
    """One-hot state and action, zeros at the start, and what is seen."""
    state, action = np.divmod(np.arange(states * actions), actions)
    codes = np.concatenate([np.eye(states)[state], np.eye(actions)[action]], axis=1)
    codes = np.concatenate([np.zeros((1, states + actions)), codes]).astype(np.float32)
    past = build.node("Gather", build.constant(codes), row)
    return build.node("Concat", past, seen, axis=1)


def _apply(build: _Builder, network: NetworkKernel, value: str) -> str:
    kind = {"tanh": "Tanh", "relu": "Relu"}[network.activation]
    return _apply_layers(build, network.layers, kind, value)


def _apply_layers(build: _Builder, layers: LayerArrays, kind: str, value: str) -> str:
    for number, (weight, bias) in enumerate(layers):
        value = build.node("Gemm", value, build.constant(weight), build.constant(bias), transB=1)
        if number < len(layers) - 1:
            value = build.node(kind, value)
    return value
