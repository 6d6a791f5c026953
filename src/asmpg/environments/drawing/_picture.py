"""An episode as a picture, or as text."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import UInt8

from asmpg._support.checks import check_integer
from asmpg.environments.drawing._maze import MazeMap, maze_map
from asmpg.environments.drawing._style import ending_of, status

if TYPE_CHECKING:
    from asmpg.environments._environment import Environment
    from asmpg.environments._episode import Episode

#: The size that the drawings are laid out for; others are scaled.
_WIDTH, _HEIGHT, _DOTS_PER_INCH = 480, 360, 100


def picture(
    environment: "Environment[Any]", episode: "Episode", size: tuple[int, int] = (640, 480)
) -> UInt8[np.ndarray, "height width 3"]:
    """What `environment.draw` draws; `size` is width and height in pixels."""
    width = check_integer("size[0]", size[0], low=16)
    height = check_integer("size[1]", size[1], low=16)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise ImportError("matplotlib is needed to draw: pip install matplotlib") from error
    dots = _DOTS_PER_INCH * min(width / _WIDTH, height / _HEIGHT)
    # A tenth of a pixel more, for the canvas rounds down.
    inches = ((width + 0.1) / dots, (height + 0.1) / dots)
    figure = Figure(figsize=inches, dpi=dots, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))
    canvas = FigureCanvasAgg(figure)
    environment.draw(figure.add_subplot(), episode)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[:, :, :3].copy()


def text(environment: "Environment[Any]", episode: "Episode") -> str:
    """The current state of `episode` in a few lines; a maze comes with its map.

    On the map `@` is the agent, `G` the goal, `#` a wall.
    """
    maze = maze_map(environment)
    lines = [f"{environment.name}   {status(environment, episode)}"]
    if maze is not None:
        lines += _map_lines(maze, int(episode.states[-1]))
    lines.append(f"state: {environment.describe_state(episode.states[-1])}")
    seen = environment.describe_observation(episode.observations[-1])
    lines.append(f"observation: {seen}")
    if episode.actions:
        lines.append(f"last action: {environment.describe_action(episode.actions[-1])}")
    if ending := ending_of(episode):
        lines.append(ending)
    return "\n".join(lines) + "\n"


def _map_lines(maze: MazeMap, agent: int) -> list[str]:
    symbols = np.full((maze.height + 2, maze.width + 2), "#")
    for cell, (x, y) in enumerate(maze.cells):
        symbols[maze.height - y, x + 1] = "G" if cell in maze.goals else "."
    x, y = maze.cells[agent]
    symbols[maze.height - y, x + 1] = "@"
    return [" ".join(row) for row in symbols]
