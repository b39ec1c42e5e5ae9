"""What tests could leave on a machine, looked at before and after."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
LOCK = "/run/oci-udev-hook-tests.lock"
POD_PARENT = "libpod_parent"  #: podman's, with the cgroupfs manager
FOLDERS = ("/etc/containers", "/etc/oci-udev-hook", "/usr/share/containers", "/usr/share/oci-udev-hook", "/usr/libexec/oci")


@dataclass(frozen=True)
class State:
    """A machine as far as tests could change it."""

    mounts: frozenset[str]  #: mount points of this process's namespace
    nodes: frozenset[str]  #: all in /dev with mode and owner; loop devices, which other programs make too, are removed or it is an error
    users: frozenset[str]
    files: frozenset[str]
    cgroups: frozenset[str]


@contextmanager
def alone() -> Iterator[None]:
    """Wait for other runs of these tests on this machine to end, and keep later ones waiting."""
    with open(LOCK, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def look() -> State:
    """The state now."""
    return State(
        mounts=frozenset(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        nodes=frozenset(node(path) for path in files("/dev") if not path.name.startswith("loop")),
        users=frozenset(line for name in ("passwd", "group", "subuid", "subgid") for line in Path("/etc", name).read_text().splitlines()),
        files=frozenset(str(path) for folder in FOLDERS for path in Path(folder).rglob("*")),
        cgroups=frozenset(str(path) for path in pod_parents()),
    )


def files(top: str) -> Iterator[Path]:
    """Files and folders of the file system at TOP, not of others that are mounted below."""
    device = os.lstat(top).st_dev
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if os.lstat(Path(folder, name)).st_dev == device]
        yield from (Path(folder, name) for name in folders + names)


def node(path: Path) -> str:
    """A node in /dev as `ls` shows it."""
    status = path.lstat()
    return f"{path} {status.st_mode:o} {status.st_uid}:{status.st_gid}"


def pod_parents() -> list[Path]:
    """podman's cgroups, parents last."""
    roots = [root / POD_PARENT for root in (CGROUPS, *CGROUPS.iterdir())]
    return [path for root in roots if root.is_dir() for path in (*sorted((p for p in root.rglob("*") if p.is_dir()), reverse=True), root)]


def sweep(before: State) -> None:
    """Remove the empty cgroups that were not there BEFORE: podman leaves the parent of all its containers."""
    end = time.monotonic() + 2  # the kernel keeps one for a moment after its last process
    while (left := [path for path in pod_parents() if str(path) not in before.cgroups]) and time.monotonic() < end:
        for path in left:
            with suppress(OSError):  # not empty: it can be someone else's container that is in it
                path.rmdir()
        time.sleep(0.02)


def changes(before: State, after: State) -> list[str]:
    """What differs. A cgroup with processes in it is not the tests': all theirs have ended with their views."""
    found = []
    for name in (field.name for field in fields(State) if field.name != "cgroups"):
        old, new = getattr(before, name), getattr(after, name)
        found += [f"{name}: new {item}" for item in sorted(new - old)] + [f"{name}: gone {item}" for item in sorted(old - new)]
    return found + [f"cgroup: new {path}" for path in sorted(after.cgroups - before.cgroups) if not Path(path, "cgroup.procs").read_text()]
