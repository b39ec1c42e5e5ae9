"""The host's devices through libudev, where udev's records are not of the form that `database.py` reads: eudev, systemd before 247.

The only module that imports pyudev. Devices are looked for in the same places and are the same values.
"""

from __future__ import annotations

import os

from ..errors import ConfigurationError
from ..model import Device, DeviceNumber, DeviceType
from . import database, sysfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .query import Query

_SONAME = "libudev.so.1"  #: the only one since udev 183
_OTHER = "the records in /run/udev/data are not those of systemd 247 or later"
_LISTS = {"DEVLINKS": " ", "TAGS": ":", "CURRENT_TAGS": ":"}  #: properties whose parts libudev gives in any order


def _load() -> Any:
    """The module pyudev. Raises ConfigurationError where it is not installed.

    pyudev asks `ctypes.util.find_library` for the library, which starts ldconfig or a compiler, and finds nothing where neither is
    there (pyudev issues 496 and 532). What it would find is known, so while pyudev loads, and keeps the function, that is the answer.
    """
    from ..dependencies import allow

    allow()
    import ctypes.util

    asked = ctypes.util.find_library
    ctypes.util.find_library = lambda name: _SONAME if name == "udev" else asked(name)
    try:
        import pyudev
    except ImportError as error:
        raise ConfigurationError(f"{_OTHER}, but pyudev, which reads such ones, does not load ({error}): install python3-pyudev") from None
    finally:
        ctypes.util.find_library = asked
    return pyudev


class _Texts:
    """What pyudev would give as text, as bytes: it fails on what is no UTF-8, and has no current tags."""

    def __init__(self) -> None:
        import ctypes

        pointer, string = ctypes.c_void_p, ctypes.c_char_p
        library = ctypes.CDLL(_SONAME)
        for name, arguments, result in (
            ("udev_device_get_properties_list_entry", (pointer,), pointer),
            ("udev_device_get_tags_list_entry", (pointer,), pointer),
            ("udev_device_get_devlinks_list_entry", (pointer,), pointer),
            ("udev_list_entry_get_next", (pointer,), pointer),
            ("udev_list_entry_get_name", (pointer,), string),
            ("udev_list_entry_get_value", (pointer,), string),
            ("udev_device_get_sysattr_value", (pointer, string), string),
            ("udev_device_has_current_tag", (pointer, string), ctypes.c_int),
        ):
            function = getattr(library, name, None)
            if function is not None:
                function.argtypes, function.restype = arguments, result
        self.library: Any = library

    def entries(self, device: Any, kind: str) -> Iterator[tuple[bytes, bytes]]:
        """The names and values of one of DEVICE's lists."""
        entry = getattr(self.library, f"udev_device_get_{kind}_list_entry")(device)
        while entry:
            yield self.library.udev_list_entry_get_name(entry), self.library.udev_list_entry_get_value(entry) or b""
            entry = self.library.udev_list_entry_get_next(entry)

    def current_tags(self, device: Any) -> Iterator[bytes]:
        """The tags that the last event gave DEVICE; all that it has where udev does not tell them apart: there no tag stays on."""
        has = getattr(self.library, "udev_device_has_current_tag", None)
        return (tag for tag, _ in self.entries(device, "tags") if has is None or has(device, tag) > 0)

    def attribute(self, device: Any, name: str) -> bytes | None:
        """The attribute NAME of DEVICE, None if it has none."""
        value: bytes | None = self.library.udev_device_get_sysattr_value(device, name.encode())
        return value


class Reader:
    """Reads single devices, as `database.Reader` does."""

    def __init__(self, query: Query) -> None:
        pyudev = _load()
        self._query = query
        self._devices = pyudev.Devices
        self._absent = pyudev.DeviceNotFoundError
        try:
            self._context = pyudev.Context()
            self._texts = _Texts()
        except (ImportError, OSError) as error:
            raise ConfigurationError(f"{_OTHER}, but {_SONAME}, which reads such ones, does not load ({error}): install libudev") from None

    def device(self, devpath: str) -> Device | None:
        """The device at DEVPATH, without parents; None if it has vanished."""
        try:
            found = self._devices.from_sys_path(self._context, f"/sys{devpath}")
        except self._absent:
            return None
        return self._made(found, self._query.attributes)

    def parents(self, devpath: str) -> tuple[Device, ...]:
        """The parents of the device at DEVPATH, the nearest first."""
        try:
            found = self._devices.from_sys_path(self._context, f"/sys{devpath}")
        except self._absent:
            return ()
        return tuple([self._made(parent, self._query.parent_attributes) for parent in found.ancestors])

    def _made(self, found: Any, attributes: tuple[str, ...]) -> Device:
        """The model's device for FOUND, one of pyudev's."""
        texts = self._texts
        # Before the driver is asked for, which takes the property DRIVER away where there is no link.
        properties = {sysfs.text(name): sysfs.text(value) for name, value in texts.entries(found, "properties")}
        for name, separator in _LISTS.items():
            if name in properties:
                properties[name] = _sorted_list(properties[name], separator)
        subsystem = found.subsystem or ""
        number = None
        if found.device_number:
            kind = DeviceType.BLOCK if subsystem == "block" else DeviceType.CHAR
            number = DeviceNumber(kind, os.major(found.device_number), os.minor(found.device_number))
        values = {name: sysfs.text(value) for name in attributes if (value := texts.attribute(found, name)) is not None}
        return Device(
            syspath=found.sys_path,
            subsystem=subsystem,
            sysname=found.sys_name,
            devtype=found.device_type or "",
            driver=found.driver or "",
            devnode=found.device_node,
            number=number,
            properties=properties,
            attributes=values,
            tags=frozenset(map(sysfs.text, texts.current_tags(found))),
            links=tuple(sorted([sysfs.text(link) for link, _ in texts.entries(found, "devlinks")])),
            initialized=database.finished(found.is_initialized, number, properties),
        )


def _sorted_list(value: str, separator: str) -> str:
    """The parts of VALUE sorted, with the SEPARATOR before and after them that they had."""
    parts = separator.join(sorted(value.strip(separator).split(separator)))
    return f"{separator}{parts}{separator}" if value.startswith(separator) else parts
