"""Devices that a udev rule has marked for a resource: no definition file is needed then.

    SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0403", TAG+="oci-udev-hook", ENV{OCI_UDEV_RESOURCE}="hardware-vendor.example/foo"

The tag is what makes them quick to find, and only one that the rules still set counts. ENV{OCI_UDEV_SHARING}, …_PATH and …_PERMISSIONS
are the fields of the same name.
"""

from __future__ import annotations

from ..frozen import replace
from ..model import Resource, Rule, Term
from ..names import why_not
from .query import Query, Selector
from .sysfs import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..model import Device
    from .catalog import Catalog

TAG = "oci-udev-hook"
RESOURCE, SHARING, PATH, PERMISSIONS = (f"OCI_UDEV_{name}" for name in ("RESOURCE", "SHARING", "PATH", "PERMISSIONS"))
SOURCE = "udev"
QUERY = Query(selectors=(Selector(tags=(TAG,)),))


def join(catalog: Catalog, devices: Iterable[Device]) -> Catalog:
    """CATALOG with the resources that DEVICES are marked for. One that a file defines keeps the file's fields and gets the devices too."""
    resources, broken, faults = dict(catalog.resources), dict(catalog.broken), list(catalog.faults)
    groups: dict[str, list[Device]] = {}
    for device in devices:
        if TAG not in device.tags:
            continue
        name = device.properties.get(RESOURCE, "")
        wrong = why_not(name) if name else None
        if not name:
            faults.append(f"{called(device)} has the tag {TAG}, but no {RESOURCE} that names its resource; mend the udev rule that sets it")
        elif wrong:
            faults.append(f'{RESOURCE} of {called(device)} is "{name}", but {wrong}; mend the udev rule that sets it')
        else:
            groups.setdefault(name, []).append(device)
    for name, group in groups.items():
        if name in broken:
            continue
        if name in resources:
            resources[name] = replace(resources[name], rules=(*resources[name].rules, rule(name)))
            continue
        values, wrongs = fields(group)
        if wrongs:
            broken[name] = "; ".join(wrongs)
            faults += wrongs
        else:
            resources[name] = replace(Resource(name=name, rules=(rule(name),), source=SOURCE), **values)
    return replace(catalog, resources=resources, broken=broken, faults=tuple(faults))


def rule(name: str) -> Rule:
    """What a device that is marked for the resource NAME matches. Names of resources have no globs in them."""
    tag = Term(key="TAG", name="", negated=False, patterns=(TAG,), column=1, text=f'TAG=="{TAG}"')
    own = Term(key="ENV", name=RESOURCE, negated=False, patterns=(name,), column=len(tag.text) + 3, text=f'ENV{{{RESOURCE}}}=="{name}"')
    return Rule(f"{tag.text}, {own.text}", (tag, own))


def fields(devices: list[Device]) -> tuple[dict[str, object], list[str]]:
    """The fields of the resource that DEVICES are marked for, and a sentence for each that is wrong or that two devices disagree on."""
    values: dict[str, object] = {}
    wrongs = []
    for field, (name, wrong) in FIELDS.items():
        said: dict[str, str] = {}
        for device in devices:
            if device.properties.get(name):
                said.setdefault(device.properties[name], called(device))
        if len(said) > 1:
            each = " and ".join([f'"{value}" by {node}' for value, node in said.items()])
            wrongs.append(f"{name} is {each}, but a resource has one value of it; mend the udev rules that set it")
        elif said:
            ((value, node),) = said.items()
            clause = wrong(value)
            if clause:
                wrongs.append(f'{name} of {node} is "{value}", {clause}; mend the udev rule that sets it')
            else:
                values[field] = int(value) if field == "sharing" else value
    return values, wrongs


def wrong_sharing(value: str) -> str | None:
    """What is wrong with a number of containers that may hold one unit."""
    return None if is_number(value) and int(value) > 0 else "it must be a whole number from 1 on"


def wrong_path(value: str) -> str | None:
    """What is wrong with a template of the node's path in a container: the same as in a file."""
    from . import fields as definition

    return definition.path(value) if value.startswith("/dev/") else "it must be a path below /dev"


def wrong_permissions(value: str) -> str | None:
    """What is wrong with a cgroup access: the same as in a file."""
    from . import fields as definition

    return definition.permissions(value)


FIELDS: Mapping[str, tuple[str, Callable[[str], str | None]]] = {
    "sharing": (SHARING, wrong_sharing),
    "path": (PATH, wrong_path),
    "permissions": (PERMISSIONS, wrong_permissions),
}


def called(device: Device) -> str:
    """What people know DEVICE by."""
    return device.devnode or device.devpath
