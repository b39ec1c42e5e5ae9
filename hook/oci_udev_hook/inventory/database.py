"""The host's devices from sysfs and udev's database, without libudev.

Importing pyudev takes as long as starting three interpreters, and it reads each device through a hundred calls; a hook that an
engine waits for reads the same files itself. Their form is stable since systemd 247, which marks it with `V:1`
(device_update_db and handle_db_line of systemd, src/libsystemd/sd-device). For any other form see `udev.py`.
"""

from __future__ import annotations

import os

from ..frozen import frozen, replace
from ..model import Device, DeviceNumber, DeviceType
from . import sysfs
from .sysfs import HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from .query import Query
    from .sysfs import Roots

    class DeviceReader(Protocol):
        """What reads single devices: here the files themselves, in `udev` libudev."""

        def device(self, devpath: str) -> Device | None:
            """The device at DEVPATH, without parents; None if it has vanished."""
            ...

        def parents(self, devpath: str) -> tuple[Device, ...]:
            """The parents of the device at DEVPATH, the nearest first."""
            ...


_VERSION = "1"  #: of the records that are understood here


class UnknownRecord(Exception):  # noqa: N818 (no fault: the caller asks libudev instead)
    """A record of a udev older than systemd 247, or of eudev."""


@frozen
class _Record:
    """What udev has written about one device. A device with a number has one as soon as udev is done with its rules, maybe an empty one."""

    properties: tuple[tuple[str, str], ...] = ()  #: in their order; an empty value takes the kernel's away
    links: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()  #: all that it ever had
    current: frozenset[str] = frozenset()  #: those that the last event's rules gave it


def present(roots: Roots = HOST) -> bool:
    """Whether there is a udev database, or a udevd that has yet to write one (udev_queue_get_udev_is_active(3) looks at its socket)."""
    return os.path.isdir(f"{roots.run}/data") or os.path.exists(f"{roots.run}/control")


_EMPTY = _Record()


def _parse(data: bytes) -> _Record:
    """The record in DATA. Lines that make no sense are skipped, as libudev does. Raises UnknownRecord."""
    if not data:
        return _EMPTY
    properties: list[tuple[str, str]] = []
    links, tags, current = set(), set(), set()
    version = ""
    for line in sysfs.lines(data):
        key, value = line[:2], line[2:]
        if key == "E:":
            name, equals, value = value.partition("=")
            if equals:
                properties.append((name, value))
        elif key == "S:":
            links.add(f"/dev/{value}")
        elif key in {"G:", "Q:"} and ":" not in value and " " not in value:
            tags.add(value)
            if key == "Q:":
                current.add(value)
        elif key == "I:" and value.isascii() and value.isdecimal():
            properties.append(("USEC_INITIALIZED", value))
        elif key == "V:":
            version = value
    if version != _VERSION:
        raise UnknownRecord
    return _Record(tuple(properties), frozenset(links), frozenset(tags), frozenset(current))


