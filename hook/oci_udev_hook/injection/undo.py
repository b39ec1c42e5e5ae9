"""The way back from what was done in a live container."""

from __future__ import annotations

from ..errors import HookError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class UndoLog:
    """What takes back each step that was done, in the order in which they were done."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, Callable[[], None]]] = []

    def add(self, what: str, way_back: Callable[[], None]) -> None:
        """WAY_BACK takes away WHAT, a noun phrase that names its place; it may raise OSError or HookError."""
        self.steps.append((what, way_back))

    def take_back(self) -> tuple[str, ...]:
        """Go the way back, last step first, to its end; the log is empty then. Sentences on what could not be taken back."""
        faults = []
        while self.steps:
            what, way_back = self.steps.pop()
            try:
                way_back()
            except Exception as error:  # noqa: BLE001 — the other steps are taken back all the same, and the first fault is the one to tell
                faults.append(f"not taken back: {what} ({_why(error)})")
        return tuple(faults)


def _why(error: Exception) -> str:
    """What stands in a way, in words."""
    if isinstance(error, HookError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"
