"""Devices beside a real udevd and libudev, and others under umockdev: read from the files and through libudev they are the same."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bed.cells import Cell, Cgroup, Release, Runtime, impossible
from bed.setup import CHECKOUT, SOURCE, bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.views import View

pytestmark = pytest.mark.engine

COMPARE = "tests/engine/bed/compare.py"
CONSOLE = "/sys/class/tty/tty60"  #: of a virtual console that nobody uses
RULES = """\
SUBSYSTEM=="tty", KERNEL=="tty60", ENV{ID_BUS}="usb", ENV{ID_VENDOR_ID}="0403", ENV{ID_MODEL_ID}="6001", ENV{ID_SERIAL_SHORT}="A1B2C3", \
  SYMLINK+="serial/by-id/usb-FTDI_A1B2C3-if00 serial/mine", OPTIONS+="link_priority=-5", TAG+="mine", TAG+="yours"
SUBSYSTEM=="tty", KERNEL=="tty61", ENV{ID_MODEL}="caf\\xc3\\xa9 und mehr", ENV{EMPTY}=""
"""


@dataclass
class Udevd:
    """A view with a running udevd."""

    view: View

    def trigger(self, rules: str, *arguments: str) -> None:
        """Let udevd see devices again under RULES."""
        self.view.write("/run/udev/rules.d/90-bed.rules", rules)
        self.view.run("udevadm", "control", "--reload")
        self.view.run("udevadm", "trigger", "--action=add", *arguments)
        self.view.run("udevadm", "settle", "--timeout=20")

    def compare(self, *lines: str) -> dict[str, object]:
        """What the program says, and the units that LINES match."""
        return json.loads(self.view.run("/usr/bin/python3", f"{SOURCE}/{COMPARE}", *lines).out)


@pytest.fixture(scope="module", params=list(Release), ids=lambda release: release.label)
def view(request: pytest.FixtureRequest) -> Iterator[View]:
    """A view without podman."""
    release: Release = request.param
    if reason := impossible(Cell(release, Cgroup.V2, Runtime.CRUN)):
        pytest.skip(reason)
    made = bare(release, Cgroup.V2)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def udevd(view: View) -> Udevd:
    """And udevd, which has seen all devices but the network's."""
    view.run("/usr/lib/systemd/systemd-udevd", "--daemon")
    made = Udevd(view)
    made.trigger(RULES, "--subsystem-nomatch=net")
    return made


def test_without_a_database_all_devices_are_the_same(view: View) -> None:
    """Before udevd first runs in the view."""
    found = json.loads(view.run("/usr/bin/python3", f"{SOURCE}/{COMPARE}", 'SUBSYSTEM=="mem", KERNEL=="null"').out)

    assert found["count"] > 50
    assert found["different"] == []
    assert found["units"] == {"port:/devices/virtual/mem/null": ["/dev/null"]}


def test_records_of_another_udev_are_read_by_libudev(view: View) -> None:
    """As eudev and systemd before 247 write them: without `V:1`, and each tag is current."""
    number = view.path("/sys/class/mem/null/dev").read_text().strip()
    view.write(f"/run/udev/data/c{number}", "N:null\nS:nothing\nI:1\nE:ID_SERIAL_SHORT=X1\nG:mine\n")
    view.write(f"/run/udev/tags/mine/c{number}", "")

    found = json.loads(view.run("/usr/bin/python3", f"{SOURCE}/{COMPARE}", "--units", 'TAG=="mine", ENV{ID_SERIAL_SHORT}=="X1"').out)
    view.run("rm", "-r", "/run/udev")

    assert found["units"] == {"serial:X1/null": ["/dev/null"]}


def test_all_devices_are_the_same_with_udevd(udevd: Udevd) -> None:
    found = udevd.compare('SUBSYSTEM=="block|tty|mem|misc"', 'TAG=="seat"', 'KERNEL=="tty*"')

    assert found["different"] == []
    assert found["same"]


@pytest.mark.skipif(not Path(CONSOLE).exists(), reason="the kernel has no virtual consoles")
def test_what_a_rule_sets_is_there(udevd: Udevd) -> None:
    """Cases 5 and 39: links that hold now; a tag that a later event's rules no longer set is none."""
    udevd.trigger(RULES, CONSOLE)
    line = 'SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0403", TAG=="mine"'
    unit = {"serial:0403:6001:A1B2C3/tty#": ["/dev/tty60", "/dev/serial/by-id/usb-FTDI_A1B2C3-if00", "/dev/serial/mine"]}

    assert udevd.compare(line)["units"] == unit

    udevd.trigger(RULES.replace('TAG+="mine", ', ""), CONSOLE)

    found = udevd.compare(line)
    assert found["units"] == {}
    assert found["different"] == []
    assert udevd.compare(line.replace("mine", "yours"))["units"] == unit


@pytest.mark.skipif(not shutil.which("umockdev-run"), reason="umockdev is not installed; tests/run installs it")
def test_devices_that_this_machine_has_not_are_the_same() -> None:
    """A serial adapter of four ports, a camera of two nodes and an adapter without serial behind a hub. umockdev has no udev database."""
    arguments = [
        "umockdev-run",
        "--device",
        f"{CHECKOUT}/tests/data/udev/bench.umockdev",
        "--",
        "/usr/bin/python3",
        f"{CHECKOUT}/{COMPARE}",
    ]
    done = subprocess.run([*arguments, 'SUBSYSTEM=="tty|video4linux"'], stdout=subprocess.PIPE, text=True, check=True)

    found = json.loads(done.stdout)
    bus = "port:/devices/pci0000:00/0000:00:14.0/usb#[0]"
    assert found["different"] == []
    assert found["same"]
    assert found["units"] == {
        **{f"serial:0403:6011:FT4XYZ/:1.{number}/ttyUSB#[0]/tty/ttyUSB#[0]": [f"/dev/ttyUSB{number}"] for number in range(4)},
        f"{bus}/#-3/:1.0/video4linux/video#[0]": ["/dev/video0"],
        f"{bus}/#-3/:1.0/video4linux/video#[1]": ["/dev/video1"],
        f"{bus}/#-4/.1/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]": ["/dev/ttyUSB4"],
    }
