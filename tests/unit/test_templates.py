"""Templates of a definition, and what a hostile device's strings do in them: nothing."""

from __future__ import annotations

import pytest

from oci_udev_hook.injection.templates import Given, TemplateError, node_path, variable
from oci_udev_hook.model import Device


def device(node: str = "/dev/ttyUSB0", **properties: str) -> Device:
    return Device("/sys/devices/usb1/1-1/tty", sysname="ttyUSB0", devnode=node, properties=properties)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("/dev/{name}", "/dev/ttyUSB0"),
        ("/dev/zigbee{index}", "/dev/zigbee3"),
        ("/dev/zigbee-{serial}", "/dev/zigbee-A1B2"),
        ("/dev/{ID_MODEL}/{index}", "/dev/FT232R/3"),
        ("/dev/{{x}}", "/dev/{x}"),
        ("/dev/plain", "/dev/plain"),
    ],
)
def test_a_path_is_filled_in(template: str, expected: str) -> None:
    """With the node's own name, the unit's number, the serial or any udev property."""
    assert node_path(template, device(ID_MODEL="FT232R", ID_SERIAL_SHORT="A1B2", ID_SERIAL="FTDI_A1B2"), 3) == expected


def test_a_serial_is_looked_for_at_the_parents_too() -> None:
    """The nearest holder counts, the short form first."""
    parent = Device("/sys/devices/usb1/1-1", properties={"ID_SERIAL": "FTDI_9"})
    child = Device("/sys/devices/usb1/1-1/tty", devnode="/dev/ttyUSB0", parents=(parent,))

    assert node_path("/dev/{serial}", child, 0) == "/dev/FTDI_9"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("../../etc/shadow", "/dev/.._.._etc_shadow"),
        ("a/b", "/dev/a_b"),
        ("a\nb\0c\x1b[0m", "/dev/a_b_c__0m"),
        ("a b,c;$(x)`\"'", "/dev/a_b_c___x____"),
        ("ä\ud800", "/dev/__"),
        ("{name}", "/dev/_name_"),
        ("#+-.:=@_", "/dev/#+-.:=@_"),
    ],
)
def test_a_devices_strings_stay_one_part_of_a_path(value: str, expected: str) -> None:
    """The characters that udev itself lets into names, all others as `_`."""
    assert node_path("/dev/{ID_MODEL}", device(ID_MODEL=value), 0) == expected


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("/dev/{ID_X}", "names {ID_X}, a udev property that /dev/ttyUSB0 has not; `udevadm info /dev/ttyUSB0` shows those it has"),
        ("/dev/{EMPTY}", "names {EMPTY}, a udev property that /dev/ttyUSB0 has not; `udevadm info /dev/ttyUSB0` shows those it has"),
        ("/dev/{serial}", "names {serial}, and /dev/ttyUSB0 has none; {index} numbers the container's units instead"),
        ("/dev/{", "has a brace without its partner or with nothing in it; a plain brace is written twice"),
    ],
)
def test_what_cannot_be_filled_in_says_why(template: str, sentence: str) -> None:
    """The caller names the definition."""
    with pytest.raises(TemplateError) as caught:
        node_path(template, device(EMPTY=""), 0)

    assert str(caught.value) == sentence


NODES = (
    Given(device(ID_MODEL="One, Two\nThree"), 0, "/dev/zigbee0"),
    Given(device("/dev/ttyUSB7", ID_MODEL="Zwölf"), 1, "/dev/zigbee1"),
)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{paths}", "/dev/zigbee0,/dev/zigbee1"),
        ("{count}", "2"),
        ("{name}", "ttyUSB0,ttyUSB7"),
        ("{index}", "0,1"),
        ("{ID_MODEL}", "One_ Two_Three,Zwölf"),
        ("ports={paths};n={count}", "ports=/dev/zigbee0,/dev/zigbee1;n=2"),
        ("plain", "plain"),
    ],
)
def test_a_variable_lists_by_comma(template: str, expected: str) -> None:
    """One value for each node; a comma or a line's end in a device's strings makes no more of them."""
    assert variable(template, NODES) == expected


def test_a_variable_of_no_nodes_is_empty() -> None:
    """`missing = "skip"`."""
    assert variable("{paths}{ID_MODEL}", ()) == ""
