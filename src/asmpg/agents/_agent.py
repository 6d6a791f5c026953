"""The trained agent: a policy that acts, with its memory passed in and out."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped
from numpy.typing import ArrayLike

from asmpg._support.checks import check_integer, check_number
from asmpg._support.words import counted
from asmpg.agents import _kernels
from asmpg.agents._arguments import (
    Observation,
    mask_batch,
    memory_batch,
    observation_batch,
    reward_batch,
    start_batch,
)
from asmpg.agents._evaluation import MOST_EPISODES, Evaluation, play_fresh_episodes
from asmpg.agents._recipe import Origin, Recipe
from asmpg.agents.machine import Machine, Setting
from asmpg.agents.machine.exports import network_of, write_network
from asmpg.environments import Environment, Space
from asmpg.experience import StepInputs, act_together
from asmpg.interop import Interface, ResolvedEnvironment, resolve
from asmpg.policies import Actor, ASMPolicy, FilteredPolicy, HistoryPolicy, actor
from asmpg.runs import RunConfig, save_checkpoint

if TYPE_CHECKING:
    from asmpg.training import TrainingResult


#: Played where values and frequencies are not exact, compiled and on the host.
_EPISODES, _HOST_EPISODES = 1000, 100


class Agent:
    """A policy with the interface of Stable-Baselines3's recurrent policies.

    The caller holds the memory. It is reset where `state` is `None` or `episode_start` is true;
    otherwise, the agent continues from `state`. So either pass `state=None` at the start of each
    episode, or always pass the last state, with `episode_start`.

    >>> envs = gymnasium.make_vec("asmpg/CheeseMaze-v0", num_envs=8, autoreset_mode="SameStep")
    >>> (observations, _), state, start = envs.reset(), None, np.ones(8, bool)
    >>> for _ in range(1000):
    ...     actions, state = agent.predict(observations, state, start)
    ...     observations, rewards, terminated, truncated, _ = envs.step(actions)
    ...     start = terminated | truncated
    """

    def __init__(
        self,
        make_actor: Callable[[bool], Actor[Any]],
        observation_space: Space,
        *,
        policy: ASMPolicy | None = None,
        seed: int = 0,
        recipe: Recipe | None = None,
        learned: Any = None,
        learner: Any = None,
    ):
        """`make_actor(greedy)` makes what acts; `policy` can be inspected, if it is an ASM policy.

        `recipe` and `learned` are what `save` writes; the agent takes the observations that the
        recipe's interface reads. Training continues from `learner`, or from `learned` alone.
        """
        self._actors = {greedy: make_actor(greedy) for greedy in (False, True)}
        self.observation_space = observation_space
        self.policy = policy
        #: The run that the agent comes from, if `learn` or `train` has just made it.
        self.result: TrainingResult | None = None
        self._origin = Origin(recipe, self._actors[False].head.space)
        #: What acts; the rest of what training would continue from is in `learner`, if known.
        self.learned = learned
        self.learner = learner
        self._empty_memory = jax.eval_shape(self._actors[False].start, jax.random.key(0))
        self.seed(seed)

    @classmethod
    def of_policy(cls, policy: ASMPolicy, observation_space: Space, *, seed: int = 0) -> "Agent":
        """An agent that acts by any ASM policy."""
        return cls(
            lambda greedy: actor(policy, greedy=greedy),
            observation_space,
            policy=policy,
            seed=seed,
        )

    def seed(self, seed: int) -> None:
        """Reseed the random numbers that actions are sampled with."""
        self._generator = np.random.default_rng(check_integer("seed", seed, low=0, high=2**63 - 1))

    def predict(
        self,
        observation: Observation,
        state: Sequence[ArrayLike] | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
        *,
        reward: ArrayLike | None = None,
        action_masks: ArrayLike | None = None,
    ) -> tuple[Any, tuple[np.ndarray, ...]]:
        """The actions for one observation, or for a batch of `n`, and the memory to pass in next.

        Args:
            observation: One observation of the environment, or a batch of them; for dict or tuple
                observations, a dict or tuple of batches.
            state: The second output of the last call; `None` if all episodes start here.
            episode_start: For each of the `n`, whether its episode starts here, which resets its
                part of `state`.
            deterministic: Take the most probable action instead of sampling; for an ASM policy,
                also the most probable agent state.
            reward: The rewards that came with the observations. ASM policies ignore them.
            action_masks: Which actions are allowed, in the environment's format: a boolean for each
                action (for each value of each part), for each of the `n`.

        Returns:
            The actions, `n` of them, or one for a single observation, as elements of the
            environment's action space; and the new state, a tuple of arrays with an entry for each
            of the `n`. For an ASM policy, it holds agent states, actions and the numbers of actions
            played.
        """
        seen = self._origin.read(observation)
        observations, single = observation_batch(seen, self.observation_space)
        number = len(observations)
        memory = None if state is None else memory_batch(state, self._empty_memory, number)
        actor = self._actors[bool(deterministic)]
        inputs = StepInputs(
            start=start_batch(episode_start, number),
            observations=observations,
            rewards=reward_batch(reward, number),
            masks=mask_batch(action_masks, actor.head, number),
            uniforms=jnp.asarray(self._generator.random((number, actor.draws), np.float32)),
            seed=jnp.asarray(self._generator.integers(2**31), jnp.int32),
        )
        memory, actions = _act(actor, memory, inputs)
        after = tuple(np.asarray(leaf) for leaf in jax.tree.leaves(memory))
        played = self._origin.writer.write(np.asarray(actions))
        return (played[0] if single else played), after

    def nu(
        self,
        state: SupportsIndex | None,
        action: SupportsIndex | None,
        observation: Observation,
        *,
        time: SupportsIndex | None = None,
    ) -> Float[np.ndarray, " S"]:
        """`nu(. | state, action, observation)`: the distribution of the next agent state.

        `state` and `action` are `None` at the start of an episode. `time`, the number of actions
        played, matters only to time-indexed policies.
        """
        given = (state, action, self._origin.read(observation))
        return _kernels.nu(self._asm_policy(), self.observation_space, given, time)

    def phi(
        self,
        state: SupportsIndex,
        *,
        seen: Sequence[Observation] = (),
        done: Sequence[SupportsIndex] = (),
        given: _kernels.KernelInput | None = None,
        time: SupportsIndex | None = None,
    ) -> Float[np.ndarray, " A"]:
        """`phi(. | state)`: the distribution of the action in agent state `state`.

        If the policy has a window, `phi(. | state, window)`: `seen` are the last observations,
        newest first, and `done` the actions between them.

        >>> agent.phi(3, seen=[5])

        The action of a joint kernel also depends on the input: pass the first three arguments of
        `nu` as `given`. `time` is as for `nu`.
        """
        if given is not None:
            given = (given[0], given[1], self._origin.read(given[2]))
        return _kernels.phi(
            self._asm_policy(),
            self.observation_space,
            state,
            given,
            time,
            seen=[self._origin.read(observation) for observation in seen],
            done=done,
        )

    def machine(
        self,
        environment: Any = None,
        *,
        observation_names: Sequence[str] | None = None,
        cases: int = 16,
        episodes: int | None = None,
        discount: float | None = None,
    ) -> Machine:
        """The memory as a finite machine, to print, draw, minimise and export.

        Args:
            environment: Where it plays, for frequencies, values and names: anything `learn`
                accepts; by default the run's environment, if it can be recreated.
            observation_names: A name for each observation; by default the environment's.
            cases: Real observations are assigned to the nearest of this many typical ones, found in
                episodes that the agent plays.
            episodes: Number of episodes to play where values and frequencies are not exact; by
                default 1000, or 100 if the environment is stepped on the host.
            discount: Discount of the values; by default the method's, or 0.99.

        >>> print(agent.machine().harden().minimise())
        """
        check_integer("cases", cases, low=1, high=1000)
        if episodes is not None:
            check_integer("episodes", episodes, low=2, high=1_000_000)
        origin = self._origin
        discount = origin.discount if discount is None else discount
        check_number("discount", discount, low=0, high=1)
        setting = self._setting(environment, discount, episodes)
        known = None if setting is None else setting.environment
        return Machine.of_policy(
            self._asm_policy(),
            setting,
            name=origin.name,
            observation_names=observation_names or self._observation_names(known),
            first_action=origin.first_action,
            cases=cases,
        )

    def evaluate(
        self,
        environment: Any = None,
        *,
        episodes: int = 100,
        deterministic: bool = False,
        seed: int = 0,
    ) -> Evaluation:
        """Play fresh episodes, and measure their returns.

        Args:
            environment: Where to play: anything `learn` accepts; by default the run's environment,
                if it can be recreated.
            episodes: Number of episodes.
            deterministic: Take the most probable agent states and actions, as in `predict`.
            seed: The same seed gives the same episodes, if all of the environment's randomness
                comes from its seed.

        Returns:
            An evaluation with `mean` and `standard_error`, and the `returns` and `lengths` of the
            episodes.

        >>> agent.evaluate("CheeseMaze", episodes=1000).mean
        """
        check_integer("episodes", episodes, low=1, high=MOST_EPISODES)
        check_integer("seed", seed, low=0)
        resolved = self._resolved(environment)
        if resolved is None:
            raise ValueError(
                "environment must be given: that of this agent cannot be made again from its name"
            )
        actor = self._actors[bool(deterministic)]
        _, returns, lengths = play_fresh_episodes(
            resolved, actor, episodes=episodes, seed=seed, discount=1.0
        )
        return Evaluation(returns, lengths)

    def export(self, path: str | os.PathLike[str], *, deterministic: bool = True) -> None:
        """Write the policy in another language, by the suffix of `path`.

        `.h` is a C header, `.py` a Python class without dependencies, `.onnx` a graph with the
        memory as input and output; `.json` and `.dot` are tables and a picture. By default it does
        what `predict(..., deterministic=True)` does. Real observations and windows of more than one
        need a network (`.py` or `.onnx`), or `agent.machine().export(...)`, which distinguishes
        typical cases and knows the windows that occur in its environment.

        >>> agent.export("policy.h")
        """
        policy, origin = self._asm_policy(), self._origin
        name, first = origin.name or "policy", origin.first_action
        if policy.num_observations is None or self.window > 1 or self.counts:
            network = network_of(policy, name=name, first_action=first)
            write_network(network, Path(path), deterministic=deterministic)
            return
        environment = origin.environment()
        machine = Machine.of_policy(policy, name=name, first_action=first)
        machine = machine.named(environment, self._observation_names(environment))
        (machine.harden() if deterministic else machine).export(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the agent to a single file of arrays and JSON, for `asmpg.load`.

        >>> agent.save("cheese.npz")
        """
        recipe = self._origin.recipe
        if recipe is None:
            raise ValueError("only an agent from training can be saved, not one made of a policy")
        save_checkpoint(path, self.learned, recipe.to_dict())

    def _setting(self, given: Any, discount: float, episodes: int | None) -> Setting | None:
        """Where the agent plays; `None` if that is not known."""
        resolved = self._resolved(given)
        if resolved is None:
            return None
        episodes = episodes or (_EPISODES if resolved.source is None else _HOST_EPISODES)
        return Setting(
            resolved.environment,
            discount,
            episodes,
            source=resolved.source,
            host_actions=resolved.interface.action_space,
        )

    def _resolved(self, given: Any) -> ResolvedEnvironment | None:
        """The environment `given`, which must fit; without one, that of the run, if it is known."""
        if given is None:
            return self._origin.resolve()
        resolved = resolve(given, {})
        name, seen = resolved.interface.name, resolved.interface.observation_space
        if seen != self.observation_space:
            raise ValueError(
                f"environment must show what the agent was trained on, {self.observation_space}; "
                f"{name} shows {seen}"
            )
        acted, taken = self._origin.action_space, resolved.interface.action_space
        if taken != acted:
            raise ValueError(
                f"environment must take the agent's actions, {acted}; {name} takes {taken}"
            )
        return resolved

    def __repr__(self) -> str:
        return self._origin.description(self._sizes())

    def _sizes(self) -> str:
        """Of its memory, and of its policy."""
        parts = [] if self.policy is None else [counted(self.num_states, "agent state")]
        if self.policy is not None and self.window:
            parts.append(f"window {self.window}" + (" and counts" if self.counts else ""))
        learned = self.policy if self.learned is None else self.learned
        arrays = jax.tree.leaves(eqx.filter(learned, eqx.is_inexact_array))
        return ", ".join([*parts, counted(sum(array.size for array in arrays), "parameter")])

    @property
    def config(self) -> RunConfig | None:
        """The configuration of the run that the agent comes from; `None` if it comes from none."""
        recipe = self._origin.recipe
        return None if recipe is None else recipe.config

    @property
    def interface(self) -> Interface | None:
        """Name, spaces and time limit of the environment it was trained in, if it was trained."""
        recipe = self._origin.recipe
        return None if recipe is None else recipe.interface

    @property
    def history_policy(self) -> HistoryPolicy | None:
        """Its distributions of actions along histories; `None` if rewards matter, too."""
        if self.policy is not None:
            return FilteredPolicy(self.policy)
        return self.learned if isinstance(self.learned, HistoryPolicy) else None

    @property
    def num_actions(self) -> int:
        """Number of actions to choose from."""
        recipe = self._origin.recipe
        return self._asm_policy().num_actions if recipe is None else recipe.interface.num_actions

    @property
    def num_states(self) -> int:
        """Number of agent states; of the hidden ones, if the policy has a window."""
        return self._asm_policy().num_states

    @property
    def window(self) -> int:
        """Number of observations the action depends on directly; 0 for the paper's policies."""
        return _kernels.window(self._asm_policy())

    @property
    def counts(self) -> bool:
        """Whether actions depend on how often each observation has occurred in the episode."""
        return _kernels.counts(self._asm_policy())

    def num_memories(self, environment: Any = None) -> int:
        """Number of memories the agent can have between two steps, if observations are finite.

        The number of agent states times that of the window's contents: all sequences of symbols and
        actions that fit in it or, in an `environment` with a finite model, those that can occur
        there.

        >>> agent.num_memories(asmpg.make("CheeseMaze"))
        """
        return _kernels.num_memories(self._asm_policy(), environment)

    def _observation_names(self, environment: Environment[Any] | None) -> tuple[str, ...] | None:
        symbols = self._asm_policy().num_observations is not None
        return self._origin.observation_names(environment) if symbols else None

    def _asm_policy(self) -> ASMPolicy:
        if self.policy is None:
            raise ValueError("this agent has no agent states: its policy is not an ASM policy")
        return self.policy


@eqx.filter_jit
def _act(
    actor: Actor[Any], memory: Any | None, inputs: StepInputs
) -> tuple[Any, Shaped[Array, "n *played"]]:
    after = act_together(actor, memory, inputs)
    return after, actor.head.play(after.action)
