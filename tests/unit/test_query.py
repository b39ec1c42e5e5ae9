"""What is looked for: at least all that can match, and little else."""

from __future__ import annotations

import pytest

from oci_udev_hook.inventory import query as queries
from oci_udev_hook.inventory import rules
from oci_udev_hook.inventory.query import Query, Selector

pytestmark = pytest.mark.unit


def asked(*lines: str, wide: bool = False) -> Query:
    return queries.query([rules.parse(line) for line in lines], wide=wide)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param('SUBSYSTEM=="tty"', Selector(subsystems=("tty",)), id="subsystem"),
        pytest.param('SUBSYSTEM=="tty|hidraw"', Selector(subsystems=("tty", "hidraw")), id="subsystem alternatives"),
        pytest.param('SUBSYSTEM=="tty*"', Selector(), id="a subsystem with a glob is no folder"),
        pytest.param('SUBSYSTEM=="tty|hid*"', Selector(), id="one alternative with a glob"),
        pytest.param('SUBSYSTEM=="|tty"', Selector(), id="no subsystem at all is one alternative"),
        pytest.param('SUBSYSTEM==".."', Selector(), id="no way out of the folder"),
        pytest.param('SUBSYSTEM!="tty"', Selector(), id="negated subsystem"),
        pytest.param('SUBSYSTEM=="t*", SUBSYSTEM=="tty"', Selector(subsystems=("tty",)), id="the term without globs is taken"),
        pytest.param('SUBSYSTEMS=="usb"', Selector(), id="a parent's subsystem says nothing of the device's"),
        pytest.param('KERNEL=="ttyUSB*|ttyACM*"', Selector(kernels=(("ttyUSB*", "ttyACM*"),)), id="sysname globs"),
        pytest.param('KERNEL=="tty*", KERNEL=="*0"', Selector(kernels=(("tty*",), ("*0",))), id="two sysname terms"),
        pytest.param('KERNEL!="ttyUSB*"', Selector(), id="negated sysname"),
        pytest.param('KERNELS=="1-2"', Selector(), id="a parent's sysname"),
        pytest.param('TAG=="seat|uaccess"', Selector(tags=("seat", "uaccess")), id="tags"),
        pytest.param('TAG=="se*"', Selector(), id="a tag with a glob"),
        pytest.param('TAG!="seat"', Selector(), id="negated tag"),
        pytest.param('TAGS=="seat"', Selector(), id="a parent's tag"),
        pytest.param('SUBSYSTEM=="tty", KERNEL=="ttyUSB*", TAG=="x"', Selector(("tty",), ("x",), (("ttyUSB*",),)), id="all of them"),
    ],
)
def test_each_rule_says_where_to_look(line: str, expected: Selector) -> None:
    assert asked(line).selectors == (expected,)


def test_rules_that_look_in_one_place_look_there_once() -> None:
    assert asked('SUBSYSTEM=="tty", ENV{A}=="1"', 'SUBSYSTEM=="tty", ENV{B}=="1"').selectors == (Selector(subsystems=("tty",)),)


def test_attributes_are_named_and_those_of_parents_count_for_the_device_too() -> None:
    found = asked('ATTR{size}=="1", ATTRS{idVendor}=="0403"', 'ATTRS{idVendor}=="1a86", ATTR{dev}=="x"')

    assert found.attributes == ("size", "dev", "idVendor")
    assert found.parent_attributes == ("idVendor",)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('ATTRS{a}=="1"', True),
        ('KERNELS=="1"', True),
        ('SUBSYSTEMS!="1"', True),
        ('DRIVERS=="1"', True),
        ('TAGS=="1"', True),
        ('KERNEL=="1", ATTR{a}=="1", ENV{B}=="1", TAG=="1"', False),
    ],
)
def test_parents_are_read_for_matching_only_where_a_term_asks_for_them(line: str, expected: bool) -> None:
    assert asked(line).parents is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('ENV{A}=="1"', True),
        ('TAG=="a"', True),
        ('TAGS=="a"', True),
        ('SYMLINK=="a"', True),
        ('KERNEL=="a", SUBSYSTEM=="b", ATTRS{c}=="d", DRIVER=="e"', False),
    ],
)
def test_what_only_udev_knows_is_known(line: str, expected: bool) -> None:
    assert queries.needs_database([rules.parse(line)]) is expected


def test_a_wide_query_finds_what_one_other_term_keeps_out() -> None:
    found = asked('SUBSYSTEM=="tty", KERNEL=="ttyUSB*", TAG=="x"', 'KERNEL=="a"', wide=True)

    assert found.selectors == (Selector(subsystems=("tty",)), Selector())


def test_no_rules_look_for_nothing() -> None:
    assert asked() == Query()
