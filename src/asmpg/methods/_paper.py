"""What the paper fixes for its experiments."""

from typing import NamedTuple

#: The seeds of the paper's ten runs.
PAPER_SEEDS = (1952, 5235, 8234, 8386, 1682, 3659, 9848, 9119, 6892, 9381)


class Sizes(NamedTuple):
    """Number of agent states and base hidden width `d_h`."""

    num_states: int
    hidden: int


#: The paper's Table 1.
PAPER_SIZES = {
    "CheeseMaze": Sizes(8, 128),
    "HallwayNavigation": Sizes(8, 64),
    "HealthcareTreatment": Sizes(3, 64),
    "MachineRepair": Sizes(8, 64),
    "VelocityOnlyCartPole": Sizes(4, 128),
}
