"""Progress of distilling for people: live in a terminal, a line for each round elsewhere."""

import types

from rich.console import Console

from asmpg.distillation._fit import Fitted


class DistilProgress:
    """What is being done, on standard error."""

    def __init__(self, title: str, *, wanted: bool):
        """`title` says which student it is."""
        self._title = title
        self._console = Console(stderr=True, quiet=not wanted)
        self._status = self._console.status(title)

    def __enter__(self) -> "DistilProgress":
        self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self._status.stop()

    def doing(self, what: str) -> None:
        """For a moment."""
        self._status.update(f"{self._title}: {what}")

    def done(self, what: str) -> None:
        """For good."""
        self._console.print(f"{self._title}: {what}", highlight=False, soft_wrap=True)


def closeness(fitted: Fitted) -> str:
    """In words."""
    words = f"held-out cross-entropy {fitted.cross_entropy:.4f} nats per step"
    if fitted.kl is not None:
        words = f"held-out KL {fitted.kl:.4f} nats per step"
    if fitted.agreement is not None:
        words += f", {100 * fitted.agreement:.1f} % the teacher's most probable action"
    return words
