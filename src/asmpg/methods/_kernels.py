"""Which kernels a method trains, by name, and how their networks are shown an environment."""

import functools
from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from asmpg._support.checks import (
    MOST_STATES,
    MOST_WIDTH,
    check_integer,
    check_number,
    check_one_of,
)
from asmpg.environments import PAPER_ENVIRONMENTS, Discrete, paper_sizes
from asmpg.interop import Interface
from asmpg.policies import (
    INITIAL_WEIGHTS,
    INPUTS,
    Activation,
    ASMPolicy,
    Categorical,
    Encoding,
    InitialWeights,
    Inputs,
    JointTabularPolicy,
    MatrixPolicy,
    MLPPolicy,
    Number,
    TabularPolicy,
    WindowPolicy,
    counts_size,
    head_of,
    window_size,
)


def encoding_of(
    interface: Interface, scale: tuple[float, ...] | None, *, default: float = 1.0
) -> Encoding:
    """That of an environment; real components are divided by `scale`, or all by `default`."""
    space, head = interface.observation_space, head_of(interface.action_space)
    if isinstance(space, Discrete):
        return Encoding(head, space.n)
    scale = scale or (default,) * len(space.low)
    if len(scale) != len(space.low):
        raise ValueError(f"observation_scale must have {len(space.low)} numbers, got {len(scale)}")
    if min(scale) <= 0:
        raise ValueError(f"observation_scale must be greater than 0, got {min(scale):g}")
    return Encoding(head, None, scale)


PolicyKind = Literal["auto", "mlp", "tabular", "joint", "matrix"]
#: Kernels of the user's own: called with the interface of the environment, the number of agent
#: states and a key.
KernelFactory = Callable[[Interface, int, Key[Array, ""]], ASMPolicy]
POLICY_KINDS: tuple[PolicyKind, ...] = ("auto", "mlp", "tabular", "joint", "matrix")
#: What `nu` may take up, in bytes; optimisers and averages need as much several times over.
_MOST_BYTES = 4 * 2**30
#: Width of the hidden layers where the paper has no number.
_HIDDEN = 64
_LONGEST_WINDOW = 1_000_000
#: Of a usual rollout, to tell how much a window takes up.
_STEPS_AT_ONCE = 1024


def kernel_maker(
    interface: Interface,
    kind: PolicyKind | KernelFactory,
    *,
    num_states: int | None,
    hidden: int | None,
    activation: Activation,
    encoding: Encoding,
    nu_scale: Number,
    groups: int,
    hold: Number,
    window: int,
    counts: bool,
    initial_weights: InitialWeights = "uniform",
    inputs: Inputs = "one-hot",
) -> Callable[[Key[Array, ""]], ASMPolicy]:
    """A function from keys to fresh kernels.

    `"auto"` is `"tabular"` where observations are finite, else `"matrix"`. `nu_scale` says how far
    from uniform `nu` starts, 1 being the default of each kind; `groups` and `hold` are as in
    `starting_bias`. A `window` of recent observations is shown to `phi`, and `counts` of all.
    """
    states = number_of_states(interface.name, num_states)
    if callable(kind):
        make_hidden = functools.partial(kind, interface, states)
    else:
        make_hidden = _hidden_maker(
            interface,
            kind,
            states=states,
            hidden=hidden,
            activation=activation,
            encoding=encoding,
            nu_scale=nu_scale,
            bias=starting_bias(states, groups=groups, hold=hold),
            initial_weights=initial_weights,
            inputs=inputs,
        )
    if not window:
        return make_hidden
    if kind == "joint":
        raise ValueError(f"window must be 0 for policy='joint', got {window}")
    width = hidden or _HIDDEN
    _check_window(interface, encoding, window, states, width)
    if counts:
        _check_counts(interface, encoding)

    def make(key: Key[Array, ""]) -> ASMPolicy:
        hidden_key, window_key = jax.random.split(key)
        return WindowPolicy(
            make_hidden(hidden_key),
            window=window,
            encoding=encoding,
            counts=counts,
            width=width,
            key=window_key,
        )

    return make


