"""`asmpg check`: whether an environment fits, how fast it is, and whether memory helps."""

import json
from collections.abc import Sequence

from rich.console import Console

from asmpg.analysis.check import check as check
from asmpg.commands._options import read_options


def show(
    environment: str,
    *,
    seconds: float,
    num_states: int,
    as_json: bool,
    environment_option: Sequence[str],
) -> None:
    """Check an environment and print the report; here, one that does not fit is an error."""
    options = read_options("environment-option", environment_option)
    with Console(stderr=True).status(f"Checking {environment}"):
        report = check(
            environment, seconds=seconds, num_states=num_states, environment_options=options
        )
    if not report.fits:
        raise ValueError(str(report))
    print(json.dumps(report.to_dict(), indent=2) if as_json else report)
