"""Match lines on a real device against udev itself: `udevadm test` with each line as a rule that sets a property."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from oci_udev_hook.inventory import rules
from oci_udev_hook.inventory.database import Reader
from oci_udev_hook.inventory.query import query
from oci_udev_hook.inventory.sysfs import Roots
from oci_udev_hook.model import Device, Rule

ATTRIBUTES = ("type", "line", "size", "ro", "id", "options", "class", "vendor", "device", "modalias", "power/control", "none")
RECORD = "S:bed/one\nS:other\nE:BED=two words\nG:one\nQ:one\nG:two\nQ:two\nV:1\n"
#: What makes udev's device like that record, before the lines are asked.
SETUP = 'TAG+="one", TAG+="two", SYMLINK+="bed/one other", ENV{BED}="two words"\n'
#: udev's own rules and database stay as they are, and the links that `udevadm test` makes vanish: all is hidden for this one run.
PROGRAM = """
set -e
mount -t tmpfs none /run
mount -t tmpfs none /usr/lib/udev/rules.d
mkdir -p /run/udev/rules.d /run/dev
cp -ax /dev/. /run/dev/
mount --bind /run/dev /dev
cp "$1" /run/udev/rules.d/50-bed.rules
udevadm test "$2"
"""


def devpath() -> str:
    """A device with a node that has at least two parents."""
    for folder in ("/sys/class/tty", "/sys/class/rtc", "/sys/class/block", "/sys/class/hidraw"):
        for entry in sorted(Path(folder).glob("*")):
            path = entry.resolve()
            parents = [parent for parent in path.parents if (parent / "uevent").exists()]
            if len(parents) > 1 and (path / "dev").exists():
                return str(path).removeprefix("/sys")
    pytest.skip("this machine has no device with a node and two parents")


def patterns(value: str) -> list[str]:
    """What is written against VALUE: what matches it, what does not, and what udev has rules of its own for."""
    return [
        "",
        value,
        f"{value[:-1]}*",
        f"*{value[1:]}",
        f"[!{value[:1]}]*",
        f"?{value}",
        f"\\{value or 'x'}",
        f"{value} ",
        f"x|{value}",
        "x|",
        "?*",
        "*",
    ]


def values(key: str, device: Device) -> list[tuple[str, str]]:
    """What KEY may have in braces, and what it stands for at DEVICE."""
    match key:
        case "KERNEL" | "KERNELS":
            return [("", device.sysname)]
        case "SUBSYSTEM" | "SUBSYSTEMS":
            return [("", device.subsystem)]
        case "DRIVER" | "DRIVERS":
            return [("", device.driver)]
        case "DEVPATH":
            return [("", device.devpath)]
        case "ENV":
            return [(f"{{{name}}}", device.properties.get(name, "")) for name in ("BED", "SUBSYSTEM", "NONE")]
        case "ATTR" | "ATTRS":
            return [(f"{{{name}}}", device.attributes.get(name, "")) for name in ATTRIBUTES]
        case "SYMLINK":
            return [("", "bed/one")]
    return [("", "two")]


def terms(keys: tuple[str, ...], devices: tuple[Device, ...]) -> list[str]:
    """Terms with KEYS about DEVICES, each once."""
    found = [
        f'{key}{name}{operator}"{pattern}"'
        for key, device in product(keys, devices)
        for name, value in values(key, device)
        for operator, pattern in product(("==", "!="), patterns(value))
        if '"' not in pattern and not pattern.endswith("\\")
    ]
    return list(dict.fromkeys(found))


def lines(device: Device) -> list[str]:
    """Lines about DEVICE: single terms, and each two parents' terms that hold by themselves, at one parent or at two."""
    everyone = (device, *device.parents)
    own = terms(("KERNEL", "SUBSYSTEM", "DRIVER", "DEVPATH", "ENV", "ATTR", "SYMLINK", "TAG"), (device,))
    parental = terms(("KERNELS", "SUBSYSTEMS", "DRIVERS", "ATTRS", "TAGS"), everyone)
    kernels = [f'KERNELS=="{parent.sysname}"' for parent in everyone]
    pairs = [f"{first}, {second}" for first, second in product(kernels, parental) if '|"' not in second]
    return [*own, *parental, *pairs]


def matched_by_udev(device: Device, asked: list[str], folder: Path) -> set[str]:
    """Those of the lines ASKED that udev takes DEVICE for."""
    text = SETUP + "".join([f'{line}, ENV{{BED_{number}}}="1"\n' for number, line in enumerate(asked)])
    (folder / "rules").write_text(text, encoding="utf-8")
    command = ["unshare", "--mount", "sh", "-c", PROGRAM, "sh", str(folder / "rules"), device.syspath]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    told = {line.strip().removeprefix("E: ") for line in (answer.stdout + answer.stderr).splitlines()}
    return {line for number, line in enumerate(asked) if f"BED_{number}=1" in told}


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("udevadm"), reason="needs root and udevadm")
def test_a_line_takes_the_device_if_udev_does(tmp_path: Path) -> None:
    """Read by the hook's own reader, with a record of udev's as the rules above make it. Case 15 is among the pairs."""
    path = devpath()
    (tmp_path / "data").mkdir()
    number = Path(f"/sys{path}/dev").read_text(encoding="ascii").strip()
    kind = "b" if os.readlink(f"/sys{path}/subsystem").endswith("/block") else "c"
    (tmp_path / "data" / f"{kind}{number}").write_text(RECORD, encoding="ascii")
    wide = [rules.parse(f'ATTRS{{{name}}}=="*"') for name in ATTRIBUTES]
    reader = Reader(query(wide), Roots(run=str(tmp_path)))
    found = reader.device(path)
    assert found is not None
    device = Device(**{name: getattr(found, name) for name in Device.__match_args__} | {"parents": reader.parents(path)})

    asked = lines(device)
    parsed: dict[str, Rule] = {line: rules.parse(line) for line in asked}
    ours = {line for line, rule in parsed.items() if rules.matches(rule, device)}

    assert ours == matched_by_udev(device, asked, tmp_path)
    assert 0.1 < len(ours) / len(asked) < 0.9
