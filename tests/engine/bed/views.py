"""A view: a machine of its own made of namespaces (see the script `view`), and commands run in it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NAMESPACES = ("--mount", "--pid", "--net", "--ipc", "--uts")


def until(claim: Callable[[], bool], seconds: float = 10) -> None:
    """Wait until CLAIM holds: engines work on in the background after a container has ended."""
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


class BedError(Exception):
    """The bed itself is broken; no claim of a test."""


@dataclass(frozen=True)
class Result:
    """What a command did."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"{' '.join(self.arguments)}: exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


@dataclass
class View:
    """A running view of TREE with the cgroup hierarchy CGROUP (`v1`, `v2`, `hybrid`)."""

    tree: str
    cgroup: str
    pid: int = 0
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Make the namespaces and wait until they are ready."""
        self.process = subprocess.Popen(
            [str(HERE / "view"), self.tree, self.cgroup], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self.process.stdout
        if self.process.stdout.readline() != "ready\n":
            raise BedError(f"the view of {self.tree} with cgroup {self.cgroup} does not start: exit {self.process.wait()}")
        self.pid = int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text())

    def stop(self) -> None:
        """End the view's first process: the kernel then ends all others in it and takes the mounts away."""
        if self.process:
            assert self.process.stdin
            assert self.process.stdout
            self.process.stdin.close()
            self.process.wait(20)
            self.process.stdout.close()
            self.process = None

    def path(self, inside: str) -> Path:
        """Where the host finds the view's file INSIDE."""
        return Path(f"/proc/{self.pid}/root{inside}")

    def listing(self, inside: str) -> list[str]:
        """All that is below the folder INSIDE, other file systems left out: path, mode, owner, and a device's number."""
        top = self.path(inside)
        device = top.stat().st_dev
        found = []
        for folder, folders, names in os.walk(top):
            folders[:] = [name for name in folders if os.lstat(f"{folder}/{name}").st_dev == device]
            for path in (f"{folder}/{name}" for name in [*folders, *names]):
                status = os.lstat(path)
                place = path.removeprefix(str(top))
                found.append(f"{place} {status.st_mode:o} {status.st_uid}:{status.st_gid} {status.st_rdev:x}")
        return sorted(found)

    def write(self, inside: str, text: str, mode: int = 0o644) -> None:
        """Make the file INSIDE, and the folders on the way, readable to all."""
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def command(self, arguments: tuple[str, ...], user: str | None, environment: dict[str, str]) -> list[str]:
        """The host's command line that runs ARGUMENTS in the view as USER (default: root)."""
        variables = {"HOME": "/root", "PATH": PATH, "LANG": "C.UTF-8"}
        become: list[str] = []
        if user:
            uid = self.uid(user)
            variables.update(HOME=f"/home/{user}", USER=user, LOGNAME=user, XDG_RUNTIME_DIR=f"/run/user/{uid}")
            become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        pairs = [f"{name}={value}" for name, value in {**variables, **environment}.items()]
        return ["nsenter", f"--target={self.pid}", *NAMESPACES, "--", *become, "env", "-i", "-C", variables["HOME"], *pairs, *arguments]

    def run(
        self,
        *arguments: str,
        user: str | None = None,
        environment: dict[str, str] | None = None,
        stdin: str = "",
        timeout: float = 60,
        check: bool = True,
    ) -> Result:
        """Run ARGUMENTS in the view and wait. With CHECK another exit code than 0 is an AssertionError."""
        with self.popen(*arguments, user=user, environment=environment) as process:
            try:
                out, err = process.communicate(stdin, timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise AssertionError(f"{' '.join(arguments)}: no end within {timeout} s") from None
        result = Result(arguments, process.returncode, out, err)
        assert not check or result.code == 0, str(result)
        return result

    def popen(self, *arguments: str, user: str | None = None, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """Start ARGUMENTS in the view, with pipes, in a process group of its own."""
        return subprocess.Popen(
            self.command(arguments, user, environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def uid(self, user: str) -> int:
        """The numeric id of USER in the view."""
        for line in self.path("/etc/passwd").read_text().splitlines():
            name, _, uid, *_ = line.split(":")
            if name == user:
                return int(uid)
        raise BedError(f"the view has no user {user}")
