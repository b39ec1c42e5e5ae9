"""Leases and device numbers in JSON: one form for the ledger and for the mark on a config."""

from __future__ import annotations

import pytest

from oci_udev_hook.frozen import replace
from oci_udev_hook.leases import Leased, _parse_number, as_json, leased, read_leases, read_number
from oci_udev_hook.model import DeviceNumber, DeviceType, Holder, Lease, LeaseState, Process
from oci_udev_hook.typed import Fields, TypedError

USB0 = DeviceNumber(DeviceType.CHAR, 188, 0)
LOOP = DeviceNumber(DeviceType.BLOCK, 7, 255)
HOLDER = Holder("c", "web", LeaseState.RESERVED, Process(1, 2), "now", 0.0)
LEASE = Lease("a.example/foo", "serial:A1", frozenset({USB0, LOOP}), ("/dev/ttyUSB0", "/dev/loop7"), HOLDER, 3)
ROW: dict[str, object] = {
    "resource": "a.example/foo",
    "unit": "serial:A1",
    "numbers": ["b 7:255", "c 188:0"],
    "nodes": ["/dev/ttyUSB0", "/dev/loop7"],
    "sharing": 3,
}


def test_a_lease_comes_back_as_it_was() -> None:
    """Its holder stands elsewhere."""
    assert leased(LEASE).held_by(HOLDER) == LEASE
    assert as_json(LEASE) == as_json(leased(LEASE)) == {**ROW, "nodes": ("/dev/ttyUSB0", "/dev/loop7")}
    assert read_leases(Fields({"leases": [ROW]})) == (leased(LEASE),)


def test_what_is_not_shared_does_not_say_so() -> None:
    """One is the rule."""
    alone = replace(leased(LEASE), sharing=1)

    assert "sharing" not in as_json(alone)
    assert read_leases(Fields({"leases": [as_json(alone) | {"nodes": list(alone.nodes)}]})) == (alone,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"resource": 1}, "leases[0].resource is 1, not a string", id="resource"),
        pytest.param({"unit": None}, "leases[0].unit is null, not a string", id="unit"),
        pytest.param(
            {"numbers": ["c 188:*"]}, 'leases[0].numbers is ["c 188:*"], not a list of device numbers such as "c 188:0"', id="all"
        ),
        pytest.param({"numbers": [188]}, "leases[0].numbers is [188], not a list of strings", id="a number alone"),
        pytest.param({"nodes": "/dev/x"}, 'leases[0].nodes is "/dev/x", not a list', id="a node alone"),
        pytest.param({"nodes": ["/dev/a\0b"]}, 'leases[0].nodes is ["/dev/a\\u0000b"], not a list of paths', id="no path"),
        pytest.param({"sharing": 0}, "leases[0].sharing is 0, not a whole number from 1 to 2147483647", id="shared by nobody"),
        pytest.param({"sharing": True}, "leases[0].sharing is true, not a whole number", id="shared, but by how many"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, object], message: str) -> None:
    """With its place."""
    with pytest.raises(TypedError) as caught:
        read_leases(Fields({"leases": [{**ROW, **change}]}))

    assert str(caught.value) == message


@pytest.mark.parametrize("key", ROW.keys() - {"sharing"})
def test_nothing_else_may_be_absent(key: str) -> None:
    """A lease without numbers would hold nothing."""
    with pytest.raises(TypedError, match=rf"^leases\[0\]\.{key} is missing, it must be a (string|list of strings)$"):
        read_leases(Fields({"leases": [{name: value for name, value in ROW.items() if name != key}]}))


def test_the_list_itself_must_be_there() -> None:
    """An empty one says that nothing is held; none says nothing."""
    assert read_leases(Fields({"leases": []})) == ()
    with pytest.raises(TypedError, match=r"^leases is missing, it must be a list$"):
        read_leases(Fields({}))


@pytest.mark.parametrize("text", ["c 188:0", "b 7:255", "c 0:1048575", "c 4294967295:4294967295"])
def test_a_number_is_read_as_it_is_written(text: str) -> None:
    """The form of cgroup v1's devices.list."""
    assert str(_parse_number(text)) == text
    assert str(read_number(Fields({"rule": text}), "rule")) == text


@pytest.mark.parametrize(
    "text",
    [
        *["", "c", "188:0", "p 188:0", "c 188", "c 188:", "c :0", "c -1:0", "c 188:*", "c 1:1 ", "c 1:1\n", "c \u0661:0", "c \u00b2:0"],
        *["c 1:2:3", "c 1_0:1", "c +1:1", "c 4294967296:0", "c 0:4294967296", "c " + "1" * 5000 + ":1", "c 1:" + "0" * 5000],
    ],
)
def test_no_other_form_is_a_number(text: str) -> None:
    """A wildcard least of all, nor what no kernel has."""
    assert _parse_number(text) is None
    with pytest.raises(TypedError, match=r'not a device number such as "c 188:0"$'):
        read_number(Fields({"rule": text}), "rule")


def test_a_lease_without_its_holder_is_data() -> None:
    """Equal where its fields are."""
    assert leased(LEASE) == Leased("a.example/foo", "serial:A1", frozenset({LOOP, USB0}), LEASE.nodes, 3)
