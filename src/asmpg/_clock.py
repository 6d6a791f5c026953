"""Times for people."""


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
