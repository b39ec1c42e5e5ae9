"""The ledger's JSON form, and that of leases in a config's mark.

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
from ..model import DeviceNumber, DeviceType, Holder, Lease, LeaseState, Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION = 1
FOOT = "\n}}\n"
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
        self.rows[holder.container] = json.dumps({**holder_row(holder), "leases": [lease_row(lease) for lease in leases]})

    def drop(self, container: str) -> bool:
        """Strike CONTAINER out; whether it was there."""
        return self.rows.pop(container, None) is not None

    def dump(self) -> bytes:
        """The file's content."""
        rest = (",\n".join([f"{json.dumps(container)}: {row}" for container, row in self.rows.items()]) + FOOT).encode()
        return head(rest) + rest


def head(rest: bytes) -> bytes:
    """The first line of a file that goes on with REST."""
    return f'{{"version": {VERSION}, "sum": {crc32(rest)}, "holders": {{\n'.encode()


def parse(data: bytes, uid: int, path: str) -> Records:
    """The records in DATA, the content of the file PATH. Raises TypedError where it is damaged, ConfigurationError where it is too new."""
    rows = untouched(data)
    return Records(checked(data, uid, path) if rows is None else rows, uid)


def untouched(data: bytes) -> dict[str, str] | None:
    """The rows in DATA by container, if it is as `dump` wrote it."""
    first, newline, rest = data.partition(b"\n")
    if first + newline != head(rest):
        return None
    rows = {}
    text = rest[: -len(FOOT)].decode()
    for line in text.split(",\n") if text else ():
        container, _, row = line.partition('": ')
        if "\\" in container:
            return None  # an escape in an id: no engine has such ids
        rows[container[1:]] = row
    return rows


def checked(data: bytes, uid: int, path: str) -> dict[str, str]:
    """The rows in DATA by container, all of it parsed. Raises TypedError, ConfigurationError."""
    fields = typed.parse(data)
    version = fields.number("version")
    if version > VERSION:
        raise ConfigurationError(
            f"the ledger {path} was written by a newer oci-udev-hook (form {version}, this one knows forms up to {VERSION}); "
            "install the newer one again, or stop all containers with devices and remove the file"
        )
    if version < 1 or "holders" not in fields.value:
        raise typed.TypedError("is no ledger: it has no holders, or a version that never was")
    holders = fields.object("holders")
    for container in holders.value:
        read_row(container, holders.value[container], uid)
    return {container: json.dumps(row) for container, row in holders.value.items()}


def read_row(container: str, row: object, uid: int) -> tuple[Lease, ...]:
    """What CONTAINER holds, from its ROW. Raises TypedError."""
    fields = typed.Fields({container: row}, "holders").object(container)
    return read_leases(fields, read_holder(container, fields, uid))


def read_holder(container: str, fields: typed.Fields, uid: int) -> Holder:
    """The holder CONTAINER from its row. Raises TypedError."""
    state = fields.text("state")
    if state not in LeaseState.__members__.values():
        raise fields.wrong("state", "reserved or confirmed")
    return Holder(
        container=container,
        name=fields.text("name"),
        state=LeaseState(state),
        process=Process(pid=fields.number("pid"), start=fields.number("start")),
        boot=fields.text("boot"),
        since=read_time(fields, "since") or 0.0,
        until=read_time(fields, "until"),
        bundle=fields.text("bundle", ""),
        uid=uid,
    )


def read_time(fields: typed.Fields, key: str) -> float | None:
    """The seconds at KEY, or none."""
    value = fields.value.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fields.wrong(key, "a number of seconds")
    return float(value)


def read_leases(fields: typed.Fields, holder: Holder) -> tuple[Lease, ...]:
    """The leases of HOLDER from the list `leases` of a row or mark, which must be there. Raises TypedError."""
    if "leases" not in fields.value:
        raise fields.wrong("leases", "a list")
    return tuple(
        [
            Lease(
                resource=row.text("resource"),
                unit=row.text("unit"),
                numbers=frozenset([read_number(text) for text in read_texts(row, "numbers")]),
                nodes=tuple(read_texts(row, "nodes")),
                holder=holder,
                sharing=row.number("sharing", 1),
            )
            for row in fields.objects("leases")
        ]
    )


def read_texts(fields: typed.Fields, key: str) -> list[str]:
    """The strings of the list at KEY."""
    items = fields.items(key)
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items) or key not in fields.value:
        raise fields.wrong(key, "a list of strings")
    return texts


def read_number(text: str) -> DeviceNumber:
    """The device number in TEXT, as `str(DeviceNumber)` writes it: `c 188:0`. Raises TypedError."""
    kind, _, pair = text.partition(" ")
    major, _, minor = pair.partition(":")
    if kind not in ("b", "c") or not pair.isascii() or not major.isdigit() or not minor.isdigit():
        raise typed.TypedError(f'"{text}" is no device number such as "c 188:0"')
    return DeviceNumber(DeviceType(kind), int(major), int(minor))


def holder_row(holder: Holder) -> dict[str, object]:
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


def lease_row(lease: Lease) -> dict[str, object]:
    """LEASE's row."""
    return {
        "resource": lease.resource,
        "unit": lease.unit,
        "numbers": sorted([str(number) for number in lease.numbers]),
        "nodes": list(lease.nodes),
        "sharing": lease.sharing,
    }
