"""Devices that every Linux machine can make: loop devices through /dev/loop-control, loop(4)."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .views import BedError, View

LOOP_CTL_ADD = 0x4C80  # linux/loop.h
LOOP_CTL_REMOVE = 0x4C81
VT_DISALLOCATE = 0x5608  # linux/vt.h
FIRST = 700  #: far from the numbers that mounts of images take
CONTROL = "/dev/loop-control"
CONTROL_NUMBER = (10, 237)  # linux/miscdevice.h


@dataclass(frozen=True)
class Loop:
    """One loop device of the kernel's; its node is made in each view."""

    name: str
    major: int
    minor: int

    @property
    def node(self) -> str:
        """Its path under /dev."""
        return f"/dev/{self.name}"

    def appear(self, view: View, mode: int = 0o660, uid: int = 0, gid: int = 0) -> None:
        """Make the node in VIEW, or give it other rights."""
        path = view.path(self.node)
        if not path.exists():
            os.mknod(path, stat.S_IFBLK | mode, os.makedev(self.major, self.minor))
        os.chown(path, uid, gid)
        path.chmod(mode)


@contextmanager
def recorded(view: View, links: dict[str, str]) -> Iterator[None]:
    """Udev's database in VIEW knows the nodes that are keys of LINKS, each with a further name of it below /dev (udev's `S:` line)."""
    try:
        for node, link in links.items():
            status = view.path(node).stat()
            kind = "b" if stat.S_ISBLK(status.st_mode) else "c"
            lines = [f"S:{link}", "I:1234567", "V:1"] if link else ["I:1234567", "V:1"]
            view.write(f"/run/udev/data/{kind}{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}", "\n".join([*lines, ""]))
            if link:
                view.run("mkdir", "-p", os.path.dirname(f"/dev/{link}"))
                view.path(f"/dev/{link}").symlink_to(node)
        yield
    finally:
        view.run("rm", "-r", "/run/udev", *(f"/dev/{link.partition('/')[0]}" for link in links.values() if link))


def control(request: int, number: int) -> None:
    """One ioctl on /dev/loop-control."""
    descriptor = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, request, number)
    finally:
        os.close(descriptor)


def add_loops(count: int) -> tuple[Loop, ...]:
    """COUNT new loop devices, the first free numbers from FIRST on."""
    loops: list[Loop] = []
    number = FIRST
    while len(loops) < count:
        try:
            control(LOOP_CTL_ADD, number)
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise BedError(f"/dev/loop-control makes no loop device {number}: {error}") from error
        else:
            major, minor = Path(f"/sys/class/block/loop{number}/dev").read_text().split(":")
            loops.append(Loop(f"loop{number}", int(major), int(minor)))
        number += 1
    return tuple(loops)


def forget_consoles(*numbers: int) -> None:
    """Free virtual consoles that were opened, vt_ioctl in linux/vt.h: opening one makes /dev/vcsN on the host."""
    descriptor = os.open("/dev/tty0", os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        for number in numbers:
            with suppress(OSError):  # someone else uses it
                fcntl.ioctl(descriptor, VT_DISALLOCATE, number)
    finally:
        os.close(descriptor)


def remove_loops(loops: tuple[Loop, ...]) -> None:
    """Take LOOPS away again."""
    for loop in loops:
        control(LOOP_CTL_REMOVE, int(loop.name.removeprefix("loop")))
