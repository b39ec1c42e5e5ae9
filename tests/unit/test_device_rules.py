"""Device rules of an OCI config: what is read, and what is refused with which sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oci_udev_hook.errors import UsageError
from oci_udev_hook.injection.rules import DeviceRule, of_config
from oci_udev_hook.model import DeviceType

DATA = Path(__file__).parents[1] / "data" / "oci"


def config(*entries: object) -> dict[str, object]:
    """A config with these device rules."""
    return {"linux": {"resources": {"devices": list(entries)}}}


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        pytest.param({}, (), id="no linux"),
        pytest.param({"linux": {"resources": None}}, (), id="no resources"),
        pytest.param(config({"allow": False, "access": "rwm"}), (DeviceRule(False, None, None, None, "rwm"),), id="podman's first"),
        pytest.param(
            config({"allow": True, "type": "c", "major": 10, "minor": 229, "access": "rw"}),
            (DeviceRule(True, DeviceType.CHAR, 10, 229, "rw"),),
            id="one device",
        ),
        pytest.param(
            config({"allow": True, "type": "b", "major": -1, "minor": 0, "access": "r"}),
            (DeviceRule(True, DeviceType.BLOCK, None, 0, "r"),),
            id="any number as -1",
        ),
        pytest.param(config({"type": "a"}), (DeviceRule(False, None, None, None, "rwm"),), id="nothing but a type"),
        pytest.param(
            config({"allow": True, "type": "", "major": None, "minor": None, "access": None}),
            (DeviceRule(True, None, None, None, "rwm"),),
            id="nulls",
        ),
    ],
)
def test_rules_are_read(given: dict[str, object], rules: tuple[DeviceRule, ...]) -> None:
    assert of_config(given) == rules


@pytest.mark.parametrize("name", ["root", "privileged", "device"])
def test_podmans_rules_are_read(name: str) -> None:
    """As many as its config has."""
    given = json.loads((DATA / f"podman-{'4.3.1' if name == 'device' else '5.4.2'}-{name}.json").read_text())

    assert len(of_config(given)) == len(given["linux"]["resources"]["devices"])
    assert of_config(given)[0] == DeviceRule(name == "privileged", None, None, None, "rwm")


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        pytest.param({"allow": "yes"}, '.allow is "yes", not true or false', id="allow"),
        pytest.param({"type": "x"}, '.type is "x", not a, b or c', id="type"),
        pytest.param({"type": 5}, ".type is 5, not a string", id="type of another type"),
        pytest.param({"access": "rx"}, '.access is "rx", not of the letters r, w and m', id="access"),
        pytest.param({"major": "188"}, '.major is "188", not a whole number', id="major"),
        pytest.param({"minor": -2}, ".minor is -2, not a whole number from -1 to 9223372036854775807", id="minor"),
        pytest.param(7, " is 7, not an object", id="no object"),
    ],
)
def test_what_is_no_rule_is_refused(entry: object, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        of_config(config(entry))

    assert str(raised.value) == f"the container's config: linux.resources.devices[0]{says}"
