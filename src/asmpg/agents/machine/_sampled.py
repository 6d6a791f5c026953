"""A policy for real observations as a machine: its play, averaged over typical cases."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from asmpg.agents.machine._arrays import Arrays, completed
from asmpg.agents.machine._cases import Cases, typical_cases
from asmpg.agents.machine._setting import Setting, Value
from asmpg.agents.machine._visits import Visits, sampled_visits
from asmpg.experience import Experience
from asmpg.policies import AgentMemory, ASMPolicy, Categorical, Window, actor

#: The kernels are averaged over so many steps of play.
_MOST_STEPS = 20_000
#: So many observations are looked at for what inputs lead to that are not met.
_MOST_EXAMPLES = 4000


@dataclasses.dataclass(frozen=True, eq=False)
class Sampled:
    """The arrays of a machine, and what its agent was seen to do and to be worth in play."""

    arrays: Arrays
    cases: Cases
    visits: Visits
    value: Value


@dataclasses.dataclass(frozen=True, eq=False)
class _Steps:
    """Some of the steps that were played: what came before, what was seen, what was done."""

    past: AgentMemory
    observations: Float[np.ndarray, "n d"]
    states: Int[np.ndarray, " n"]
    allowed: Bool[np.ndarray, "n A"]


def sampled_machine(policy: ASMPolicy, setting: Setting, count: int) -> Sampled:
    """Play, and average the kernels over what was met.

    `update[s, a, o]` is the mean of `nu` over the times that an observation of case `o` followed
    action `a` in state `s`. Where the action depends on more than the agent state, say on a window,
    `control[o, s]` is the mean of `phi` over the visits to `s` with an observation of case `o`. The
    mean over all observations of the case, wherever they came, counts as one more visit.
    """
    played = setting.sample(actor(policy))
    seen = np.asarray(played.observations)
    cases = typical_cases(seen[np.asarray(played.valid)], count)
    symbols = cases.number(seen)
    visits = sampled_visits(
        played,
        symbols,
        num_states=policy.num_states,
        num_actions=policy.num_actions,
        num_symbols=len(cases.centres),
        observations=seen,
    )
    steps = _chosen(policy, played)
    symbol = cases.number(steps.observations)
    log_kernels = _kernels(policy, steps.past, jnp.asarray(steps.observations))
    nu, phi = (np.exp(np.asarray(part, float)) for part in log_kernels)
    start, update = _mean_updates(policy, cases, steps, symbol, nu)
    if policy.factored:
        control = _normalised(phi[:1])
    else:
        control, overruled = _mean_controls(phi, steps, symbol, len(cases.centres))
        visits = dataclasses.replace(visits, overruled=overruled)
    return Sampled((start, update, control), cases, visits, setting.value(played))


def _chosen(policy: ASMPolicy, played: Experience) -> _Steps:
    """A random part of the steps, all where they are few."""
    time, episode = np.nonzero(np.asarray(played.valid))
    kept = np.random.default_rng(0).permutation(len(time))[:_MOST_STEPS]
    time, episode = time[kept], episode[kept]
    observations, actions = np.asarray(played.observations), np.asarray(played.actions)
    states = np.asarray(played.memories.state)
    window, size = None, policy.empty_window()
    if size is not None:
        earlier = np.maximum(time[:, None] - np.arange(1, size.actions.shape[0] + 1), 0)
        rows = earlier, episode[:, None]
        window = Window(jnp.asarray(observations[rows]), jnp.asarray(actions[rows]))
    before = np.maximum(time - 1, 0), episode
    past = AgentMemory(
        jnp.asarray(np.where(time > 0, states[before], 0), jnp.int32),
        jnp.asarray(np.where(time > 0, actions[before], 0), jnp.int32),
        jnp.asarray(time, jnp.int32),
        window,
    )
    allowed = np.ones((len(time), policy.num_actions), bool)
    if played.masks is not None:
        assert isinstance(policy.head, Categorical)
        allowed = np.asarray(policy.head.allowed(jnp.asarray(played.masks)[time, episode]))
    return _Steps(past, observations[time, episode], states[time, episode], allowed)


def _mean_updates(
    policy: ASMPolicy,
    cases: Cases,
    steps: _Steps,
    symbol: Int[np.ndarray, " n"],
    nu: Float[np.ndarray, "n S"],
) -> tuple[Float[np.ndarray, "O S"], Float[np.ndarray, "S A O S"]]:
    states, actions, number = policy.num_states, policy.num_actions, len(cases.centres)
    rows = _every_update(policy, steps.observations[:_MOST_EXAMPLES])  # [n, 1 + S A, S]
    centre_rows = _every_update(policy, cases.centres.astype(np.float32))
    member = np.eye(number)[symbol[:_MOST_EXAMPLES]]
    total = member.sum(axis=0)[:, None, None]
    mean = np.einsum("no,nrs->ors", member, rows) / np.maximum(total, 1)
    mean = np.where(total > 0, mean, centre_rows)
    start, update = mean[:, 0], mean[:, 1:].reshape(number, states, actions, states)
    update = np.moveaxis(update, 0, 2).copy()
    first = np.asarray(steps.past.first)
    before, done = np.asarray(steps.past.state), np.asarray(steps.past.action)
    np.add.at(start, symbol[first], nu[first])
    np.add.at(update, (before[~first], done[~first], symbol[~first]), nu[~first])
    return _normalised(start), _normalised(update)


def _every_update(
    policy: ASMPolicy, observations: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n R S"]:
    """`nu` after the start, then after each pair of state and action."""
    state, action = np.divmod(np.arange(policy.num_states * policy.num_actions), policy.num_actions)
    pairs = [np.concatenate([[0], part]) for part in (state, action)]
    time = np.concatenate([[0], np.ones(len(state))])
    states, actions, times = (jnp.asarray(part, jnp.int32) for part in (*pairs, time))
    memory = AgentMemory(states, actions, times)
    return np.exp(np.asarray(_every_log_nu(policy, memory, jnp.asarray(observations)), float))


@eqx.filter_jit
def _every_log_nu(
    policy: ASMPolicy, memory: AgentMemory, observations: Float[Array, "n d"]
) -> Float[Array, "n R S"]:
    return jax.vmap(lambda seen: jax.vmap(lambda m: policy.log_nu(m, seen))(memory))(observations)


def _mean_controls(
    phi: Float[np.ndarray, "n S A"], steps: _Steps, symbol: Int[np.ndarray, " n"], number: int
) -> tuple[Float[np.ndarray, "O S A"], Float[np.ndarray, " S"]]:
    """`control`, and how often another action is the most probable one than it says."""
    control = np.zeros((number, *phi.shape[1:]))
    np.add.at(control, symbol, phi)
    control = completed(control, phi.mean(axis=0))
    here = phi[np.arange(len(phi)), steps.states]
    np.add.at(control, (symbol, steps.states), here)
    control = _normalised(control)
    chosen, average = (
        np.where(steps.allowed, rows, -1.0).argmax(axis=-1)
        for rows in (here, control[symbol, steps.states])
    )
    visits = np.bincount(steps.states, minlength=phi.shape[1])
    other = np.bincount(steps.states, chosen != average, minlength=phi.shape[1])
    return control, other / np.maximum(visits, 1)


@eqx.filter_jit
def _kernels(
    policy: ASMPolicy, past: AgentMemory, observations: Float[Array, "n d"]
) -> tuple[Float[Array, "n S"], Float[Array, "n S A"]]:
    """`log nu` from the state that was left, and `log phi` in every state."""
    return jax.vmap(lambda m, seen: (policy.log_nu(m, seen), policy.log_phi(m, seen)))(
        past, observations
    )


def _normalised(rows: np.ndarray) -> np.ndarray:
    return rows / rows.sum(axis=-1, keepdims=True)
