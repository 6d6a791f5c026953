"""The methods by the names people call them."""

from typing import Any, NamedTuple

from asmpg.methods._asmpg import ASMPG
from asmpg.methods._method import Method
from asmpg.methods.ais import AIS
from asmpg.methods.ppo import ASMPPO, GRUPPO, MemorylessPPO


class Preset(NamedTuple):
    """A method, the options that its name stands for, and how long it is run if nobody says."""

    method: type[Method[Any]]
    options: dict[str, Any]
    steps: int = 1_000_000
    evaluate_every: int = 10_000


#: What keeps the reference's AIS from learning short episodes with few dimensions, put right.
_AIS_FIXED = {
    "start": "zeros",
    "predict_terminal_observation": True,
    "input_width": 40,
    "head_width": 20,
    "policy_width": 40,
    "batch": "episodes",
}

#: Past the paper, with its whole episodes and its gradient: the agent state integrated out, tables
#: where they will do, and a `nu` that remembers from the start.
_ASMPG_MARGINAL = {
    "estimator": "marginal",
    "baseline": "leave-one-out",
    "normalise": True,
    "policy": "auto",
    "table_learning_rate": 0.03,
}
_QUICK = {"steps": 150_000, "evaluate_every": 5_000}

PRESETS = {
    "asm-ppo": Preset(ASMPPO, {}, **_QUICK),
    "gru-ppo": Preset(GRUPPO, {}, **_QUICK),
    "memoryless-ppo": Preset(MemorylessPPO, {}, **_QUICK),
    "asmpg": Preset(ASMPG, {}),
    "asmpg-marginal": Preset(ASMPG, _ASMPG_MARGINAL, 300_000),
    "ais-kl": Preset(AIS, {"variant": "kl"}),
    "ais-mmd": Preset(AIS, {"variant": "mmd"}),
    "ais-kl-fixed": Preset(AIS, {"variant": "kl", **_AIS_FIXED}),
    "ais-mmd-fixed": Preset(AIS, {"variant": "mmd", **_AIS_FIXED}),
}
