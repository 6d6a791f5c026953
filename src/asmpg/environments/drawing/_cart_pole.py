"""The cart and its pole."""

import math
from typing import TYPE_CHECKING

import numpy as np

from asmpg.environments.drawing._style import BLUE, FAINT, GREY, INK, ORANGE, RED, draw_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asmpg.environments._episode import Episode
    from asmpg.environments.velocity_only_cart_pole import VelocityOnlyCartPole

# In units of half the track.
_CART_WIDTH, _CART_HEIGHT, _POLE = 0.26, 0.14, 0.76
_LONGEST_ARROW = 0.45
_WOOD = "#b07d48"


def draw_cart_pole(axes: "Axes", environment: "VelocityOnlyCartPole", episode: "Episode") -> None:
    """The cart between the ends of its track, the pole between its limits, the last push.

    The blue arrows are the two velocities, all that the agent sees.
    """
    position, velocity, angle, angular_velocity = (float(part) for part in episode.states[-1])
    x, pivot = position / environment.position_limit, _CART_HEIGHT
    draw_title(axes, environment, episode)
    _draw_track(axes)
    _draw_cone(axes, x, pivot, environment.angle_limit)
    _draw_cart(axes, x)
    tip = (x + _POLE * math.sin(angle), pivot + _POLE * math.cos(angle))
    lost = abs(angle) > environment.angle_limit
    axes.plot(
        [x, tip[0]], [pivot, tip[1]], color=RED if lost else _WOOD, lw=6, solid_capstyle="round"
    )
    axes.plot([x], [pivot], "o", color=INK, markersize=5)
    turning = _LONGEST_ARROW * math.tanh(angular_velocity / 2)
    _draw_arrow(axes, tip, (turning * math.cos(angle), -turning * math.sin(angle)), BLUE)
    _draw_arrow(axes, (x, -0.1), (_LONGEST_ARROW * math.tanh(velocity), 0.0), BLUE)
    if episode.actions:
        side = 1 if environment.action_names[episode.actions[-1]] == "right" else -1
        edge = x - side * (_CART_WIDTH / 2 + 0.02)
        _draw_arrow(axes, (edge - side * 0.2, pivot / 2), (side * 0.2, 0.0), ORANGE)
    _draw_readings(axes, environment, episode)
    axes.set_aspect("equal")
    axes.set_xlim(-1.15, 1.15)
    axes.set_ylim(-0.5, 1.02)
    axes.set_axis_off()


def _draw_track(axes: "Axes") -> None:
    axes.plot([-1, 1], [0, 0], color=GREY, lw=2, zorder=1)
    for end in (-1, 1):
        axes.plot([end, end], [-0.06, 0.14], color=INK, lw=3, solid_capstyle="butt", zorder=1)


def _draw_cone(axes: "Axes", x: float, pivot: float, limit: float) -> None:
    reach = _POLE * 1.12
    for side in (-limit, limit):
        tip = (x + reach * math.sin(side), pivot + reach * math.cos(side))
        axes.plot([x, tip[0]], [pivot, tip[1]], color=FAINT, lw=1.2, ls="--", zorder=1)


def _draw_cart(axes: "Axes", x: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(
        FancyBboxPatch(
            (x - _CART_WIDTH / 2 + 0.02, 0.02),
            _CART_WIDTH - 0.04,
            _CART_HEIGHT - 0.04,
            boxstyle="round,pad=0.02",
            facecolor=INK,
            lw=0,
            zorder=2,
        )
    )


def _draw_arrow(
    axes: "Axes", tail: tuple[float, float], vector: tuple[float, float], colour: str
) -> None:
    from matplotlib.patches import FancyArrowPatch

    if math.hypot(*vector) < 0.04:
        return
    axes.add_patch(
        FancyArrowPatch(
            tail,
            tuple(np.add(tail, vector)),
            arrowstyle="-|>",
            mutation_scale=12,
            lw=2,
            color=colour,
            shrinkA=0,
            shrinkB=0,
            zorder=4,
        )
    )


def _draw_readings(axes: "Axes", environment: "VelocityOnlyCartPole", episode: "Episode") -> None:
    position, velocity, angle, angular_velocity = (float(part) for part in episode.states[-1])
    seen = f"cart {velocity:+.2f}   pole {math.degrees(angular_velocity):+.0f}°/s"
    hidden = f"cart at {position:+.2f}   pole at {math.degrees(angle):+.1f}°"
    rows = [("seen", seen, BLUE), ("hidden", hidden, GREY)]
    if episode.actions:
        rows.append(("push", environment.action_names[episode.actions[-1]], ORANGE))
    for row, (label, reading, colour) in enumerate(rows):
        y = -0.27 - 0.095 * row
        axes.text(-1, y, label, fontsize=8.5, color=colour, fontweight="bold")
        axes.text(-0.69, y, reading, fontsize=8.5, color=colour)
