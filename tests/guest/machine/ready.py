"""A guest that is ready for tests, in seconds where an earlier run has left a saved state."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from bed.views import BedError

from .guest import QEMU, Guest

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
LOCK = "/run/oci-udev-hook-guest.lock"
IMAGE = "localhost/guest:1"
USER = "tester"


@contextmanager
def guest(folder: Path) -> Iterator[Guest]:
    """A guest with an image for podman, root's and USER's. There is one on this machine at a time; a second run waits.

    It is resumed from a saved state, which is made first where there is none; where one cannot be resumed, the guest is booted.
    """
    with open(LOCK, "w", encoding="ascii") as lock, ExitStack() as ending:
        fcntl.flock(lock, fcntl.LOCK_EX)
        image = Path(subprocess.run([HERE / "image"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
        state = image / f"state-{key()}"
        if not state.is_dir():
            save(image, folder, state)
        try:
            machine = ending.enter_context(Guest(image, folder, state))
        except BedError as error:
            print(f"the saved state {state} is given up: {error}")
            shutil.rmtree(state, ignore_errors=True)
            machine = ending.enter_context(Guest(image, folder))
            prepare(machine)
        yield machine


def key() -> str:
    """What a saved state depends on: QEMU can resume only what the same QEMU has saved of the same machine."""
    version = subprocess.run([QEMU, "--version"], stdout=subprocess.PIPE, check=True).stdout
    return sha256(b"".join([version, *((HERE / name).read_bytes() for name in ("guest.py", "ready.py"))])).hexdigest()[:12]


def save(image: Path, folder: Path, state: Path) -> None:
    """Boot IMAGE, make it ready, and keep that as STATE, in place of earlier ones."""
    for other in image.glob("state-*"):
        shutil.rmtree(other)
    part = image / "state.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    with Guest(image, folder) as machine:
        prepare(machine)
        machine.save(part)
    part.rename(state)


def prepare(machine: Guest) -> None:
    """What every run needs and what is slow the first time."""
    machine.run("modprobe", "ftdi_sio")
    for user, runtime in (("root", "crun"), ("root", "runc"), (USER, "crun")):
        podman = ("podman", "--runtime", runtime)
        if machine.run(*podman, "image", "exists", IMAGE, user=user, check=False).code != 0:
            machine.run(*podman, "import", "--quiet", "--change", "ENV PATH=/bin", "/usr/share/busybox.tar", IMAGE, user=user)
        machine.run(*podman, "run", "--rm", IMAGE, "true", user=user)
