"""One look at the host for all resources: units, devices that nearly are, devices that udev rules have marked."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

import pytest

from bed.fakehost import FULL, NULL, ZERO, FakeHost, record
from oci_udev_hook.frozen import replace
from oci_udev_hook.inventory import database, nodes, rules
from oci_udev_hook.inventory.survey import survey
from oci_udev_hook.model import HostNode, Resource

if TYPE_CHECKING:
    from pathlib import Path

    from oci_udev_hook.model import Device

pytestmark = pytest.mark.unit

NAME = "hardware-vendor.example/foo"
FTDI = 'SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0403", ENV{ID_MODEL_ID}=="6001"'
DEVPATH = "/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/ttyUSB0"
NO_DATABASE = (
    "the udev database {run}/data is not there, so properties (ENV, ID_…), tags and links are missing "
    "and only what the kernel says was compared; see that udevd runs and that {run} is visible here"
)


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    """A host with a udev database and nothing plugged in."""
    return FakeHost(tmp_path)


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> FakeHost:
    """A host with one adapter, for tests that only look."""
    host = FakeHost(tmp_path_factory.mktemp("plugged"))
    adapter(host, "1-2", "ttyUSB0", NULL, "S:serial/a", "S:serial/b", "G:seat", "Q:seat", "G:systemd", "Q:systemd")
    return host


@pytest.fixture(scope="module")
def without_udev(tmp_path_factory: pytest.TempPathFactory) -> FakeHost:
    """A host without udev."""
    host = FakeHost(tmp_path_factory.mktemp("no-udev"), database=False)
    host.adapter("1-2", "ttyUSB0", NULL)
    return host


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder like /dev with nodes of several kinds, one hidden, and one whose name is no text."""
    host = FakeHost(tmp_path_factory.mktemp("globs"))
    for name in ("nvidia10", "nvidia2", "nvidia0", "nvidiactl", ".hidden", "dri/card1", "dri/card0", os.fsdecode(b"\xff")):
        host.link(f"dev/{name}", "/dev/null")
    return host.roots.dev


def resource(*lines: str, name: str = NAME, paths: tuple[str, ...] = ()) -> Resource:
    return Resource(name, rules=tuple([rules.parse(line) for line in lines]), paths=paths)


def found(host: FakeHost, *resources: Resource) -> dict[str, list[str | None]]:
    """The nodes of each resource's units."""
    return {name: [unit.devices[0].devnode for unit in units] for name, units in survey(resources, roots=host.roots).units.items()}


