"""What can go wrong, one class a cause, each with its exit code.

An engine shows its user nothing but the exit code, so the codes are told apart by cause
(sysexits(3) has the numbers). A message is one sentence: what was asked, what was found, what to do next.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every verb and stage."""

    DONE = 0
    USAGE = 64  #: the asker's fault: usage, annotation, input that is no OCI config
    UNAVAILABLE = 69  #: no such resource, or fewer exist than asked
    SOFTWARE = 70  #: a fault of the hook
    HELD = 75  #: enough exist but are held
    REFUSED = 77  #: refused by policy or by the user's own rights
    CONFIGURATION = 78  #: a bad definition or installation


def unexpected(what: str, error: Exception) -> str:
    """The sentence for an ERROR that nobody expected while WHAT was run."""
    return f"{what} met a fault of oci-udev-hook itself ({type(error).__name__}: {error}); please report it with its traceback"


class HookError(Exception):
    """The root of all expected errors: one sentence, or one for each fault of a file; `str()` has a line for each."""

    code = ExitCode.SOFTWARE

    def __init__(self, *sentences: str) -> None:
        super().__init__(*sentences)
        self.sentences = sentences

    def __str__(self) -> str:
        return "\n".join(self.sentences)


class UsageError(HookError):
    """The asker's fault: a bad annotation, option or input."""

    code = ExitCode.USAGE


class UnavailableError(HookError):
    """No such resource here, or fewer of it exist than asked."""

    code = ExitCode.UNAVAILABLE


class HeldError(HookError):
    """Enough exist, but others hold them."""

    code = ExitCode.HELD


class RefusedError(HookError):
    """Policy or the user's own rights forbid it."""

    code = ExitCode.REFUSED


class ConfigurationError(HookError):
    """A bad definition file or a bad installation."""

    code = ExitCode.CONFIGURATION
