"""Which tests are quick."""

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
