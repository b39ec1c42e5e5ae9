"""The door to the log: one event for each hook run, to the journal or syslog for an engine, to stderr for a person.

Loading structlog costs seven bare interpreters, and an engine waits meanwhile; so the event of a run that went well is written here,
in the very bytes that structlog's JSONRenderer makes of it (a test compares them). Failures, warnings and `--debug` go through structlog.
"""

from __future__ import annotations

import json
import os
import sys
from enum import IntEnum

from .dependencies import allow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

JOURNAL_SOCKET = "/run/systemd/journal/socket"  #: systemd's native protocol, see sd_journal_send(3)
SYSLOG_SOCKET = "/dev/log"
IDENTIFIER = "oci-udev-hook"
FACILITY_DAEMON = 3 << 3  #: <syslog.h>


class Level(IntEnum):
    """Levels by their syslog priority, syslog(3)."""

    ERROR = 3
    WARNING = 4
    INFO = 6
    DEBUG = 7


class Log:
    """Where this run's events go."""

    def __init__(self, *, for_engine: bool, debug: bool = False) -> None:
        self.for_engine = for_engine
        self.debug_wanted = debug

    def event(self, event: str, level: Level, fields: Mapping[str, object]) -> None:
        """Write EVENT with its FIELDS (JSON values). A log that cannot be written stops nothing."""
        if level is Level.DEBUG and not self.debug_wanted:
            return
        at_terminal = not self.for_engine or sys.stderr.isatty()
        if at_terminal or self.debug_wanted or level < Level.INFO:
            line = render_with_structlog(event, level, fields, console=at_terminal)
        else:
            line = render(event, level, fields)
        if not at_terminal:
            send(line, level)
        if at_terminal or self.debug_wanted:
            print(line, file=sys.stderr)


def render(event: str, level: Level, fields: Mapping[str, object]) -> str:
    """The event as one line of JSON: its fields in their order, then `event` and `level`."""
    return json.dumps({**fields, "event": event, "level": level.name.lower()})


def render_with_structlog(event: str, level: Level, fields: Mapping[str, object], *, console: bool) -> str:
    """The same through structlog; for a CONSOLE in lines for the eye, with colours where stderr is a terminal."""
    allow()
    import structlog

    renderer: Any = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()) if console else structlog.processors.JSONRenderer()
    logger = structlog.wrap_logger(structlog.ReturnLogger(), processors=[structlog.stdlib.add_log_level, renderer])
    return str(getattr(logger, level.name.lower())(event, **fields))


def send(line: str, level: Level) -> None:
    """Hand LINE to the journal, else to syslog, else to stderr."""
    # The module under `socket`: its own wrapper makes enums of all constants, which takes 4 ms of each container start.
    import _socket

    journal = f"PRIORITY={level:d}\nSYSLOG_IDENTIFIER={IDENTIFIER}\nMESSAGE={line}\n"
    syslog = f"<{FACILITY_DAEMON | level}>{IDENTIFIER}[{os.getpid()}]: {line}"
    for path, message in ((JOURNAL_SOCKET, journal), (SYSLOG_SOCKET, syslog)):
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK)
        try:
            connection.sendto(message.encode(errors="backslashreplace"), path)
            return
        except OSError:
            continue
        finally:
            connection.close()
    print(line, file=sys.stderr)
