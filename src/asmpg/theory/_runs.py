"""Many real training runs at once, with the exact gradient at every step."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from asmpg.environments import NMDP, Environment
from asmpg.exact import history_optimum, history_value
from asmpg.experience import collect
from asmpg.interop import Interface
from asmpg.methods import ASMPG, Learner
from asmpg.policies import ASMPolicy
from asmpg.theory._processes import flat


class Runs(eqx.Module):
    """`N` runs, or one, after `count` updates each.

    - `squared`: `sum_k |grad J(theta_k)|^2`, exact gradients at the iterates;
    - `weighted`: `sum_k alpha_k |grad J(theta_k)|^2`;
    - `last`: `|grad J|^2` where the last update began;
    - `largest`: the largest `|g-hat_k|` seen.
    """

    learner: Learner
    key: Key[Array, "*N"]
    count: Int[Array, "*N"]
    squared: Float[Array, "*N"]
    weighted: Float[Array, "*N"]
    last: Float[Array, "*N"]
    largest: Float[Array, "*N"]


@dataclasses.dataclass(frozen=True)
class Laboratory:
    """A process, the library's ASMPG with one episode an update, and a first policy `theta_1`."""

    nmdp: NMDP
    method: ASMPG
    seed: int

    @classmethod
    def joint(cls, nmdp: NMDP, *, discount: float, seed: int) -> "Laboratory":
        """A joint softmax with as many agent states as there are observations.

        With two steps such a policy can tell all histories apart, so that `sup J` is the history
        optimum, and `Delta_1` is known exactly.
        """
        if nmdp.horizon > 2:
            raise ValueError(f"nmdp must have a horizon of at most 2, got {nmdp.horizon}")
        return cls(
            nmdp,
            ASMPG(
                num_states=nmdp.num_observations,
                policy="joint",
                objective="episodic" if discount == 1 else "discounted",
                discount=discount,
                episodes_per_update=1,
                step_reduction="episode-sum",
                optimiser="sgd",
                learning_rate=1.0,
                barrier=0.0,
            ),
            seed,
        )

    @functools.cached_property
    def gap(self) -> float:
        """`Delta_1 = sup J - J(theta_1)`."""
        best = history_optimum(self.nmdp, discount=self.method.return_discount)
        return best - float(_value(self._first().policy, self.nmdp, self.method))

    def start(self, *, runs: int) -> Runs:
        """All runs at `theta_1`, each with a key of its own."""
        learner = jax.tree.map(
            lambda leaf: jnp.asarray(np.stack([np.asarray(leaf)] * runs)), self._first()
        )
        zero = jnp.zeros(runs)
        keys = jax.random.split(jax.random.key(self.seed + 1), runs)
        return Runs(learner, keys, jnp.ones(runs, int), zero, zero, zero, zero)

    def advance(self, runs: Runs, *, updates: int, scale: float, power: float = 0.0) -> Runs:
        """Continue until `updates` updates, with step sizes `alpha_k = scale k^-power`."""
        numbers = (jnp.asarray(updates), jnp.asarray(scale), jnp.asarray(power))
        return _loop(runs, self.method, self.nmdp.environment(), self.nmdp, *numbers)

    def _first(self) -> Learner:
        initialise = eqx.filter_jit(self.method.initialise)
        interface = Interface.of(self.nmdp.environment())
        return initialise(interface, jax.random.key(self.seed))


@eqx.filter_jit
def _value(policy: ASMPolicy, nmdp: NMDP, method: ASMPG) -> Float[Array, ""]:
    """`J`, exact."""
    return history_value(nmdp, policy.tabulate(), discount=method.return_discount)


@eqx.filter_jit
def _loop(
    runs: Runs,
    method: ASMPG,
    environment: Environment[Any],
    nmdp: NMDP,
    updates: Int[Array, ""],
    scale: Float[Array, ""],
    power: Float[Array, ""],
) -> Runs:
    def update(run: Runs) -> Runs:
        key, update_key = jax.random.split(run.key)
        alpha = scale * run.count**-power
        squared = jnp.sum(flat(eqx.filter_grad(_value)(run.learner.policy, nmdp, method)) ** 2)
        # With step size 1 the library's update adds the estimate itself.
        actor = method.actor(run.learner, training=True)
        _, experience = collect(environment, actor, method.collects, None, update_key)
        moved, _ = method.update(run.learner, experience, update_key)
        estimate = jax.tree.map(jnp.subtract, moved.policy, run.learner.policy)
        policy = jax.tree.map(
            lambda before, step: before + alpha * step, run.learner.policy, estimate
        )
        return Runs(
            dataclasses.replace(moved, policy=policy),
            key,
            run.count + 1,
            run.squared + squared,
            run.weighted + alpha * squared,
            squared,
            jnp.maximum(run.largest, jnp.linalg.norm(flat(estimate))),
        )

    return jax.lax.while_loop(lambda runs: runs.count[0] <= updates, jax.vmap(update), runs)
