"""Reinforcement learning with a learned, finite memory."""

__version__ = "0.1.0"
