"""What the host has of the resources asked for: one look at sysfs and udev's database for all of them."""

from __future__ import annotations

from ..frozen import frozen, replace
from . import database, nodes, rules
from .identity import usb_device
from .query import needs_database, query
from .sysfs import HOST
from .units import identified, key, units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    from ..model import Device, Resource, Unit
    from .database import DeviceReader
    from .query import Query
    from .sysfs import Roots

    _T = TypeVar("_T")


@frozen
class Survey:
    """What was found."""

    units: Mapping[str, tuple[Unit, ...]]  #: of each resource, in their stable order
    near: Mapping[str, tuple[str, ...]] = {}  #: of each resource: sentences on devices that nearly matched, the nearest first
    warnings: tuple[str, ...] = ()


def survey(resources: Iterable[Resource], *, near: bool = False, roots: Roots = HOST) -> Survey:
    """Find the units of RESOURCES, and with NEAR also why other devices are none; that takes longer and is for shortages only.

    Raises ConfigurationError where udev's records need pyudev and it cannot be loaded.
    """
    wanted = {resource.name: resource for resource in resources}
    lines = [rule for resource in wanted.values() for rule in resource.rules]
    asked = query(lines, wide=near)
    if not wanted:
        return Survey({})
    found, notes = reading(asked, roots, lambda reader: _look(wanted, asked, reader, roots, near))
    every = {key(device): device for devices in found.values() for device in devices}
    usb = nodes.usb_devices(roots.sys) if any(map(usb_device, every.values())) else {}
    identities = identified(every.values(), nodes.siblings(roots.sys), usb)
    warned = needs_database(lines) and not database.present(roots)
    return Survey(
        units={name: units(name, devices, identities, usb) for name, devices in found.items()},
        near=notes,
        warnings=(_without_database(roots),) if warned else (),
    )


def _without_database(roots: Roots) -> str:
    """The sentence for a host where udev has written nothing."""
    return (
        f"the udev database {roots.run}/data is not there, so properties (ENV, ID_…), tags and links are missing "
        f"and only what the kernel says was compared; see that udevd runs and that {roots.run} is visible here"
    )


def reading(asked: Query, roots: Roots, use: Callable[[DeviceReader], _T]) -> _T:
    """The outcome of USE with a reader of the host, with libudev where udev's records are not the known ones."""
    try:
        return use(database.Reader(asked, roots))
    except database.UnknownRecord:
        from . import udev

        return use(udev.Reader(asked))


def _look(
    wanted: Mapping[str, Resource], asked: Query, reader: DeviceReader, roots: Roots, near: bool
) -> tuple[dict[str, list[Device]], dict[str, tuple[str, ...]]]:
    """The usable devices of each resource in WANTED, and with NEAR the sentences on others."""
    devices = database.collect(reader, asked, roots)
    ready: dict[str, Device | None] = {}
    found: dict[str, list[Device]] = {}
    notes: dict[str, tuple[str, ...]] = {}
    for name, resource in wanted.items():
        outcomes = list(_usable(resource, devices, reader, roots, ready))
        found[name] = [outcome for outcome in outcomes if not isinstance(outcome, str)]
        if near:
            from .near import sentences

            unusable = [outcome for outcome in outcomes if isinstance(outcome, str)]
            notes[name] = (*unusable, *sentences(resource, devices, database.present(roots)))
    return found, notes


def _usable(
    resource: Resource, devices: tuple[Device, ...], reader: DeviceReader, roots: Roots, ready: dict[str, Device | None]
) -> Iterator[Device | str]:
    """The devices of RESOURCE with their nodes; a sentence for each that belongs to it and cannot be had. READY keeps what is done."""
    finished = not database.present(roots)
    belonging: list[Device | str] = [
        device for device in devices if (finished or device.initialized) and any(rules.matches(rule, device) for rule in resource.rules)
    ]
    if resource.paths:
        belonging += nodes.at_paths(resource.paths, reader, roots.sys, roots.dev)
    for device in belonging:
        if isinstance(device, str):
            yield device
        elif device.devnode is None:
            yield f"{device.devpath} matches, but has no device node"
        else:
            known = key(device)
            if known not in ready:
                ready[known] = nodes.with_node(_complete(device, reader), roots.dev)
            yield ready[known] or f"{device.devnode} matches, but the node there is gone or another device's"


def _complete(device: Device, reader: DeviceReader) -> Device:
    """DEVICE with its parents, which tell what it is known by."""
    return device if device.parents or not device.syspath else replace(device, parents=reader.parents(device.devpath))
