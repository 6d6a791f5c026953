"""Our environments as Gymnasium environments, in one call."""

from typing import TYPE_CHECKING, Any

from asmpg.environments import Environment

if TYPE_CHECKING:
    from asmpg.interop.adapters import GymnasiumEnv, GymnasiumVectorEnv


def to_gymnasium(
    environment: Environment[Any] | str, *, render_mode: str | None = None, **options: Any
) -> "GymnasiumEnv":
    """Wrap an environment, or the one that `make(environment, **options)` builds, for Gymnasium.

    >>> env = asmpg.to_gymnasium("CheeseMaze", render_mode="ansi", max_steps=100)
    """
    return _adapters().GymnasiumEnv(environment, render_mode=render_mode, **options)


def to_gymnasium_vector(
    environment: Environment[Any] | str,
    *,
    num_envs: int = 1,
    render_mode: str | None = None,
    autoreset_mode: Any = "NextStep",
    **options: Any,
) -> "GymnasiumVectorEnv":
    """Wrap `num_envs` copies, stepped together, for Gymnasium.

    >>> envs = asmpg.to_gymnasium_vector("CheeseMaze", num_envs=16, autoreset_mode="SameStep")
    """
    return _adapters().GymnasiumVectorEnv(
        environment,
        num_envs=num_envs,
        render_mode=render_mode,
        autoreset_mode=autoreset_mode,
        **options,
    )


def _adapters() -> Any:
    try:
        from asmpg.interop import adapters
    except ImportError as error:
        raise ImportError("the adapters need Gymnasium: pip install gymnasium") from error
    return adapters
