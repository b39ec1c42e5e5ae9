"""Devices that every Linux machine can make: loop devices through /dev/loop-control, loop(4)."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .views import BedError, View

LOOP_CTL_ADD = 0x4C80  # linux/loop.h
LOOP_CTL_REMOVE = 0x4C81
VT_DISALLOCATE = 0x5608  # linux/vt.h
FIRST = 700  #: far from the numbers that mounts of images take


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


def control(request: int, number: int) -> None:
    """One ioctl on /dev/loop-control."""
    descriptor = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
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
