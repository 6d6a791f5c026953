"""A policy with a window as a machine: its states are agent states with the windows met in play."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from asmpg.agents.machine._arrays import Arrays, completed
from asmpg.agents.machine._setting import Setting
from asmpg.experience import Experience
from asmpg.policies import AgentMemory, ASMPolicy, Window, WindowPolicy, actor

#: What lies before the start of an episode.
_NOTHING = -1
#: The largest table of inputs and what follows that is made.
_MOST_CELLS = 20_000_000

#: A row for each window: the observation, then pairs of earlier observation and action.
Windows = Int[np.ndarray, "W k"]


def window_arrays(policy: WindowPolicy, setting: Setting) -> Arrays:
    """`start`, `update` and `control` over pairs of agent state and window.

    The pairs are those of `setting.episodes` episodes that the policy plays, and of as many that it
    plays greedily; of too many, those that are visited most, the greedy ones first. Inputs that
    lead to no such pair change nothing.
    """
    drawn, greedy = (
        _visited(setting.sample(actor(policy, greedy=each)), policy.window)
        for each in (False, True)
    )
    pairs, counts = np.unique(np.concatenate([drawn, greedy]), axis=0, return_counts=True)
    certain = {row.tobytes() for row in np.unique(greedy, axis=0)}
    preferred = np.array([row.tobytes() in certain for row in pairs])
    actions, symbols = policy.num_actions, policy.num_observations
    assert symbols is not None
    most = int(np.sqrt(_MOST_CELLS / (actions**2 * symbols)))
    order = np.lexsort((-counts, ~preferred))[:most]
    pairs, counts = pairs[order], counts[order]
    windows, inverse = np.unique(pairs[:, 1:], axis=0, return_inverse=True)
    state, window = pairs[:, 0], inverse.reshape(-1)
    # Where each agent state with each window is among the pairs; the last row is nowhere.
    place = np.full((len(windows) + 1, policy.num_states), _NOTHING)
    place[window, state] = np.arange(len(pairs))
    assert isinstance(policy.hidden, ASMPolicy)
    nu = np.exp(np.asarray(policy.hidden.tabulate().log_nu[0], float))
    onward = nu[symbols:].reshape(policy.num_states, actions, symbols, -1)
    after = _following(windows, actions, symbols)[window]
    update = _spread(onward[state], place[after], len(pairs))
    first = np.full((symbols, windows.shape[1]), _NOTHING)
    first[:, 0] = np.arange(symbols)
    start = _spread(nu[:symbols], place[_numbers(windows, first)], len(pairs))
    stay = np.broadcast_to(np.eye(len(pairs))[:, None, None], update.shape)
    most_visited = np.eye(len(pairs))[counts.argmax()]
    control = _control(policy, state, windows[window])
    return completed(start, most_visited), completed(update, stay), control[None]


def _visited(played: Experience, size: int) -> Int[np.ndarray, "n columns"]:
    """The agent state and the window at every valid step."""
    valid, time = np.asarray(played.valid), np.asarray(played.time)
    observations, actions = np.asarray(played.observations), np.asarray(played.actions)
    columns = [np.asarray(played.memories.state), observations]
    for age in range(1, size):
        for values in (observations, actions):
            earlier = np.roll(values, age, axis=0)
            columns.append(np.where(time >= age, earlier, _NOTHING))
    return np.stack([column[valid] for column in columns], axis=-1).astype(np.int64)


def _following(windows: Windows, actions: int, symbols: int) -> Int[np.ndarray, "W A O"]:
    """The window that follows each one, by action and observation; the last number is unknown."""
    rows = np.empty((len(windows), actions, symbols, windows.shape[1] + 2), np.int64)
    rows[..., 0] = np.arange(symbols)
    rows[..., 1] = windows[:, 0, None, None]
    rows[..., 2] = np.arange(actions)[:, None]
    rows[..., 3:] = windows[:, None, None, 1:]
    kept = rows[..., : windows.shape[1]].reshape(-1, windows.shape[1])
    return _numbers(windows, kept).reshape(len(windows), actions, symbols)


def _numbers(windows: Windows, rows: Int[np.ndarray, "n k"]) -> Int[np.ndarray, " n"]:
    known = {window.tobytes(): number for number, window in enumerate(windows)}
    lined_up = np.ascontiguousarray(rows)
    return np.array([known.get(row.tobytes(), len(windows)) for row in lined_up])


def _spread(
    rows: Float[np.ndarray, "*inputs S"], places: Int[np.ndarray, "*inputs S"], count: int
) -> Float[np.ndarray, "*inputs P"]:
    """Each probability at its place among the pairs; that of pairs that were not met is lost."""
    spread = np.zeros((*rows.shape[:-1], count + 1))
    np.put_along_axis(spread, np.where(places < 0, count, places), rows, axis=-1)
    return spread[..., :count]


def _control(
    policy: WindowPolicy, state: Int[np.ndarray, " P"], windows: Int[np.ndarray, "P k"]
) -> Float[np.ndarray, "P A"]:
    earlier = windows[:, 1:].reshape(len(windows), -1, 2)
    time = (earlier[..., 0] != _NOTHING).sum(axis=-1)
    numbers = (np.zeros_like(state), earlier[:, 0, 1], time, windows[:, 0])
    zero, last, time, shown = (jnp.asarray(np.maximum(part, 0), jnp.int32) for part in numbers)
    seen, done = (jnp.asarray(np.maximum(earlier[..., i], 0), jnp.int32) for i in (0, 1))
    memory = AgentMemory(zero, last, time, Window(seen, done))
    log_phi = np.asarray(eqx.filter_jit(policy.log_controls)(memory, shown), float)
    phi = np.exp(log_phi[np.arange(len(state)), state])
    return phi / phi.sum(axis=-1, keepdims=True)
