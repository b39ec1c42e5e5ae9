"""The way back from what was done in a live container."""

from __future__ import annotations

from oci_udev_hook.errors import ConfigurationError
from oci_udev_hook.injection.undo import UndoLog


def test_the_way_back_is_gone_to_its_end() -> None:
    """Last step first; what bars one is told with the step's name, and none is gone twice."""
    gone: list[str] = []
    barriers = [ConfigurationError("the cgroup is busy"), OSError(16, "Device or resource busy"), OSError("odd"), ValueError("a fault")]

    def barred(error: Exception) -> None:
        raise error

    undo = UndoLog()
    undo.add("the folder /dev/a", lambda: gone.append("first"))
    for number, barrier in enumerate(barriers):
        undo.add(f"the node /dev/{number}", lambda barrier=barrier: barred(barrier))
    undo.add("the node /dev/a/b", lambda: gone.append("last"))

    assert undo.take_back() == (
        "not taken back: the node /dev/3 (ValueError: a fault)",
        "not taken back: the node /dev/2 (OSError: odd)",
        "not taken back: the node /dev/1 (Device or resource busy)",
        "not taken back: the node /dev/0 (the cgroup is busy)",
    )
    assert gone == ["last", "first"]
    assert (undo.take_back(), gone) == ((), ["last", "first"])
