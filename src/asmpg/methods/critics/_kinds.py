"""Which critic: by name, as options have it."""

from typing import Any, Literal

from jaxtyping import Array, Key

from asmpg.environments import Discrete
from asmpg.interop import Interface
from asmpg.methods.critics._critic import (
    Critic,
    LatentCritic,
    LinearCritic,
    MemoryCritic,
    RecurrentCritic,
)
from asmpg.methods.critics._value import MemoryValue
from asmpg.policies import Categorical, Encoding, HistoryPolicy, Normaliser, Number

CriticKind = Literal["auto", "history", "gru", "memory", "both", "linear", "latent"]


def make_critic(
    kind: CriticKind,
    policy: HistoryPolicy,
    encoding: Encoding,
    *,
    latents: Encoding | None,
    width: int,
    orthogonal: bool | None,
    keep_bias: Number,
    key: Key[Array, ""],
) -> Critic:
    """A fresh critic of the memory of `policy`, or of what was seen; `latents` are for `"latent"`.

    `orthogonal` are recurrent weights by default where observations are finite.
    """
    finite = encoding.num_observations is not None
    if kind == "history":
        kind = "both" if finite else "gru"
    alone = kind == "gru" or (kind == "linear" and not finite)
    options: dict[str, Any] = {
        "width": width,
        "memory_size": 0 if alone else policy.memory_size,
        "encoding": encoding,
        "key": key,
    }
    if kind == "memory":
        return MemoryCritic(MemoryValue(**options))
    if kind == "latent":
        assert latents is not None
        return LatentCritic(**options, latents=latents)
    if kind == "linear":
        return LinearCritic(**options, keep_bias=keep_bias)
    orthogonal = finite if orthogonal is None else orthogonal
    return RecurrentCritic(**options, orthogonal=orthogonal, keep_bias=keep_bias)


def latents_of(interface: Interface, name: str) -> Encoding:
    """How a critic is shown latent states: one-hot, or normalised."""
    space, head = interface.latent_space(name), Categorical(1)
    if isinstance(space, Discrete):
        return Encoding(head, space.n)
    size = len(space.low)
    return Encoding(head, None, (1.0,) * size, Normaliser.unknown(size))
