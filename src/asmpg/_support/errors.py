"""Failures other than wrong usage."""


class CheckpointError(ValueError):
    """A checkpoint, or a file beside it, is damaged, foreign or does not fit."""


class TrainingError(RuntimeError):
    """Training cannot continue."""


class NotFiniteError(TrainingError):
    """A reward, an observation or a gradient is not a finite number.

    `run` is the place of the run it happened in, among those that were trained together.
    """

    def __init__(self, message: str, run: int):
        super().__init__(message)
        self.run = run
