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
    max_norm: Number | None = None,
) -> optax.GradientTransformation:
    """Adam with a rate for logits that are parameters themselves, and one for network weights.

    Gradients longer than `max_norm` are made that long. Moments are one vector of all parameters: a
    program for each of them takes longer to compile.
    """
    rates = {"table": table, "network": network}
    adam = optax.scale_by_adam(b2=b2, eps=eps)
    if max_norm is not None:
        adam = optax.chain(optax.clip_by_global_norm(max_norm), adam)
    return optax.chain(
        optax.flatten(adam),
        optax.partition(
            {kind: optax.scale_by_learning_rate(rate) for kind, rate in rates.items()}, _kinds
        ),
    )


def _kinds(parameters: Any) -> Any:
    """`"table"` for the fields named `*logits`, `"network"` for all others."""
    return jax.tree_util.tree_map_with_path(
        lambda path, _: "table" if getattr(path[-1], "name", "").endswith("logits") else "network",
        parameters,
    )
