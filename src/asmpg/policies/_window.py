"""A window of recent observations and actions beside the hidden agent state."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Shaped

from asmpg.policies._action_head import ActionHead
from asmpg.policies._counts import CountNetworks, counts_along, no_counts
from asmpg.policies._kernel_tables import (
    AgentMemory,
    KernelTables,
    Moves,
    Window,
    every_input,
    rows_of,
)
from asmpg.policies._networks import (
    Encoding,
    Layers,
    apply_layers,
    linear_layers,
    zero_last,
)
from asmpg.policies._policy import ASMPolicy


def empty_window(
    size: int, encoding: Encoding, batch: tuple[int, ...] = (), *, counts: bool = False
) -> Window | None:
    """What is kept for a window of `size` steps, and for counts, before anything was seen.

    A window of one step needs nothing.
    """
    if size < 2 and not counts:
        return None
    finite = encoding.num_observations is not None
    shape = () if finite else (encoding.observation_size,)
    observations = jnp.zeros((*batch, size - 1, *shape), jnp.int32 if finite else jnp.float32)
    none_yet = no_counts(encoding, batch) if counts else None
    return Window(observations, encoding.head.blank((*batch, size - 1)), none_yet)


def window_features(
    encoding: Encoding,
    size: int,
    memory: AgentMemory,
    observation: Shaped[Array, "*batch_and_observation"],
    dtype: jnp.dtype,
) -> Float[Array, "*batch n"]:
    """`O_t, ..., O_{t-k+1}` and `A_{t-1}, ..., A_{t-k+1}` as numbers, newest first.

    What would lie before the start of the episode is zero. Where observations are real, the past is
    given as means over `blocks`.
    """
    now = encoding.observation(observation, dtype)
    if memory.window is None or size < 2:
        return now
    age = jnp.arange(1, size)
    there = (memory.time[..., None] >= age)[..., None]
    seen = jnp.where(there, encoding.observation(memory.window.observations, dtype), 0)
    done = jnp.where(there, encoding.action(memory.window.actions, dtype), 0)
    if encoding.num_observations is None:
        means = jnp.asarray(block_means(size), dtype)
        seen, done = (jnp.einsum("bk,...ki->...bi", means, part) for part in (seen, done))
    flat = (part.reshape(*now.shape[:-1], -1) for part in (seen, done))
    return jnp.concatenate([now, *flat], axis=-1)


def blocks(size: int) -> list[int]:
    """How many past steps of a window of `size` are averaged together, newest first.

    Single real observations tell little when they are noisy, and their number makes learning slow:
    what lies further back is given more coarsely, by blocks of 1, 2, 4, ... steps.
    """
    left, lengths = size - 1, []
    while left > 0:
        lengths.append(min(2 ** len(lengths), left))
        left -= lengths[-1]
    return lengths


def block_means(size: int) -> Float[np.ndarray, "blocks past"]:
    """A row for each block: what its mean takes of each past step."""
    lengths = blocks(size)
    return np.repeat(np.diag([1 / length for length in lengths]), lengths, axis=1)


class WindowPolicy(ASMPolicy):
    """`S_t = (Z_t, W_t)`: a hidden agent state, and the last `k` observations and actions.

    `Z_t ~ nu(. | Z_{t-1}, A_{t-1}, O_t)` as in `hidden`, and `A_t ~ phi(. | Z_t, W_t)`:

    ```
    log phi(a | z, w) = log softmax_a (hidden logits(z, a) + network(w)(z, a))
    ```

    (of real actions, the network adds to the mean and to the logarithm of the scale).

    `W_t` follows from the history without chance, so only `Z_t` has to be integrated out, and the
    filter stays exact. The network starts at zero: acting by `Z_t` alone is what learning starts
    from. `k = 1` shows the action the current observation (by a table instead of a network where
    observations are finite); one hidden state and `k > 1` is frame stacking. Of real observations
    the network is shown the newest one, and the past as means over blocks of 1, 2, 4, ... steps.

    With `counts`, which need finite observations, `W_t` also has how often each observation came in
    the episode, alone and after each action. `CountNetworks` of these add a logit for each action,
    whatever the hidden state.
    """

    hidden: ASMPolicy | KernelTables
    #: A logit for each observation, hidden state and action; for a single finite observation.
    window_logits: Float[Array, "O S A"] | None
    window_layers: Layers | None
    count_networks: CountNetworks | None
    encoding: Encoding
    window: int = eqx.field(static=True)
    counts: bool = eqx.field(static=True)
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)

    def __init__(
        self,
        hidden: ASMPolicy,
        *,
        window: int,
        encoding: Encoding,
        counts: bool = False,
        width: int = 64,
        key: Key[Array, ""],
    ):
        """`hidden` must be factored. The networks have two hidden layers of width `width`."""
        if not hidden.factored:
            raise ValueError("a window needs kernels whose action depends on the agent state alone")
        self.hidden = hidden
        self.window_logits = self.window_layers = self.count_networks = None
        outputs = hidden.num_states * encoding.head.size
        if window == 1 and encoding.num_observations is not None:
            shape = (encoding.num_observations, hidden.num_states, encoding.head.size)
            self.window_logits = jnp.zeros(shape)
        else:
            layers = linear_layers(key, window_size(encoding, window), width, width, outputs)
            self.window_layers = zero_last(layers)
        if counts:
            self.count_networks = CountNetworks(encoding, width, jax.random.fold_in(key, 1))
        self.encoding = encoding
        self.window = window
        self.counts = counts
        self.num_states = hidden.num_states
        self.num_actions = hidden.num_actions
        self.num_observations = encoding.num_observations

    @property
    def factored(self) -> bool:
        """No: the action depends on the window as well."""
        return False

    @property
    def head(self) -> ActionHead:
        return self.encoding.head

    @property
    def tabulates(self) -> bool:
        """Only the last observation can be written down beside the agent state."""
        return self.window == 1 and not self.counts and super().tabulates

    def empty_window(self, batch: tuple[int, ...] = ()) -> Window | None:
        return empty_window(self.window, self.encoding, batch, counts=self.counts)

    def log_nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """That of the hidden state."""
        assert isinstance(self.hidden, ASMPolicy)
        return self.hidden.log_nu(memory, observation)

    def log_phi(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, "S A"]:
        """Softmax over the actions, for every hidden state."""
        return self.log_controls(memory, observation)

    def log_updates(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch S S"]:
        return self.hidden.log_updates(past, observation)

    def updates(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch S S"]:
        return self.hidden.updates(past, observation)

    def moves(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Moves:
        return self.hidden.moves(past, observation)

    def log_controls(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch S A"]:
        """Whatever the state in `past`: the window does not depend on it."""
        tables = self.control_tables()
        if tables is not None:
            return rows_of(tables, observation)
        if self.window_logits is not None:
            logits = rows_of(self.hidden.control_table() + self.window_logits, observation)
        else:
            assert self.window_layers is not None
            logits = self.hidden.log_controls(past, observation)
            flat = apply_layers(self.window_layers, self._features(past, observation))
            logits = logits + flat.reshape(logits.shape)
        if self.count_networks is not None:
            logits = logits + self.count_networks(past, observation)[..., None, :]
        return self.head.normalise(logits)

    def control_tables(self) -> Float[Array, "O S A"] | None:
        """With a window of one finite observation, and without counts."""
        if self.window_logits is None or self.count_networks is not None:
            return None
        return self.head.normalise(self.hidden.control_table() + self.window_logits)

    def prepared(self) -> "WindowPolicy":
        """With `nu` as a table, where observations are finite."""
        assert isinstance(self.hidden, ASMPolicy)
        return eqx.tree_at(lambda policy: policy.hidden, self, self.hidden.prepared())

    def tabulate(self) -> KernelTables:
        """With a row of `phi` for every input, of which it looks at the observation only."""
        if not self.tabulates:
            raise ValueError(
                f"a policy with a window of {self.window}{' that counts' if self.counts else ''} "
                "cannot be written down as a table: only finite observations, window=1 or 0 and "
                "counts=False can"
            )
        assert self.num_observations is not None
        assert isinstance(self.hidden, ASMPolicy)
        memory, observation = every_input(
            num_states=self.num_states,
            num_actions=self.num_actions,
            num_observations=self.num_observations,
        )
        log_phi = self.log_controls(memory, observation)
        return KernelTables(self.hidden.tabulate().log_nu, log_phi[None])

    def layers_by_step(self) -> Layers:
        """The network as one that is shown every step of the window, without means."""
        assert self.window_layers is not None
        if self.encoding.num_observations is not None:
            return self.window_layers
        first, means = self.window_layers[0], block_means(self.window)
        seen, done = self.encoding.observation_size, self.encoding.action_size
        now, *past = jnp.split(first.weight, [seen, seen * (1 + len(means))], axis=1)
        by_step = [
            jnp.einsum("hbi,bk->hki", part.reshape(len(part), len(means), size), means)
            for part, size in zip(past, (seen, done), strict=True)
        ]
        weight = jnp.concatenate([now, *(part.reshape(len(now), -1) for part in by_step)], axis=1)
        return (eqx.tree_at(lambda layer: layer.weight, first, weight), *self.window_layers[1:])

    def _features(self, memory: AgentMemory, observation: Array) -> Float[Array, "*batch n"]:
        dtype = jnp.result_type(*jax.tree.leaves((self.window_logits, self.window_layers)))
        return window_features(self.encoding, self.window, memory, observation, dtype)


def window_size(encoding: Encoding, window: int) -> int:
    """How many numbers a window becomes."""
    past = window - 1 if encoding.num_observations is not None else len(blocks(window))
    return (1 + past) * encoding.observation_size + past * encoding.action_size


def with_windows(
    past: AgentMemory,
    start: Window | None,
    observations: Shaped[Array, "T N *observation"],
    actions: Shaped[Array, "T N *action"],
) -> AgentMemory:
    """`past` with the windows before each of `T` steps, from the one before the first.

    Episodes that start in between are looked at by counts only: from the rest of a window, what
    lies before the start of an episode is left out by the time of `past`, wherever it is read.
    """
    if start is None:
        return past
    counts = None if start.counts is None else counts_along(start.counts, past, observations)
    steps, size = actions.shape[0], start.actions.shape[1]

    def slide(before: Any, along: Array) -> Array:
        # Oldest first, then the steps; row t sees the `size` entries before it.
        line = jnp.concatenate(
            [jnp.flip(jnp.moveaxis(before, 1, 0), 0), along.astype(before.dtype)]
        )
        rows = jnp.arange(steps)[:, None] + size - 1 - jnp.arange(size)
        return jnp.moveaxis(line[rows], 1, 2)

    seen, done = slide(start.observations, observations), slide(start.actions, actions)
    return dataclasses.replace(past, window=Window(seen, done, counts))
