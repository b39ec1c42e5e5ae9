"""Which stacks the tests run on: release × cgroup view × runtime × mode, and why a cell is impossible on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from .views import HERE

CAP_SYS_RESOURCE = 24  # linux/capability.h


class Release(StrEnum):
    """The Debian releases and the suites they have in an archive."""

    DEBIAN12 = "bookworm"  #: podman 4.3.1, crun 1.8.1, runc 1.1.5, Python 3.11
    DEBIAN13 = "trixie"  #: podman 5.4.2, crun 1.21, runc 1.1.15, Python 3.13

    @property
    def label(self) -> str:
        """How tests call it."""
        return self.name.lower()


class Cgroup(StrEnum):
    """What /sys/fs/cgroup shows."""

    V1 = "v1"
    V2 = "v2"
    HYBRID = "hybrid"  #: v1's controllers, and cgroup v2 beside them with what they leave


class Runtime(StrEnum):
    """The OCI runtime."""

    RUNC = "runc"
    CRUN = "crun"


class Mode(StrEnum):
    """Whose podman it is, and whether the container has a user namespace of its own."""

    ROOTFUL = "rootful"
    UIDMAP = "uidmap"
    AUTO = "auto"  #: podman chooses the user namespace's ids, few of them
    ROOTLESS = "rootless"


CGROUPS = (Cgroup.V1, Cgroup.V2)
MODES = (Mode.ROOTFUL, Mode.UIDMAP, Mode.ROOTLESS)


@dataclass(frozen=True)
class Cell:
    """One stack."""

    release: Release
    cgroup: Cgroup
    runtime: Runtime
    mode: Mode = Mode.ROOTFUL
    plain: bool = False  #: the runtime runs a bundle itself, there is no podman

    def __str__(self) -> str:
        return f"{self.release.label}-{'plain-' if self.plain else ''}{self.cgroup}-{self.runtime}-{self.mode}"


@cache
def tree(release: Release) -> str:
    """The root folder of RELEASE: the machine itself, or a tree that tests/run has made; empty if there is none."""
    with open("/etc/os-release", encoding="utf-8") as file:
        if f"VERSION_CODENAME={release}\n" in file:
            return "/"
    return subprocess.run([HERE / "tree", release, "--if-there"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def can_raise_limits() -> bool:
    """Whether this process has CAP_SYS_RESOURCE, capabilities(7)."""
    with open("/proc/self/status", encoding="ascii") as file:
        effective = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    return bool(effective >> CAP_SYS_RESOURCE & 1)


def needs_memlock_shim(cell: Cell) -> bool:
    """Whether CELL's crun fails to load a device program here without memlock-shim.c."""
    return cell.release is Release.DEBIAN12 and not can_raise_limits()


def impossible(cell: Cell) -> str | None:
    """Why CELL cannot run on this machine, or None."""
    if os.geteuid() != 0:
        return "engine tests need root: sudo tests/run"
    if not tree(cell.release):
        return f"there is no tree of {cell.release}: sudo tests/run makes it"
    if cell.cgroup is not Cgroup.V2 and not Path("/sys/fs/cgroup/devices").is_dir():
        return "the kernel or its boot line gives this machine no cgroup v1"
    if cell.cgroup is Cgroup.HYBRID and not Path("/sys/fs/cgroup/unified/cgroup.controllers").is_file():
        return "this machine has no cgroup v2 beside its cgroup v1"
    shim_needed = cell.cgroup is Cgroup.V2 and cell.runtime is Runtime.CRUN and cell.mode is not Mode.ROOTLESS and needs_memlock_shim(cell)
    if shim_needed and not shutil.which("gcc"):
        return "crun 1.8.1 needs CAP_SYS_RESOURCE on cgroup v2, or gcc for the shim that does without"
    return None


def diagonal(*modes: Mode, plain: bool = False, unless: dict[str, str] | None = None) -> list[object]:
    """Parameters for claims that hang on neither runtime nor hierarchy alone: each release with both of either, in half the cells.

    UNLESS maps a part of a cell's name to the reason why a claim has no meaning there.
    """
    pairs = {
        Release.DEBIAN12: ((Cgroup.V1, Runtime.RUNC), (Cgroup.V2, Runtime.CRUN)),
        Release.DEBIAN13: ((Cgroup.V1, Runtime.CRUN), (Cgroup.V2, Runtime.RUNC)),
    }
    stacks = [(release, *pair) for release in Release for pair in pairs[release]]
    return [parameter(Cell(*stack, mode, plain), unless) for stack in stacks for mode in modes or (Mode.ROOTFUL,)]


def parameter(cell: Cell, unless: dict[str, str] | None = None) -> object:
    """One parameter for the fixture `engine`; skipped, with the reason, if CELL is impossible here or UNLESS names it."""
    reason = impossible(cell) or next((reason for part, reason in (unless or {}).items() if part in str(cell)), None)
    return pytest.param(cell, id=str(cell), marks=[pytest.mark.skip(reason=reason)] if reason else [])


def cells(
    releases: tuple[Release, ...] = tuple(Release),
    cgroups: tuple[Cgroup, ...] = CGROUPS,
    runtimes: tuple[Runtime, ...] = tuple(Runtime),
    modes: tuple[Mode, ...] = (Mode.ROOTFUL,),
    *,
    plain: bool = False,
) -> list[object]:
    """Parameters for the fixture `engine`: every combination, those skipped with a reason that are impossible here."""
    return [parameter(Cell(*parts, plain=plain)) for parts in product(releases, cgroups, runtimes, modes)]
