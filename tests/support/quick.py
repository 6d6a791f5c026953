"""Which tests are quick, and which take longest."""

import pytest

#: What `make check` runs: files that take seconds, from every floor of the house.
QUICK = (
    "environments/test_registry.py",
    "environments/test_finite_model.py",
    "policies/test_policies.py",
    "policies/test_filter.py",
    "runs/test_checkpoint.py",
    "studies/test_study_files.py",
    "analysis/test_study_statistics.py",
    "promises/test_rooms.py",
)

#: Files that take half a minute and more, handed out first: one of them at the end would leave the
#: other cores idle.
LONG = (
    "training/test_host_training.py",
    "promises/test_docs.py",
    "exact/test_real_yardsticks.py",
    "theory/test_verify.py",
    "policies/test_window.py",
    "promises/test_examples.py",
    "methods/test_ppo.py",
    "agents/test_export.py",
    "studies/test_engines.py",
    "studies/test_study_runner.py",
    "promises/test_objects.py",
    "agents/test_machine.py",
)


def long(*values, id=None):
    """A case for `make test-long`: what it tries is tried by another one all the time."""
    return pytest.param(*values, id=id, marks=pytest.mark.long)
