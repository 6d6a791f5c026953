"""The way to Gymnasium, for a package that can do without it.

Nothing here imports jax, and Gymnasium is imported where it is found only.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asmpg.environments import Environment
    from asmpg.interop.adapters import GymnasiumEnv, GymnasiumVectorEnv

_ADAPTERS = "asmpg.interop.adapters"
_BUILT_IN = (
    "CheeseMaze",
    "HallwayNavigation",
    "HealthcareTreatment",
    "MachineRepair",
    "VelocityOnlyCartPole",
)


def register_with_gymnasium() -> None:
    """Make `gymnasium.make` and `make_vec` know our environments, if Gymnasium is installed.

    The ids are `asmpg/CheeseMaze-v0` and so on, and `asmpg/Environment-v0`, which builds whatever
    its argument `environment` names. Calling this again changes nothing.
    """
    try:
        import gymnasium
    except ImportError:
        return
    arguments = {name: {"environment": name} for name in _BUILT_IN} | {"Environment": {}}
    for name, keywords in arguments.items():
        if f"asmpg/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"asmpg/{name}-v0",
                entry_point=f"{_ADAPTERS}:GymnasiumEnv",
                vector_entry_point=f"{_ADAPTERS}:GymnasiumVectorEnv",
                kwargs=keywords,
            )


def to_gymnasium(
    environment: "Environment[Any] | str", *, render_mode: str | None = None, **options: Any
) -> "GymnasiumEnv":
    """Wrap an environment, or the one that `make(environment, **options)` builds, for Gymnasium.

    >>> env = asmpg.to_gymnasium("CheeseMaze", render_mode="ansi", max_steps=100)
    """
    from asmpg.interop.adapters import GymnasiumEnv

    return GymnasiumEnv(environment, render_mode=render_mode, **options)


def to_gymnasium_vector(
    environment: "Environment[Any] | str",
    *,
    num_envs: int = 1,
    render_mode: str | None = None,
    autoreset_mode: Any = "NextStep",
    **options: Any,
) -> "GymnasiumVectorEnv":
    """Wrap `num_envs` copies, stepped together, for Gymnasium.

    >>> envs = asmpg.to_gymnasium_vector("CheeseMaze", num_envs=16, autoreset_mode="SameStep")
    """
    from asmpg.interop.adapters import GymnasiumVectorEnv

    return GymnasiumVectorEnv(
        environment,
        num_envs=num_envs,
        render_mode=render_mode,
        autoreset_mode=autoreset_mode,
        **options,
    )
