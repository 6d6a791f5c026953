"""Where a machine plays, and what it is worth there."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg._support.words import rounded
from asmpg.agents.machine._cases import Cases
from asmpg.agents.machine._visits import Visits, exact_visits, fits, sampled_visits
from asmpg.environments import (
    AbstractFiniteEnvironment,
    ActionSpace,
    Environment,
    MultiDiscrete,
)
from asmpg.exact import policy_returns
from asmpg.experience import Experience, play_episodes, play_episodes_on_host
from asmpg.policies import (
    Actor,
    AgentMemory,
    AgentMemoryActor,
    Categorical,
    KernelTables,
    TableActor,
)


@dataclasses.dataclass(frozen=True)
class Value:
    """The expected outcome of an episode, exact where `standard_error` is zero.

    The standard error is that of the discounted return.
    """

    discounted: float
    undiscounted: float
    reward_per_step: float
    standard_error: float = 0.0

    def __str__(self) -> str:
        # Equal returns have a standard error of some 1e-17: rounding.
        noise = self.standard_error if self.standard_error > 1e-9 * abs(self.discounted) else 0.0
        known = "exact" if self.standard_error == 0 else f"± {rounded(noise)}"
        return f"discounted {self.discounted:.4f} ({known}), per step {self.reward_per_step:.4f}"


@dataclasses.dataclass(frozen=True)
class Setting:
    """An environment with a discount; what cannot be computed is played, `episodes` of it.

    One that is stepped on the host has a `source` instead, whose actions are of `host_actions`.
    """

    environment: Environment[Any] | None
    discount: float
    episodes: int = 1000
    seed: int = 0
    source: Any = None
    host_actions: ActionSpace | None = None

    def __post_init__(self):
        if (self.environment is None) == (self.source is None):
            raise ValueError("environment or source must be given, not both")

    @property
    def action_parts(self) -> MultiDiscrete | None:
        """The parts of an action, if it has several: a machine numbers their combinations."""
        environment = self.environment
        space = self.host_actions if environment is None else environment.action_space
        return space if isinstance(space, MultiDiscrete) else None

    def play(
        self,
        start: Float[np.ndarray, "O S"],
        update: Float[np.ndarray, "S A O S"],
        control: Float[np.ndarray, "C S A"],
        tables: KernelTables,
        cases: Cases | None,
    ) -> tuple[Visits, Value]:
        """How often each input is met, and what that is worth."""
        environment = self.environment
        if (
            cases is None
            and isinstance(environment, AbstractFiniteEnvironment)
            and fits(environment.model, len(update))
        ):
            with jax.enable_x64(True):
                returns = _exact_returns(environment, tables, discount=self.discount)
            assert returns is not None
            numbers = (returns.discounted, returns.undiscounted, returns.reward_per_step)
            visits = exact_visits(
                environment.model, start, update, control, horizon=environment.max_steps
            )
            return visits, Value(*(float(number) for number in numbers))
        played = self.sample(case_actor(tables, cases, self.action_parts))
        seen = np.asarray(played.observations)
        states, actions, number, _ = update.shape
        visits = sampled_visits(
            played,
            seen if cases is None else cases.number(seen),
            num_states=states,
            num_actions=actions,
            num_symbols=number,
            observations=None if cases is None else seen,
        )
        return visits, self.value(played)

    def sample(self, actor: Actor[Any]) -> Experience:
        """Whole episodes, the same for the same actor."""
        if self.environment is None:
            assert self.source is not None
            played = play_episodes_on_host(
                self.source, actor, num_episodes=self.episodes, seed=self.seed
            )
        else:
            key = jax.random.key(self.seed)
            played = _play(self.environment, actor, key, self.episodes)
        return jax.tree.map(np.asarray, played)

    def value(self, played: Experience) -> Value:
        """What whole episodes were worth on average."""
        rewards = np.where(played.valid, played.rewards, 0.0).astype(float)
        discounted = (self.discount ** np.arange(len(rewards))) @ rewards
        total, steps = rewards.sum(), float(np.asarray(played.valid).sum())
        return Value(
            float(discounted.mean()),
            float(total / self.episodes),
            float(total / steps),
            float(discounted.std(ddof=1) / np.sqrt(self.episodes)),
        )


#: Compiled once for machines of the same size.
_exact_returns = eqx.filter_jit(policy_returns)


@eqx.filter_jit
def _play(
    environment: Environment[Any], actor: Actor[Any], key: Key[Array, ""], episodes: int
) -> Experience:
    played = play_episodes(environment, actor, key, num_episodes=episodes)
    memories = played.memories
    # Windows would be most of it, and follow from the rest.
    slim = AgentMemory(memories.state, memories.action, memories.time)
    return dataclasses.replace(played, memories=slim)


class CaseActor(AgentMemoryActor):
    """Plays tables on real observations: each is taken for the nearest typical case."""

    tables: TableActor
    centres: Float[Array, "O d"]
    scale: Float[Array, " d"]

    @property
    def head(self) -> Categorical:
        return self.tables.head

    def act(
        self,
        memory: AgentMemory,
        observation: Shaped[Array, " d"],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> AgentMemory:
        """Number the observation, then look up."""
        return self.tables.act(memory, self._number(observation), reward, uniforms, mask)

    def _number(self, observation: Shaped[Array, " d"]) -> Int[Array, ""]:
        away = (observation - self.centres) / self.scale
        return jnp.argmin(jnp.sum(away**2, axis=-1)).astype(jnp.int32)


def case_actor(
    tables: KernelTables, cases: Cases | None, parts: MultiDiscrete | None = None
) -> AgentMemoryActor:
    """What plays `tables` in single precision, with actions of these `parts`."""
    actor = TableActor(
        nu_table=jnp.asarray(np.exp(np.asarray(tables.log_nu)), jnp.float32),
        phi_table=jnp.asarray(np.asarray(tables.log_phi), jnp.float32),
        actions=Categorical(tables.num_actions, () if parts is None else parts.sizes),
        num_observations=tables.num_observations,
        greedy=False,
    )
    if cases is None:
        return actor
    centres, scale = (jnp.asarray(part, jnp.float32) for part in (cases.centres, cases.scale))
    return CaseActor(tables=actor, centres=centres, scale=scale)