def near(host: FakeHost, *lines: str, paths: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The sentences on devices that nearly match one of LINES."""
    return survey([resource(*lines, paths=paths)], near=True, roots=host.roots).near[NAME]


def adapter(host: FakeHost, port: str, name: str, number: str, *lines: str, serial: str = "A1B2C3", **properties: str) -> str:
    """A USB serial adapter that udev has finished."""
    properties = properties or {"ID_VENDOR_ID": "0403", "ID_MODEL_ID": "6001"}
    return host.adapter(port, name, number, serial=serial, record=record(*lines, **properties))


class TestUnits:
    """What matches is a unit."""

    def test_two_adapters_are_two_units(self, host: FakeHost) -> None:
        """Cases 1 and 12: they differ in nothing but the serial."""
        adapter(host, "1-2", "ttyUSB0", NULL, serial="A1")
        adapter(host, "1-3", "ttyUSB1", ZERO, serial="B2")

        units = survey([resource(FTDI)], roots=host.roots).units[NAME]

        assert [(unit.identity, unit.names, unit.devices[0].devnode) for unit in units] == [
            ("serial:0403:6001:A1/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]", ("A1", "1-2:1.0", "1-2"), "/dev/ttyUSB0"),
            ("serial:0403:6001:B2/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]", ("B2", "1-3:1.0", "1-3"), "/dev/ttyUSB1"),
        ]

    def test_two_that_say_the_same_serial_are_known_by_their_ports(self, host: FakeHost) -> None:
        adapter(host, "1-2", "ttyUSB0", NULL)
        adapter(host, "1-3", "ttyUSB1", ZERO)

        units = survey([resource('KERNEL=="ttyUSB1"')], roots=host.roots).units[NAME]

        assert [unit.identity for unit in units] == ["port:/devices/pci0000:00/0000:00:14.0/usb#[0]/#-3/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]"]

    def test_a_device_of_two_resources_has_one_identity(self, plugged: FakeHost) -> None:
        units = survey(
            [resource(FTDI, name="a.b/c"), resource('KERNEL=="ttyUSB0"', paths=("/dev/ttyUSB*",), name="a.b/d")], roots=plugged.roots
        ).units

        assert [unit.identity for unit in units["a.b/c"]] == [unit.identity for unit in units["a.b/d"]]
        assert [unit.resource for name in units for unit in units[name]] == ["a.b/c", "a.b/d"]

    def test_lines_are_alternatives(self, host: FakeHost) -> None:
        adapter(host, "1-2", "ttyUSB0", NULL)
        host.adapter("1-3", "ttyACM0", ZERO, record="")
        host.adapter("1-4", "ttyACM1", FULL, record="")

        assert found(host, resource(FTDI, 'KERNEL=="ttyACM1"')) == {NAME: ["/dev/ttyUSB0", "/dev/ttyACM1"]}

    def test_terms_of_parents_hold_at_one_parent(self, plugged: FakeHost) -> None:
        """Case 15."""
        one = 'SUBSYSTEM=="tty", SUBSYSTEMS=="usb", ATTRS{idVendor}=="0403", ATTRS{serial}=="A1B2C3"'
        two = 'SUBSYSTEM=="tty", KERNELS=="1-2:1.0", ATTRS{idVendor}=="0403"'
        assert found(plugged, resource(one)) == {NAME: ["/dev/ttyUSB0"]}
        assert found(plugged, resource(two)) == {NAME: []}

    def test_the_node_and_the_links_that_lead_to_it_now_come_with_it(self, host: FakeHost) -> None:
        """Cases 5, 10 and 40: a name that another device has taken, or that is gone, is not this one's."""
        adapter(host, "1-2", "ttyUSB0", NULL, "S:serial/by-id/mine", "S:serial/by-id/taken", "S:serial/by-id/gone", "S:../../etc/passwd")
        adapter(host, "1-3", "ttyUSB1", ZERO)
        host.link("dev/serial/by-id/mine", "../../ttyUSB0")
        host.link("dev/serial/by-id/taken", "../../ttyUSB1")

        device = survey([resource('KERNEL=="ttyUSB0"')], roots=host.roots).units[NAME][0].devices[0]

        status = os.stat("/dev/null")
        assert device.links == ("/dev/serial/by-id/mine",)
        assert device.node == HostNode(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, readable=True, writable=True)

    def test_a_resource_that_is_asked_for_twice_is_looked_for_once(self, plugged: FakeHost) -> None:
        assert found(plugged, resource(FTDI), resource(FTDI)) == {NAME: ["/dev/ttyUSB0"]}

    def test_nothing_is_looked_for_where_nothing_is_asked(self) -> None:
        assert survey([]).units == {}

    def test_usb_is_not_looked_through_for_other_devices(self, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
        host.device("/devices/virtual/mem/null", "mem", number=NULL, node="null")
        host.record(f"c{NULL}")
        monkeypatch.setattr(nodes, "usb_devices", None)

        assert found(host, resource('KERNEL=="null"')) == {NAME: ["/dev/null"]}


class TestNotUnits:
    """What matches and still is none."""

    def test_what_udev_has_not_finished(self, host: FakeHost) -> None:
        host.adapter("1-2", "ttyUSB0", NULL)

        assert found(host, resource('KERNEL=="ttyUSB0"')) == {NAME: []}
        assert near(host, 'KERNEL=="ttyUSB0"', FTDI) == ("udev has not finished with /dev/ttyUSB0 yet",)

    def test_what_has_no_node(self, host: FakeHost) -> None:
        host.adapter("1-2", "ttyUSB0", NULL)

        assert found(host, resource('SUBSYSTEM=="usb-serial"')) == {NAME: []}
        assert near(host, 'SUBSYSTEM=="usb-serial"') == (f"{DEVPATH} matches, but has no device node",)

    @pytest.mark.parametrize("target", ["/dev/zero", "/etc/passwd", "/nothing"], ids=["another device's", "no node", "gone"])
    def test_what_is_at_the_node_no_more(self, host: FakeHost, target: str) -> None:
        adapter(host, "1-2", "ttyUSB0", NULL)
        (host.root / "dev/ttyUSB0").unlink()
        host.link("dev/ttyUSB0", target)

        assert found(host, resource(FTDI)) == {NAME: []}
        assert near(host, FTDI) == ("/dev/ttyUSB0 matches, but the node there is gone or another device's",)

    def test_what_has_a_tag_of_an_earlier_event(self, host: FakeHost) -> None:
        """Case 39."""
        adapter(host, "1-2", "ttyUSB0", NULL, "G:mine", "Q:mine")
        adapter(host, "1-3", "ttyUSB1", ZERO, "G:mine")

        assert found(host, resource('TAG=="mine"')) == {NAME: ["/dev/ttyUSB0"]}
        assert near(host, 'TAG=="mine"') == (
            '/dev/ttyUSB1 nearly matches: the tag "mine" is of an earlier event, its rules no longer set it',
        )


class TestWithoutDatabase:
    """Case 37: udevd does not run, or /run/udev is not visible."""

    def test_sysfs_alone_counts(self, without_udev: FakeHost) -> None:
        looked = survey([resource('SUBSYSTEM=="tty", ATTRS{idVendor}=="0403"')], roots=without_udev.roots)

        assert [unit.names for unit in looked.units[NAME]] == [("A1B2C3", "1-2:1.0", "1-2")]
        assert looked.warnings == ()

    @pytest.mark.parametrize("term", ['ENV{DEVNAME}=="/dev/ttyUSB0"', 'TAG!="x"', 'TAGS!="x"', 'SYMLINK!="x"'])
    def test_a_warning_says_what_is_missing(self, without_udev: FakeHost, term: str) -> None:
        looked = survey([resource(f'SUBSYSTEM=="tty", {term}')], roots=without_udev.roots)

        assert len(looked.units[NAME]) == 1
        assert looked.warnings == (NO_DATABASE.format(run=without_udev.roots.run),)

    def test_with_a_database_there_is_none(self, tmp_path: Path) -> None:
        assert survey([resource(FTDI)], roots=FakeHost(tmp_path / "other").roots).warnings == ()

    def test_nothing_is_still_to_be_finished(self, without_udev: FakeHost) -> None:
        assert near(without_udev, FTDI) == ()


class TestNear:
    """Devices that one term keeps from being units."""

    @pytest.mark.parametrize(
        ("line", "sentence"),
        [
            ('SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="1a86"', 'ENV{ID_VENDOR_ID} is "0403", not "1a86"'),
            ('SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="1a86|067b"', 'ENV{ID_VENDOR_ID} is "0403", not "1a86" or "067b"'),
            ('SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}!="0403"', 'ENV{ID_VENDOR_ID} is "0403", which ENV{ID_VENDOR_ID}!="0403" rules out'),
            ('SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0403", ENV{X}=="1"', 'it has no ENV{X}, so ENV{X}=="1" does not hold'),
            ('SUBSYSTEM=="tty", ATTRS{idVendor}=="1a86"', 'ATTRS{idVendor} of 1-2 is "0403", not "1a86"'),
            ('ATTRS{idVendor}=="0403", ATTRS{idProduct}=="6015"', 'ATTRS{idProduct} of 1-2 is "6001", not "6015"'),
            ('ENV{ID_VENDOR_ID}=="0403", KERNEL=="ttyACM*"', 'KERNEL is "ttyUSB0", not "ttyACM*"'),
            ('ENV{ID_VENDOR_ID}=="0403", SUBSYSTEM=="hid*"', 'SUBSYSTEM is "tty", not "hid*"'),
            ('ENV{ID_VENDOR_ID}=="0403", SYMLINK=="x"', 'SYMLINK is "serial/a serial/b", not "x"'),
            ('ENV{ID_VENDOR_ID}=="0403", TAG=="x"', 'TAG is "seat systemd", not "x"'),
            ('ENV{ID_VENDOR_ID}=="0403", DEVPATH=="/x"', f'DEVPATH is "{DEVPATH}/tty/ttyUSB0", not "/x"'),
            ('ENV{ID_VENDOR_ID}=="0403", DRIVER=="x"', 'it has no DRIVER, so DRIVER=="x" does not hold'),
        ],
    )  # fmt: skip
    def test_the_term_that_fails_is_named_with_what_is_there(self, plugged: FakeHost, line: str, sentence: str) -> None:
        assert near(plugged, line) == (f"/dev/ttyUSB0 nearly matches: {sentence}",)

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param('SUBSYSTEM=="tty", ENV{X}=="1"', id="nothing but the subsystem fits"),
            pytest.param('SUBSYSTEM=="tty", KERNEL=="ttyACM*"', id="nothing but the subsystem fits, and it has another name"),
            pytest.param('ENV{ID_VENDOR_ID}=="1a86", ENV{ID_MODEL_ID}=="7523"', id="two terms fail"),
            pytest.param(FTDI, id="it matches"),
        ],
    )
    def test_devices_of_which_little_fits_are_not_worth_a_word(self, plugged: FakeHost, line: str) -> None:
        assert near(plugged, line) == ()

    def test_the_nearest_come_first(self, host: FakeHost) -> None:
        adapter(host, "1-2", "ttyUSB0", NULL, A="1", B="1", C="2")
        adapter(host, "1-3", "ttyUSB1", ZERO, A="2")

        assert near(host, 'ENV{A}=="1"', 'ENV{A}=="1", ENV{B}=="1", ENV{C}=="1"') == (
            '/dev/ttyUSB0 nearly matches: ENV{C} is "2", not "1"',
            '/dev/ttyUSB1 nearly matches: ENV{A} is "2", not "1"',
        )

    def test_a_device_gets_one_sentence(self, host: FakeHost) -> None:
        """On the rule of which most holds."""
        adapter(host, "1-2", "ttyUSB0", NULL, A="1", B="1")

        assert near(host, 'ENV{A}=="2"', 'ENV{A}=="1", ENV{B}=="2"', 'ENV{B}=="2"') == (
            '/dev/ttyUSB0 nearly matches: ENV{B} is "1", not "2"',
        )

    def test_they_are_looked_for_only_when_asked(self, plugged: FakeHost) -> None:
        assert survey([resource('ENV{ID_VENDOR_ID}=="1a86"')], roots=plugged.roots).near == {}


