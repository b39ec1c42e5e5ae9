"""What holds for any record, any rule and any host."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oci_udev_hook.inventory import database, glob, query, rules, sysfs
from oci_udev_hook.inventory.identity import _shape, _split, natural
from oci_udev_hook.inventory.units import identified, key
from oci_udev_hook.model import Device, DeviceNumber, DeviceType

pytestmark = pytest.mark.property

LINES = st.one_of(
    st.binary(max_size=20),
    st.sampled_from([b"V:1", b"I:5", b"E:A=1", b"E:A=", b"S:x/y", b"G:t", b"Q:t", b"W:1", b"L:-5", b"E:=x", b"V:", b"\r"]),
)


@given(st.lists(LINES, max_size=12).map(b"\n".join))
def test_any_record_is_read_or_left_to_libudev(data: bytes) -> None:
    """And whatever is in it can be printed and written as JSON."""
    try:
        record = database._parse(data)
    except database.UnknownRecord:
        return
    texts = [*record.links, *record.tags, *[text for pair in record.properties for text in pair]]
    assert json.loads(json.dumps(texts, ensure_ascii=False).encode()) == texts
    assert record.current <= record.tags


@given(st.binary(max_size=60))
def test_any_uevent_file_is_read(data: bytes) -> None:
    properties: dict[str, str] = {}
    number = database._kernel(properties, data)

    assert (number is not None) == ("MAJOR" in properties)
    assert "" not in properties


NAMES = st.sampled_from(["tty", "usb", "ttyUSB0", "ttyACM0", "0403", "a", ""])
PATTERNS = st.lists(
    st.sampled_from(["tty", "usb", "tty*", "ttyUSB0", "ttyUSB?", "[a-z]*", "0403", "a", "*", ""]), min_size=1, max_size=3
).map("|".join)
TERMS = st.builds(
    '{}{}"{}"'.format,
    st.sampled_from(["SUBSYSTEM", "KERNEL", "TAG", "SUBSYSTEMS", "KERNELS", "ENV{A}", "ATTR{a}", "ATTRS{b}"]),
    st.sampled_from(["==", "!="]),
    PATTERNS,
)
RULES = st.lists(TERMS, min_size=1, max_size=4).map(", ".join)


@st.composite
def devices(draw: st.DrawFn) -> Device:
    """A device with a number, as the kernel and udev might have it."""
    return Device(
        "/sys/devices/x",
        subsystem=draw(NAMES),
        sysname=draw(NAMES.filter(bool)),
        number=DeviceNumber(DeviceType.CHAR, 4, 64),
        properties={"A": draw(NAMES)},
        attributes={"a": draw(NAMES), "b": draw(NAMES)},
        tags=draw(st.frozensets(NAMES.filter(bool), max_size=2)),
    )


@given(RULES, devices())
def test_a_query_finds_all_that_its_rule_matches(line: str, device: Device) -> None:
    rule = rules.parse(line)
    if not rules.matches(rule, device):
        return
    (selector,) = query.query([rule]).selectors

    assert not selector.subsystems or device.subsystem in selector.subsystems
    assert not selector.tags or device.tags.intersection(selector.tags)
    assert all(glob.any_matches(patterns, device.sysname) for patterns in selector.kernels)


@given(RULES)
def test_a_query_reads_all_attributes_that_its_rule_compares(line: str) -> None:
    asked = query.query([rules.parse(line)])

    assert ("a" in asked.attributes) == ("ATTR{a}" in line)
    assert ("b" in asked.attributes) == ("b" in asked.parent_attributes) == ("ATTRS{b}" in line)


HUB = "/devices/pci0000:00/0000:00:14.0/usb1"
BELOW = st.sampled_from(
    [
        "1-2:1.0",
        "1-2:1.1",
        "ttyUSB{}",
        "tty/ttyUSB{}",
        "video4linux/video{}",
        "0003:0403:6001.{:04X}/hidraw/hidraw{}",
        "host{}/target{}:0:0",
        "block/sda",
    ]
)


def parents(devpath: str) -> tuple[Device, ...]:
    """The USB device and its hub, which are above every device here."""
    return tuple(
        [
            Device(f"/sys{path}", "usb", path.rpartition("/")[2], "usb_device")
            for path in (f"{HUB}/1-2", HUB)
            if devpath.startswith(f"{path}/")
        ]
    )


#: DEVPATHs below one USB device, each a list of components and of the number that the kernel gave to it.
TREES = st.lists(st.lists(st.tuples(BELOW, st.integers(0, 30)), min_size=1, max_size=4), min_size=1, max_size=8)


def paths(tree: list[list[tuple[str, int]]], more: int = 0) -> list[str]:
    """The DEVPATHs of TREE, the kernel's numbers being MORE than they are there."""
    return ["/".join([f"{HUB}/1-2", *[part.format(number + more, number + more) for part, number in parts]]) for parts in tree]


def identities(devpaths: list[str]) -> list[str]:
    """The identities of the devices at DEVPATHS on a host where there is nothing else."""
    folders: dict[str, set[str]] = {}
    for path in devpaths:
        parts = path.split("/")
        for depth in range(2, len(parts)):
            folders.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
    made = [Device(f"/sys{path}", "tty", path.rpartition("/")[2], devnode="/dev/x", parents=parents(path)) for path in devpaths]
    found = identified(made, lambda directory: folders.get(directory, ()), {})
    return [found[key(device)] for device in made]


@given(TREES)
def test_two_nodes_of_one_device_never_have_one_identity(tree: list[list[tuple[str, int]]]) -> None:
    found = identities(paths(tree))

    assert len(set(found)) == len(set(paths(tree)))


@given(TREES, st.integers(1, 500))
def test_new_numbers_of_the_kernels_change_no_identity(tree: list[list[tuple[str, int]]], more: int) -> None:
    """As after unplugging and plugging in again: each number is another, in the same order."""
    assert identities(paths(tree)) == identities(paths(tree, more))


TEXT = st.text("a1-9٣", max_size=8)


@given(TEXT, TEXT)
def test_counting_order_is_an_order(one: str, other: str) -> None:
    assert "".join(_split(one)) == one
    assert (natural(one) < natural(other)) + (natural(other) < natural(one)) + (one == other) == 1
    assert _shape(_shape(one)) == _shape(one)


@given(st.binary(max_size=30))
def test_any_bytes_are_text_that_can_be_written(data: bytes) -> None:
    assert sysfs.text(data).encode().decode() == sysfs.text(data)
    try:
        assert sysfs.text(data) == data.decode()
    except UnicodeDecodeError:
        assert "\\x" in sysfs.text(data)
