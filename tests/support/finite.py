"""Finite environments by name, with their model in reach, and what policies are worth in them."""

from asmpg.environments import AbstractFiniteEnvironment, make

#: Discounted, undiscounted, reward per step; 200 steps at most and a discount of 0.99.
REFERENCE_VALUES = {
    "CheeseMaze": {
        "random": (0.515299, 0.868807, 0.010463),
        "memoryless_deterministic": (0.394040, 0.4, 0.003306),
        "memoryless": (0.933156, 1.0, 0.124536),
        "history_optimal": (0.967457, 1.0, 0.232558),
        "full_state": (0.971397, 1.0, 0.256410),
    },
    "HallwayNavigation": {
        "random": (-23.497552, -39.117090, -0.479092),
        "memoryless_deterministic": (-2.089245, -7.675, -0.075061),
        "memoryless": (3.66586, 4.05, 0.385714),
        "history_optimal": (4.481713, 4.65, 1.033333),
        "full_state": (4.481713, 4.65, 1.033333),
    },
    "MachineRepair": {
        "random": (-5.358243, -13.239323, -13.239323 / 200),
        "memoryless_deterministic": (17.306173, 31.698498, 31.698498 / 200),
        "memoryless": (30.128219, 66.608161, 66.608161 / 200),
        "history_optimal": (49.833931, 114.740492, 114.740492 / 200),
        "full_state": (49.833931, 114.740492, 114.740492 / 200),
    },
}


def make_finite(name: str, **options) -> AbstractFiniteEnvironment:
    """Build the environment `name`, which must have a finite model."""
    environment = make(name, **options)
    assert isinstance(environment, AbstractFiniteEnvironment)
    return environment
