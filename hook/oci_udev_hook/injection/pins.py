"""The device program that systemd attaches to a scope anew at each reload, from where its runtime has pinned it (`BPFProgram=`)."""

from __future__ import annotations

import os

from ..errors import ConfigurationError
from . import filters, programs
from .attached import refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..edit import CgroupRule
    from .rules import DeviceRule
    from .undo import UndoLog


def repin(pin: str, rules: tuple[CgroupRule, ...], config_rules: tuple[DeviceRule, ...], undo: UndoLog) -> None:
    """Put a program that allows RULES too under the name PIN, from which systemd attaches it to a scope with `BPFProgram=`.

    It is pinned beside and renamed over, so that systemd finds one or the other at any time. Raises UnavailableError, ConfigurationError.
    """
    what = f"the pinned device program {pin}"
    old = -1
    try:
        old = programs.open_pin(pin)
        shown = programs.show(old)
        if shown.type != programs.CGROUP_DEVICE:
            raise ConfigurationError(f"{pin} is pinned for a scope's devices, but it is no device program; set the scope up anew")
        way, _ = filters.decide(shown, rules, what)
        if way is not filters.Way.LEAVE:
            new = programs.load(filters.replacement(way, shown, rules, config_rules), filters.NAME)
            try:
                _pin_over(new, pin)
            finally:
                os.close(new)
            undo.add(f"the program pinned at {pin}", _way_back(os.dup(old), pin))
    except OSError as error:
        raise refusal(error, what) from None
    finally:
        if old >= 0:
            os.close(old)


def _pin_over(program: int, pin: str) -> None:
    """Give PROGRAM the name PIN in place of what has it. Raises OSError. In a BPF file system no name has a dot (bpf_lookup())."""
    beside = f"{os.path.dirname(pin)}/{filters.NAME}_{os.getpid()}"
    if os.path.lexists(beside):  # a hook that was killed has left it, and pids come again
        os.unlink(beside)
    programs.pin(program, beside)
    try:
        os.rename(beside, pin)
    except OSError:
        os.unlink(beside)
        raise


def _way_back(program: int, pin: str) -> Callable[[], None]:
    """What pins PROGRAM at PIN again, unless the runtime has taken the pin away with its scope."""

    def undo() -> None:
        if os.path.lexists(pin):
            _pin_over(program, pin)
        os.close(program)

    return undo
