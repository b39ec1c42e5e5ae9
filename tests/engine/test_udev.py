"""With a real udevd: its rules mark devices, its links are there in the container, and a stale tag counts no more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bed.cells import Cell, Cgroup, Release, Runtime, impossible
from bed.devices import forget_consoles
from bed.engine import Engine
from bed.setup import prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.devices import Loop

RULES = "/run/udev/rules.d/90-bed.rules"
RESOURCE = "hardware-vendor.example/serial"
LINK = "/dev/serial/by-id/usb-FTDI_FT232R_A1B2C3-if00-port0"
#: Consoles that nobody uses, as USB serial adapters: udevd makes the record and the link for a real node.
RULE = (
    'SUBSYSTEM=="tty", KERNEL=="tty{number}", ENV{{ID_BUS}}="usb", ENV{{ID_SERIAL_SHORT}}="{serial}", GROUP="dialout", MODE="0660", '
    'SYMLINK+="serial/by-id/usb-FTDI_FT232R_{serial}-if00-port0", TAG+="oci-udev-hook", ENV{{OCI_UDEV_RESOURCE}}="' + RESOURCE + '"\n'
)


class Udev:
    """systemd-udevd in a view of its own."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def apply(self, rules: str) -> None:
        """Put RULES in force and let udevd see the two consoles again."""
        self.engine.view.write(RULES, rules)
        self.engine.view.run("udevadm", "control", "--reload")
        self.engine.view.run("udevadm", "trigger", "--action=add", "/sys/class/tty/tty60", "/sys/class/tty/tty61")
        self.engine.view.run("udevadm", "settle", "--timeout=20")


@pytest.fixture(params=[Cell(release, Cgroup.V2, Runtime.CRUN) for release in Release], ids=str)
def udev(request: pytest.FixtureRequest, loops: tuple[Loop, ...]) -> Iterator[Udev]:
    """udevd, and podman beside it."""
    cell: Cell = request.param
    if reason := impossible(cell):
        pytest.skip(reason)
    if not Path("/sys/class/tty/tty60").exists():
        pytest.skip("the kernel has no virtual consoles")
    view = prepare(cell.release, cell.cgroup, loops, loops[:1])
    view.run("/usr/lib/systemd/systemd-udevd", "--daemon")
    yield Udev(Engine(cell, view))
    view.stop()
    forget_consoles(60, 61)


def test_a_rule_alone_defines_a_resource(udev: Udev) -> None:
    """No definition file; cases 5 and 10: udev's own name of the node is there, too."""
    udev.apply(RULE.format(number=60, serial="A1B2C3") + RULE.format(number=61, serial="D4E5F6"))
    engine = udev.engine

    engine.start("a", f"{RESOURCE}: 1")

    node = engine.leases()["a"][0]
    assert node == "/dev/tty60"
    assert engine.exec("a", "stat", "-c", "%t:%T", LINK).out == "4:3c\n"
    assert engine.exec("a", "sh", "-c", f"exec 3<>{LINK} && echo opened").out == "opened\n"


def test_one_unit_is_picked_by_its_serial(udev: Udev) -> None:
    """Case 12."""
    udev.apply(RULE.format(number=60, serial="A1B2C3") + RULE.format(number=61, serial="D4E5F6"))
    engine = udev.engine

    engine.start("a", f"{RESOURCE}=D4E5F6")

    assert engine.leases() == {"a": ("/dev/tty61",)}


def test_the_same_adapter_is_found_under_another_name(udev: Udev) -> None:
    """Case 3: after a restart the adapter is another ttyUSBn; the container still gets that one."""
    udev.apply(RULE.format(number=60, serial="A1B2C3") + RULE.format(number=61, serial="D4E5F6"))
    engine = udev.engine
    engine.start("a", f"{RESOURCE}: 1")
    engine.podman("stop", "--time", "0", "a")

    udev.apply(RULE.format(number=60, serial="D4E5F6") + RULE.format(number=61, serial="A1B2C3"))
    engine.podman("start", "a")

    assert engine.leases() == {"a": ("/dev/tty61",)}
    assert engine.exec("a", "stat", "-c", "%t:%T", LINK).out == "4:3d\n"


def test_a_tag_that_udev_took_back_counts_no_more(udev: Udev) -> None:
    """Case 39."""
    udev.apply(RULE.format(number=60, serial="A1B2C3"))
    udev.engine.output(f"{RESOURCE}: 1", "true")

    udev.apply('SUBSYSTEM=="tty", KERNEL=="tty60", ENV{OCI_UDEV_RESOURCE}="' + RESOURCE + '"\n')

    udev.engine.refused("a", f"{RESOURCE}: 1", code=69)
