"""The yardsticks of any environment that has a solver.

Those of the paper's environments were computed once for the default constants, and come with the
package.
"""

import dataclasses
import importlib.metadata
import json
import os
import re
import time
from importlib import resources
from pathlib import Path
from typing import Any

import jax
import numpy as np

from asmpg.environments import (
    PAPER_ENVIRONMENTS,
    AbstractFiniteEnvironment,
    Environment,
    make,
)
from asmpg.environments.healthcare_treatment import HealthcareTreatment
from asmpg.environments.popgym import POPGymTask
from asmpg.environments.velocity_only_cart_pole import VelocityOnlyCartPole
from asmpg.exact._cart_pole import cart_pole_yardsticks
from asmpg.exact._healthcare import (
    HealthcareEffort,
    ValuedTable,
    healthcare_yardsticks,
    solve_healthcare,
)
from asmpg.exact._point_based import value_bounds
from asmpg.exact._popgym import popgym_yardsticks
from asmpg.exact._sparse_process import SparseProcess
from asmpg.exact._yardsticks import Yardstick, Yardsticks, finite_yardsticks

_FILE = "reference_values.json"
_DISCOUNT = 0.99
#: How long bounds are tightened where the history optimum cannot be computed.
_BOUND_SECONDS = 10.0


def yardsticks(
    environment: Environment[Any], *, discount: float | None = None, recompute: bool = False
) -> Yardsticks:
    """What random, memoryless, history-dependent and all-seeing policies are worth.

    The discount is 0.99, or that of the file, where none is given.
    Finite models are solved, in seconds; where the beliefs of a POMDP file are too many, a lower
    and an upper bound stand for the history optimum. There are formulas for POPGym's tasks. The
    solvers of HealthcareTreatment and VelocityOnlyCartPole take minutes. What they say of the
    paper's environments with the default constants comes with the package; with other constants,
    or with `recompute`, they run.
    """
    if discount is None:
        discount = _DISCOUNT if environment.discount is None else environment.discount
    shipped = None if recompute else load_reference_values(environment, discount=discount)
    if shipped is not None:
        return shipped
    if isinstance(environment, AbstractFiniteEnvironment):
        found = finite_yardsticks(
            environment.model, horizon=environment.max_steps, discount=discount
        )
        if environment.discount is None or found.history_optimal is not None or discount == 1:
            return found
        return _bounded(environment, found, discount)
    if isinstance(environment, POPGymTask):
        return popgym_yardsticks(environment, discount=discount)
    if isinstance(environment, HealthcareTreatment):
        return healthcare_yardsticks(environment, discount=discount)
    if isinstance(environment, VelocityOnlyCartPole):
        return cart_pole_yardsticks(environment, discount=discount)
    raise ValueError(
        f"{environment.name} has no exact solver; build it from a FiniteModel to get yardsticks"
    )


def _bounded(
    environment: AbstractFiniteEnvironment, found: Yardsticks, discount: float
) -> Yardsticks:
    """With bounds on the history optimum: those of endless episodes, less what would follow."""
    bounds = value_bounds(environment.model, discount=discount, seconds=_BOUND_SECONDS)
    left = discount**environment.max_steps
    most = SparseProcess.of(environment.model, discount).full_state_values().max(initial=0.0)
    least = min(0.0, bounds.vectors.min(axis=1).max())
    lower, upper = bounds.lower - left * float(most), bounds.upper - left * float(least)
    note = f"point-based, {bounds.seconds:.0f} s"
    return dataclasses.replace(
        found,
        history_optimal=Yardstick(lower, None, kind="search", note=note),
        history_bound=Yardstick(upper, None, kind="bound", note=note),
    )


def load_reference_values(
    environment: Environment[Any], *, discount: float = _DISCOUNT
) -> Yardsticks | None:
    """The shipped yardsticks, or `None` if there are none for these options and this discount."""
    entry = _entry(environment, discount)
    return None if entry is None else _from_json(entry["yardsticks"])


