"""A match line takes the devices that udev would take."""

from __future__ import annotations

import pytest

from oci_udev_hook.inventory import rules
from oci_udev_hook.model import Device, DeviceNumber, DeviceType

USB = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2"
#: A serial adapter as sysfs and udev show it.
ADAPTER = Device(
    f"{USB}/1-2:1.0/ttyUSB0/tty/ttyUSB0",
    subsystem="tty",
    sysname="ttyUSB0",
    devnode="/dev/ttyUSB0",
    number=DeviceNumber(DeviceType.CHAR, 188, 0),
    properties={"ID_VENDOR_ID": "0403", "ID_MODEL_ID": "6001", "EMPTY": ""},
    attributes={"dev": "188:0", "note": "two words \t", "blank": " "},
    tags=frozenset(("systemd", "serial")),
    links=("/dev/serial/by-id/usb-FTDI_A1", "/dev/serial/by-path/pci-0000:00:14.0"),
    initialized=True,
    parents=(
        Device(f"{USB}/1-2:1.0/ttyUSB0", subsystem="usb-serial", sysname="ttyUSB0", driver="ftdi_sio", attributes={"latency_timer": "16"}),
        Device(f"{USB}/1-2:1.0", subsystem="usb", sysname="1-2:1.0", driver="ftdi_sio", attributes={"bInterfaceNumber": "00"}),
        Device(
            USB, subsystem="usb", sysname="1-2", driver="usb", attributes={"idVendor": "0403", "serial": "A1"}, tags=frozenset(("hub",))
        ),
        Device("/sys/devices/pci0000:00/0000:00:14.0/usb1", subsystem="usb", sysname="usb1", driver="usb", attributes={"idVendor": "1d6b"}),
    ),
)
BARE = Device("/sys/devices/virtual/x", sysname="x")


def matches(line: str, device: Device = ADAPTER) -> bool:
    return rules.matches(rules.parse(line), device)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('KERNEL=="ttyUSB[0-9]*"', id="glob"),
        pytest.param('SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0403", ENV{ID_MODEL_ID}=="6001"', id="all terms"),
        pytest.param('SUBSYSTEM=="usb|tty"', id="one alternative"),
        pytest.param('KERNEL=="ttyACM*|ttyUSB*"', id="one alternative that is a glob"),
        pytest.param('DEVPATH=="/devices/*/ttyUSB0"', id="devpath without /sys"),
        pytest.param('DRIVER==""', id="no driver is an empty one"),
        pytest.param('DRIVER!="usb"', id="no driver is not usb"),
        pytest.param('DRIVER=="usb|"', id="no driver matches an empty alternative"),
        pytest.param('ENV{NONE}==""', id="no property is an empty one"),
        pytest.param('ENV{NONE}!="x"', id="no property is not x"),
        pytest.param('ENV{EMPTY}!="?*"', id="an empty property"),
        pytest.param('ATTR{dev}=="188:*"', id="attribute"),
        pytest.param('ATTR{dev}!="189:*"', id="attribute not"),
        pytest.param('ATTR{note}=="two words"', id="white space at an attribute's end does not count"),
        pytest.param('ATTR{note}=="two words \t"', id="unless the pattern has it"),
        pytest.param('ATTR{blank}!=""', id="an empty pattern takes the white space for what it is"),
        pytest.param('ATTR{blank}=="x|"', id="another pattern does not"),
        pytest.param('TAG=="serial"', id="one tag of several"),
        pytest.param('TAG=="ser*"', id="tag with a glob"),
        pytest.param('TAG!="video"', id="none of the tags"),
        pytest.param('SYMLINK=="serial/by-id/*"', id="name without /dev/"),
        pytest.param('SYMLINK!="serial/by-uuid/*"', id="none of the names"),
        pytest.param('KERNELS=="1-2", ATTRS{idVendor}=="0403", SUBSYSTEMS=="usb", DRIVERS=="usb"', id="all at one parent"),
        pytest.param('SUBSYSTEMS=="tty"', id="the device itself counts as a parent"),
        pytest.param('TAGS=="hub"', id="tag of a parent"),
        pytest.param('SUBSYSTEM=="tty", ATTRS{idVendor}=="1d6b"', id="parent further up"),
        pytest.param('ATTRS{idVendor}!="0403"', id="some parent has another vendor"),
        pytest.param('SUBSYSTEMS!="tty"', id="some parent is of another subsystem"),
    ],
)
def test_matches(line: str) -> None:
    assert matches(line)
    assert rules.failures(rules.parse(line), ADAPTER) == ()


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        pytest.param('KERNEL=="ttyusb*"', [1], id="case counts"),
        pytest.param('KERNEL=="tty"', [1], id="the whole value must match"),
        pytest.param('SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0404"', [19], id="one term fails"),
        pytest.param('SUBSYSTEM!="tty|usb"', [1], id="one alternative is enough to fail !="),
        pytest.param('ENV{NONE}=="?*"', [1], id="no property"),
        pytest.param('ENV{ID_VENDOR_ID}!="0403"', [1], id="property not"),
        pytest.param('ATTR{none}=="x"', [1], id="no attribute"),
        pytest.param('ATTR{none}!="x"', [1], id="no attribute, even with !="),
        pytest.param('ATTR{none}==""', [1], id="no attribute, even an empty one"),
        pytest.param('ATTR{note}=="two words "', [1], id="other white space"),
        pytest.param('TAG!="ser*"', [1], id="one tag is enough to fail !="),
        pytest.param('TAG=="hub"', [1], id="a parent's tag"),
        pytest.param('SYMLINK=="/dev/serial/*"', [1], id="name with /dev/"),
        pytest.param('ATTRS{none}!="x"', [1], id="no parent has the attribute"),
        pytest.param('SUBSYSTEMS!="*"', [1], id="each parent has a subsystem"),
        pytest.param('DRIVERS=="ftdi_sio", ATTRS{idVendor}=="0403"', [22], id="two parents for two terms"),
        pytest.param('SUBSYSTEM=="usb", DRIVERS=="x", KERNELS=="1-2", KERNEL=="y"', [1, 19, 49], id="own and parents' terms"),
    ],
)
def test_does_not_match(line: str, failed: list[int]) -> None:
    """Case 15: two parents' terms that hold at two different parents only are no match."""
    rule = rules.parse(line)
    assert not rules.matches(rule, ADAPTER)
    assert [term.column for term in rules.failures(rule, ADAPTER)] == failed


