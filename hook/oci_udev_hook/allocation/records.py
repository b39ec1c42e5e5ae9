"""The ledger's JSON form, and that of leases in a config's mark: rows, checked and turned into leases only where they matter.

    {"version": 1, "holders": {CONTAINER-ID: {"name", "state", "pid", "start", "boot", "since", "until", "bundle",
     "leases": [{"resource", "unit", "numbers": ["c 188:0"], "nodes": ["/dev/ttyUSB0"], "sharing"}]}}}

A thousand leases take some milliseconds as JSON and ten times that as frozen records, so a row stays as it was read until asked for.
"""

from __future__ import annotations

import json

from .. import typed
from ..errors import ConfigurationError
from ..model import DeviceNumber, DeviceType, Holder, Lease, LeaseState, Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSION = 1
MAX_SIZE = 64 * 1024 * 1024  #: bytes; a lease has some 250


class Records:
    """All rows of a ledger. UID is the user whose ledger it is."""

    def __init__(self, rows: dict[str, object], uid: int) -> None:
        self.rows = rows
        self.uid = uid

    def touching(self, identities: frozenset[str], numbers: frozenset[str]) -> Iterator[str]:
        """The containers that hold one of IDENTITIES or of NUMBERS. Raises TypedError for what no other method would notice in time."""
        checked: set[str] = set()
        for container, row in self.rows.items():
            found = False
            for unit, held in held_units(container, row):
                if not checked.issuperset(held):
                    for number in held:
                        read_number(number)
                    checked.update(held)
                found = found or unit in identities or not numbers.isdisjoint(held)
            if found:
                yield container

    def holder(self, container: str) -> Holder:
        """The holder CONTAINER. Raises TypedError."""
        return read_holder(container, self.fields(container), self.uid)

    def leases(self, container: str) -> tuple[Lease, ...]:
        """What CONTAINER holds; nothing if it is not here. Raises TypedError."""
        if container not in self.rows:
            return ()
        fields = self.fields(container)
        return read_leases(fields, read_holder(container, fields, self.uid))

    def fields(self, container: str) -> typed.Fields:
        """The row of CONTAINER."""
        return typed.Fields(self.rows, "holders").object(container)

    def put(self, holder: Holder, leases: Iterable[Lease]) -> None:
        """Write down that HOLDER holds LEASES, and nothing else any more."""
        self.rows[holder.container] = {**holder_row(holder), "leases": [lease_row(lease) for lease in leases]}

    def drop(self, container: str) -> bool:
        """Strike CONTAINER out; whether it was there."""
        return self.rows.pop(container, None) is not None

    def dump(self) -> bytes:
        """The file's content, one line a holder."""
        lines = ",\n".join([f"{json.dumps(container)}: {json.dumps(row)}" for container, row in self.rows.items()])
        return f'{{"version": {VERSION}, "holders": {{\n{lines}\n}}}}\n'.encode()


def parse(data: bytes, uid: int, path: str) -> Records:
    """The records in DATA, the content of the file PATH. Raises TypedError where it is damaged, ConfigurationError where it is too new."""
    fields = typed.parse(data)
    version = fields.number("version")
    if version > VERSION:
        raise ConfigurationError(
            f"the ledger {path} was written by a newer oci-udev-hook (form {version}, this one knows forms up to {VERSION}); "
            "install the newer one again, or stop all containers with devices and remove the file"
        )
    if version < 1 or "holders" not in fields.value:
        raise typed.TypedError("is no ledger: it has no holders, or a version that never was")
    return Records(fields.object("holders").value, uid)


def held_units(container: str, row: object) -> Iterator[tuple[str, list[str]]]:
    """Identity and numbers of what the ROW of CONTAINER holds: the typed door in its fast form, for all rows of a large ledger."""
    leases = row.get("leases") if isinstance(row, dict) else None
    if not isinstance(leases, list):
        raise typed.TypedError(f"holders.{container} is {typed.shown(row)}, not an object with a list of leases")
    for lease in leases:
        unit, numbers = (lease.get("unit"), lease.get("numbers")) if isinstance(lease, dict) else (None, None)
        if not isinstance(unit, str) or not isinstance(numbers, list) or not all([isinstance(number, str) for number in numbers]):
            raise typed.TypedError(f"holders.{container}.leases holds {typed.shown(lease)}, which is no lease")
        yield unit, numbers


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
    """The leases of HOLDER from the list `leases` of a row or mark. Raises TypedError."""
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
    if kind not in ("b", "c") or not (major + minor).isascii() or not major.isdigit() or not minor.isdigit():
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
