"""Which kernels a method trains, by name, and how their networks are shown an environment."""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from asmpg._support.checks import check_one_of
from asmpg.environments import PAPER_ENVIRONMENTS, Discrete, paper_sizes
from asmpg.interop import Interface
from asmpg.policies import (
    Activation,
    ASMPolicy,
    Encoding,
    JointTabularPolicy,
    MatrixPolicy,
    MLPPolicy,
    Number,
    TabularPolicy,
    WindowPolicy,
    window_size,
)


def encoding_of(
    interface: Interface, scale: tuple[float, ...] | None, *, default: float = 1.0
) -> Encoding:
    """That of an environment; real components are divided by `scale`, or all by `default`."""
    space, num_actions = interface.observation_space, interface.num_actions
    if isinstance(space, Discrete):
        return Encoding(num_actions, space.n)
    scale = scale or (default,) * len(space.low)
    if len(scale) != len(space.low):
        raise ValueError(f"observation_scale must have {len(space.low)} numbers, got {len(scale)}")
    if min(scale) <= 0:
        raise ValueError(f"observation_scale must be greater than 0, got {min(scale):g}")
    return Encoding(num_actions, None, scale)


PolicyKind = Literal["auto", "mlp", "tabular", "joint", "matrix"]
#: Kernels of the user's own: called with the interface of the environment, the number of agent
#: states and a key.
KernelFactory = Callable[[Interface, int, Key[Array, ""]], ASMPolicy]
POLICY_KINDS: tuple[PolicyKind, ...] = ("auto", "mlp", "tabular", "joint", "matrix")
#: What `nu` may take up, in bytes; optimisers and averages need as much several times over.
_MOST_BYTES = 4 * 2**30
#: Width of the hidden layers where the paper has no number.
_HIDDEN = 64


def kernel_maker(
    interface: Interface,
    kind: PolicyKind | KernelFactory,
    *,
    num_states: int | None,
    hidden: int | None,
    activation: Activation,
    encoding: Encoding,
    nu_scale: Number,
    hold: Number = 0.0,
    groups: int = 4,
    window: int = 0,
    window_scale: Number = 0.0,
    window_width: int = 64,
    nu_reads_window: bool = False,
) -> Callable[[Key[Array, ""]], ASMPolicy]:
    """A function from keys to fresh kernels.

    `"auto"` is `"tabular"` where observations are finite, else `"matrix"`. `nu_scale` says how far
    from uniform `nu` starts, 1 being the default of each kind.
    """
    if window:
        reads = nu_reads_window and encoding.num_observations is None
        shown = encoding
        if reads:
            scale = encoding.observation_scale
            shown = Encoding(encoding.num_actions, None, (1.0,) * window_size(encoding, window))
        make_hidden = kernel_maker(interface, kind, num_states=num_states, hidden=hidden, activation=activation, encoding=shown, nu_scale=nu_scale, hold=hold, groups=groups)

        def make(key):
            hidden_key, window_key = jax.random.split(key)
            return WindowPolicy(make_hidden(hidden_key), window=window, encoding=encoding, width=window_width, scale=window_scale, nu_reads_window=reads, key=window_key)
        return make
    if kind == "auto":
        kind = "matrix" if encoding.num_observations is None else "tabular"
    states = number_of_states(interface.name, num_states)
    if callable(kind):
        factory = kind
        return lambda key: factory(interface, states, key)
    bias = starting_bias(states, hold=hold, groups=groups)
    sizes = {"num_states": states, **encoding._asdict()}
    _check_table(kind, states, encoding, hidden or _HIDDEN)
    paper = paper_sizes(interface.name)
    if kind == "mlp":
        width = hidden or (paper.hidden if paper else _HIDDEN)
        options = {**sizes, "hidden": width, "activation": activation}
        return lambda key: MLPPolicy(**options, nu_scale=nu_scale, key=key)
    if kind == "matrix":
        options = {**sizes, "hidden": hidden or _HIDDEN}
        return lambda key: MatrixPolicy(**options, nu_scale=nu_scale, bias=bias, key=key)
    if encoding.num_observations is None:
        raise ValueError(
            f"policy={kind!r} needs discrete observations; {interface.name} shows "
            f"{interface.observation_space}; use policy='matrix' or 'mlp'"
        )
    table = TabularPolicy if kind == "tabular" else JointTabularPolicy
    del sizes["observation_scale"]
    return lambda key: table(**sizes, nu_scale=nu_scale, bias=bias, key=key)


def check_policy(kind: object, stay: float=0.0) -> None:
    """Raise a `ValueError` for a `policy` that is not known, or cannot be inclined to stay."""
    if not callable(kind):
        check_one_of("policy", kind, POLICY_KINDS)
    if kind == "mlp" and stay:
        raise ValueError(f"stay must be 0 for policy='mlp', got {stay:g}")


def _check_table(kind: PolicyKind, num_states: int, encoding: Encoding, hidden: int) -> None:
    """Refuse a `nu` of too many numbers, which grow with the square of the agent states.

    Any kernels of finite observations are tabulated to play.
    """
    actions, observations = encoding.num_actions, encoding.num_observations
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


def starting_bias(
    num_states: int, *, hold: Number, groups: int
) -> Float[Array, "S S"] | None:
    """What is added to the logits of `nu(s' | s, ...)` at the start, so that it remembers.

    The agent states start in `groups`. A group is kept for `hold` steps on average, and so holds
    what was seen long ago; within it, agent states move freely, and so can count and weigh.
    """
    groups = min(groups, num_states)
    if groups <= 1:
        return None
    group = jnp.arange(num_states) * groups // num_states
    same = group[:, None] == group
    inside = same.sum(axis=-1, keepdims=True)
    return jnp.where(same, jnp.log((hold - 1) * (num_states - inside) / inside), 0.0)
