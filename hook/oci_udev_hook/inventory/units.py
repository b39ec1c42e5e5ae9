"""From matched devices to units, what is allotted as one: so far each node is one. Pure."""

from __future__ import annotations

from ..model import Unit
from .identity import identify, names, natural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..model import Device
    from .identity import Siblings, Usb


def units(resource: str, devices: Iterable[Device], identities: Mapping[str, str], usb: Mapping[str, Usb]) -> tuple[Unit, ...]:
    """The units of RESOURCE that DEVICES are, each once, in their stable order: people's counting order of DEVPATH, then of node.

    IDENTITIES are what `identified` gave for all devices that were found in the same look at the host.
    """
    by_key = {key(device): device for device in devices if device.devnode}
    ordered = sorted(by_key.values(), key=lambda device: (not device.syspath, natural(device.devpath), natural(device.devnode or "")))
    return tuple([Unit(resource, identities[key(device)], _called(device, usb), (device,)) for device in ordered])


def identified(devices: Iterable[Device], siblings: Siblings, usb: Mapping[str, Usb]) -> dict[str, str]:
    """The identity of each of DEVICES by its key. What sysfs does not know is known by its path."""
    devices = tuple(devices)
    found = identify([device for device in devices if device.syspath], siblings, usb)
    return {key(device): found.get(device.syspath) or f"path:{device.devnode}" for device in devices}


def key(device: Device) -> str:
    """What tells DEVICE from all others right now."""
    return device.syspath or f"{device.number}"


def _called(device: Device, usb: Mapping[str, Usb]) -> tuple[str, ...]:
    """What people may call the unit of DEVICE."""
    if device.syspath:
        return names(device, usb)
    node = device.devnode or ""
    return (node.rpartition("/")[2], node)
