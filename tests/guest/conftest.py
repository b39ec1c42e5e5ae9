"""Fixtures of the guest tests: one machine for all of them, with the hook of this checkout installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from machine import ready

if TYPE_CHECKING:
    from collections.abc import Iterator

    from machine.guest import Guest

CHECKOUT = Path(__file__).parents[2]
SOURCE = "/opt/oci-udev-hook"
RESOURCE = "guest.example/serial"
DEFINITION = f"[[resource]]\nname = '{RESOURCE}'\nmatch = ['SUBSYSTEM==\"tty\", ENV{{ID_MODEL}}==\"QEMU_USB_SERIAL\"']\n"


@pytest.fixture(scope="session")
def guest() -> Iterator[Guest]:
    """The machine; USB serial adapters are units of RESOURCE there."""
    with ready.guest(CHECKOUT / ".work" / "guest") as machine:
        machine.copy(CHECKOUT, ("hook", "oci-hooks.d", "packaging"), SOURCE)
        machine.run(f"{SOURCE}/packaging/install")
        machine.run("tee", "/etc/oci-udev-hook/resources.d/50-guest.toml", stdin=DEFINITION)
        yield machine