def load_memoryless_tables(
    environment: HealthcareTreatment, *, discount: float = _DISCOUNT
) -> tuple[ValuedTable, ValuedTable] | None:
    """The shipped tables `pi(dose | bin of health)`, discounted and undiscounted, or `None`."""
    entry = _entry(environment, discount)
    if entry is None:
        return None
    first, second = (_table(table) for table in entry["memoryless_tables"])
    return first, second


def write_reference_values(
    path: str | Path,
    *,
    healthcare_effort: HealthcareEffort | None = None,
    cart_pole_episodes: int = 1_000_000,
) -> None:
    """Recompute the shipped file, for the default constants; takes minutes."""
    effort = healthcare_effort or HealthcareEffort(episodes=3_000_000)
    healthcare, cart_pole = HealthcareTreatment(), VelocityOnlyCartPole()
    started = time.perf_counter()
    solution = solve_healthcare(healthcare, discount=_DISCOUNT, effort=effort)
    healthcare_entry = {
        "options": healthcare.options(),
        "discount": _DISCOUNT,
        "yardsticks": dataclasses.asdict(solution.yardsticks),
        "provenance": _provenance(time.perf_counter() - started, dataclasses.asdict(effort)),
        "memoryless_tables": [
            {"value": table.value, "probability": table.probability.tolist()}
            for table in solution.tables
        ],
    }
    started = time.perf_counter()
    values = cart_pole_yardsticks(cart_pole, discount=_DISCOUNT, episodes=cart_pole_episodes)
    cart_pole_entry = {
        "options": cart_pole.options(),
        "discount": _DISCOUNT,
        "yardsticks": dataclasses.asdict(values),
        "provenance": _provenance(time.perf_counter() - started, {"episodes": cart_pole_episodes}),
    }
    entries = {"HealthcareTreatment": healthcare_entry, "VelocityOnlyCartPole": cart_pole_entry}
    for environment in map(make, PAPER_ENVIRONMENTS):
        if isinstance(environment, AbstractFiniteEnvironment):
            started = time.perf_counter()
            values = yardsticks(environment, discount=_DISCOUNT, recompute=True)
            entries[environment.name] = {
                "options": environment.options(),
                "discount": _DISCOUNT,
                "yardsticks": dataclasses.asdict(values),
                "provenance": _provenance(time.perf_counter() - started, {}),
            }
    text = json.dumps(entries, indent=2, ensure_ascii=False)
    # One line for a list of numbers.
    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda row: f"[{' '.join(row[1].split())}]", text)
    Path(path).write_text(text + "\n", encoding="utf-8")


def _entry(environment: Environment[Any], discount: float) -> dict[str, Any] | None:
    if not type(environment).__module__.startswith("asmpg.environments."):
        return None
    text = resources.files("asmpg.exact").joinpath(_FILE).read_text(encoding="utf-8")
    entry = json.loads(text).get(type(environment).__name__)
    if entry is None or entry["discount"] != discount:
        return None
    options = json.loads(json.dumps(environment.options()))
    return entry if options == entry["options"] else None


def _from_json(entry: dict[str, Any]) -> Yardsticks:
    def read(values: dict[str, Any]) -> Yardstick:
        error = values.pop("standard_error")
        return Yardstick(**values, standard_error=error and (error[0], error[1]))

    return Yardsticks(**{name: values and read(values) for name, values in entry.items()})


def _table(entry: dict[str, Any]) -> ValuedTable:
    return ValuedTable(entry["value"], np.asarray(entry["probability"]))


def _provenance(wall_seconds: float, effort: dict[str, int]) -> dict[str, Any]:
    return {
        "asmpg": importlib.metadata.version("asmpg"),
        "jax": jax.__version__,
        "platform": jax.default_backend(),
        "cores": os.cpu_count(),
        "wall_seconds": round(wall_seconds, 1),
        "effort": effort,
    }
