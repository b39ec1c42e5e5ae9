"""A container's rules in the kernel's own cgroup v1: a process in it may open what was allowed, and no longer once that is undone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bed.views import until
from oci_udev_hook.edit import CgroupRule
from oci_udev_hook.errors import ConfigurationError, UnavailableError
from oci_udev_hook.injection import cgroup
from oci_udev_hook.injection.levels import Level, levels, scope
from oci_udev_hook.injection.undo import UndoLog
from oci_udev_hook.model import DeviceNumber, DeviceType

HIERARCHY = Path("/sys/fs/cgroup/devices")
FULL = CgroupRule(DeviceNumber(DeviceType.CHAR, 1, 7), "rw")
READ = CgroupRule(DeviceNumber(DeviceType.CHAR, 1, 7), "r")
#: Opens /dev/full as each line of standard input says, and tells how that went.
SHELL = "while read -r mode; do case $mode in r) true </dev/full ;; rw) true <>/dev/full ;; esac 2>/dev/null && echo yes || echo no; done"

pytestmark = pytest.mark.skipif(not HIERARCHY.is_dir(), reason="the kernel or its boot line gives this machine no cgroup v1")


class Container:
    """A process in a cgroup of its own, in a subgroup as crun has it, that may use nothing but /dev/null and /dev/zero."""

    def __init__(self, name: str) -> None:
        self.top = HIERARCHY / name
        self.inner = self.top / "container"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.top.mkdir()
        write(self.top / "devices.deny", "a")
        for number in (3, 5):
            write(self.top / "devices.allow", f"c 1:{number} rwm")
        self.inner.mkdir()
        self.process = subprocess.Popen(["sh", "-c", SHELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        write(self.inner / "cgroup.procs", str(self.process.pid))

    def opens(self, mode: str) -> bool:
        """Whether the process can open /dev/full so."""
        assert self.process
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{mode}\n")
        self.process.stdin.flush()
        return {"yes\n": True, "no\n": False}[self.process.stdout.readline()]

    def levels(self) -> tuple[Level, ...]:
        """Its levels, as the hook finds them."""
        assert self.process
        text = Path(f"/proc/{self.process.pid}/cgroup").read_text()
        return levels(text, Path("/proc/self/mountinfo").read_text(), f"/{self.top.name}", "id")

    def stop(self) -> None:
        if self.process:
            self.process.communicate()
        for folder in (self.inner, self.top):
            if folder.is_dir():
                until(lambda folder=folder: remove(folder))


def write(path: Path, text: str) -> None:
    """Write TEXT to a file of the cgroup file system, in one call."""
    path.write_text(text)


def remove(folder: Path) -> bool:
    """Remove a cgroup, which stays busy for a moment after its last process has ended."""
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


@pytest.fixture
def container() -> Iterator[Container]:
    made = Container(f"oci-udev-hook-test-{os.getpid()}")
    try:
        made.start()
        yield made
    finally:
        made.stop()


def listed(folder: Path) -> list[str]:
    return (folder / "devices.list").read_text().splitlines()


STANDARD = ["c 1:3 rwm", "c 1:5 rwm"]


def test_its_levels_are_found_top_down(container: Container) -> None:
    found = container.levels()

    assert [level.folder for level in found if level.version == 1] == [str(container.top), str(container.inner)]
    assert scope(found) == ""


def test_a_rule_opens_the_device_and_its_undoing_closes_it(container: Container) -> None:
    """Case 28: what was allowed before stays so, before and after."""
    undo = UndoLog()
    found = container.levels()
    assert [cgroup.missing(level, (FULL,)) for level in found] == [(FULL,), (FULL,)]
    assert not container.opens("rw")

    for level in found:
        cgroup.allow(level, (FULL,), undo)

    assert container.opens("rw")
    assert [cgroup.missing(level, (FULL,)) for level in found] == [(), ()]
    assert listed(container.inner) == [*STANDARD, "c 1:7 rw"]
    assert len(undo.steps) == 2

    assert undo.take_back() == ()

    assert not container.opens("r")
    assert listed(container.top) == listed(container.inner) == STANDARD


def test_read_only_stays_read_only(container: Container) -> None:
    for level in container.levels():
        cgroup.allow(level, (READ,), UndoLog())

    assert container.opens("r")
    assert not container.opens("rw")


def test_undoing_leaves_what_was_allowed_before(container: Container) -> None:
    undo = UndoLog()
    for level in container.levels():
        cgroup.allow(level, (READ,), UndoLog())
        cgroup.allow(level, (FULL,), undo)
    assert container.opens("rw")

    assert undo.take_back() == ()

    assert container.opens("r")
    assert not container.opens("rw")


def test_a_parent_that_denies_is_named_with_the_way_out(container: Container) -> None:
    undo = UndoLog()
    inner = container.levels()[-1]

    with pytest.raises(ConfigurationError) as caught:
        cgroup.allow(inner, (FULL,), undo)

    assert str(caught.value) == (
        f"the container's cgroup {container.inner} cannot be allowed c 1:7 rw, since {container.top} above it is not; "
        f"allow it there first, by DeviceAllow= of its systemd unit or with: echo 'c 1:7 rw' > {container.top}/devices.allow"
    )
    assert undo.steps == []
    assert listed(container.inner) == STANDARD


def test_a_cgroup_that_allows_all_is_left_alone(container: Container) -> None:
    """Its parent does as well: the hierarchy's root does so on every machine."""
    undo = UndoLog()
    root = Level(1, "/", str(HIERARCHY))

    assert cgroup.missing(root, (FULL,)) == ()
    cgroup.allow(root, (FULL,), undo)

    assert undo.steps == []


def test_a_container_that_has_ended_is_said_to_have_gone(container: Container) -> None:
    found = container.levels()
    undo = UndoLog()
    for level in found:
        cgroup.allow(level, (FULL,), undo)
    container.stop()

    with pytest.raises(UnavailableError):
        cgroup.allow(found[0], (READ,), UndoLog())
    gone = "(the container's cgroup {0} has gone meanwhile; start the container again)"
    assert undo.take_back() == tuple(
        f"not taken back: c 1:7 rw, allowed in {level.folder} {gone.format(level.folder)}" for level in reversed(found)
    )
