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


def number_of_states(environment: str, given: int | None, *, option: str = "num_states") -> int:
    """`given`, or the paper's number for one of its environments."""
    if given is not None:
        return given
    if environment not in PAPER_SIZES:
        raise ValueError(
            f"{option} must be given for {environment}: "
            f"the paper has a number for {', '.join(PAPER_SIZES)} only"
        )
    return PAPER_SIZES[environment].num_states
