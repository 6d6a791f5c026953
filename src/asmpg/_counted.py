"""Numbers of things, as people say them."""


def counted(number: int, word: str) -> str:
    """`1 seed`, `3 seeds`, `10,000 steps`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
