"""Whole episodes on the host, as many as asked for."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Shaped

from asmpg.experience._experience import Experience, WholeEpisodes
from asmpg.experience._host import HostEnvironments
from asmpg.experience._player import HostPlayer
from asmpg.policies import Actor

#: So many environments are played side by side.
_COPIES = 16


def play_episodes_on_host(
    source: Any, actor: Actor[Any], *, num_episodes: int, seed: int
) -> Experience:
    """Play `num_episodes` in environments that `source` opens; the same for the same `seed`.

    Every copy plays one episode in each round, so short ones are not preferred.
    """
    driver = source.open(min(_COPIES, num_episodes), exactly=False)
    copies = driver.copies
    environments = HostEnvironments(driver, HostPlayer(lambda actor: actor, copies))
    try:
        environments.reseed(seed)
        environments.player.prepare(actor)
        environments.begin(seeded=True)
        rounds = [
            environments.collect(WholeEpisodes(copies)) for _ in range(-(-num_episodes // copies))
        ]
    finally:
        driver.close()
    starts = [played.pop("start") for played in rounds]
    length = max(len(played["valid"]) for played in rounds)
    fields = jax.tree.map(
        lambda *parts: np.concatenate([_padded(part, length) for part in parts], axis=1)[
            :, :num_episodes
        ],
        *rounds,
    )
    start = jax.tree.map(lambda *parts: np.concatenate(parts)[:num_episodes], *starts)
    return Experience(**jax.tree.map(jnp.asarray, fields | {"start": start}))


def _padded(rows: Shaped[np.ndarray, "t ..."], length: int) -> Shaped[np.ndarray, "T ..."]:
    """Zeros at the end, which are no valid steps."""
    return np.pad(rows, [(0, length - len(rows)), *[(0, 0)] * (rows.ndim - 1)])
