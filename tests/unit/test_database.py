"""Devices as sysfs and udev's records have them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bed.fakehost import CONTROLLER, FULL, NULL, ZERO, FakeHost, record
from oci_udev_hook.inventory import database, sysfs
from oci_udev_hook.inventory.query import Query, Selector
from oci_udev_hook.model import Device, DeviceNumber, DeviceType

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.unit


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    """A host with a udev database and nothing plugged in."""
    return FakeHost(tmp_path)


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> FakeHost:
    """A host with two adapters, for tests that only look."""
    host = FakeHost(tmp_path_factory.mktemp("plugged"))
    host.adapter("1-2", "ttyUSB0", NULL)
    host.adapter("1-3", "ttyACM0", ZERO)
    return host


def read(host: FakeHost, *selectors: Selector, **fields: object) -> dict[str, Device]:
    """What is found, by sysname."""
    query = Query(selectors=selectors or (Selector(),), **fields)  # type: ignore[arg-type] (the fields that a test names)
    return {device.sysname: device for device in database.collect(database.Reader(query, host.roots), query, host.roots)}


def test_a_device_has_what_kernel_and_udev_say_of_it(host: FakeHost) -> None:
    """Lists are sorted, since libudev leaves their order to chance."""
    text = record("S:serial/by-path/b", "S:serial/by-id/a", "G:systemd", "G:seat", "Q:seat", ID_VENDOR_ID="0403", ID_MODEL="FT232R")
    devpath = host.adapter("1-2", "ttyUSB0", NULL, record=text)

    found = read(host)["ttyUSB0"]

    assert found == Device(
        syspath=f"/sys{devpath}",
        subsystem="tty",
        sysname="ttyUSB0",
        devnode="/dev/ttyUSB0",
        number=DeviceNumber(DeviceType.CHAR, 1, 3),
        properties={
            "DEVPATH": devpath,
            "SUBSYSTEM": "tty",
            "DEVNAME": "/dev/ttyUSB0",
            "MAJOR": "1",
            "MINOR": "3",
            "USEC_INITIALIZED": "1234567",
            "ID_VENDOR_ID": "0403",
            "ID_MODEL": "FT232R",
            "DEVLINKS": "/dev/serial/by-id/a /dev/serial/by-path/b",
            "TAGS": ":seat:systemd:",
            "CURRENT_TAGS": ":seat:",
        },
        tags=frozenset({"seat"}),
        links=("/dev/serial/by-id/a", "/dev/serial/by-path/b"),
        initialized=True,
    )


def test_parents_come_nearest_first_with_the_attributes_asked_for(host: FakeHost) -> None:
    host.adapter("1-2", "ttyUSB0", NULL)

    found = read(host, attributes=("idVendor",), parent_attributes=("idVendor", "serial"), parents=True)["ttyUSB0"]

    assert found.attributes == {}
    assert [(one.subsystem, one.sysname, one.devtype, one.driver, one.attributes, one.parents) for one in found.parents] == [
        ("usb-serial", "ttyUSB0", "", "ftdi_sio", {}, ()),
        ("usb", "1-2:1.0", "usb_interface", "ftdi_sio", {}, ()),
        ("usb", "1-2", "usb_device", "usb", {"idVendor": "0403", "serial": "A1B2C3"}, ()),
        ("usb", "usb1", "usb_device", "", {}, ()),
        ("pci", "0000:00:14.0", "", "", {}, ()),
    ]


def test_a_block_device_has_a_block_number(host: FakeHost) -> None:
    host.device("/devices/virtual/block/loop0", "block", number="7:0", node="loop0", uevent={"DEVTYPE": "disk"})

    found = read(host)["loop0"]

    assert (str(found.number), found.devtype, found.parents) == ("b 7:0", "disk", ())


def test_an_exclamation_mark_is_a_slash_of_the_kernels_name(host: FakeHost) -> None:
    host.device("/devices/virtual/block/cciss!c0d0", "block", number="104:0", node="cciss/c0d0")

    found = read(host, Selector(("block",), kernels=(("cciss/*",),)))["cciss/c0d0"]

    assert (found.syspath, found.devnode) == ("/sys/devices/virtual/block/cciss!c0d0", "/dev/cciss/c0d0")


@pytest.mark.parametrize(
    ("lines", "number", "properties"),
    [
        pytest.param({"MAJOR": "0", "MINOR": "3"}, None, {}, id="major 0 is none"),
        pytest.param({"MAJOR": "x", "MINOR": "3"}, None, {}, id="no number"),
        pytest.param({"MAJOR": "٣", "MINOR": "3"}, None, {}, id="digits that are not C's"),
        pytest.param({"MAJOR": "1", "MINOR": "9" * 5000}, None, {}, id="a number too long"),
        pytest.param({"MAJOR": "4"}, DeviceNumber(DeviceType.CHAR, 4, 0), {"MAJOR": "4"}, id="no minor"),
        pytest.param({"A": ""}, None, {"A": ""}, id="an empty property of the kernel's is one"),
        pytest.param({"DEVNAME": "/dev/x"}, None, {"DEVNAME": "/dev/x"}, id="an absolute node"),
        pytest.param({"": "x"}, None, {}, id="no name"),
    ],
)
def test_the_uevent_file_is_read_as_libudev_reads_it(
    host: FakeHost, lines: dict[str, str], number: DeviceNumber | None, properties: dict[str, str]
) -> None:
    host.device("/devices/x", "misc", uevent=lines)

    found = read(host, Selector(("misc",)))["x"]

    assert found.number == number
    assert found.properties == {"DEVPATH": "/devices/x", "SUBSYSTEM": "misc", **properties}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"0403\n", "0403"),
        (b"with blanks  \n", "with blanks  "),
        (b"\n", ""),
        (b"", ""),
        (b"a\nb\n\n", "a\nb"),
        (b"carriage\r\n", "carriage"),
        (b"cut\0off", "cut"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("grüß\n".encode(), "grüß"),
        (b"x" * 70000 + b"\n", "x" * 70000),
    ],
)
def test_an_attribute_is_the_files_text(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "value").write_bytes(content)

    assert sysfs.attribute(str(tmp_path), "value") == expected


def test_other_than_files_are_no_attributes_but_for_three_links(tmp_path: Path) -> None:
    """Those of driver, subsystem and module give their last component; a file without a read bit gives nothing even to root."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "write-only").write_text("x")
    (tmp_path / "write-only").chmod(0o200)
    for name in ("driver", "subsystem", "module", "device"):
        os.symlink(f"../../there/{name}-name", tmp_path / name)

    names = ("folder", "write-only", "absent", "device", "driver", "subsystem", "module")
    assert {name: sysfs.attribute(str(tmp_path), name) for name in names} == {
        "folder": None,
        "write-only": None,
        "absent": None,
        "device": None,
        "driver": "driver-name",
        "subsystem": "subsystem-name",
        "module": "module-name",
    }


