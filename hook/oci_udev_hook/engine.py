"""A stage as an engine runs it: standard input in, standard output out, an exit code by cause, the reason where people find it.

precreate's stderr is thrown away by podman, and so is that of crun's hooks: the log and `why` carry the reason.
"""

from __future__ import annotations

import os
import time

from . import stages
from .errors import ExitCode, HookError, unexpected
from .findings import Findings
from .typed import MAX_INPUT

_LONGEST_REASON = 10_000  #: letters; a datagram to the journal or syslog has room for some hundred thousand bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .run import Run


def main(run: Run, stage: str) -> int:
    """Run STAGE for an engine and return its exit code."""
    started = time.monotonic()
    findings = Findings()
    code, reason, traceback = ExitCode.DONE, "", ""
    try:
        _write_output(stages.STAGES[stage](run, _read_input(), findings))
    except HookError as error:
        code, reason = error.code, _clipped("; ".join(error.sentences))
    except Exception as error:  # noqa: BLE001 — the last line of defence: an engine must get a code and a sentence, never a traceback
        code, reason, traceback = ExitCode.SOFTWARE, unexpected(stage, error), _trace()
    _tell(run, stage, findings, code, reason, traceback, time.monotonic() - started)
    return code


def _tell(run: Run, stage: str, findings: Findings, code: int, reason: str, traceback: str, duration: float) -> None:
    """Report the run of STAGE, and its REASON on stderr, which some engines show. No fault of a log changes what an engine gets."""
    from . import log, reporting

    try:
        reporting.report(run, stage, findings, code, reason, traceback, duration)
    except Exception as error:  # noqa: BLE001 — the same
        log.tell(log.Level.ERROR, unexpected("the log", error))
    if reason:
        log.tell(log.Level.ERROR, reason)


def _read_input() -> bytes:
    """All of standard input, one byte more than is allowed at most."""
    parts, size = [], 0
    while size <= MAX_INPUT and (part := os.read(0, min(1 << 20, MAX_INPUT + 1 - size))):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _write_output(output: bytes) -> None:
    """All of OUTPUT to standard output. Raises HookError when the engine has gone."""
    view = memoryview(output)
    while view:
        try:
            view = view[os.write(1, view) :]
        except OSError as error:
            raise HookError(f"the engine no longer reads the hook's answer ({error.strerror}); start the container again") from None


def _clipped(reason: str) -> str:
    """REASON, cut where no log would take it and nobody read it."""
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]} … and {len(reason) - _LONGEST_REASON} letters more"


def _trace() -> str:
    """The traceback of the exception being handled."""
    import traceback

    return traceback.format_exc()
