"""The patient's chart."""

from typing import TYPE_CHECKING, Any

from asmpg.environments.drawing._style import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    RED,
    draw_legend,
    draw_title,
    marker_size,
    style_time_axis,
)
from asmpg.environments.healthcare_treatment import FAILURE, RECOVERY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from asmpg.environments._environment import Environment
    from asmpg.environments._episode import Episode

#: Marker, fill and edge of the doses none, mild, aggressive.
_DOSES = (("o", "white", GREY), ("s", ORANGE, ORANGE), ("^", RED, RED))
_DOSE_ROWS = (-1.32, -1.52, -1.72)
_LOW, _HIGH = -1.92, 2.4


def draw_patient(axes: "Axes", environment: "Environment[Any]", episode: "Episode") -> None:
    """Health between failure and recovery, with the doses below; the thin lines are hidden."""
    draw_title(axes, environment, episode)
    style_time_axis(axes, environment, episode)
    for level, colour, name in ((RECOVERY, GREEN, "recovery"), (FAILURE, RED, "failure")):
        axes.axhline(level, color=colour, lw=1.2, ls="--", zorder=1)
        axes.annotate(
            name,
            (1, level),
            xytext=(-2, 2 if level > 0 else -2),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            va="bottom" if level > 0 else "top",
            fontsize=8,
            color=colour,
        )
    health = [float(state.health) for state in episode.states]
    axes.plot(health, color=BLUE, lw=2, zorder=4)
    axes.plot(episode.steps, health[-1], "o", color=BLUE, markersize=6, zorder=5)
    axes.set_ylim(_LOW, _HIGH)
    axes.set_yticks([_DOSE_ROWS[1], FAILURE, 0, 1, RECOVERY], ["dose", "−1", "0", "1", "2"])
    axes.set_ylabel("health (seen)", fontsize=9, color=BLUE, labelpad=1)
    doses = _draw_doses(axes, environment, episode)
    hidden = _draw_hidden(axes, episode, floor=FAILURE, ceiling=RECOVERY)
    draw_legend(axes, [*doses, *hidden])


def _draw_doses(
    axes: "Axes", environment: "Environment[Any]", episode: "Episode"
) -> list["Line2D"]:
    size = marker_size(environment, episode)
    return [
        axes.plot(
            [step for step, action in enumerate(episode.actions) if action == dose],
            [_DOSE_ROWS[dose]] * episode.actions.count(dose),
            marker,
            markersize=size,
            markerfacecolor=fill,
            markeredgecolor=edge,
            markeredgewidth=0.8,
            label=name,
            zorder=5,
        )[0]
        for dose, (name, (marker, fill, edge)) in enumerate(
            zip(environment.action_names, _DOSES, strict=True)
        )
    ]


def _draw_hidden(
    axes: "Axes", episode: "Episode", *, floor: float, ceiling: float
) -> list["Line2D"]:
    """Toxicity and resistance on a scale of their own, its zero level with `floor`."""
    toxicity = [float(state.toxicity) for state in episode.states]
    resistance = [float(state.resistance) for state in episode.states]
    top = 2
    while top < max(toxicity):
        top *= 2
    unit = top / (ceiling - floor)
    scale = axes.twinx()
    scale.set_ylim((_LOW - floor) * unit, (_HIGH - floor) * unit)
    scale.set_yticks([0, top / 2, top])
    scale.tick_params(labelsize=8, colors=GREY)
    scale.spines[["top", "left", "bottom"]].set_visible(False)
    scale.spines["right"].set_color(FAINT)
    scale.set_ylabel("hidden", fontsize=9, color=PURPLE, labelpad=1)
    return [
        scale.plot(toxicity, color=PURPLE, lw=1.1, label="toxicity")[0],
        scale.plot(resistance, color=INK, lw=1.1, ls=":", label="resistance")[0],
    ]