def test_attributes_below_the_device_are_read(host: FakeHost) -> None:
    host.device("/devices/x", "misc", attributes={"queue/rotational": "0\n"})

    assert read(host, Selector(("misc",)), attributes=("queue/rotational", "queue"))["x"].attributes == {"queue/rotational": "0"}


class TestRecords:
    """What udev writes in /run/udev/data."""

    def test_an_empty_one_is_a_finished_device_about_which_the_rules_say_nothing(self) -> None:
        assert database._parse(b"") == database._Record()

    def test_an_empty_value_takes_the_kernels_away(self, host: FakeHost) -> None:
        host.device("/devices/x", "misc", number=NULL, node="x", uevent={"A": "1", "B": "1"})
        host.record(f"c{NULL}", record(A="", C="1"))

        found = read(host)["x"]

        assert [found.properties.get(name) for name in "ABC"] == [None, "1", "1"]

    def test_a_tag_of_an_earlier_event_is_none_of_the_devices(self) -> None:
        """Case 39: `G:` are all tags that it ever had, `Q:` those of the last event."""
        found = database._parse(record("G:old", "G:new", "Q:new").encode())

        assert (found.tags, found.current) == ({"old", "new"}, {"new"})

    @pytest.mark.parametrize(
        "damaged",
        [
            pytest.param(b"X:1\n", id="unknown key"),
            pytest.param(b"E:\n", id="property without name and value"),
            pytest.param(b"E:name\n", id="property without value"),
            pytest.param(b"no colon\n", id="no key"),
            pytest.param(b"G:a:b\nQ:a b\n", id="tags that are none"),
            pytest.param(b"I:soon\n", id="time that is no number"),
            pytest.param(b"\n\n\r\n", id="empty lines"),
            pytest.param(b"W:5\nL:10\n", id="keys of no interest"),
        ],
    )
    def test_lines_that_make_no_sense_are_skipped(self, damaged: bytes) -> None:
        assert database._parse(b"E:A=1\n" + damaged + b"E:B=2\nV:1\n").properties == (("A", "1"), ("B", "2"))

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"N:ttyUSB0\nS:serial/x\nE:A=1\nG:seat\n", id="eudev and old systemd"),
            pytest.param(b"E:A=1\nV:2\n", id="a later form"),
            pytest.param(b"E:A=1\nE:B=", id="cut off"),
        ],
    )
    def test_other_forms_are_not_guessed_at(self, data: bytes) -> None:
        with pytest.raises(database.UnknownRecord):
            database._parse(data)

    def test_what_is_no_text_stays_readable(self, host: FakeHost) -> None:
        """In the form that udev itself uses, so that it can be printed and written as JSON."""
        host.device("/devices/x", "misc", number=NULL, node="x")
        host.record(f"c{NULL}", b"E:ID_MODEL=caf\xc3\xa9 \xff\x80\nV:1\n")

        model = read(host)["x"].properties["ID_MODEL"]

        assert model == "café \\xff\\x80"
        assert model.encode().decode() == model

    def test_a_huge_one_is_read_whole(self, tmp_path: Path) -> None:
        """In several reads."""
        text = record(*[f"S:disk/by-id/{number:0100}" for number in range(1500)])
        (tmp_path / "record").write_text(text)

        assert len(text) > 2 * sysfs._CHUNK
        assert sysfs.content(str(tmp_path / "record")) == text.encode()
        assert len(database._parse(text.encode()).links) == 1500

    @pytest.mark.parametrize(
        ("identifier", "fields"),
        [
            ("c1:3", {"number": NULL}),
            ("n7", {"uevent": {"IFINDEX": "7"}}),
            ("+misc:a!b", {}),
        ],
    )
    def test_its_name_is_the_number_or_the_interface_or_the_sysname(self, host: FakeHost, identifier: str, fields: dict[str, str]) -> None:
        host.device("/devices/virtual/misc/a!b", "misc", **fields)  # type: ignore[arg-type] (the fields that a test names)
        host.record(identifier, record(FOUND="yes"))

        assert read(host, Selector(("misc",)))["a/b"].properties["FOUND"] == "yes"


