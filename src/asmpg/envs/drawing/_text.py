"""An episode as text, for terminals."""

from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg.envs.drawing._maze_map import MazeMap, maze_map
from asmpg.envs.drawing._style import ending_of, status

if TYPE_CHECKING:
    from asmpg.envs._environment import Environment
    from asmpg.envs._episode import Episode


def text(environment: "Environment[Any]", episode: "Episode") -> str:
    """Where `episode` stands, in a few lines; a maze comes with its map.

    On the map `@` is the agent, `G` the goal, `#` a wall.
    """
    maze = maze_map(environment)
    lines = [f"{environment.name}   {status(environment, episode)}"]
    if maze is not None:
        lines += _map_lines(maze, int(episode.states[-1]))
    lines.append(f"state: {environment.describe_state(episode.states[-1])}")
    lines.append(f"observation: {_observation(episode.observations[-1])}")
    if episode.actions:
        lines.append(f"last action: {environment.action_names[episode.actions[-1]]}")
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


def _observation(observation: np.ndarray) -> str:
    return " ".join(f"{value:.4g}" for value in np.ravel(observation).tolist())
