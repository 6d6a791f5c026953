"""What the paper fixes for its experiments, besides the sizes that its environments declare."""

from asmpg.environments import PAPER_ENVIRONMENTS, paper_sizes

#: The seeds of the paper's ten runs.
PAPER_SEEDS = (1952, 5235, 8234, 8386, 1682, 3659, 9848, 9119, 6892, 9381)


def number_of_states(environment: str, given: int | None, *, option: str = "num_states") -> int:
    """`given`, or the paper's number for one of its environments."""
    if given is not None:
        return given
    paper = paper_sizes(environment)
    if paper is None:
        raise ValueError(
            f"{option} must be given for {environment}: "
            f"the paper has a number for {', '.join(PAPER_ENVIRONMENTS)} only"
        )
    return paper.num_states