class TestFinished:
    """Whether udev is done with a device."""

    def test_with_a_record(self, host: FakeHost) -> None:
        host.adapter("1-2", "ttyUSB0", NULL, record="")

        assert read(host)["ttyUSB0"].initialized

    def test_not_without_one(self, host: FakeHost) -> None:
        host.adapter("1-2", "ttyUSB0", NULL)

        assert not read(host)["ttyUSB0"].initialized

    def test_what_has_neither_number_nor_interface_may_never_get_one(self, host: FakeHost) -> None:
        host.device("/devices/x", "misc")
        host.device("/devices/y", "misc", uevent={"IFINDEX": "3"})

        assert {name: device.initialized for name, device in read(host, Selector(("misc",))).items()} == {"x": True, "y": False}

    def test_programs_that_its_rules_run_are_not_waited_for(self, host: FakeHost) -> None:
        """One of them may be what starts the container."""
        host.adapter("1-2", "ttyUSB0", NULL, record=record(ID_PROCESSING="1"))

        assert read(host)["ttyUSB0"].initialized

    @pytest.mark.parametrize(("names", "expected"), [((), False), (("control",), True), (("data",), True), (("tags",), False)])
    def test_a_database_is_there_as_soon_as_udevd_is(self, tmp_path: Path, names: tuple[str, ...], expected: bool) -> None:
        for name in names:
            (tmp_path / name).mkdir()

        assert database.present(sysfs.Roots(run=str(tmp_path))) is expected


