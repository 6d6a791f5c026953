"""Shapes and types are checked while testing: jaxtyping annotations, enforced by beartype."""

import pytest
from jaxtyping import config, install_import_hook

install_import_hook("asmpg", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")


@pytest.fixture
def as_user():
    """Switch the checks off, as they are for users: wrong types must meet our own messages."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
