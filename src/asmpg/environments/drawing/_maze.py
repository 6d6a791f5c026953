"""Mazes, seen from above."""

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg.environments._maze import AbstractMaze
from asmpg.environments.drawing._style import BLUE, GREY, INK, RED, draw_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asmpg.environments._environment import Environment
    from asmpg.environments._episode import Episode

Position = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class MazeMap:
    """Cells by index: position, what is observed there and its name, start or goal; the moves."""

    cells: tuple[Position, ...]
    moves: tuple[Position, ...]
    observations: tuple[int, ...]
    names: tuple[str, ...]
    starts: frozenset[int]
    goals: frozenset[int]

    @property
    def width(self) -> int:
        """Columns of the smallest grid that holds all cells."""
        return 1 + max(x for x, _ in self.cells)

    @property
    def height(self) -> int:
        """Rows of the smallest grid that holds all cells."""
        return 1 + max(y for _, y in self.cells)


def maze_map(environment: "Environment[Any]") -> MazeMap | None:
    """The plan of `environment`, if it is a maze."""
    if not isinstance(environment, AbstractMaze):
        return None
    model = environment.model
    observations = tuple(model.start_observation.argmax(axis=-1).tolist())
    return MazeMap(
        cells=environment.cells,
        moves=environment.moves,
        observations=observations,
        names=tuple(environment.observation_names[symbol] for symbol in observations),
        starts=frozenset(np.flatnonzero(model.start).tolist()),
        goals=frozenset(np.flatnonzero(model.terminal).tolist()),
    )


_WALL, _FLOOR, _START, _GOAL, _STAR = "#59636e", "#ffffff", "#e2eff9", "#fff3b8", "#e0a800"
_MARGIN = 0.25
_AGENT_RADIUS = 0.25
_PATH_STEPS = 40
#: As many letters as fit into a cell of a maze of so many columns.
_LONGEST_NAME, _MOST_NAMED_COLUMNS = 10, 6


def draw_maze(axes: "Axes", environment: "Environment[Any]", episode: "Episode") -> None:
    """Cells with their observations, starts in blue, the goal starred; the agent and its path.

    Observations are named where there is room for it, else numbered. The arrow is the last action;
    red, if it ran into a wall.
    """
    maze = maze_map(environment)
    if maze is None:
        raise ValueError(f"environment must be a maze, got {environment.name}")
    draw_title(axes, environment, episode)
    _draw_plan(axes, maze)
    cells = [int(state) for state in episode.states]
    _draw_path(axes, maze, cells)
    _draw_agent(axes, maze, cells, episode.actions)
    axes.set_aspect("equal")
    axes.set_xlim(-0.5 - _MARGIN, maze.width - 0.5 + _MARGIN)
    axes.set_ylim(-0.5 - _MARGIN, maze.height - 0.5 + _MARGIN)
    axes.set_axis_off()


def _draw_plan(axes: "Axes", maze: MazeMap) -> None:
    from matplotlib.patches import Polygon, Rectangle

    size = (maze.width + 2 * _MARGIN, maze.height + 2 * _MARGIN)
    axes.add_patch(Rectangle((-0.5 - _MARGIN, -0.5 - _MARGIN), *size, color=_WALL, lw=0))
    longest = max(len(name) for name in maze.names)
    named = maze.width <= _MOST_NAMED_COLUMNS and longest <= _LONGEST_NAME
    labels = maze.names if named else [str(symbol) for symbol in maze.observations]
    for cell, (x, y) in enumerate(maze.cells):
        colour = _GOAL if cell in maze.goals else _START if cell in maze.starts else _FLOOR
        axes.add_patch(
            Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="#c3c9d0", lw=0.6)
        )
        axes.text(x - 0.42, y + 0.42, labels[cell], fontsize=8, color=GREY, va="top")
        if cell in maze.goals:
            axes.add_patch(Polygon(_star((x, y), 0.26), color=_STAR, lw=0, zorder=6))


def _star(centre: tuple[float, float], radius: float) -> np.ndarray:
    angles = np.pi / 2 + np.arange(10) * np.pi / 5
    radii = np.where(np.arange(10) % 2, 0.42 * radius, radius)
    return np.asarray(centre) + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], -1)


def _draw_path(axes: "Axes", maze: MazeMap, cells: list[int]) -> None:
    from matplotlib.collections import LineCollection

    points = [maze.cells[cell] for cell in cells[-_PATH_STEPS - 1 :]]
    segments = list(itertools.pairwise(points))
    colours = [(BLUE, alpha) for alpha in np.linspace(0.1, 0.8, len(segments)) ** 1.5]
    axes.add_collection(LineCollection(segments, colors=colours, linewidths=3))


def _draw_agent(axes: "Axes", maze: MazeMap, cells: list[int], actions: list[int]) -> None:
    from matplotlib.patches import Circle, FancyArrowPatch

    if actions:
        (x, y), (dx, dy) = maze.cells[cells[-2]], maze.moves[actions[-1]]
        bumped = cells[-1] == cells[-2]
        tail, head = (_AGENT_RADIUS, 0.62) if bumped else (0.1, 1 - _AGENT_RADIUS)
        axes.add_patch(
            FancyArrowPatch(
                (x + tail * dx, y + tail * dy),
                (x + head * dx, y + head * dy),
                arrowstyle="-|>",
                mutation_scale=13,
                lw=2,
                color=RED if bumped else INK,
                shrinkA=0,
                shrinkB=0,
                zorder=4,
            )
        )
    here = maze.cells[cells[-1]]
    axes.add_patch(Circle(here, _AGENT_RADIUS, facecolor=BLUE, edgecolor="white", lw=1.5, zorder=5))
