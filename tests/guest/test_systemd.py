"""A container keeps its devices whatever systemd does: with systemd's cgroup manager, real USB adapters and each runtime."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bed.views import until
from machine import containers
from machine.ready import IMAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from machine.containers import Container
    from machine.guest import Guest

DROPIN = "/etc/containers/containers.conf.d/50-oci-udev-hook.conf"
SPARE = "SPARE"  #: the adapter that no container asks for
EPERM = "Operation not permitted"
OTHER = "rm -f /dev/other; mknod /dev/other c 188 {minor}; exec 3<>/dev/other"
OWN = ("--device", "/dev/vda:/dev/own:r", "--cap-add", "mknod")  #: a device by an option of podman's, to read only
#: What containers must not leave behind.
LOOK = """
cut -d ' ' -f 5 /proc/self/mountinfo
stat -c '%n %t:%T %a %u:%g' /dev/* | grep -v ^/dev/pts
find /sys/fs/bpf -type f
ls /run/systemd/transient /sys/fs/cgroup/machine.slice | grep libpod
true
"""


@dataclass(frozen=True)
class Cell:
    """How a container gets its adapter: by which runtime, and in which stage of its start."""

    runtime: str
    stage: str

    def __str__(self) -> str:
        return f"{self.runtime}-{self.stage}"

    @property
    def serial(self) -> str:
        """The number of the adapter that its container asks for."""
        return str(self).upper()


#: The programs, and how systemd keeps their containers' devices: by rules of the scope, or by a program that it loads from a pinned file.
RUNTIMES = {"crun": "/usr/bin/crun", "runc": "/usr/bin/runc", "crun-new": "/usr/local/bin/crun-new"}
KEEPS = {"crun": "DevicePolicy=strict", "runc": "DevicePolicy=strict", "crun-new": "BPFProgram=device:/sys/fs/bpf/crun/"}
CELLS = [Cell(runtime, stage) for stage in ("precreate", "createRuntime") for runtime in RUNTIMES]
LEFT = Cell("crun-new", "precreate")  #: here the hook leaves the program in the scope as the runtime has made it
PLAIN = Cell("crun-new", "none")  #: here it has no part at all
each = pytest.mark.parametrize("cell", CELLS, ids=str)


class Holders:
    """A container for each cell that holds an adapter of its own."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self.nodes = {serial: guest.plug(serial) for serial in (*(cell.serial for cell in CELLS), SPARE)}
        self.before = self.look()
        self.missing = {name for name, program in RUNTIMES.items() if guest.run("test", "-x", program, check=False).code}
        self.containers: dict[Cell, Container] = {}
        self.failures: dict[Cell, AssertionError] = {}
        for cell in (cell for cell in (*CELLS, PLAIN) if cell.runtime not in self.missing):
            try:
                self.containers[cell] = self.start(cell)
            except AssertionError as error:
                self.failures[cell] = error

    def start(self, cell: Cell) -> Container:
        """A container that asks for the cell's adapter. Without the drop-in, podman finds no precreate hook."""
        asks = ("--annotation", f"io.oci-udev-hook.limits=guest.example/serial={cell.serial}") if cell != PLAIN else ()
        with self.without_precreate() if cell.stage == "createRuntime" else nullcontext():
            return containers.start(self.guest, str(cell), *asks, *OWN, runtime=RUNTIMES[cell.runtime])

    @contextmanager
    def without_precreate(self) -> Iterator[None]:
        """As a machine that has only the hook JSON in podman's default folder."""
        self.guest.run("mv", DROPIN, f"{DROPIN}.away")
        try:
            yield
        finally:
            self.guest.run("mv", f"{DROPIN}.away", DROPIN)

    def of(self, cell: Cell) -> Container:
        """The container of CELL. Raises the error of its start if that failed."""
        if cell.runtime in self.missing:
            pytest.skip(f"the guest has no {RUNTIMES[cell.runtime]}: its package could not be had, or does not run there")
        if cell in self.failures:
            raise self.failures[cell]
        return self.containers[cell]

    def shut(self, cell: Cell) -> str:
        """How a device that the container may not have answers: EPERM.

        But as in a container that the hook has no part in, where the scope's program is the runtime's: when systemd 257 reloads, it takes
        away what BPFProgram= names, and puts it back with the next property that is set. Meanwhile all devices open.
        """
        return self.of(PLAIN).answers(own="exec 3>>/dev/own")["own"] if cell == LEFT else EPERM

    def look(self) -> list[str]:
        """What there is on the machine."""
        return self.guest.run("sh", "-c", LOOK).out.splitlines()

    def leases(self) -> list[str]:
        """Who holds something."""
        return [lease["name"] for lease in json.loads(self.guest.run("oci-udev-hook", "leases", "--json").out)["leases"]]


@pytest.fixture(scope="module")
def holders(guest: Guest) -> Iterator[Holders]:
    holders = Holders(guest)
    yield holders
    guest.run("podman", "rm", "--all", "--force", "--time", "0")
    for serial in holders.nodes:
        guest.unplug(serial)


def nothing(holders: Holders) -> None:
    """The moment after the start."""


def reload(holders: Holders) -> None:
    holders.guest.run("systemctl", "daemon-reload")


def start_another(holders: Holders) -> None:
    """systemd sets all devices of a slice anew then, if it has been reloaded before."""
    holders.guest.run("podman", "run", "--rm", IMAGE, "true")


def set_property(holders: Holders) -> None:
    """systemd sets the devices of the scope anew with any property."""
    for container in holders.containers.values():
        holders.guest.run("systemctl", "set-property", container.scope, "CPUWeight=200")


def reexec(holders: Holders) -> None:
    holders.guest.run("systemctl", "daemon-reexec")


MOMENTS = {
    "at first": nothing,
    "after daemon-reload": reload,
    "after another container's start": start_another,
    "after set-property": set_property,
    "after daemon-reexec": reexec,
}


@pytest.fixture(scope="module", params=MOMENTS)
def moment(request: pytest.FixtureRequest, holders: Holders) -> str:
    """What happened last; each of them comes on top of those before."""
    name: str = request.param
    MOMENTS[name](holders)
    return name


@each
def test_its_devices_open_and_no_others(moment: str, cell: Cell, holders: Holders) -> None:
    """Case 26, and 8: in a container that may make nodes, so that the device cgroup alone decides."""
    node, spare = holders.nodes[cell.serial], holders.nodes[SPARE]
    minor = spare.removeprefix("/dev/ttyUSB")

    shut = holders.shut(cell)
    answers = holders.of(cell).answers(
        unit=f"exec 3<>{node}; echo {len(moment)} >&3",
        unit_by_its_link=f"exec 3<>/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_{cell.serial}-if00-port0",
        own="exec 3</dev/own; head -c 4 <&3 >/dev/null",
        own_for_writing="exec 3>>/dev/own",
        another=OTHER.format(minor=minor),
        standard="head -c 4 /dev/zero >/dev/null && head -c 4 /dev/urandom >/dev/null && : >/dev/full",
    )

    assert answers == {
        "unit": "yes",
        "unit_by_its_link": "yes",
        "own": "yes",
        "own_for_writing": shut,
        "another": shut,
        "standard": "yes",
    }
    assert holders.guest.received(cell.serial) == f"{len(moment)}\r\n"


@each
def test_systemd_keeps_the_devices_as_the_cell_says(cell: Cell, holders: Holders) -> None:
    """Else the other tests would not show what they say."""
    shown = holders.guest.run("systemctl", "show", "--property", "DevicePolicy,BPFProgram", holders.of(cell).scope).out

    assert KEEPS[cell.runtime] in shown


@each
def test_exec_comes_to_the_device(cell: Cell, holders: Holders) -> None:
    node = holders.nodes[cell.serial]

    assert holders.of(cell).podman("exec", str(cell), "sh", "-c", f"exec 3<>{node} && echo opened") == "opened\n"


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.stage == "createRuntime"], ids=str)
def test_a_restart_gives_the_device_again(cell: Cell, holders: Holders) -> None:
    """In a scope of the same name, whose device rules or pinned program are new."""
    container, node = holders.of(cell), holders.nodes[cell.serial]

    with holders.without_precreate():
        container.podman("restart", "--time", "0", str(cell))

    holders.guest.run("systemctl", "set-property", container.scope, "CPUWeight=300")
    assert container.podman("exec", str(cell), "sh", "-c", f"exec 3<>{node} && echo opened") == "opened\n"


def test_nothing_is_left_when_they_have_stopped(holders: Holders) -> None:
    assert sorted(holders.leases()) == sorted(str(cell) for cell in holders.containers if cell != PLAIN)

    holders.guest.run("podman", "rm", "--all", "--force", "--time", "0")

    assert holders.leases() == []
    until(lambda: holders.look() == holders.before)


def test_the_readme_names_what_is_tried_here(guest: Guest) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    said = {name: guest.run(program, "--version", check=False).out for name, program in RUNTIMES.items()}
    versions = {name: re.findall(r"\d+(?:\.\d+)+", text)[:1] for name, text in said.items()}

    assert f"with crun {versions['crun'][0]}, runc {versions['runc'][0]} and a crun later than 1.23" in readme
    if not versions["crun-new"]:
        pytest.skip(f"the guest has no {RUNTIMES['crun-new']}: its package could not be had, or does not run there")
    assert [int(part) for part in versions["crun-new"][0].split(".")] >= [1, 23]
