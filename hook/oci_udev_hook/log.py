"""The door to the log: one event for each hook run, to the journal or syslog for an engine; sentences on stderr for a person.

Loading structlog costs seven bare interpreters, and an engine waits meanwhile; so the event of a run that went well is written here,
in the very bytes that structlog's JSONRenderer makes of it (a test compares them). Failures, warnings, `--debug` and the verbs go
through structlog, and where that is not installed through the same few lines, since a refusal must reach its reader all the same.
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

_JOURNAL_SOCKET = "/run/systemd/journal/socket"  #: systemd's native protocol, see sd_journal_send(3)
_SYSLOG_SOCKET = "/dev/log"
_IDENTIFIER = "oci-udev-hook"
_FACILITY_DAEMON = 3 << 3  #: <syslog.h>


class Level(IntEnum):
    """Levels by their syslog priority, syslog(3)."""

    ERROR = 3
    WARNING = 4
    INFO = 6
    DEBUG = 7


def event(name: str, level: Level, fields: Mapping[str, object], *, debug: bool = False) -> None:
    """Write the event NAME of a stage with its FIELDS (JSON values) to the log, with DEBUG to stderr as well."""
    through_structlog = debug or level < Level.INFO
    line = _render_with_structlog(name, level, fields) if through_structlog else _render(name, level, fields)
    written = _send(line, level)
    if debug or not written:
        _to_stderr(line)


def tell(level: Level, *sentences: str) -> None:
    """Tell a person SENTENCES, a line each, on stderr: in colours at a terminal, else behind the program's name."""
    for sentence in sentences:
        _to_stderr(_render_for_person(level, visible(sentence)))


def _to_stderr(line: str) -> None:
    """LINE to stderr. Where that is closed or full there is nobody to tell; print would take standard output in its place."""
    try:
        if sys.stderr is not None:
            print(line, file=sys.stderr)
    except OSError:
        return


def visible(text: str) -> str:
    """TEXT with what is not printable as escapes: a device's strings are its maker's words, and must not steer a terminal."""
    return "".join([letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode() for letter in text])


def _render(name: str, level: Level, fields: Mapping[str, object]) -> str:
    """The event as one line of JSON: its fields in their order, then `event` and `level`."""
    return json.dumps({**fields, "event": name, "level": level.name.lower()})


def _render_with_structlog(name: str, level: Level, fields: Mapping[str, object]) -> str:
    """The same through structlog."""
    structlog = _load()
    if structlog is None:
        return _render(name, level, fields)
    return _through(structlog, structlog.processors.JSONRenderer(), name, level, fields)


def _render_for_person(level: Level, sentence: str) -> str:
    """SENTENCE through structlog, in a form for stderr as it is."""
    structlog = _load()
    plain = f"{_IDENTIFIER}: {sentence}"
    if structlog is None:
        return plain
    renderer = structlog.dev.ConsoleRenderer(colors=True) if sys.stderr is not None and sys.stderr.isatty() else lambda *_: plain
    return _through(structlog, renderer, sentence, level, {})


def _load() -> Any:
    """structlog, None where it is not installed: Fedora has no package of it."""
    allow()
    try:
        import structlog
    except ImportError:
        return None
    return structlog


def _through(structlog: Any, renderer: Any, name: str, level: Level, fields: Mapping[str, object]) -> str:
    """What structlog makes of an event with RENDERER as its last processor."""
    logger = structlog.wrap_logger(structlog.ReturnLogger(), processors=[structlog.stdlib.add_log_level, renderer])
    return str(getattr(logger, level.name.lower())(name, **fields))


def _send(line: str, level: Level) -> bool:
    """Hand LINE to the journal, else to syslog; whether one took it."""
    # The module under `socket`: its own wrapper makes enums of all constants, which takes 4 ms of each container start.
    import _socket

    journal = f"PRIORITY={level:d}\nSYSLOG_IDENTIFIER={_IDENTIFIER}\nMESSAGE={line}\n"
    syslog = f"<{_FACILITY_DAEMON | level}>{_IDENTIFIER}[{os.getpid()}]: {line}"
    for path, message in ((_JOURNAL_SOCKET, journal), (_SYSLOG_SOCKET, syslog)):
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK)
        try:
            connection.sendto(message.encode(errors="backslashreplace"), path)
        except OSError:
            continue
        finally:
            connection.close()
        return True
    return False
