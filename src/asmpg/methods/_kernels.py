"""Which kernels a method trains, by name."""

from collections.abc import Callable
from typing import Any, Literal

from jaxtyping import Array, Key

from asmpg.envs import Environment
from asmpg.methods._paper import PAPER_SIZES, number_of_states
from asmpg.policies import (
    Activation,
    ASMPolicy,
    Encoding,
    JointTabularPolicy,
    MatrixPolicy,
    MLPPolicy,
    TabularPolicy,
)

PolicyKind = Literal["auto", "mlp", "tabular", "joint", "matrix"]
POLICY_KINDS: tuple[PolicyKind, ...] = ("auto", "mlp", "tabular", "joint", "matrix")
#: Width of the hidden layers where the paper has no number.
_HIDDEN = 64
#: So many entries a table of the policy may have.
_MOST_ENTRIES = 100_000_000


def kernel_maker(
    environment: Environment[Any],
    kind: PolicyKind,
    *,
    num_states: int | None,
    hidden: int | None,
    activation: Activation,
    encoding: Encoding,
    nu_scale: float,
    stay: float,
) -> Callable[[Key[Array, ""]], ASMPolicy]:
    """A function from keys to fresh kernels for `environment`.

    `"auto"` is `"tabular"` where observations are finite, else `"matrix"`. `nu_scale` says how far
    from uniform `nu` starts, 1 being the default of each kind, and `stay` is added to the logits
    of keeping the agent state.
    """
    if kind == "auto":
        kind = "matrix" if encoding.num_observations is None else "tabular"
    sizes = {"num_states": number_of_states(environment.name, num_states), **encoding._asdict()}
    _check_table(kind, sizes["num_states"], encoding)
    paper = PAPER_SIZES.get(environment.name)
    if kind == "mlp":
        if stay:
            raise ValueError(f"stay must be 0 for policy='mlp', got {stay:g}")
        width = hidden or (paper.hidden if paper else _HIDDEN)
        options = {**sizes, "hidden": width, "activation": activation}
        return lambda key: MLPPolicy(**options, nu_scale=nu_scale, key=key)
    if kind == "matrix":
        options = {**sizes, "hidden": hidden or _HIDDEN}
        return lambda key: MatrixPolicy(**options, nu_scale=nu_scale, stay=stay, key=key)
    if encoding.num_observations is None:
        raise ValueError(
            f"policy={kind!r} needs discrete observations; {environment.name} shows "
            f"{environment.observation_space}; use policy='matrix' or 'mlp'"
        )
    table = TabularPolicy if kind == "tabular" else JointTabularPolicy
    del sizes["observation_scale"]
    return lambda key: table(**sizes, nu_scale=nu_scale, stay=stay, key=key)


def _check_table(kind: PolicyKind, states: int, encoding: Encoding) -> None:
    """Before anything is allocated: any kernels of finite observations are tabulated to play."""
    observations, actions = encoding.num_observations or 1, encoding.num_actions
    outputs = states * actions if kind == "joint" else states
    entries = observations * (1 + states * actions) * outputs
    if entries > _MOST_ENTRIES:
        raise ValueError(
            f"a table of the policy must have at most {_MOST_ENTRIES:,} entries, got {entries:,} "
            f"for {observations:,} observations, {actions:,} actions and {states:,} agent states; "
            "take fewer of them, or make the observations a few real features"
        )
