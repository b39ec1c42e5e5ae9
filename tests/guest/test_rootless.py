"""A user's podman under the user's own systemd: nothing but the user's rights stands between a container and its device."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from machine import containers
from machine.ready import USER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from machine.guest import Guest

SERIAL = "ROOTLESS"


@pytest.fixture
def node(guest: Guest) -> Iterator[str]:
    """An adapter's node; it is root's and dialout's, which the user is a member of."""
    yield guest.plug(SERIAL)
    guest.run("podman", "rm", "--all", "--force", "--time", "0", user=USER)
    guest.unplug(SERIAL)


def test_a_users_container_holds_its_device_until_it_stops(guest: Guest, node: str) -> None:
    asks = ("--annotation", f"io.oci-udev-hook.limits=guest.example/serial={SERIAL}")

    container = containers.start(guest, "rootless", *asks, runtime="crun", user=USER)

    answers = container.answers(unit=f"exec 3<>{node}; echo hello >&3", another="exec 3</dev/vda")
    assert answers == {"unit": "yes", "another": "no such file"}
    assert guest.received(SERIAL) == "hello\r\n"
    assert held(guest) == [["rootless", [node]]]
    container.podman("rm", "--force", "--time", "0", "rootless")
    assert held(guest) == []


def held(guest: Guest) -> list[list[object]]:
    """Who of the user's containers holds which nodes."""
    leases = json.loads(guest.run("oci-udev-hook", "leases", "--json", user=USER).out)["leases"]
    return [[lease["name"], lease["nodes"]] for lease in leases]
