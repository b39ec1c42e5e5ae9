"""What createRuntime looks at before it confirms a lease: whether the nodes that the config and the host have are still the leased ones."""

from __future__ import annotations

import os
import stat

from ..edit import CgroupRule, Mount, Node
from ..model import DeviceNumber, DeviceType
from .config import number_at, same_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .mark import Leased, Mark

    Stat = Callable[[str], os.stat_result]

AGAIN = "start the container again"


def changed(mark: Mark, config: Mapping[str, object]) -> str | None:
    """The sentence on an edit of MARK that CONFIG has no more, or with another device; None if all are there.

    What a mark does not lease, no edit of it may give: this is looked at too.
    """
    leased = {number for lease in mark.leases for number in lease.numbers}
    hosts = {path for lease in mark.leases for path in lease.nodes}
    linux = config.get("linux")
    devices = _objects(linux.get("devices") if isinstance(linux, dict) else None)
    mounts = _objects(config.get("mounts"))
    for edit in mark.edits:
        if isinstance(edit, (Node, CgroupRule)) and edit.number not in leased:
            return f"the config's mark gives {edit.number}, which is not among its leases; make the container anew"
        if isinstance(edit, Mount) and edit.source not in hosts:
            return f"the config's mark binds {edit.source}, which is not among its leases; make the container anew"
        if isinstance(edit, Node):
            there = [number_at(entry) for entry in devices if same_path(entry.get("path"), edit.path)]
            if there[-1:] != [str(edit.number)]:
                return (
                    f"the container's config has {there[-1] if there else 'nothing'} at {edit.path}, not the leased {edit.number}; {AGAIN}"
                )
        if isinstance(edit, Mount):
            bound = [entry.get("source") for entry in mounts if same_path(entry.get("destination"), edit.destination)]
            if bound[-1:] != [edit.source]:
                return f"the container's config has {bound[-1] if bound else 'nothing'} at {edit.destination}, not {edit.source}; {AGAIN}"
    return None


def moved(mark: Mark, status: Stat = os.stat) -> str | None:
    """The sentence on a leased node that the host has no more, or that is another device now; None if all are the leased ones."""
    for lease in mark.leases:
        for path in lease.nodes:
            sentence = _moved(lease, path, status)
            if sentence is not None:
                return sentence
    return None


def _moved(lease: Leased, path: str, status: Stat) -> str | None:
    """The sentence on one node of a lease."""
    unit = f"unit {lease.unit} of {lease.resource}"
    try:
        found = status(path)
    except OSError as error:
        return f"{path}, {unit}, has gone since it was allotted ({error.strerror}); plug it in again and start the container"
    number = device_number(found)
    if number in lease.numbers:
        return None
    leased = " or ".join([str(each) for each in lease.numbers])
    return f"{path}, {unit}, was {leased} when it was allotted and is {number or 'no device'} now; {AGAIN}"


def device_number(found: os.stat_result) -> DeviceNumber | None:
    """The number of the device that stat(2) FOUND, None if it is none."""
    if stat.S_ISCHR(found.st_mode):
        return DeviceNumber(DeviceType.CHAR, os.major(found.st_rdev), os.minor(found.st_rdev))
    if stat.S_ISBLK(found.st_mode):
        return DeviceNumber(DeviceType.BLOCK, os.major(found.st_rdev), os.minor(found.st_rdev))
    return None


def _objects(value: object) -> list[dict[str, object]]:
    """The objects of a list, none where there is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
