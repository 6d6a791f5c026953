"""Methods by name."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from asmpg._support.checks import check_integer, check_one_of
from asmpg.methods._asmpg import ASMPG
from asmpg.methods._method import Method
from asmpg.methods.ais import AIS
from asmpg.methods.ppo import ASMPPO, GRUPPO, MemorylessPPO, MinGRUPPO


class Preset(NamedTuple):
    """A method, the options that its name stands for, and how long it trains by default."""

    method: type[Method[Any]]
    options: Mapping[str, Any]
    steps: int = 1_000_000
    evaluate_every: int = 10_000

    def make(self, options: Mapping[str, Any], *, name: str) -> Method[Any]:
        """The method with `options` on top of its own."""
        accepted = [field.name for field in dataclasses.fields(self.method)]
        for option in options:
            check_one_of(f"options of {name}", option, accepted)
        return self.method(**{**self.options, **options})


#: What keeps the reference's AIS from learning short episodes with few dimensions, fixed.
_AIS_FIXED = {
    "start": "zeros",
    "predict_terminal_observation": True,
    "input_width": 40,
    "head_width": 20,
    "policy_width": 40,
    "batch": "episodes",
}

#: Beyond the paper, with its whole episodes and its gradient: the agent state integrated out,
#: tables where they will do, and a `nu` that remembers from the start.
_ASMPG_MARGINAL = {
    "estimator": "marginal",
    "step_reduction": "episode-sum",
    "baseline": "leave-one-out",
    "normalise": True,
    "policy": "auto",
    "table_learning_rate": 0.03,
}
_QUICK = {"steps": 150_000, "evaluate_every": 5_000}

PRESETS = {
    "asm-ppo": Preset(ASMPPO, {}, **_QUICK),
    "gru-ppo": Preset(GRUPPO, {}, **_QUICK),
    "mingru-ppo": Preset(MinGRUPPO, {}, **_QUICK),
    "memoryless-ppo": Preset(MemorylessPPO, {}, **_QUICK),
    "asmpg": Preset(ASMPG, {}),
    "asmpg-marginal": Preset(ASMPG, _ASMPG_MARGINAL, 300_000),
    "ais-kl": Preset(AIS, {"variant": "kl"}),
    "ais-mmd": Preset(AIS, {"variant": "mmd"}),
    "ais-kl-fixed": Preset(AIS, {"variant": "kl", **_AIS_FIXED}),
    "ais-mmd-fixed": Preset(AIS, {"variant": "mmd", **_AIS_FIXED}),
}


def register_method(
    name: str,
    method: type[Method[Any]],
    *,
    options: Mapping[str, Any] | None = None,
    steps: int = 150_000,
    evaluate_every: int = 5_000,
) -> None:
    """Register your own method by name, for configurations, studies and the command line.

    `options` are what the name stands for; `steps` and `evaluate_every` are the defaults of its
    runs. A name can be registered only once.

    >>> asmpg.register_method("my-ppo", MyPPO, options={"num_states": 4})
    """
    if not re.fullmatch(r"[A-Za-z][\w.-]*", name):
        raise ValueError(
            "name must start with a letter and hold letters, digits, '_', '.' and '-', "
            f"got {name!r}"
        )
    if name in PRESETS:
        raise ValueError(f"name {name!r} is already registered")
    given: Any = method
    if not (isinstance(given, type) and issubclass(given, Method)):
        raise ValueError(f"method must be a subclass of asmpg.Method, got {method!r}")
    check_integer("steps", steps, low=1)
    check_integer("evaluate_every", evaluate_every, low=1)
    preset = Preset(method, dict(options or {}), steps, evaluate_every)
    preset.make({}, name=name)
    PRESETS[name] = preset


def preset_name(method: Method[Any]) -> str | None:
    """The first name registered for the class of `method`; `None` if there is none."""
    if type(method) is AIS:
        return f"ais-{method.variant}"
    return next((name for name, preset in PRESETS.items() if preset.method is type(method)), None)
