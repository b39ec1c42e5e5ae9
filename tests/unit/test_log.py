"""The log's two ways of writing an event are one."""

from __future__ import annotations

import io
import json
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from oci_udev_hook import log
from oci_udev_hook.log import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

FIELDS = {
    "container": "zigbee-bridge",
    "requests": ("2 of hardware-vendor.example/foo",),
    "units": ("FTDI_FT232R_A1B2C3", 'odd "name" with \\ and \n and ü and \udcff'),
    "duration_ms": 12.5,
    "outcome": "allotted",
}


@pytest.mark.parametrize("level", list(Level), ids=lambda level: level.name.lower())
def test_both_forms_of_an_event_are_the_same_bytes(level: Level) -> None:
    """What is written without structlog is what structlog would write."""
    plain = log._render("precreate", level, FIELDS)

    assert plain == log._render_with_structlog("precreate", level, FIELDS)
    assert json.loads(plain)["level"] == level.name.lower()


class Terminal(io.StringIO):
    """A stderr at which a person sits."""

    def isatty(self) -> bool:
        return True


def test_a_person_at_a_terminal_reads_sentences_in_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """One a line, by structlog's console renderer; what could steer the terminal is shown, not sent."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    log.tell(Level.WARNING, "one\x1b[2J", "two")
    first, second = terminal.getvalue().splitlines()

    assert "warning" in first
    assert "\x1b[" in first
    assert "one\\x1b[2J" in first
    assert "two" in second


def test_elsewhere_a_sentence_stands_behind_the_programs_name(capsys: pytest.CaptureFixture[str]) -> None:
    """As grep and scripts like it."""
    log.tell(Level.ERROR, "one\nstill one", "two")

    assert capsys.readouterr().err == "oci-udev-hook: one\\nstill one\noci-udev-hook: two\n"


def test_without_structlog_nothing_is_lost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Fedora has no package of it: a refusal still reaches its reader, in the same bytes."""
    expected = log._render_with_structlog("precreate", Level.ERROR, FIELDS)
    monkeypatch.setitem(sys.modules, "structlog", None)
    log.tell(Level.ERROR, "a sentence")

    assert log._render_with_structlog("precreate", Level.ERROR, FIELDS) == expected
    assert capsys.readouterr().err == "oci-udev-hook: a sentence\n"


@pytest.fixture(name="sockets")
def fixture_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A journal and a syslog below a folder of the test's, not bound yet."""
    monkeypatch.setattr(log, "_JOURNAL_SOCKET", str(tmp_path / "journal"))
    monkeypatch.setattr(log, "_SYSLOG_SOCKET", str(tmp_path / "syslog"))
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as syslog,
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
    ):
        monkeypatch.setattr(sys, "stderr", nowhere)
        journal.settimeout(1)
        syslog.settimeout(1)
        yield journal, syslog


def test_an_engines_event_goes_to_the_journal(sockets: tuple[socket.socket, socket.socket]) -> None:
    """In its native form."""
    journal, _ = sockets
    journal.bind(log._JOURNAL_SOCKET)
    log.event("precreate", Level.INFO, {"container": "c"})

    expected = b'PRIORITY=6\nSYSLOG_IDENTIFIER=oci-udev-hook\nMESSAGE={"container": "c", "event": "precreate", "level": "info"}\n'
    assert journal.recv(4096) == expected


def test_an_engines_event_goes_to_syslog_where_there_is_no_journal(sockets: tuple[socket.socket, socket.socket]) -> None:
    """With facility daemon and the event's priority."""
    _, syslog = sockets
    syslog.bind(log._SYSLOG_SOCKET)
    log.event("precreate", Level.ERROR, {"container": "c"})

    expected = f'<27>oci-udev-hook[{os.getpid()}]: {{"container": "c", "event": "precreate", "level": "error"}}'
    assert syslog.recv(4096).decode() == expected


def test_a_log_that_is_nowhere_stops_nothing(sockets: tuple[socket.socket, socket.socket]) -> None:
    """No journal, no syslog: the event goes to stderr."""
    log.event("precreate", Level.INFO, {"container": "c"})


def test_debug_writes_the_event_to_stderr_as_well(sockets: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the journal."""
    journal, _ = sockets
    journal.bind(log._JOURNAL_SOCKET)
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    log.event("precreate", Level.INFO, {"container": "c"}, debug=True)

    assert stderr.getvalue() == '{"container": "c", "event": "precreate", "level": "info"}\n'
    assert journal.recv(4096)


def test_the_success_path_does_not_load_structlog() -> None:
    """An event at level info for an engine is written without it."""
    script = (
        "import sys; from oci_udev_hook import log; from oci_udev_hook.log import Level; log.event('precreate', Level.INFO, {}); "
        "sys.exit('structlog' in sys.modules)"
    )
    source = str(Path(log.__file__).parents[1])
    assert os.spawnve(os.P_WAIT, sys.executable, [sys.executable, "-c", script], {"PYTHONPATH": source}) == 0
