"""Small controllers with known values, as kernel tables."""

import numpy as np

from asmpg.policies import KernelTables


def cheese_maze_controller() -> KernelTables:
    """Four states that play their own direction and reach the history optimum."""
    north, south, east, west = range(4)
    fixed = {0: east, 3: west, 2: south, 5: north, 6: north}

    def update(state, action, observation):
        if observation == 1:
            return action if action in (east, west) else east
        if observation == 4:
            return south if state == south else north
        return fixed[observation]

    first = [update(None, None, observation) for observation in range(7)]
    table = [[[update(s, a, o) for o in range(7)] for a in range(4)] for s in range(4)]
    return KernelTables.deterministic(
        start=first, update=table, control=np.arange(4), num_actions=4
    )


def hallway_controller() -> KernelTables:
    """Four states that play their own direction and reach the history optimum."""
    north, east, south, west = range(4)
    fixed = {9: east, 3: east, 12: west, 6: west, 8: south, 2: north, 5: north}
    start = [fixed.get(observation, north) for observation in range(16)]
    table = [[[fixed.get(o, s) for o in range(16)] for _ in range(4)] for s in range(4)]
    return KernelTables.deterministic(
        start=start, update=table, control=np.arange(4), num_actions=4
    )


def machine_repair_controller(continue_states: int = 4) -> KernelTables:
    """Repair when degraded, and after `continue_states` healthy steps in a row."""
    repair = continue_states

    def update(state, observation):
        if observation == 1:
            return repair
        return 0 if state == repair else state + 1

    states = range(continue_states + 1)
    table = [[[update(s, o) for o in range(2)] for _ in range(2)] for s in states]
    control = [0] * continue_states + [1]
    return KernelTables.deterministic(
        start=[0, repair], update=table, control=control, num_actions=2
    )
