"""Finite decision processes with a time limit: what a decision maker knows, and where it leads.

A finite model turns into several decision processes, depending on what the decision maker sees:
the latent state (`latent_process`), the last observation (`observed_process`), or everything that
happened so far (`belief_process`).
"""

import dataclasses
from collections import deque

import numpy as np
from jaxtyping import Float, Int

from asmpg.environments import FiniteModel
from asmpg.exact._returns import ExactReturns

_KEY_DECIMALS = 12


@dataclasses.dataclass(frozen=True)
class DecisionProcess:
    """From node `n`, action `a` pays `reward[n, a]` and leads to `successor[n, a, k]`.

    That happens with `probability[n, a, k]`; what is missing to one ends the episode.
    """

    successor: Int[np.ndarray, "N A K"]
    probability: Float[np.ndarray, "N A K"]
    reward: Float[np.ndarray, "N A"]
    start: Float[np.ndarray, " N"]

    def expect(self, value: Float[np.ndarray, "N *rest"]) -> Float[np.ndarray, "N A *rest"]:
        """The expectation of `value` at the next node."""
        return np.einsum("nak,nak...->na...", self.probability, value[self.successor])


def latent_process(model: FiniteModel) -> DecisionProcess:
    """The process of one who sees the latent state."""
    return DecisionProcess(
        model.successor,
        model.probability * ~model.terminal[model.successor],
        model.expected_reward,
        model.start,
    )


def observed_process(model: FiniteModel) -> tuple[DecisionProcess, Int[np.ndarray, " N"]]:
    """The process behind one who sees the last observation only, and what each node shows.

    Its nodes are the pairs (latent state, observation) that can occur; a memoryless policy has to
    act alike in all nodes that show the same.
    """
    alive = ~model.terminal
    possible = (model.observation > 0).any(axis=0) | (model.start_observation > 0)
    latent, shown = np.nonzero(possible & alive[:, None])
    index = np.zeros(possible.shape, int)
    index[latent, shown] = np.arange(len(latent))

    following = model.successor[latent]  # [N, A, K]
    actions = np.arange(model.num_actions)[None, :, None]
    symbols = model.observation[actions, following]  # [N, A, K, O]
    running = model.probability[latent] * alive[following]
    shape = (len(latent), model.num_actions, -1)
    probability = (running[..., None] * symbols).reshape(shape)
    outcomes = max(1, int((probability > 0).sum(axis=-1).max()))
    possible_first = np.argsort(probability == 0, axis=-1, kind="stable")[:, :, :outcomes]
    process = DecisionProcess(
        np.take_along_axis(index[following].reshape(shape), possible_first, axis=-1),
        np.take_along_axis(probability, possible_first, axis=-1),
        model.expected_reward[latent],
        (model.start[:, None] * model.start_observation)[latent, shown],
    )
    return process, shown


def belief_process(
    model: FiniteModel, *, horizon: int, max_beliefs: int = 50_000
) -> DecisionProcess:
    """The process of one who remembers everything: its nodes are the reachable beliefs.

    Exact whenever at most `max_beliefs` beliefs are reachable within `horizon` steps; otherwise
    a `ValueError`.
    """
    transition = model.transition
    transition[:, :, model.terminal] = 0.0
    # joint[a, o, x, x']: arrive in x', still running, and see o.
    joint = np.einsum("xay,ayo->aoxy", transition, model.observation)
    beliefs: list[np.ndarray] = []
    index: dict[bytes, int] = {}
    depth: list[int] = []

    def node(weights: np.ndarray, steps: int) -> int:
        belief = weights / weights.sum()
        key = (np.round(belief, _KEY_DECIMALS) + 0.0).tobytes()
        if key not in index:
            if len(beliefs) == max_beliefs:
                raise ValueError(
                    f"more than {max_beliefs} beliefs are reachable in {horizon} steps; "
                    "raise max_beliefs or shorten the horizon"
                )
            index[key] = len(beliefs)
            beliefs.append(belief)
            depth.append(steps)
            waiting.append(index[key])
        return index[key]

    waiting: deque[int] = deque()
    starts: dict[int, float] = {}
    for symbol in range(model.num_observations):
        weights = model.start * model.start_observation[:, symbol]
        if weights.any():
            first = node(weights, 1)
            starts[first] = starts.get(first, 0.0) + weights.sum()

    successor, probability = {}, {}
    while waiting:
        current = waiting.popleft()
        if depth[current] == horizon:
            continue
        outcomes = np.einsum("x,aoxy->aoy", beliefs[current], joint)
        for action in range(model.num_actions):
            for symbol in np.flatnonzero(outcomes[action].any(axis=-1)):
                weights = outcomes[action, symbol]
                successor[current, action, symbol] = node(weights, depth[current] + 1)
                probability[current, action, symbol] = weights.sum()

    shape = (len(beliefs), model.num_actions, model.num_observations)
    successors, probabilities = np.zeros(shape, int), np.zeros(shape)
    for key, target in successor.items():
        successors[key], probabilities[key] = target, probability[key]
    start = np.zeros(len(beliefs))
    start[list(starts)] = list(starts.values())
    return DecisionProcess(successors, probabilities, beliefs @ model.expected_reward, start)


def optimal_returns(
    process: DecisionProcess, *, horizon: int, discount: float, step_cost: float = 0.0
) -> ExactReturns:
    """Dynamic programming: the outcome of the policy that maximises the discounted return.

    `step_cost` is charged for every step in what is maximised, not in what is reported. The
    policy may depend on time.
    """
    nodes = len(process.start)
    value = np.zeros(nodes)
    # Under the maximising policy: discounted, undiscounted return, length, still running.
    outcome = np.repeat([[0.0, 0.0, 0.0, 1.0]], nodes, axis=0)
    one_step = np.stack(
        [process.reward, process.reward, np.ones_like(process.reward), 0 * process.reward], axis=-1
    )
    discounting = np.array([discount, 1.0, 1.0, 1.0])
    for _ in range(horizon):
        choice = process.reward - step_cost + discount * process.expect(value)
        best = choice.argmax(axis=-1)
        value = np.take_along_axis(choice, best[:, None], axis=1)[:, 0]
        following = one_step + discounting * process.expect(outcome)
        outcome = np.take_along_axis(following, best[:, None, None], axis=1)[:, 0]
    discounted, undiscounted, length, running = process.start @ outcome
    return ExactReturns(float(discounted), float(undiscounted), float(length), 1 - float(running))


def optimal_reward_per_step(process: DecisionProcess, *, horizon: int) -> ExactReturns:
    """The outcome of the policy that maximises `E[return] / E[length]`.

    Dinkelbach's iteration: maximise `E[return] - rate E[length]`, set `rate` to the ratio reached,
    repeat until it no longer rises.
    """
    rate = -np.inf
    returns = optimal_returns(process, horizon=horizon, discount=1.0)
    while returns.reward_per_step > rate + 1e-13:
        rate = float(returns.reward_per_step)
        returns = optimal_returns(process, horizon=horizon, discount=1.0, step_cost=rate)
    return returns
