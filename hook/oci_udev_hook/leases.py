"""Leases and device numbers as JSON: one form for the ledger and for the mark on a config.

    {"resource", "unit", "numbers": ["c 188:0"], "nodes": ["/dev/ttyUSB0"], "sharing"}

`sharing` is left out where it is 1. Who holds them stands beside them: in the ledger a row is a holder, and a mark is on its
container's own config. Pure.
"""

from __future__ import annotations

from .frozen import frozen
from .model import DeviceNumber, DeviceType, Lease

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import Holder
    from .typed import Fields

_NUMBERS = range(2**32)  #: of a major or minor: more than the kernel's dev_t has (12 and 20 bits, linux/kdev_t.h)
_DIGITS = 10
_SHARING = range(1, 2**31)


@frozen
class Leased:
    """A lease without its holder."""

    resource: str
    unit: str
    numbers: frozenset[DeviceNumber]
    nodes: tuple[str, ...]  #: on the host
    sharing: int = 1  #: how many containers may hold it with this one

    def held_by(self, holder: Holder) -> Lease:
        """The same in the hands of HOLDER."""
        return Lease(self.resource, self.unit, self.numbers, self.nodes, holder, self.sharing)


def leased(lease: Lease) -> Leased:
    """LEASE without its holder."""
    return Leased(lease.resource, lease.unit, lease.numbers, lease.nodes, lease.sharing)


def as_json(lease: Lease | Leased) -> dict[str, object]:
    """LEASE as JSON."""
    row: dict[str, object] = {
        "resource": lease.resource,
        "unit": lease.unit,
        "numbers": sorted([str(number) for number in lease.numbers]),
        "nodes": lease.nodes,
    }
    return row if lease.sharing == 1 else {**row, "sharing": lease.sharing}


def read_leases(fields: Fields) -> tuple[Leased, ...]:
    """The leases in the list `leases` of FIELDS, which must be there. Raises TypedError."""
    if "leases" not in fields.value:
        raise fields.wrong("leases", "a list")
    return tuple([_read_one(row) for row in fields.objects("leases")])


def _read_one(row: Fields) -> Leased:
    """One lease. Raises TypedError."""
    resource, unit = row.text("resource"), row.text("unit")
    for key in ("numbers", "nodes"):
        if key not in row.value:
            raise row.wrong(key, "a list of strings")
    numbers = [_parse_number(text) for text in row.strings("numbers")]
    known = frozenset([number for number in numbers if number is not None])
    if None in numbers:
        raise row.wrong("numbers", 'a list of device numbers such as "c 188:0"')
    return Leased(resource, unit, known, row.paths("nodes"), row.number("sharing", 1, within=_SHARING))


def read_number(fields: Fields, key: str) -> DeviceNumber:
    """The device number at KEY. Raises TypedError."""
    number = _parse_number(fields.text(key))
    if number is None:
        raise fields.wrong(key, 'a device number such as "c 188:0"')
    return number


def _parse_number(text: str) -> DeviceNumber | None:
    """The device number in TEXT as `str(DeviceNumber)` writes it, None if it is none: a wildcard, a number that no kernel has."""
    kind, _, pair = text.partition(" ")
    parts = pair.split(":")
    if kind not in ("b", "c") or len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= _DIGITS for part in parts):
        return None
    major, minor = (int(part) for part in parts)
    return DeviceNumber(DeviceType(kind), major, minor) if major in _NUMBERS and minor in _NUMBERS else None