class Reader:
    """Reads single devices; parents are kept, since the nodes of one physical device share them."""

    def __init__(self, query: Query, roots: Roots = HOST) -> None:
        self._query = query
        self._roots = roots
        self._present = present(roots)
        self._devices: dict[str, Device | None] = {}

    def device(self, devpath: str) -> Device | None:
        """The device at DEVPATH, without parents; None if it has vanished. Raises UnknownRecord."""
        return self._load(devpath, self._query.attributes)

    def parents(self, devpath: str) -> tuple[Device, ...]:
        """The parents of the device at DEVPATH, the nearest first. Raises UnknownRecord."""
        found = []
        while (devpath := devpath.rpartition("/")[0]).count("/") > 1:
            if devpath not in self._devices:
                self._devices[devpath] = self._load(devpath, self._query.parent_attributes)
            parent = self._devices[devpath]
            if parent is not None:
                found.append(parent)
        return tuple(found)

    def _load(self, devpath: str, attributes: tuple[str, ...]) -> Device | None:
        """The device at DEVPATH with those of ATTRIBUTES that it has."""
        directory = self._roots.sys + devpath
        uevent = sysfs.content(f"{directory}/uevent")
        if uevent is None:
            # A directory without that file is no device; the file may be there and not be readable.
            if not os.path.exists(f"{directory}/uevent"):
                return None
            uevent = b""
        properties = {"DEVPATH": devpath}
        subsystem = sysfs.linked(f"{directory}/subsystem")
        if subsystem:
            properties["SUBSYSTEM"] = subsystem
        number = _kernel(properties, uevent)
        record = self._record(subsystem, number, properties, devpath)
        found = record or _EMPTY
        _udev(properties, found)
        values = {name: value for name in attributes if (value := sysfs.attribute(directory, name)) is not None}
        return Device(
            syspath=f"/sys{devpath}",
            subsystem=subsystem,
            sysname=sysfs.sysname(devpath),
            devtype=properties.get("DEVTYPE", ""),
            driver=sysfs.linked(f"{directory}/driver"),
            devnode=properties.get("DEVNAME"),
            number=number,
            properties=properties if subsystem else {},  # libudev gives none where it cannot tell the record's name
            attributes=values,
            tags=found.current,
            links=tuple(sorted(found.links)),
            initialized=finished(record is not None, number, properties),
        )

    def _record(self, subsystem: str, number: DeviceNumber | None, properties: dict[str, str], devpath: str) -> _Record | None:
        """Udev's record of the device, None if there is none. Its name: device_get_device_id of systemd."""
        if not self._present or not subsystem:
            return None
        if number is not None:
            name = f"{number.type}{number.major}:{number.minor}"
        elif "IFINDEX" in properties:
            name = f"n{properties['IFINDEX']}"
        else:
            name = f"+{subsystem}:{devpath.rpartition('/')[2]}"
        data = sysfs.content(f"{self._roots.run}/data/{name}")
        return None if data is None else _parse(data)


def _kernel(properties: dict[str, str], uevent: bytes) -> DeviceNumber | None:
    """Take what the kernel says in UEVENT into PROPERTIES, as libudev does; give the device's number."""
    major = minor = ""
    for line in sysfs.lines(uevent):
        name, equals, value = line.partition("=")
        if not equals or not name:
            continue
        if name == "MAJOR":
            major = value
        elif name == "MINOR":
            minor = value
        elif name == "DEVNAME":
            properties[name] = value if value.startswith("/") else f"/dev/{value}"
        else:
            properties[name] = value
    if not (sysfs.is_number(major) and int(major) > 0 and sysfs.is_number(minor or "0")):
        return None
    properties["MAJOR"] = major
    if minor:
        properties["MINOR"] = minor
    kind = DeviceType.BLOCK if properties.get("SUBSYSTEM") == "block" else DeviceType.CHAR
    return DeviceNumber(kind, int(major), int(minor or "0"))


def _udev(properties: dict[str, str], record: _Record) -> None:
    """Take what udev says in RECORD into PROPERTIES, as libudev does; its lists are sorted, which libudev leaves to chance."""
    for name, value in record.properties:
        if value:
            properties[name] = value
        else:
            properties.pop(name, None)
    if record.links:
        properties["DEVLINKS"] = " ".join(sorted(record.links))
    for name, tags in (("TAGS", record.tags), ("CURRENT_TAGS", record.current)):
        if tags:
            properties[name] = f":{':'.join(sorted(tags))}:"


def finished(recorded: bool, number: DeviceNumber | None, properties: Mapping[str, str]) -> bool:
    """Whether udev is done with a device's rules: it writes a record then, but may have none to write for what has neither number nor
    interface index (udev_enumerate_add_match_is_initialized(3)). Programs that the rules RUN may still be at work (ID_PROCESSING,
    systemd 256): they are not waited for, since one of them may be what starts the container.
    """
    return recorded or (number is None and "IFINDEX" not in properties)


def collect(reader: DeviceReader, query: Query, roots: Roots) -> tuple[Device, ...]:
    """All devices that QUERY could find, read by READER, with their parents where it needs them. Raises what READER raises."""
    found = []
    for devpath in sysfs.candidates(query.selectors, roots):
        device = reader.device(devpath)
        if device is not None:
            found.append(replace(device, parents=reader.parents(devpath)) if query.parents else device)
    return tuple(found)