class TestPaths:
    """Nodes by their path."""

    def test_globs_find_nodes_with_and_without_sysfs(self, host: FakeHost) -> None:
        """As NVIDIA's driver makes them. Those that sysfs knows come first; udev need not have finished with them."""
        host.device("/devices/virtual/mem/null", "mem", number=NULL, node="null")
        roots = replace(host.roots, dev="/dev")

        units = survey([resource(paths=("/dev/[z]ero", "/dev/nul*", "/dev/full", "/dev/absent", "/dev/shm"))], roots=roots).units[NAME]

        assert [(unit.identity, unit.names, str(unit.devices[0].number)) for unit in units] == [
            ("port:/devices/virtual/mem/null", ("null",), "c 1:3"),
            ("path:/dev/full", ("full", "/dev/full"), "c 1:7"),
            ("path:/dev/zero", ("zero", "/dev/zero"), "c 1:5"),
        ]

    def test_a_device_found_by_rule_and_by_path_is_one_unit(self, host: FakeHost) -> None:
        host.device("/devices/virtual/mem/null", "mem", number=NULL, node="null")
        host.record(f"c{NULL}")

        units = survey([resource('KERNEL=="null"', paths=("/dev/null", "/dev/n[u]ll"))], roots=replace(host.roots, dev="/dev")).units[NAME]

        assert [unit.identity for unit in units] == ["port:/devices/virtual/mem/null"]

    def test_a_link_out_of_dev_is_refused(self, host: FakeHost) -> None:
        host.link("dev/escape", "/etc/passwd")

        assert found(host, resource(paths=("/dev/escape",))) == {NAME: []}
        assert near(host, paths=("/dev/escape",)) == ("/dev/escape is a link to /etc/passwd, which is not below /dev",)

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("/dev/nvidia[0-9]*", ["/dev/nvidia0", "/dev/nvidia2", "/dev/nvidia10"]),
            ("/dev/dri/card*", ["/dev/dri/card0", "/dev/dri/card1"]),
            ("/dev/*/card0", ["/dev/dri/card0"]),
            ("/dev/dri/card1", ["/dev/dri/card1"]),
            ("/dev/absent", []),
            ("/dev/absent/*", []),
            ("/dev/*", ["/dev/dri", "/dev/nvidia0", "/dev/nvidia2", "/dev/nvidia10", "/dev/nvidiactl"]),
            ("/dev/.*", ["/dev/.hidden"]),
            ("/dev/dri/../nvidia0", []),
            ("/dev/dri/./card0", []),
        ],
    )
    def test_globs_go_by_components(self, dev: str, pattern: str, expected: list[str]) -> None:
        """In counting order; what is hidden must be asked for, and a name that is no text cannot be given to a container."""
        assert nodes._expanded(pattern, dev) == expected


def test_a_device_that_vanishes_while_it_is_looked_at_is_none(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folders go one by one; here between the look at the class and the look at the parents."""
    adapter(host, "1-2", "ttyUSB0", NULL)
    read = database.collect

    def collect(*arguments: object) -> tuple[Device, ...]:
        devices = read(*arguments)  # type: ignore[arg-type] (as they came)
        shutil.rmtree(host.root / "sys/devices")
        (host.root / "dev/ttyUSB0").unlink()
        return devices

    monkeypatch.setattr(database, "collect", collect)

    assert found(host, resource(FTDI)) == {NAME: []}