class TestLooking:
    """Where devices are looked for."""

    def test_in_classes_and_on_buses(self, plugged: FakeHost) -> None:
        usb = {"usb1", "1-2", "1-2:1.0", "1-3", "1-3:1.0"}

        assert set(read(plugged, Selector(("tty",)))) == {"ttyUSB0", "ttyACM0"}
        assert set(read(plugged, Selector(("usb",)))) == usb
        assert set(read(plugged, Selector(("usb", "tty")))) == usb | {"ttyUSB0", "ttyACM0"}
        assert read(plugged, Selector(("nothing",))) == {}

    def test_among_all_that_can_have_a_node(self, host: FakeHost) -> None:
        host.adapter("1-2", "ttyUSB0", NULL)
        host.device("/devices/virtual/block/loop0", "block", number="7:0", node="loop0")

        assert set(read(host, Selector())) == {"ttyUSB0", "loop0"}

    def test_in_the_index_of_a_tag(self, host: FakeHost) -> None:
        """By number, interface index and subsystem."""
        host.adapter("1-2", "ttyUSB0", NULL, record=record("G:mine"))
        host.adapter("1-3", "ttyUSB1", ZERO, record=record("G:other"))
        host.device("/devices/virtual/block/loop0", "block", number="7:0", node="loop0")
        host.record("b7:0", record("G:mine"))
        host.device("/devices/virtual/net/eth7", "net", uevent={"IFINDEX": "7"}, attributes={"ifindex": "7\n"})
        host.record("n7", record("G:mine"))
        host.record("+usb:1-3", record("G:mine"))
        host.record("+tty:ttyUSB1", record("G:mine"))
        host.record("c99:99", record("G:mine"))  # just unplugged
        host.record("junk", record("G:mine"))

        assert set(read(host, Selector(tags=("mine",)))) == {"ttyUSB0", "loop0", "eth7", "1-3", "ttyUSB1"}
        assert set(read(host, Selector(tags=("mine",), kernels=(("tty*",),)))) == {"ttyUSB0", "ttyUSB1"}
        assert read(host, Selector(tags=("unknown",))) == {}

    def test_once_though_several_rules_ask(self, plugged: FakeHost) -> None:
        asked = Query(selectors=(Selector(), Selector(("tty",))))

        assert len(database.collect(database.Reader(asked, plugged.roots), asked, plugged.roots)) == 2

    @pytest.mark.parametrize(
        ("kernels", "expected"),
        [
            (("ttyUSB*",), {"ttyUSB0"}),
            (("ttyUSB1", "ttyACM0"), {"ttyACM0"}),
            (("tty[A-B]*",), {"ttyACM0"}),
            (("tty*",), {"ttyUSB0", "ttyACM0"}),
        ],
    )
    def test_by_sysname_before_anything_is_opened(
        self, plugged: FakeHost, kernels: tuple[str, ...], expected: set[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened = spy(monkeypatch)

        assert set(read(plugged, Selector(("tty",), kernels=(kernels,)))) == expected
        assert {path.split("/")[-2] for path in opened if path.endswith("/uevent")} == expected

    def test_devices_of_other_subsystems_cost_nothing(self, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
        host.adapter("1-2", "ttyUSB0", NULL)
        for number in range(3):
            host.device(f"/devices/virtual/block/loop{number}", "block", number=f"7:{number}", node=f"loop{number}")
        opened = spy(monkeypatch)

        read(host, Selector(("tty",)))

        assert [path for path in opened if "loop" in path] == []
        assert len(opened) == 2  # uevent and record

    def test_what_vanishes_meanwhile_is_skipped(self, host: FakeHost) -> None:
        """Its link is still in the class, or its folder loses its files."""
        host.adapter("1-2", "ttyUSB0", NULL, record="")
        host.link("sys/class/tty/ttyUSB1", f"../..{CONTROLLER}/usb1/1-9/1-9:1.0/ttyUSB1/tty/ttyUSB1")
        (host.root / "sys/devices/gone").mkdir()
        host.link("sys/class/tty/gone", "../../devices/gone")

        assert set(read(host, Selector(("tty",)))) == {"ttyUSB0"}

    def test_a_link_that_leads_elsewhere_is_none_of_the_kernels(self, host: FakeHost) -> None:
        host.adapter("1-2", "ttyUSB0", NULL)
        host.link("sys/class/tty/evil", "/etc")
        host.link("sys/class/tty/other", "../../module/x")

        assert set(read(host, Selector(("tty",)))) == {"ttyUSB0"}

    def test_an_unreadable_uevent_file_is_a_device_without_properties(self, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
        host.device("/devices/x", "misc", number=FULL, node="x")
        monkeypatch.setattr(sysfs, "content", lambda path: None)

        assert read(host, Selector(("misc",)))["x"].properties == {"DEVPATH": "/devices/x", "SUBSYSTEM": "misc"}


def spy(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened from now on."""
    opened: list[str] = []
    real = sysfs.content

    def content(path: str) -> bytes | None:
        opened.append(path)
        return real(path)

    monkeypatch.setattr(sysfs, "content", content)
    return opened
