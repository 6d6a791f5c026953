"""Learning rates by kind of parameter."""

from typing import Any

import jax
import optax

from asmpg.policies import Number


def adam_by_kind(
    *,
    table: optax.ScalarOrSchedule,
    network: optax.ScalarOrSchedule,
    b2: Number = 0.999,
    eps: float = 1e-8,
) -> optax.GradientTransformation:
    """Adam with a rate for logits that are parameters themselves, and one for network weights."""
    rates = {"table": table, "network": network}
    return optax.partition(
        {kind: optax.adam(rate, b2=b2, eps=eps) for kind, rate in rates.items()}, _kinds
    )


def _kinds(parameters: Any) -> Any:
    """`"table"` for the fields named `*logits`, `"network"` for all others."""
    return jax.tree_util.tree_map_with_path(
        lambda path, _: "table" if getattr(path[-1], "name", "").endswith("logits") else "network",
        parameters,
    )
