"""Finite environments by name, with their model in reach."""

from asmpg.environments import AbstractFiniteEnvironment, make


def make_finite(name: str, **options) -> AbstractFiniteEnvironment:
    """Build the environment `name`, which must have a finite model."""
    environment = make(name, **options)
    assert isinstance(environment, AbstractFiniteEnvironment)
    return environment
