"""Devices that a udev rule has marked for a resource: no definition file is needed then.

    SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0403", TAG+="oci-udev-hook", ENV{OCI_UDEV_RESOURCE}="hardware-vendor.example/foo"

The tag is what makes them quick to find, and only one that the rules still set counts. ENV{OCI_UDEV_SHARING}, …_PATH and …_PERMISSIONS
are the fields of the same name.
"""

from __future__ import annotations

from ..frozen import replace
from ..model import Resource, Rule, Term
from ..names import why_not
from ..typed import shown
from .query import Query, Selector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model import Device
    from .catalog import Catalog

_TAG = "oci-udev-hook"
_RESOURCE, _SHARING, _PATH, _PERMISSIONS = (f"OCI_UDEV_{name}" for name in ("RESOURCE", "SHARING", "PATH", "PERMISSIONS"))
_FIELDS = {"sharing": _SHARING, "path": _PATH, "permissions": _PERMISSIONS}
_SOURCE = "udev"
QUERY = Query(selectors=(Selector(tags=(_TAG,)),))


def join(catalog: Catalog, devices: Iterable[Device]) -> Catalog:
    """CATALOG with the resources that DEVICES are marked for. One that a file defines keeps the file's fields and gets the devices too."""
    resources, broken, faults = dict(catalog.resources), dict(catalog.broken), list(catalog.faults)
    groups: dict[str, list[Device]] = {}
    for device in devices:
        if _TAG not in device.tags:
            continue
        name = device.properties.get(_RESOURCE, "")
        wrong = why_not(name) if name else None
        if not name:
            faults.append(f"{device.label} has the tag {_TAG}, but no {_RESOURCE} that names its resource; mend the udev rule that sets it")
        elif wrong:
            faults.append(f'{_RESOURCE} of {device.label} is "{name}", but {wrong}; mend the udev rule that sets it')
        else:
            groups.setdefault(name, []).append(device)
    for name, group in groups.items():
        if name in broken:
            continue
        if name in resources:
            resources[name] = replace(resources[name], rules=(*resources[name].rules, _rule(name)))
            continue
        values, wrongs = _agreed(group)
        if wrongs:
            broken[name] = "; ".join(wrongs)
            faults += wrongs
        else:
            resources[name] = replace(Resource(name=name, rules=(_rule(name),), source=_SOURCE), **values)
    return replace(catalog, resources=resources, broken=broken, faults=tuple(faults))


def _rule(name: str) -> Rule:
    """What a device that is marked for the resource NAME matches. Names of resources have no globs in them."""
    tag = Term(key="TAG", name="", negated=False, patterns=(_TAG,), column=1, text=f'TAG=="{_TAG}"')
    own = Term(key="ENV", name=_RESOURCE, negated=False, patterns=(name,), column=len(tag.text) + 3, text=f'ENV{{{_RESOURCE}}}=="{name}"')
    return Rule(f"{tag.text}, {own.text}", (tag, own))


def _agreed(devices: list[Device]) -> tuple[dict[str, object], list[str]]:
    """What DEVICES, all marked for one resource, say of its fields, and a sentence for each that is wrong or that two of them disagree on.

    What is wrong with a value is the same as in a file.
    """
    from . import fields

    values: dict[str, object] = {}
    wrongs = []
    for field, name in _FIELDS.items():
        said: dict[str, str] = {}
        for device in devices:
            if device.properties.get(name):
                said.setdefault(device.properties[name], device.label)
        if len(said) > 1:
            each = " and ".join([f'"{value}" by {node}' for value, node in said.items()])
            wrongs.append(f"{name} is {each}, but a resource has one value of it; mend the udev rules that set it")
        elif said:
            ((value, node),) = said.items()
            wrong, read = fields.IN_MARKS[field]
            clause = wrong(value)
            if clause:
                wrongs.append(f"{name} of {node} is {shown(value)}, {clause}; mend the udev rule that sets it")
            else:
                values[field] = read(value)
    return values, wrongs
