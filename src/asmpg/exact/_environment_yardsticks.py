"""The yardsticks of any environment that has a solver."""

from typing import Any

from asmpg.environments import AbstractFiniteEnvironment, Environment
from asmpg.environments.healthcare_treatment import HealthcareTreatment
from asmpg.environments.velocity_only_cart_pole import VelocityOnlyCartPole
from asmpg.exact._cart_pole import cart_pole_yardsticks
from asmpg.exact._finite_yardsticks import finite_yardsticks
from asmpg.exact._healthcare import healthcare_yardsticks
from asmpg.exact._reference_values import load_reference_values
from asmpg.exact._yardsticks import Yardsticks


def yardsticks(
    environment: Environment[Any], *, discount: float = 0.99, recompute: bool = False
) -> Yardsticks:
    """What random, memoryless, history-dependent and all-seeing policies are worth.

    Finite models are solved on the spot. The solvers of HealthcareTreatment and
    VelocityOnlyCartPole take minutes, so their results for the default constants come with the
    package; with other constants, or with `recompute`, they run.
    """
    if isinstance(environment, AbstractFiniteEnvironment):
        return finite_yardsticks(
            environment.model, horizon=environment.max_steps, discount=discount
        )
    if not recompute:
        shipped = load_reference_values(environment, discount=discount)
        if shipped is not None:
            return shipped
    if isinstance(environment, HealthcareTreatment):
        return healthcare_yardsticks(environment, discount=discount)
    if isinstance(environment, VelocityOnlyCartPole):
        return cart_pole_yardsticks(environment, discount=discount)
    raise ValueError(
        f"{environment.name} has no exact solver; build it from a FiniteModel to get yardsticks"
    )
