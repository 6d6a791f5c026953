"""Failures that are nobody's wrong usage."""


class CheckpointError(ValueError):
    """A checkpoint, or what lies beside it, is damaged, foreign or does not fit."""


class TrainingError(RuntimeError):
    """Training cannot continue."""
