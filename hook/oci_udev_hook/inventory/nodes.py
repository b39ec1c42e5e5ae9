"""Device nodes and what lies around matched devices on the host: nodes by path, links that hold now, USB serials, names beside theirs."""

from __future__ import annotations

import os
import stat

from ..frozen import replace
from ..model import Device, HostNode, number_of
from . import glob, sysfs
from .identity import Usb, natural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import DeviceNumber
    from .database import DeviceReader
    from .identity import Siblings


def with_node(device: Device, dev: str) -> Device | None:
    """DEVICE with its node and those of its links that lead there now; None if the node is gone or is already another device's."""
    path = _inside(device.devnode or "", dev)
    try:
        status = os.stat(path)
    except OSError:
        return None
    if device.number is None or number_of(status) != device.number:
        return None
    node = HostNode(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, os.access(path, os.R_OK), os.access(path, os.W_OK))
    links = tuple([link for link in device.links if _leads_to(_inside(link, dev), device.number)])
    return replace(device, node=node, links=links)


def _inside(path: str, dev: str) -> str:
    """PATH below /dev as it is found below DEV."""
    return dev + path.removeprefix("/dev")


def _leads_to(path: str, number: DeviceNumber) -> bool:
    """Whether a node of NUMBER is at the end of PATH. Links change hands between two devices that claim the same name."""
    try:
        return "/../" not in path and number_of(os.stat(path)) == number
    except OSError:
        return False


def at_paths(patterns: tuple[str, ...], reader: DeviceReader, sys: str, dev: str) -> Iterator[Device | str]:
    """The devices whose nodes match one of PATTERNS, globs of paths from `/dev/`; a sentence for each match that is refused.

    A path may be a link, but not to something outside /dev. A node that sysfs does not know, as those that NVIDIA's driver makes, is a
    device all the same. A device that is there under several paths comes several times.
    """
    for path in (path for pattern in patterns for path in _expanded(pattern, dev)):
        real = os.path.realpath(_inside(path, dev))
        root = os.path.realpath(dev)
        if not real.startswith(f"{root}/"):
            yield f"{path} is a link to {real}, which is not below /dev"
            continue
        node = f"/dev{real.removeprefix(root)}"
        try:
            number = number_of(os.stat(real))
        except OSError:
            continue
        if number is None:
            continue
        devpath = sysfs.by_number(sys, number.type, f"{number.major}:{number.minor}")
        known = reader.device(devpath) if devpath else None
        yield known if known is not None and known.number == number else Device(syspath="", devnode=node, number=number)


def _expanded(pattern: str, dev: str) -> list[str]:
    """The paths from `/dev/` that match PATTERN, in counting order; globs go component by component, as in glob(7)."""
    found = [""]
    for part in pattern.removeprefix("/dev").strip("/").split("/"):
        if part in {".", ".."}:
            return []
        if glob.has_glob(part):
            found = [f"{path}/{name}" for path in found for name in sysfs.listed(dev + path) if _fits(part, name)]
        else:
            found = [f"{path}/{part}" for path in found]
    return [f"/dev{path}" for path in sorted(found, key=natural) if os.path.lexists(dev + path)]


def _fits(pattern: str, name: str) -> bool:
    """Whether a glob takes NAME: not a hidden one unless it says so, and none that cannot be written as text."""
    return (name[0] != "." or pattern[0] == ".") and name.isprintable() and glob.matches(pattern, name)


def usb_devices(sys: str) -> dict[str, Usb]:
    """What each USB device of the host says of itself, by DEVPATH."""
    found = {}
    for name in sysfs.listed(f"{sys}/bus/usb/devices"):
        devpath = None if ":" in name else sysfs.resolve(sys, f"bus/usb/devices/{name}")
        if devpath:
            # Most have no serial, and then the rest is of no use.
            serial = sysfs.attribute(sys + devpath, "serial") or ""
            vendor, product = [(serial and sysfs.attribute(sys + devpath, wanted)) or "" for wanted in ("idVendor", "idProduct")]
            found[devpath] = Usb(vendor, product, serial)
    return found


def siblings(sys: str) -> Siblings:
    """A function that gives the names in the folder of a DEVPATH, and looks there once."""
    seen: dict[str, list[str]] = {}

    def listed(devpath: str) -> list[str]:
        if devpath not in seen:
            seen[devpath] = sysfs.listed(sys + devpath)
        return seen[devpath]

    return listed
