"""`machine.html`: a machine, and the environment it plays in, step by step."""

import dataclasses
import html
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from asmpg._support.words import counted
from asmpg.agents.machine import Machine
from asmpg.agents.machine.pictures import drawn
from asmpg.analysis.machine_page._episodes import Pictures, frames, play
from asmpg.environments import Environment

#: What all pictures of environments together may take; the page stays below a megabyte.
_MOST_BYTES = 820_000
#: No episode is shown beyond this step.
_MOST_STEPS = 60


@dataclasses.dataclass(frozen=True)
class View:
    """A machine under a title, say `seed 1952, minimised`."""

    title: str
    machine: Machine


def machine_page(
    views: Sequence[View],
    environment: Environment[Any] | None,
    *,
    title: str,
    episodes: int = 2,
    seed: int = 0,
) -> str:
    """One HTML page, without any other file and without network.

    The first two machines play `episodes` each, the others one. Without an environment there is
    nothing to play, and the machines are shown alone.
    """
    counts = [episodes if number < 2 else 1 for number in range(len(views))]
    share = _MOST_BYTES // sum(counts)
    shown = []
    pictures: list[str] = []
    for number, view in enumerate(views):
        machine = view.machine
        played = []
        if environment is not None:
            for each in range(counts[number]):
                played.append(_episode(machine, environment, seed + each, share, pictures))
        shown.append(
            {
                "title": view.title,
                "facts": _facts(machine),
                "svg": drawn(machine, title=view.title, identifier=f"m{number}"),
                "table": str(machine),
                "words": machine.describe().splitlines(),
                "actions": list(machine.action_names),
                "deterministic": machine.deterministic,
                "episodes": played,
            }
        )
    content = json.dumps({"views": shown, "pictures": pictures}, separators=(",", ":"))
    # A script ends at the first "</", whatever it is in.
    return _asset("page.html").format(
        title=html.escape(title),
        style=_asset("page.css"),
        content=content.replace("</", "<\\/"),
        script=_asset("page.js"),
    )


def _episode(
    machine: Machine, environment: Environment[Any], seed: int, most_bytes: int, urls: list[str]
) -> dict[str, Any]:
    played = play(machine, environment, seed=seed, steps=_MOST_STEPS)
    moments, room = frames(machine, played), Pictures(environment, most_bytes)
    for time, frame in enumerate(moments):
        number = room.add(played.episode, time)
        if number is None:
            moments = moments[:time]
            break
        frame["picture"] = len(urls) + number
    urls.extend(room.urls)
    whole = len(moments) == len(played.episode.observations)
    if whole and (played.episode.terminated or played.episode.truncated):
        ending = "terminated" if played.episode.terminated else "cut off by the time limit"
    else:
        ending = f"the first {counted(len(moments) - 1, 'step')} are shown"
    return {"frames": moments, "ending": ending}


def _facts(machine: Machine) -> str:
    kind = "deterministic" if machine.deterministic else "stochastic"
    facts = [counted(machine.num_states, "agent state"), kind]
    if machine.value is not None:
        facts.append(str(machine.value))
    return " · ".join(facts)


def _asset(name: str) -> str:
    folder = resources.files("asmpg.analysis.machine_page")
    return folder.joinpath(name).read_text(encoding="utf-8")
