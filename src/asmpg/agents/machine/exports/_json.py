"""A machine as JSON, and back: numbers and names, nothing executable."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg._support.files import naming, read_json
from asmpg.agents.machine._cases import Cases

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

_FORMAT = "asmpg machine 1"
_ARRAYS = ("start", "update", "control")


def json_text(machine: "Machine", path: Path) -> str:
    """Indices of the next state and action where all is certain, else probabilities."""
    del path
    certain = machine.deterministic
    content: dict[str, Any] = {
        "format": _FORMAT,
        "name": machine.name,
        "num_states": machine.num_states,
        "deterministic": certain,
        "action_names": list(machine.action_names),
        "observation_names": list(machine.observation_names),
        "first_action": machine.first_action,
    }
    for name in _ARRAYS:
        array = getattr(machine, name)
        content[name] = (array.argmax(axis=-1) if certain else array).tolist()
    if machine.cases is not None:
        content["centres"] = machine.cases.centres.tolist()
        content["scale"] = machine.cases.scale.tolist()
    if machine.visits is not None:
        content["shares"] = machine.shares.tolist()
    if machine.value is not None:
        content["value"] = vars(machine.value)
    return json.dumps(content, indent=1) + "\n"


def read_machine(path: Path) -> dict[str, Any]:
    """The fields of a machine in a JSON file; a `CheckpointError` if it is of another kind."""
    content = read_json(path)
    with naming(path, "is not a machine, or is damaged"):
        return _fields(content)


def _fields(content: Mapping[str, Any]) -> dict[str, Any]:
    if content.get("format") != _FORMAT:
        raise ValueError(f"it is not of the format {_FORMAT!r}")
    names = {key: _words(key, content[key]) for key in ("action_names", "observation_names")}
    sizes = {"start": content["num_states"], "update": content["num_states"]}
    sizes["control"] = len(names["action_names"])
    arrays = {name: np.asarray(content[name]) for name in _ARRAYS}
    if content["num_states"] != len(arrays["update"]):
        raise ValueError(f"num_states must be that of update, got {content['num_states']!r}")
    axes = {"start": 2, "update": 4, "control": 3}
    for name, array in arrays.items():
        if content["deterministic"] is True:
            if array.dtype.kind != "i" or array.size == 0 or not array.min() >= 0:
                raise ValueError(f"{name} must hold integers of at least 0")
            arrays[name] = np.eye(sizes[name])[array]
        if arrays[name].dtype.kind not in "fi" or arrays[name].ndim != axes[name]:
            raise ValueError(f"{name} must be an array of numbers with {axes[name]} axes")
        arrays[name] = arrays[name].astype(float)
    fields = {**arrays, **names, "name": str(content["name"])}
    fields["first_action"] = int(content["first_action"])
    if "centres" in content:
        centres, scale = (np.asarray(content[key], float) for key in ("centres", "scale"))
        if centres.ndim != 2 or centres.shape != (len(names["observation_names"]), len(scale)):
            raise ValueError(f"centres must have a row for each observation, got {centres.shape}")
        fields["cases"] = Cases(centres, scale)
    return fields


def _words(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"{key} must be a list of text, got {value!r}")
    return tuple(value)
