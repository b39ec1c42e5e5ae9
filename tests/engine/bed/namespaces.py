"""A container as a runtime has it when it calls createRuntime hooks, made of a process, its namespaces and a folder, without any engine.

Its process waits for functions of this module that are to run in it.
"""

from __future__ import annotations

import ctypes
import errno
import multiprocessing
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")

libc = ctypes.CDLL(None, use_errno=True)
fork = multiprocessing.get_context("fork")

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h
MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED = 0x1000, 0x4000, 1 << 18, 1 << 20  # linux/mount.h
MNT_DETACH = 2
PR_SET_DUMPABLE = 4  # linux/prctl.h
CAP_SYS_PTRACE, CAP_MKNOD = 19, 27  # linux/capability.h
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h
MAP = (0, 100000, 65536)  #: of the user namespace: inside, outside, size
SECONDS = 30  #: within which a process must answer


def check(result: int) -> None:
    """Raise what a call of the C library has failed with."""
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2)."""
    check(libc.mount(source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None))


def unshare(flags: int) -> None:
    """unshare(2)."""
    check(libc.unshare(flags))


# What a container's process can be asked to do.


def shell(script: str) -> str:
    """What a shell prints that runs SCRIPT."""
    return subprocess.run(["/bin/sh", "-ec", script], check=True, capture_output=True, text=True).stdout


def opens(root: str, path: str, flags: int = os.O_RDWR) -> str:
    """The error that opening PATH gives a process whose root is ROOT; empty if it opens."""

    def work() -> str:
        os.chroot(root)
        os.chdir("/")
        try:
            os.close(os.open(path, flags))
        except OSError as error:
            return errno.errorcode[error.errno or 0]
        return ""

    return apart(work)


def shows(root: str, path: str) -> str:
    """PATH below ROOT as `ls` shows it to this process: type and mode, owner, device number."""
    status = os.lstat(root + path)
    return f"{status.st_mode:o} {status.st_uid}:{status.st_gid} {os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def pivot(root: str) -> None:
    """pivot_root(2), with the old root gone."""
    os.chdir(root)
    check(libc.pivot_root(b".", b"."))
    check(libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


def undumpable() -> None:
    """Let no process look into this one that has no CAP_SYS_PTRACE, prctl(2)."""
    check(libc.prctl(PR_SET_DUMPABLE, 0))


def mount_table() -> list[str]:
    """The mounts of this process, without their ids."""
    return [line.split(" ", 2)[2] for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def swap(one: str, other: str) -> None:
    """Let two paths change places again and again until this process is killed."""
    while True:
        check(libc.renameat2(AT_FDCWD, one.encode(), AT_FDCWD, other.encode(), RENAME_EXCHANGE))


def loop(pipe: Connection) -> None:
    """Do what comes through PIPE until it is closed."""
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            os._exit(0)
        try:
            pipe.send((function(*arguments), None))
        except Exception as error:  # noqa: BLE001 — it is raised in the test
            pipe.send((None, error))


def inside(pipe: Connection, root: str, user_namespace: bool, dev: str | None) -> None:
    """A runtime's child up to the moment of the createRuntime hooks."""
    unshare(CLONE_NEWNS | (CLONE_NEWUSER if user_namespace else 0))
    pipe.send("apart")
    pipe.recv()
    if user_namespace:
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    mount("", "/", flags=MS_REC | MS_PRIVATE)
    mount(root, root, flags=MS_BIND | MS_REC)
    if dev is not None:
        mount("tmpfs", f"{root}/dev", "tmpfs", options=dev)
    pipe.send("ready")
    loop(pipe)


@dataclass(frozen=True)
class Container:
    """A container and what the test knows of it."""

    pid: int
    root: str  #: its root folder on the host
    victim: Path  #: a folder of the host's that it wants to write to
    pipe: Connection

    def do(self, function: Callable[..., T], *arguments: object) -> T:
        """What FUNCTION gives in the container's process, whose root is still the host's."""
        self.pipe.send((function, arguments))
        assert self.pipe.poll(SECONDS), "the container's process does not answer"
        answer, error = self.pipe.recv()
        if error is not None:
            raise error
        result: T = answer
        return result

    def sh(self, script: str) -> str:
        """What a shell prints in the container's mount namespace, in its root folder; $victim is the host's folder."""
        return self.do(shell, f"victim={self.victim}; cd {self.root}; {script}")

    def opens(self, path: str, flags: int = os.O_RDWR) -> str:
        """The error that opening PATH gives in the container; empty if it opens."""
        return self.do(opens, self.root, path, flags)


