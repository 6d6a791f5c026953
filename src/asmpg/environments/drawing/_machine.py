"""The machine's record."""

from typing import TYPE_CHECKING, Any

from asmpg.environments.drawing._style import (
    BLUE,
    GREEN,
    INK,
    RED,
    draw_legend,
    draw_title,
    marker_size,
    style_time_axis,
    time_span,
)
from asmpg.environments.machine_repair import MAX_WEAR, REPAIR, condition_and_wear

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from asmpg.environments._environment import Environment
    from asmpg.environments._episode import Episode

_STRIP, _THICKNESS, _LOW, _HIGH = 1.15, 0.17, -0.42, 1.62
_SUCCESS_ROW, _FAILURE_ROW = -0.17, -0.3
_CONDITIONS = (("healthy", "#bfe3d0"), ("degraded", "#d9722e"))


def draw_machine(axes: "Axes", environment: "Environment[Any]", episode: "Episode") -> None:
    """The visible condition as a strip above the hidden wear, and the repairs below."""
    draw_title(axes, environment, episode)
    style_time_axis(axes, environment, episode)
    records = [condition_and_wear(int(state)) for state in episode.states]
    conditions = [condition for condition, _ in records]
    repairs = [step for step, action in enumerate(episode.actions) if action == REPAIR]
    failures = [step for step in repairs if conditions[step + 1]]
    successes = [step for step in repairs if not conditions[step + 1]]
    size = marker_size(environment, episode)
    handles = [
        *_draw_strip(axes, conditions),
        axes.plot(
            [wear / MAX_WEAR for _, wear in records],
            color=BLUE,
            lw=1.6,
            drawstyle="steps-mid",
            label="wear (hidden)",
        )[0],
        axes.plot(
            successes,
            [_SUCCESS_ROW] * len(successes),
            "^",
            color=GREEN,
            markersize=size,
            label="repaired",
        )[0],
        axes.plot(
            failures,
            [_FAILURE_ROW] * len(failures),
            "x",
            color=RED,
            markersize=size,
            label="failed",
        )[0],
    ]
    _draw_now(axes, environment, episode, conditions[-1])
    axes.set_ylim(_LOW, _HIGH)
    axes.set_yticks(
        [(_SUCCESS_ROW + _FAILURE_ROW) / 2, 0, 0.5, 1, _STRIP + _THICKNESS / 2],
        ["repair", "0", "wear 0.5", "1", "condition"],
    )
    draw_legend(axes, handles)


def _draw_strip(axes: "Axes", conditions: list[int]) -> list["Artist"]:
    return [
        axes.broken_barh(
            [(step - 0.5, 1) for step, shown in enumerate(conditions) if shown == condition],
            (_STRIP, _THICKNESS),
            facecolor=colour,
            label=name,
        )
        for condition, (name, colour) in enumerate(_CONDITIONS)
    ]


def _draw_now(
    axes: "Axes", environment: "Environment[Any]", episode: "Episode", condition: int
) -> None:
    name, colour = _CONDITIONS[condition]
    late = episode.steps > time_span(environment, episode) / 2
    axes.plot(episode.steps, _STRIP + _THICKNESS + 0.07, "v", color=INK, markersize=6)
    axes.annotate(
        f"now {name}",
        (episode.steps, _STRIP + _THICKNESS + 0.08),
        xytext=(-8 if late else 8, 2),
        textcoords="offset points",
        ha="right" if late else "left",
        fontsize=8.5,
        bbox={"boxstyle": "round,pad=0.25", "facecolor": colour, "lw": 0},
    )
