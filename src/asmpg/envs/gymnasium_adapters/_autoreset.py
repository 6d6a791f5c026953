"""What follows an episode that has ended: Gymnasium's three autoreset modes.

Each mode is a function of one sub-environment: `ended` says whether its episode had ended before
the step. It returns the outcome of the step, and the outcome to be seen: the two differ only where
a new episode starts in the same step.
"""

from typing import Any

import jax
import jax.numpy as jnp
from gymnasium.vector import AutoresetMode
from jaxtyping import Array, Bool, Int, UInt32

from asmpg.envs._environment import Environment
from asmpg.envs.gymnasium_adapters._dynamics import Outcome, Running, advance, start


def restart_where(
    environment: Environment[Any],
    running: Running,
    outcome: Outcome,
    stream: UInt32[Array, "2"],
    chosen: Bool[Array, ""],
) -> tuple[Running, Outcome]:
    """The first episode of `stream` if `chosen`, else what was."""
    return jax.tree.map(
        lambda started, was: jnp.where(chosen, started, was),
        start(environment, stream),
        (running, outcome),
    )


def _next_step(
    environment: Environment[Any], running: Running, action: Int[Array, ""], ended: Bool[Array, ""]
) -> tuple[Running, Outcome, Outcome]:
    """The step after the end starts the next episode, whatever the action."""
    stepped, outcome = advance(environment, running, action)
    running, outcome = restart_where(environment, stepped, outcome, running.stream, ended)
    return running, outcome, outcome


def _same_step(
    environment: Environment[Any], running: Running, action: Int[Array, ""], ended: Bool[Array, ""]
) -> tuple[Running, Outcome, Outcome]:
    """The step that ends an episode starts the next."""
    del ended
    running, outcome = advance(environment, running, action)
    over = (outcome[-2:] > 0).any()
    running, seen = restart_where(environment, running, outcome, running.stream, over)
    return running, outcome, seen


def _disabled(
    environment: Environment[Any], running: Running, action: Int[Array, ""], ended: Bool[Array, ""]
) -> tuple[Running, Outcome, Outcome]:
    """Restarting is the caller's business."""
    del ended
    running, outcome = advance(environment, running, action)
    return running, outcome, outcome


ADVANCE = {
    AutoresetMode.NEXT_STEP: _next_step,
    AutoresetMode.SAME_STEP: _same_step,
    AutoresetMode.DISABLED: _disabled,
}
