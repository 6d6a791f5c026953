"""Times and numbers of things, as people say them."""


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def counted(number: int, word: str) -> str:
    """`1 seed`, `3 seeds`, `10,000 steps`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
