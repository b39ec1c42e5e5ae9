"""Reading sysfs and finding the devices in it: sysfs(5), admin-guide/sysfs-rules of the kernel's documentation.

What is read here is the kernel's own and the same for every udev. Devices come and go while one looks: what has vanished is skipped.
"""

from __future__ import annotations

import errno
import os

from ..frozen import frozen
from . import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .query import Selector

_CHUNK = 1 << 16  #: no file of sysfs is longer, see read_full_virtual_file of systemd
_LINKS = ("driver", "subsystem", "module")  #: links whose base name libudev gives as an attribute's value


@frozen
class Roots:
    """Where the host's trees are mounted."""

    sys: str = "/sys"
    run: str = "/run/udev"
    dev: str = "/dev"


HOST = Roots()


def content(path: str) -> bytes | None:
    """The bytes of the file PATH, None if it cannot be read. Attributes fail to read for all kinds of reasons of their drivers."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = part = os.read(descriptor, _CHUNK)
        while len(part) == _CHUNK:
            part = os.read(descriptor, _CHUNK)
            data += part
        return data
    except OSError:
        return None
    finally:
        os.close(descriptor)


def text(data: bytes) -> str:
    r"""DATA as text that can be printed and written as JSON: what is no UTF-8 becomes `\xNN`, as udev itself writes it in ID_MODEL_ENC."""
    return data.decode("utf-8", "backslashreplace")


def is_number(value: str) -> bool:
    """Whether VALUE is a number that fits in a C int or nearly so; Python knows more digits than 0 to 9, and longer ones."""
    return value.isascii() and value.isdecimal() and len(value) <= 10


def lines(data: bytes) -> list[str]:
    """The lines of a uevent file or a udev record; libudev ends them at a carriage return, too."""
    return text(data).replace("\r", "\n").split("\n")


def listed(directory: str) -> list[str]:
    """The names in DIRECTORY, none if it is not there."""
    try:
        return os.listdir(directory)
    except OSError:
        return []


def linked(path: str) -> str:
    """The last component of what the link PATH points to, empty if there is no such link."""
    try:
        return os.readlink(path).rpartition("/")[2]
    except OSError:
        return ""


def attribute(directory: str, name: str) -> str | None:
    """The attribute NAME of the device in DIRECTORY as udev_device_get_sysattr_value(3) gives it, None if it has none.

    Newlines at the end are dropped, other white space stays; it ends at a NUL. A link is no attribute, except for the three in _LINKS,
    whose values are what they point to.
    """
    path = f"{directory}/{name}"
    if name in _LINKS:
        found = linked(path)
        if found:
            return found
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    if mode & 0o170000 != 0o100000 or not mode & 0o400:
        return None
    data = content(path)
    return None if data is None else text(data.rstrip(b"\n\r\0").partition(b"\0")[0])


def resolve(sys: str, path: str) -> str | None:
    """The DEVPATH (`/devices/…`) of the device that PATH below SYS is or is a link to, None if there is none.

    The kernel's links lead up to the root of sysfs and down to the device, whose own path has no links.
    """
    try:
        target = os.readlink(f"{sys}/{path}")
    except OSError as error:
        return f"/{path}" if error.errno == errno.EINVAL and os.path.isdir(f"{sys}/{path}") else None
    while target.startswith("../"):
        target = target[3:]
    return f"/{target}" if target.startswith("devices/") else None


def by_number(sys: str, kind: str, number: str) -> str | None:
    """The DEVPATH of the device with the number `MAJOR:MINOR`, KIND being `c` or `b`."""
    return resolve(sys, f"dev/{'block' if kind == 'b' else 'char'}/{number}")


def _by_id(sys: str, identifier: str) -> str | None:
    """The DEVPATH of the device that udev's database calls IDENTIFIER (sd_device_new_from_device_id of systemd)."""
    kind, rest = identifier[:1], identifier[1:]
    if kind in {"c", "b"}:
        return by_number(sys, kind, rest)
    if kind == "n":
        found = (name for name in listed(f"{sys}/class/net") if attribute(f"{sys}/class/net/{name}", "ifindex") == rest)
        return next((path for name in found if (path := resolve(sys, f"class/net/{name}"))), None)
    subsystem, colon, name = rest.partition(":")
    if kind != "+" or not colon:
        return None
    return resolve(sys, f"bus/{subsystem}/devices/{name}") or resolve(sys, f"class/{subsystem}/{name}")


def sysname(devpath: str) -> str:
    """The KERNEL of udev: the last component, where `!` stands for the `/` of the kernel's own name."""
    return devpath.rpartition("/")[2].replace("!", "/")


def candidates(selectors: Iterable[Selector], roots: Roots = HOST) -> list[str]:
    """The DEVPATHs of all devices that one of SELECTORS takes, each once."""
    return list(dict.fromkeys([path for selector in selectors for path in _selected(selector, roots)]))


def _selected(selector: Selector, roots: Roots) -> Iterator[str]:
    """The DEVPATHs of the devices that SELECTOR takes."""
    if selector.tags:
        found = (_by_id(roots.sys, name) for tag in selector.tags for name in listed(f"{roots.run}/tags/{tag}"))
    elif selector.subsystems:
        folders = [folder for name in selector.subsystems for folder in (f"bus/{name}/devices", f"class/{name}")]
        entries = ((folder, name) for folder in folders for name in listed(f"{roots.sys}/{folder}"))
        found = (resolve(roots.sys, f"{folder}/{name}") for folder, name in entries if _named(selector, name))
    else:
        # Only a device with a number can have a node, and all those are here; most devices have none.
        folders = ["dev/char", "dev/block"]
        found = (resolve(roots.sys, f"{folder}/{name}") for folder in folders for name in listed(f"{roots.sys}/{folder}"))
    return (path for path in found if path and _named(selector, path))


def _named(selector: Selector, path: str) -> bool:
    """Whether the sysname at the end of PATH is one that SELECTOR takes."""
    if not selector.kernels:
        return True
    return all(glob.any_matches(patterns, sysname(path)) for patterns in selector.kernels)
