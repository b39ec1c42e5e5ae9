"""Print as JSON how this host's devices come out of sysfs and udev's database, and out of libudev. A program for a view, not a module."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "hook"))

from oci_udev_hook import inventory
from oci_udev_hook.inventory import database, rules, sysfs, udev
from oci_udev_hook.inventory.query import Query, query
from oci_udev_hook.model import Device, Resource

ATTRIBUTES = (
    "dev",
    "uevent",
    "driver",
    "subsystem",
    "module",
    "device",
    "power",
    "size",
    "idVendor",
    "modalias",
    "power/control",
    "device/vendor",
    "none",
)
QUERY = Query(attributes=ATTRIBUTES, parent_attributes=ATTRIBUTES, parents=True)


def every() -> list[str]:
    """The DEVPATHs of all devices that libudev lists."""
    return [device.device_path for device in udev._load().Context().list_devices()]


def differences(one: Device, other: Device) -> list[str]:
    """What is not the same of two devices."""
    names = list(Device.__annotations__)
    return [
        f"{one.syspath}: {name}: {getattr(one, name)!r} / {getattr(other, name)!r}"
        for name in names
        if getattr(one, name) != getattr(other, name)
    ]


def compared() -> tuple[int, list[str]]:
    """How many devices there are, and all that differs."""
    files, library = database.Reader(QUERY), udev.Reader(QUERY)
    found: list[str] = []
    count = 0
    for path in every():
        here, there = files.device(path), library.device(path)
        if here is None or there is None:
            if Path(f"/sys{path}").exists():  # else it has gone meanwhile, which is no difference
                found.append(f"{path}: {here} / {there}")
            continue
        count += 1
        pairs = [(here, there), *zip(files.parents(path), library.parents(path), strict=True)]
        found += [difference for one, other in pairs for difference in differences(one, other)]
    return count, found


def units(lines: list[str]) -> dict[str, list[str]]:
    """Nodes, links and identities of the units that match LINES."""
    survey = inventory.survey([Resource("a.b/c", rules=tuple([rules.parse(line) for line in lines]))])
    found = survey.units["a.b/c"]
    return {unit.identity: [str(unit.devices[0].devnode), *unit.devices[0].links] for unit in found}


def main() -> None:
    """Lines to match stand on the command line; after `--units` nothing but their units is looked for."""
    lines = sys.argv[1:]
    answer: dict[str, object] = {}
    if lines[0] == "--units":
        del lines[0]
    else:
        asked = query([rules.parse(line) for line in lines])
        answer["count"], answer["different"] = compared()
        found = [database.collect(reader, asked, sysfs.HOST) for reader in (database.Reader(asked), udev.Reader(asked))]
        answer["same"] = found[0] == found[1]
    json.dump({**answer, "units": units(lines)}, sys.stdout)


if __name__ == "__main__":
    main()
