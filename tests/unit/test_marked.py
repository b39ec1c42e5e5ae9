"""Devices that udev rules mark for a resource, joined into what the definition files say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bed.fakehost import FULL, NULL, ZERO, FakeHost, record
from oci_udev_hook import inventory
from oci_udev_hook.inventory import database, marked, rules
from oci_udev_hook.inventory.catalog import Catalog
from oci_udev_hook.model import Device, Resource

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.unit

NAME = "hardware-vendor.example/foo"
SHARING = "it must be a whole number, at least 1, of at most ten digits"


def mark(node: str, **properties: str) -> Device:
    """A device that a rule has marked."""
    return Device(f"/sys/devices/{node}", devnode=f"/dev/{node}", properties=properties, tags=frozenset({marked._TAG}))


def joined(*devices: Device, **fields: object) -> Catalog:
    """The catalog of DEVICES and of FIELDS, what the files say."""
    return marked.join(Catalog(**{"resources": {}, **fields}), devices)  # type: ignore[arg-type] (the fields that a test names)


def test_marked_devices_are_a_resource_without_a_file() -> None:
    found = joined(mark("a", OCI_UDEV_RESOURCE=NAME), mark("b", OCI_UDEV_RESOURCE=NAME), mark("c", OCI_UDEV_RESOURCE="a.b/c"))

    assert found == Catalog(
        {
            NAME: Resource(NAME, rules=(rules.parse(f'TAG=="oci-udev-hook", ENV{{OCI_UDEV_RESOURCE}}=="{NAME}"'),), source="udev"),
            "a.b/c": Resource("a.b/c", rules=(rules.parse('TAG=="oci-udev-hook", ENV{OCI_UDEV_RESOURCE}=="a.b/c"'),), source="udev"),
        }
    )


def test_a_rule_may_set_fields_and_one_device_says_it_for_all() -> None:
    found = joined(
        mark("a", OCI_UDEV_RESOURCE=NAME, OCI_UDEV_SHARING="2", OCI_UDEV_PATH="/dev/foo{index}", OCI_UDEV_PERMISSIONS="mr"),
        mark("b", OCI_UDEV_RESOURCE=NAME, OCI_UDEV_SHARING="2"),
    ).resources[NAME]

    assert (found.sharing, found.path, found.permissions) == (2, "/dev/foo{index}", "rm")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("path", "/etc/foo-{index}"),
        ("path", "/dev/{ID_MODEL}"),
        ("path", "/dev/{paths}"),
        ("path", "/dev/}"),
        ("path", "/dev//x"),
        ("path", "dev"),
        ("permissions", "wr"),
        ("permissions", "rr"),
        ("permissions", "x"),
        ("sharing", 3),
        ("sharing", 0),
        ("sharing", -1),
    ],
)
def test_a_rule_may_say_what_a_file_may(tmp_path: Path, field: str, value: str | int) -> None:
    """What is refused in the one is refused in the other, and what is taken means the same."""
    (tmp_path / "resources.d").mkdir()
    (tmp_path / "resources.d/a.json").write_text(json.dumps({"resource": [{"name": NAME, "paths": ["/dev/x"], field: value}]}))
    of_a_file = inventory.load((str(tmp_path),), None, FakeHost(tmp_path / "host", database=False).roots).resources.get(NAME)
    of_a_rule = joined(mark("a", OCI_UDEV_RESOURCE=NAME, **{f"OCI_UDEV_{field.upper()}": str(value)})).resources.get(NAME)

    assert getattr(of_a_rule, field, None) == getattr(of_a_file, field, None)


def test_a_resource_of_a_file_keeps_the_files_fields_and_gets_the_devices_too() -> None:
    own = rules.parse('KERNEL=="x"')
    found = joined(
        mark("a", OCI_UDEV_RESOURCE=NAME, OCI_UDEV_SHARING="many"), resources={NAME: Resource(NAME, rules=(own,), sharing=3, source="f")}
    )

    assert found.resources[NAME] == Resource(NAME, rules=(own, marked._rule(NAME)), sharing=3, source="f")
    assert found.faults == ()


def test_a_resource_of_a_faulty_file_stays_out() -> None:
    """What the file wants of it is not known."""
    found = joined(mark("a", OCI_UDEV_RESOURCE=NAME), broken={NAME: "why"}, faults=("why",))

    assert found == Catalog({}, {NAME: "why"}, ("why",))


def test_a_stale_tag_marks_nothing() -> None:
    """Case 39."""
    stale = Device("/sys/devices/a", devnode="/dev/a", properties={"OCI_UDEV_RESOURCE": NAME, "TAGS": ":oci-udev-hook:"})

    assert joined(stale) == Catalog({})


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("SHARING", "0", SHARING),
        ("SHARING", "-1", SHARING),
        ("SHARING", "two", SHARING),
        ("SHARING", "²", SHARING),
        ("SHARING", "1" * 11, SHARING),
        ("SHARING", "2x", SHARING),
        ("PATH", "foo", 'it must be an absolute path without "//", "." and ".."'),
        ("PATH", "/dev/../etc/x", 'it must be an absolute path without "//", "." and ".."'),
        ("PATH", "/dev/{index", "but it has a brace without its partner or with nothing in it; a plain brace is written twice"),
        ("PATH", "/dev/{paths}", "but {paths} is none of {name}, {index}, {serial} and no property of udev's"),
        ("PERMISSIONS", "rx", "it must be letters of r, w and m, each at most once"),
    ],
)
def test_a_bad_field_breaks_that_resource_with_a_sentence(field: str, value: str, why: str) -> None:
    found = joined(mark("a", OCI_UDEV_RESOURCE=NAME, **{f"OCI_UDEV_{field}": value}), mark("b", OCI_UDEV_RESOURCE="a.b/c"))

    sentence = f'OCI_UDEV_{field} of /dev/a is "{value}", {why}; mend the udev rule that sets it'
    assert found.broken == {NAME: sentence}
    assert found.faults == (sentence,)
    assert set(found.resources) == {"a.b/c"}


def test_devices_that_contradict_each_other_break_it_too() -> None:
    found = joined(
        mark("a", OCI_UDEV_RESOURCE=NAME, OCI_UDEV_SHARING="1", OCI_UDEV_PERMISSIONS="x"),
        mark("b", OCI_UDEV_RESOURCE=NAME, OCI_UDEV_SHARING="2"),
        mark("c", OCI_UDEV_RESOURCE=NAME, OCI_UDEV_SHARING="1"),
    )

    assert found.faults == (
        'OCI_UDEV_SHARING is "1" by /dev/a and "2" by /dev/b, but a resource has one value of it; mend the udev rules that set it',
        'OCI_UDEV_PERMISSIONS of /dev/a is "x", it must be letters of r, w and m, each at most once; mend the udev rule that sets it',
    )
    assert found.broken == {NAME: "; ".join(found.faults)}


@pytest.mark.parametrize(
    ("properties", "fault"),
    [
        ({}, "/dev/a has the tag oci-udev-hook, but no OCI_UDEV_RESOURCE that names its resource"),
        (
            {"OCI_UDEV_RESOURCE": "/foo"},
            'OCI_UDEV_RESOURCE of /dev/a is "/foo", but there is no domain before the slash',
        ),
        (
            {"OCI_UDEV_RESOURCE": "a.b/*"},
            'OCI_UDEV_RESOURCE of /dev/a is "a.b/*", but the kind "*" may hold only letters, digits, "-", "_" and "."',
        ),
    ],
)
def test_a_mark_for_no_resource_is_a_fault(properties: dict[str, str], fault: str) -> None:
    assert joined(mark("a", **properties)) == Catalog({}, {}, (f"{fault}; mend the udev rule that sets it",))


class TestLoading:
    """From the host."""

    def test_files_and_marks_are_one_catalog(self, tmp_path: Path) -> None:
        host = FakeHost(tmp_path)
        host.adapter("1-2", "ttyUSB0", NULL, record=record("G:oci-udev-hook", "Q:oci-udev-hook", OCI_UDEV_RESOURCE=NAME))
        host.adapter("1-3", "ttyUSB1", ZERO, record=record("G:oci-udev-hook", OCI_UDEV_RESOURCE=NAME))
        host.adapter("1-4", "ttyUSB2", FULL, record=record("G:oci-udev-hook", "Q:oci-udev-hook", OCI_UDEV_RESOURCE="a.b/c"))
        (tmp_path / "conf/resources.d").mkdir(parents=True)
        (tmp_path / "conf/resources.d/50.json").write_text(
            '{"resource": [{"name": "a.b/c", "match": ["KERNEL==\\"ttyUSB1\\""], "sharing": 4}]}'
        )

        catalog = inventory.load((str(tmp_path / "conf"),), None, host.roots)
        units = inventory.survey(catalog.resources.values(), roots=host.roots).units

        assert catalog.faults == ()
        assert catalog.resources["a.b/c"].sharing == 4
        assert {name: [unit.devices[0].devnode for unit in found] for name, found in units.items()} == {
            NAME: ["/dev/ttyUSB0"],
            "a.b/c": ["/dev/ttyUSB1", "/dev/ttyUSB2"],
        }

    def test_without_a_udev_database_there_can_be_no_marks(self, tmp_path: Path) -> None:
        """Case 37."""
        host = FakeHost(tmp_path, database=False)

        assert inventory.load((), None, host.roots).why_not(NAME) == (
            f"{NAME} is not defined on this host, and udev rules mark no device, "
            f"since the udev database {host.roots.run}/data is not there; `oci-udev-hook resources` lists those that are"
        )

    def test_where_no_rule_uses_the_tag_nothing_is_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(database, "Reader", None)

        assert inventory.load((), None, FakeHost(tmp_path).roots) == Catalog({})
