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

#: Files that take longest, handed out first: one of them at the end would leave the other cores
#: idle.
LONG = (
    "promises/test_docs.py",
    "training/test_host_training.py",
    "methods/test_ppo.py",
    "distillation/test_distil.py",
    "policies/test_window.py",
    "analysis/test_study_report.py",
    "exact/test_real_yardsticks.py",
    "commands/test_cli_distil.py",
    "studies/test_study_runner.py",
    "studies/test_engines.py",
    "methods/test_readings.py",
    "policies/test_heads.py",
    "distillation/test_other_actions.py",
    "exact/test_infinite_horizon.py",
    "promises/test_objects.py",
)


def long(*values, id=None):
    """A case for `make test-long`: what it tries is tried by another one all the time."""
    return pytest.param(*values, id=id, marks=pytest.mark.long)
