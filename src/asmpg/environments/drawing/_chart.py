"""A chart of any episode."""

from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg.environments._spaces import Discrete
from asmpg.environments.drawing._style import (
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    RED,
    draw_title,
    marker_size,
    style_time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asmpg.environments._environment import Environment
    from asmpg.environments._episode import Episode

#: More components or actions than this are not named one by one.
_MOST_NAMES = 6


def draw_chart(axes: "Axes", environment: "Environment[Any]", episode: "Episode") -> None:
    """Observations, actions and rewards over time, one above the other."""
    draw_title(axes, environment, episode)
    axes.set_axis_off()
    panels = {
        "observation": axes.inset_axes((0, 0.57, 1, 0.37)),
        "action": axes.inset_axes((0, 0.28, 1, 0.21)),
        "reward": axes.inset_axes((0, 0.0, 1, 0.2)),
    }
    for name, panel in panels.items():
        style_time_axis(panel, environment, episode)
        panel.tick_params(labelbottom=name == "reward")
        panel.set_title(name, loc="left", fontsize=8.5, color=GREY, pad=2)
    _draw_observations(panels["observation"], environment, episode)
    _draw_actions(panels["action"], environment, episode)
    _draw_rewards(panels["reward"], episode)


def _draw_observations(axes: "Axes", environment: "Environment[Any]", episode: "Episode") -> None:
    from matplotlib.ticker import MaxNLocator

    values = np.stack([np.ravel(observation) for observation in episode.observations])
    if isinstance(environment.observation_space, Discrete):
        size, count = marker_size(environment, episode), environment.observation_space.n
        axes.plot(values, color=BLUE, lw=0.8, drawstyle="steps-mid", marker="o", markersize=size)
        axes.set_ylim(-0.5 - 0.03 * count, 1.03 * count - 0.5)
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        return
    marker = "" if episode.actions else "o"
    lines = [
        axes.plot(column, marker=marker, color=COLOURS[i % len(COLOURS)], label=f"{i + 1}")
        for i, column in enumerate(values.T)
    ]
    axes.yaxis.set_major_locator(MaxNLocator(4))
    if 1 < len(lines) <= _MOST_NAMES:
        axes.legend(loc="upper right", fontsize=7.5, ncols=3, framealpha=0.7)


def _draw_actions(axes: "Axes", environment: "Environment[Any]", episode: "Episode") -> None:
    from matplotlib.ticker import MaxNLocator

    names = environment.action_names
    if not isinstance(environment.action_space, Discrete):
        for i, column in enumerate(zip(*map(np.ravel, episode.actions), strict=True)):
            axes.plot(column, color=COLOURS[i % len(COLOURS)], drawstyle="steps-mid")
        axes.yaxis.set_major_locator(MaxNLocator(4))
        return
    count = len(names)
    colours = [COLOURS[action % len(COLOURS)] for action in episode.actions]
    axes.scatter(
        range(episode.steps), episode.actions, c=colours, marker="|", s=160 / max(4, count)
    )
    axes.set_ylim(count - 0.4, -0.6)
    if count <= _MOST_NAMES:
        axes.set_yticks(range(count), names)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))


def _draw_rewards(axes: "Axes", episode: "Episode") -> None:
    from matplotlib.ticker import MaxNLocator

    colours = [GREEN if reward >= 0 else RED for reward in episode.rewards]
    axes.bar(range(episode.steps), episode.rewards, width=0.8, color=colours)
    axes.axhline(0, color=GREY, lw=0.6)
    low, high = min([0.0, *episode.rewards]), max([0.0, *episode.rewards])
    room = 0.1 * (high - low) or 1.0
    axes.set_ylim(low - room, high + room)
    axes.yaxis.set_major_locator(MaxNLocator(3))
