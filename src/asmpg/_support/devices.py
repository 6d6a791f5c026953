"""Which device jax computes on."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import jax


def named_device(given: Any) -> Any:
    """The device that `cpu`, `gpu`, `cuda:0` or the like stands for; a `ValueError` if none does.

    A device of jax's is what it is.
    """
    if isinstance(given, jax.Device):
        return given
    parts = re.fullmatch(r"([a-z]+)(?::(\d{1,4}))?", given) if isinstance(given, str) else None
    if parts is not None:
        # What jax raises for kinds of devices that it does not find, or does not know.
        with contextlib.suppress(RuntimeError):
            found = jax.devices(parts[1])
            number = int(parts[2] or 0)
            if number < len(found):
                return found[number]
    every = [
        device
        for kind in dict.fromkeys((jax.default_backend(), "cpu"))
        for device in jax.devices(kind)
    ]
    names = ", ".join(dict.fromkeys(f"{device.platform}:{device.id}" for device in every))
    raise ValueError(
        f"device must be None or one that jax finds here, {names}, got {given!r}; for GPUs, "
        'pip install "jax[cuda13]"'
    )


@contextlib.contextmanager
def on_device(given: Any) -> Iterator[None]:
    """Compute on a device, in all threads; on the one that jax prefers if `None`."""
    if given is None:
        yield
        return
    # Not jax.default_device, which is of this thread alone.
    before = _chosen()
    jax.config.update("jax_default_device", named_device(given))
    try:
        yield
    finally:
        jax.config.update("jax_default_device", before)


def current_device() -> Any:
    """The device that jax computes on now."""
    chosen = _chosen()
    if chosen is None:
        return jax.devices()[0]
    return jax.devices(chosen)[0] if isinstance(chosen, str) else chosen


def all_devices() -> list[Any]:
    """Those that this process may compute on: the one that was chosen, else all that it sees."""
    return jax.local_devices() if _chosen() is None else [current_device()]


def _chosen() -> Any:
    # Not known to type checkers: jax makes it at run time.
    return getattr(jax.config, "jax_default_device")  # noqa: B009