def _hidden_maker(
    interface: Interface,
    kind: PolicyKind,
    *,
    states: int,
    hidden: int | None,
    activation: Activation,
    encoding: Encoding,
    nu_scale: Number,
    bias: Float[Array, "S S"] | None,
    initial_weights: InitialWeights,
    inputs: Inputs,
) -> Callable[[Key[Array, ""]], ASMPolicy]:
    """The kernels without a window."""
    head = encoding.head
    finite = encoding.num_observations is not None and isinstance(head, Categorical)
    if kind == "auto":
        kind = "tabular" if finite else "matrix"
    sizes = {"num_states": states, "encoding": encoding}
    start = {"nu_scale": nu_scale, "bias": bias}
    _check_table(kind, states, encoding, hidden or _HIDDEN)
    paper = paper_sizes(interface.name)
    if kind == "mlp":
        width = hidden or (paper.hidden if paper else _HIDDEN)
        options = {**sizes, **start, "hidden": width, "activation": activation}
        options |= {"initial_weights": initial_weights, "inputs": inputs}
        return lambda key: MLPPolicy(**options, key=key)
    if kind == "matrix":
        options = {**sizes, **start, "hidden": hidden or _HIDDEN}
        return lambda key: MatrixPolicy(**options, key=key)
    if not finite:
        lacking = ("observations", "shows", interface.observation_space)
        if encoding.num_observations is not None:
            lacking = ("actions", "takes", interface.action_space)
        raise ValueError(
            f"policy={kind!r} needs discrete {lacking[0]}; {interface.name} {lacking[1]} "
            f"{lacking[2]}; use policy='matrix' or 'mlp'"
        )
    assert isinstance(head, Categorical)
    table = TabularPolicy if kind == "tabular" else JointTabularPolicy
    sizes = {
        "num_states": states,
        "num_actions": head.n,
        "num_observations": encoding.num_observations,
        "parts": head.parts,
    }
    return lambda key: table(**sizes, **start, key=key)


def starting_bias(num_states: int, *, groups: int, hold: Number) -> Float[Array, "S S"] | None:
    """What is added to the logits of `nu(s' | s, ...)` at the start, so that it remembers.

    The agent states start in `groups`, numbered one after another. A group is kept for `hold` steps
    on average, and so holds what was seen long ago; within it agent states move freely, and so can
    count and weigh. One group is no bias at all. In tables, the first observation chooses one.
    """
    groups = min(groups, num_states)
    if groups <= 1:
        return None
    group = jnp.arange(num_states) * groups // num_states
    same = group[:, None] == group
    inside = same.sum(axis=-1, keepdims=True)
    return jnp.where(same, jnp.log((hold - 1) * (num_states - inside) / inside), 0.0)


def check_kernels(
    kind: object,
    *,
    hidden: object,
    nu_scale: object,
    groups: object,
    hold: object,
    window: object,
    counts: object,
) -> None:
    """Raise a `ValueError` for options of kernels that nothing can be made of."""
    if not callable(kind):
        check_one_of("policy", kind, POLICY_KINDS)
    if hidden is not None:
        check_integer("hidden", hidden, low=1, high=MOST_WIDTH)
    check_number("nu_scale", nu_scale, low=0)
    if groups is not None:
        check_integer("groups", groups, low=1, high=MOST_STATES)
    check_number("hold", hold, low=1.001)
    if window is not None:
        check_integer("window", window, low=0, high=_LONGEST_WINDOW)
    if counts is True and kind == "joint":
        raise ValueError("counts must be False for policy='joint', got True")
    if counts is True and window == 0:
        raise ValueError("window must be at least 1 for counts=True, got 0")


