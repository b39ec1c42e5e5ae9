"""A container in the guest that opens devices when it is asked to: the engine is called for its start only, which is slow there."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from .ready import IMAGE

if TYPE_CHECKING:
    from .guest import Guest

#: A shell for each script that comes through one pipe; what it prints goes through another.
SERVE = "mkfifo /ask /answer; while :; do sh </ask >/answer 2>&1; done"
#: `try WHAT SCRIPT`: a line that tells whether SCRIPT succeeds or why not.
TRY = 'try() { if (eval "$2") 2>/tmp/error; then echo "$1: yes"; else sed "s/.*: /$1: /" /tmp/error; fi; }\n'


@dataclass(frozen=True)
class Container:
    """One that runs."""

    guest: Guest
    name: str
    user: str
    id: str
    pid: int

    @property
    def scope(self) -> str:
        """The systemd unit that podman has made for it."""
        return f"libpod-{self.id}.scope"

    def podman(self, *arguments: str) -> str:
        """What podman prints."""
        return self.guest.run("podman", *arguments, user=self.user).out

    def answers(self, **scripts: str) -> dict[str, str]:
        """For each script, run in the container: "yes", or the error that it ends with."""
        text = TRY + "".join(f"try {name} {quote(script)}\n" for name, script in scripts.items())
        root = f"/proc/{self.pid}/root"
        lines = self.guest.run("sh", "-c", f"cat >{root}/ask; cat {root}/answer", stdin=text, timeout=30).out.splitlines()
        return dict(line.split(": ", 1) for line in lines)


def start(guest: Guest, name: str, *options: str, runtime: str, user: str = "root") -> Container:
    """Start a container in the background."""
    pidfile = f"/tmp/{name}.pid"
    command = ("podman", "--runtime", runtime, "run", "--detach", "--name", name, "--pidfile", pidfile, *options, IMAGE, "sh", "-c", SERVE)
    identifier = guest.run(*command, user=user).out.strip()
    pid = int(guest.run("cat", pidfile).out)
    guest.run("sh", "-c", f"until [ -p /proc/{pid}/root/answer ]; do sleep 0.1; done", timeout=20)
    return Container(guest, name, user, identifier, pid)