def test_nothing_fails_in_a_rule_that_matches() -> None:
    assert rules.failures(rules.parse('KERNEL=="ttyUSB0"'), ADAPTER) == ()


def test_terms_fail_at_the_parent_where_the_fewest_do() -> None:
    rule = rules.parse('KERNELS=="1-2", ATTRS{idVendor}=="0403", ATTRS{serial}=="A2"')
    assert [term.text for term in rules.failures(rule, ADAPTER)] == ['ATTRS{serial}=="A2"']


@pytest.mark.parametrize("name", ["subsystem", "bus", "class"])
def test_three_names_of_one_subsystem(name: str) -> None:
    device = Device("/sys/bus/usb", subsystem="subsystem", sysname="usb")
    assert matches(f'SUBSYSTEM=="{name}"', device)
    assert not matches(f'SUBSYSTEM!="{name}"', device)
    assert matches(f'SUBSYSTEMS=="{name}"', device) is (name == "subsystem")


@pytest.mark.parametrize("key", ["TAG", "TAGS", "SYMLINK"])
@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param('==""', False, id="none is not an empty one"),
        pytest.param('!=""', True, id="nor unequal to what it has not"),
        pytest.param('=="*"', False, id="none is there to match"),
        pytest.param('!="x"', True, id="none is x"),
        pytest.param('=="?*"', True, id="udev takes this for not empty, which none is"),
        pytest.param('!="?*"', False, id="and this for empty, which none is either"),
    ],
)
def test_a_list_without_anything(key: str, term: str, expected: bool) -> None:
    assert matches(key + term, BARE) is expected


def test_a_stale_tag_does_not_count() -> None:
    """Case 39: the model carries the current tags only, and they are all that TAG looks at."""
    device = Device("/sys/devices/virtual/x", sysname="x", properties={"TAGS": ":gone:", "CURRENT_TAGS": ""})
    assert not matches('TAG=="gone"', device)