def check_networks(kind: object, *, initial_weights: object, inputs: object) -> None:
    """Raise a `ValueError` for options that only the paper's networks have."""
    if initial_weights is not None:
        check_one_of("initial_weights", initial_weights, INITIAL_WEIGHTS)
    check_one_of("inputs", inputs, INPUTS)
    for name, given, usual in (
        ("initial_weights", initial_weights, None),
        ("inputs", inputs, INPUTS[0]),
    ):
        if kind != "mlp" and given != usual:
            raise ValueError(f"{name} must be {usual!r} unless policy='mlp', got {given!r}")


def _check_window(
    interface: Interface, encoding: Encoding, window: int, num_states: int, width: int
) -> None:
    """Refuse a window that no episode fills, or whose network is too large."""
    if window > interface.max_steps:
        raise ValueError(
            f"window must be at most {interface.max_steps}, the steps of an episode of "
            f"{interface.name}, got {window}"
        )
    inputs = window_size(encoding, window)
    outputs = num_states * encoding.head.size
    size = 4 * (inputs * width + width * outputs)
    if window == 1 and encoding.num_observations is not None:
        size = 4 * encoding.num_observations * outputs
    # Every step of a rollout is shown its own window.
    size = max(size, 4 * inputs * _STEPS_AT_ONCE)
    if size > _MOST_BYTES:
        raise ValueError(
            f"window must be smaller, got {window}: with {encoding.observation_size:,} numbers an "
            f"observation and {encoding.action_size:,} an action it would take "
            f"{size / 2**30:,.0f} GiB, at most {_MOST_BYTES / 2**30:.0f} GiB is accepted; make the "
            "observations a few real features, or do without it (window=0)"
        )


def _check_counts(interface: Interface, encoding: Encoding) -> None:
    """Refuse to count real observations, or more pairs than fit into memory."""
    if encoding.num_observations is None:
        raise ValueError(
            f"counts must be False for real observations, got True; {interface.name} shows "
            f"{interface.observation_space}: give a longer window instead"
        )
    size = 4 * counts_size(encoding) * _STEPS_AT_ONCE
    if size > _MOST_BYTES:
        raise ValueError(
            f"counts must be False with {encoding.num_observations:,} observations and "
            f"{encoding.num_actions:,} actions, got True: those of a rollout would take "
            f"{size / 2**30:,.0f} GiB, at most {_MOST_BYTES / 2**30:.0f} GiB is accepted"
        )


def _check_table(kind: PolicyKind, num_states: int, encoding: Encoding, hidden: int) -> None:
    """Refuse a `nu` of too many numbers, which grow with the square of the agent states.

    Any kernels of finite observations are tabulated to play.
    """
    actions, observations = encoding.num_actions or 1, encoding.num_observations
    inputs = (observations or 0) * (actions if kind == "joint" else 1)
    if kind == "matrix":
        inputs = max(inputs, hidden)
    size = 4 * (1 + num_states * actions) * num_states * inputs
    if size > _MOST_BYTES:
        shown = f" with {observations:,} observations" if observations else ""
        raise ValueError(
            f"num_states must be smaller for policy={kind!r}, got {num_states}: nu would take "
            f"{size / 2**30:,.0f} GiB{shown} and {actions:,} actions, at most "
            f"{_MOST_BYTES / 2**30:.0f} GiB is accepted; take fewer of them, or make the "
            "observations a few real features"
        )


#: The seeds of the paper's ten runs.
PAPER_SEEDS = (1952, 5235, 8234, 8386, 1682, 3659, 9848, 9119, 6892, 9381)


def number_of_states(environment: str, given: int | None, *, option: str = "num_states") -> int:
    """`given`, or the paper's number for one of its environments."""
    if given is not None:
        return given
    paper = paper_sizes(environment)
    if paper is None:
        raise ValueError(
            f"{option} must be given for {environment}: "
            f"the paper has a number for {', '.join(PAPER_ENVIRONMENTS)} only"
        )
    return paper.num_states