@contextmanager
def started(image: str = "", *, user_namespace: bool = False, dev: str | None = "mode=755") -> Iterator[Container]:
    """A container whose image IMAGE, a script for a shell in its root folder, has made; DEV are the options of its tmpfs on /dev."""
    with tempfile.TemporaryDirectory(prefix="container-") as base:
        root, victim = Path(base, "root"), Path(base, "victim")
        for folder in (Path(base), root, victim):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        for name in ("dev", "proc", "tmp"):
            (root / name).mkdir()
        shell(f"victim={victim}; cd {root}; {image}")
        if user_namespace:
            for path in (root, *root.rglob("*")):
                os.chown(path, MAP[1], MAP[1], follow_symlinks=False)
        mine, its = fork.Pipe()
        process = fork.Process(target=inside, args=(its, str(root), user_namespace, dev))
        process.start()
        its.close()
        try:
            assert mine.poll(SECONDS)
            mine.recv()
            if user_namespace:
                for name in ("uid_map", "gid_map"):
                    Path(f"/proc/{process.pid}/{name}").write_text(" ".join(map(str, MAP)))
            mine.send("go on")
            assert mine.poll(SECONDS)
            mine.recv()
            yield Container(process.pid or 0, str(root), victim, mine)
        finally:
            process.kill()
            process.join()
            mine.close()


@contextmanager
def swapping(container: Container, one: str, other: str) -> Iterator[None]:
    """Two paths of CONTAINER change places all the time."""
    place = f"/proc/{container.pid}/root{container.root}"
    process = fork.Process(target=swap, args=(place + one, place + other))
    process.start()
    try:
        yield
        assert process.is_alive()
    finally:
        process.kill()
        process.join()


def apart(work: Callable[[], T]) -> T:
    """What WORK gives in a forked process, which its changes to itself end with. Raises what it raises."""

    def child() -> None:
        try:
            its.send((work(), None))
        except Exception as error:  # noqa: BLE001 — it is raised in the test
            its.send((None, error))
        os._exit(0)

    mine, its = fork.Pipe()
    process = fork.Process(target=child)
    process.start()
    its.close()
    try:
        assert mine.poll(SECONDS)
        answer, error = mine.recv()
    finally:
        process.kill()
        process.join()
        mine.close()
    if error is not None:
        raise error
    result: T = answer
    return result


def without(capability: int, work: Callable[[], T]) -> T:
    """What WORK gives in a process without CAPABILITY."""
    version = 0x20080522  # linux/capability.h

    def narrowed() -> T:
        header = (ctypes.c_uint32 * 2)(version, 0)
        data = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: the low halves, then the high ones
        check(libc.capget(header, data))
        for kind in (0, 1):
            data[kind] &= ~(1 << capability)
        check(libc.capset(header, data))
        return work()

    return apart(narrowed)


def without_mknod(work: Callable[[], T]) -> T:
    """What WORK gives where no device node can be made, as in a service whose device cgroup says so."""
    return without(CAP_MKNOD, work)


def as_user(work: Callable[[], T]) -> T:
    """What WORK gives as root of a user namespace and mount namespace of an engine's that runs rootless."""

    def mapped() -> T:
        signal.alarm(SECONDS)
        parent, own = os.pipe(), os.pipe()
        pid = os.getpid()
        mapper = os.fork()
        if not mapper:
            os.read(parent[0], 1)
            for name in ("uid_map", "gid_map"):
                Path(f"/proc/{pid}/{name}").write_text(" ".join(map(str, MAP)))
            os.write(own[1], b"x")
            os._exit(0)
        unshare(CLONE_NEWNS | CLONE_NEWUSER)
        os.write(parent[1], b"x")
        os.read(own[0], 1)
        os.waitpid(mapper, 0)
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        check(libc.prctl(PR_SET_DUMPABLE, 1))  # what an engine's execve(2) does: /proc/PID is its own user's again
        mount("", "/", flags=MS_REC | MS_PRIVATE)
        return work()

    return apart(mapped)


def listing(*places: str | Path) -> list[str]:
    """All files below PLACES with their types, modes, owners and sizes, and the mounts, as this process sees them."""
    found = []
    for place in places:
        for folder, folders, files in os.walk(place):
            if os.path.lexists(f"{folder}/self"):  # a procfs
                folders.clear()
                files.clear()
            for path in [folder, *[f"{folder}/{name}" for name in files + folders]]:
                status = os.lstat(path)
                found.append(f"{path} {status.st_mode:o} {status.st_uid}:{status.st_gid} {status.st_rdev} {status.st_size}")
    return sorted(set(found)) + mount_table()
