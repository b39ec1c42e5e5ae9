"""The ledger's JSON form; that of a lease stands in `leases`.

    {"version": 1, "sum": 2837619203, "holders": {
    CONTAINER-ID: {"name", "state", "pid", "start", "boot", "since", "until", "bundle",
     "leases": [{"resource", "unit", "numbers": ["c 188:0"], "nodes": ["/dev/ttyUSB0"], "sharing"}]}
    }}

A line is a holder, `sum` the CRC-32 of all that follows on the first line. While that is right the file is as it was written, and only
the lines that matter are parsed: to parse a thousand leases, and to write them, takes as long as the interpreter's start. A file that
was edited by hand is parsed and checked as a whole.
"""

from __future__ import annotations

import json
from binascii import crc32

from .. import typed
from ..errors import ConfigurationError
from ..leases import as_json, read_leases
from ..model import Holder, LeaseState, Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model import Lease

_VERSION = 1
_VERSIONS = range(1, 2**31)  #: that there can be
_FOOT = "\n}}\n"
_PIDS = range(2**31)  #: pid_t
_TICKS = range(2**64)  #: of a process start, %llu in proc_pid_stat(5)
MAX_SIZE = 64 * 1024 * 1024  #: bytes; a lease has some 350


class Records:
    """All rows of a ledger, as JSON text. UID is the user whose ledger it is."""

    def __init__(self, rows: dict[str, str], uid: int) -> None:
        self.rows = rows
        self.uid = uid

    def touching(self, identities: frozenset[str], numbers: frozenset[str]) -> tuple[str, ...]:
        """The containers that hold one of IDENTITIES or of NUMBERS, and few others."""
        needles = [json.dumps(text) for text in (*identities, *numbers)]
        return tuple([container for container, row in self.rows.items() if any([needle in row for needle in needles])])

    def leases(self, container: str) -> tuple[Lease, ...]:
        """What CONTAINER holds; nothing if it is not here."""
        row = self.rows.get(container)
        return () if row is None else read_row(container, json.loads(row), self.uid)

    def put(self, holder: Holder, leases: Iterable[Lease]) -> None:
        """Write down that HOLDER holds LEASES, and nothing else any more."""
        self.rows[holder.container] = json.dumps({**_holder_row(holder), "leases": [as_json(lease) for lease in leases]})

    def drop(self, container: str) -> None:
        """Strike out what CONTAINER holds, if anything."""
        self.rows.pop(container, None)

    def dump(self) -> bytes:
        """The file's content."""
        rest = (",\n".join([f"{json.dumps(container)}: {row}" for container, row in self.rows.items()]) + _FOOT).encode()
        return _head(rest) + rest


def _head(rest: bytes) -> bytes:
    """The first line of a file that goes on with REST."""
    return f'{{"version": {_VERSION}, "sum": {crc32(rest)}, "holders": {{\n'.encode()


def parse(data: bytes, uid: int, path: str) -> Records:
    """The records in DATA, the content of the file PATH. Raises TypedError where it is damaged, ConfigurationError where it is too new."""
    rows = _untouched(data)
    return Records(_checked(data, uid, path) if rows is None else rows, uid)


def _untouched(data: bytes) -> dict[str, str] | None:
    """The rows in DATA by container, if it is as `dump` wrote it."""
    first, newline, rest = data.partition(b"\n")
    if first + newline != _head(rest):
        return None
    rows = {}
    text = rest[: -len(_FOOT)].decode()
    for line in text.split(",\n") if text else ():
        container, _, row = line.partition('": ')
        if "\\" in container:
            return None  # an escape in an id: no engine has such ids
        rows[container[1:]] = row
    return rows


def _checked(data: bytes, uid: int, path: str) -> dict[str, str]:
    """The rows in DATA by container, all of it parsed. Raises TypedError, ConfigurationError."""
    holders = holders_in(data, path)
    for container in holders.value:
        read_row(container, holders.value[container], uid)
    try:
        return {container: json.dumps(row) for container, row in holders.value.items()}
    except RecursionError:
        raise typed.TypedError("is no JSON that can be read: it is nested too deeply") from None


def holders_in(data: bytes, path: str) -> typed.Fields:
    """The rows in DATA by container. Raises TypedError, ConfigurationError."""
    fields = typed.parse(data)
    version = fields.number("version", within=_VERSIONS)
    if version > _VERSION:
        raise ConfigurationError(
            f"the ledger {path} was written by a newer oci-udev-hook (form {version}, this one knows forms up to {_VERSION}); "
            "install the newer one again, or stop all containers with devices and remove the file"
        )
    if "holders" not in fields.value:
        raise typed.TypedError("is no ledger: it has no holders")
    return fields.object("holders")


def read_row(container: str, row: object, uid: int) -> tuple[Lease, ...]:
    """What CONTAINER holds, from its ROW. Raises TypedError."""
    fields = typed.Fields({container: row}, "holders").object(container)
    holder = _read_holder(container, fields, uid)
    return tuple([leased.held_by(holder) for leased in read_leases(fields)])


def _read_holder(container: str, fields: typed.Fields, uid: int) -> Holder:
    """The holder CONTAINER from its row. Raises TypedError."""
    state = fields.text("state")
    if state not in LeaseState.__members__.values():
        raise fields.wrong("state", "reserved or confirmed")
    return Holder(
        container=container,
        name=fields.text("name"),
        state=LeaseState(state),
        process=Process(pid=fields.number("pid", within=_PIDS), start=fields.number("start", within=_TICKS)),
        boot=fields.text("boot"),
        since=fields.seconds("since") or 0.0,
        until=fields.seconds("until"),
        bundle=fields.path("bundle", ""),
        uid=uid,
    )


def _holder_row(holder: Holder) -> dict[str, object]:
    """HOLDER's row without its leases."""
    return {
        "name": holder.name,
        "state": holder.state.value,
        "pid": holder.process.pid,
        "start": holder.process.start,
        "boot": holder.boot,
        "since": holder.since,
        "until": holder.until,
        "bundle": holder.bundle,
    }
