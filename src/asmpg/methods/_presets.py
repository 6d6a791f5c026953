"""The methods by the names people call them."""

from typing import Any, NamedTuple

from asmpg.methods._asmpg import ASMPG
from asmpg.methods._method import Method
from asmpg.methods.ais import AIS
from asmpg.methods.ppo import ASMPPO, GRUPPO, MemorylessPPO


class Preset(NamedTuple):
    """A method and the options that its name stands for."""

    method: type[Method[Any]]
    options: dict[str, Any]


#: What keeps the reference's AIS from learning short episodes with few dimensions, put right.
_AIS_FIXED = {
    "start": "zeros",
    "predict_terminal_observation": True,
    "input_width": 40,
    "head_width": 20,
    "policy_width": 40,
    "batch": "episodes",
}

PRESETS = {
    "asmpg": Preset(ASMPG, {}),
    "asm-ppo": Preset(ASMPPO, {}),
    "gru-ppo": Preset(GRUPPO, {}),
    "memoryless-ppo": Preset(MemorylessPPO, {}),
    "ais-kl": Preset(AIS, {"variant": "kl"}),
    "ais-mmd": Preset(AIS, {"variant": "mmd"}),
    "ais-kl-fixed": Preset(AIS, {"variant": "kl", **_AIS_FIXED}),
    "ais-mmd-fixed": Preset(AIS, {"variant": "mmd", **_AIS_FIXED}),
}
