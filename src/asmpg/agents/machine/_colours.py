"""Colours of actions: those of the environments' pictures, which the colour-blind tell apart."""

#: Fill and ink, after Okabe and Ito.
_PAIRS = (
    ("#0072b2", "#ffffff"),
    ("#e69f00", "#000000"),
    ("#009e73", "#ffffff"),
    ("#d55e00", "#ffffff"),
    ("#56b4e9", "#000000"),
    ("#cc79a7", "#000000"),
    ("#f0e442", "#000000"),
    ("#000000", "#ffffff"),
)


def action_colour(action: int) -> tuple[str, str]:
    """The fill of a state that plays `action`, and the ink that can be read on it."""
    return _PAIRS[action % len(_PAIRS)]
