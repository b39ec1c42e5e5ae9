"""podman in a view, with one runtime and in one mode, and the installed hook's own verbs."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from itertools import count

from .cells import Cell, Cgroup, Mode, Release, Runtime
from .views import Result, View, until

IMAGE = "localhost/bed:1"
USER = "tester"
RESOURCE = "bed.example/loop"
LIMITS = "io.oci-udev-hook.limits"
MAPPING = {Mode.UIDMAP: ("--uidmap", "0:200000:65536", "--gidmap", "0:200000:65536"), Mode.AUTO: ("--userns=auto",)}
HELD = 75
SLEEP = ("sleep", "1000")
#: What podman says about a removal that works the next time
NOT_YET = (
    "userdata/shm: device or resource busy",  # 4.3: its own cleanup process, which conmon starts, still has it mounted
    "conmon exited prematurely",  # where a test has killed that
)
ONCE = count(1)  #: for names: podman 4.3 can also be late in removing what it ran with --rm


@dataclass(frozen=True)
class Runner:
    """Who runs the containers of one cell, and where."""

    cell: Cell
    view: View

    @property
    def user(self) -> str | None:
        """Whose containers they are: None is root."""
        return USER if self.cell.mode is Mode.ROOTLESS else None

    def hook(self, *arguments: str, stdin: str = "", check: bool = True) -> Result:
        """Run a verb of the hook as this user."""
        return self.view.run("oci-udev-hook", *arguments, user=self.user, stdin=stdin, check=check)

    def leases(self) -> dict[str, tuple[str, ...]]:
        """The host's nodes that each container holds, by the container's name, in a stable order."""
        held: dict[str, list[str]] = {}
        for lease in json.loads(self.hook("leases", "--json").out)["leases"]:
            held.setdefault(lease["name"] or lease["container"], []).extend(lease["nodes"])
        return {name: tuple(sorted(nodes)) for name, nodes in held.items()}


@dataclass(frozen=True)
class Engine(Runner):
    """podman as the tests of one cell use it."""

    @property
    def binds_nodes(self) -> bool:
        """Whether containers get the host's nodes with the host's owner and mode: rootless, and by runc in a user namespace."""
        return self.cell.mode is Mode.ROOTLESS or (self.cell.mode is not Mode.ROOTFUL and self.cell.runtime is Runtime.RUNC)

    @property
    def denies_its_pods(self) -> bool:
        """Whether podman denies the containers of its pods all devices, their own /dev/null too: 4.3.1 with cgroupfs on cgroup v2."""
        return self.cell.release is Release.DEBIAN12 and self.cell.cgroup is Cgroup.V2 and self.cell.mode is Mode.ROOTFUL

    def allow_pod(self, pod: str) -> None:
        """Take away the program that denies all devices from the cgroup of POD, which every container of it is below."""
        folder = f"/sys/fs/cgroup/libpod_parent/{pod}"
        for program in json.loads(self.view.run("bpftool", "--json", "cgroup", "show", folder).out):
            self.view.run("bpftool", "cgroup", "detach", folder, "device", "id", str(program["id"]))

    @property
    def mapping(self) -> tuple[str, ...]:
        """The options of a container's own user namespace."""
        return MAPPING.get(self.cell.mode, ())

    def podman(self, *arguments: str, stdin: str = "", check: bool = True) -> Result:
        """Run podman and wait."""
        return self.view.run("podman", "--runtime", self.cell.runtime, *arguments, user=self.user, stdin=stdin, check=check)

    def popen(self, *arguments: str) -> subprocess.Popen[str]:
        """Start podman and do not wait."""
        return self.view.popen("podman", "--runtime", self.cell.runtime, *arguments, user=self.user)

    def run_arguments(self, name: str, limits: str, options: tuple[str, ...], command: tuple[str, ...]) -> tuple[str, ...]:
        """`podman run` of a container that asks for LIMITS."""
        annotation = ("--annotation", self.quoted(f"{LIMITS}={limits}")) if limits else ()
        return ("run", "--name", name, *self.mapping, *annotation, *options, IMAGE, *command)

    def quoted(self, value: str) -> str:
        """VALUE for an option that podman 4.3 reads as CSV."""
        return '"' + value.replace('"', '""') + '"' if self.cell.release is Release.DEBIAN12 else value

    def start(self, name: str, limits: str, *options: str, command: tuple[str, ...] = SLEEP) -> str:
        """Start a container in the background and return its id."""
        return self.podman(*self.run_arguments(name, limits, ("--detach", *options), command)).out.strip()

    def output(self, limits: str, *command: str, options: tuple[str, ...] = ()) -> str:
        """What COMMAND prints in a container of its own that is gone afterwards."""
        return self.podman(*self.run_arguments(f"once-{next(ONCE)}", limits, ("--rm", *options), command)).out

    def refused(self, name: str, limits: str, *options: str, code: int) -> Result:
        """Start a container that must not start, and see that podman's user is shown the exit status CODE of the hook."""
        result = self.podman(*self.run_arguments(name, limits, ("--detach", *options), SLEEP), check=False)
        assert result.code == 126, str(result)
        assert f"exit status {code}" in result.err, str(result)
        assert self.status(name) == "created", "the container must not have started"
        return result

    def exec(self, name: str, *command: str, check: bool = True) -> Result:
        """Run COMMAND in the running container NAME."""
        return self.podman("exec", name, *command, check=check)

    def status(self, name: str) -> str:
        """podman's word for the state of the container NAME."""
        return self.inspect(name, "{{.State.Status}}")

    def inspect(self, name: str, template: str) -> str:
        """One value of `podman inspect`."""
        return self.podman("container", "inspect", "--format", template, name).out.strip()

    def stop(self, name: str) -> None:
        """End the container NAME at once; it can start again."""
        self.podman("stop", "--time", "0", name)

    def start_again(self, name: str) -> None:
        """Start the container NAME, which has stopped."""
        self.podman("start", name)

    def process(self, name: str) -> int:
        """The pid of the container NAME, as the view counts."""
        return int(self.inspect(name, "{{.State.Pid}}"))

    def bundle(self, name: str) -> str:
        """The bundle of the container NAME."""
        return self.inspect(name, "{{.OCIConfigPath}}").removesuffix("/config.json")

    def remove(self, name: str) -> None:
        """Remove the container NAME at once."""
        self._remove(("rm", "--force", "--time", "0", "--ignore"), name)

    def remove_pod(self, name: str) -> None:
        """Remove the pod NAME and its containers at once."""
        self._remove(("pod", "rm", "--force", "--time", "0", "--ignore"), name)

    def remove_all(self) -> None:
        """Remove all pods and containers of this user at once."""
        if not self.podman("ps", "--all", "--quiet").out:
            return
        if self.podman("pod", "ps", "--quiet").out:
            # On cgroup v1, podman takes seconds to remove a pod that runs, waiting for its cgroup to be empty
            self.podman("pod", "stop", "--all", "--time", "0", check=False)
            self._remove(("pod", "rm", "--force", "--time", "0"), "--all")
        self._remove(("rm", "--force", "--time", "0"), "--all")

    def _remove(self, command: tuple[str, ...], what: str) -> None:
        """Run COMMAND for WHAT, again as long as podman says one of NOT_YET."""

        def removed() -> bool:
            result = self.podman(*command, what, check=False)
            assert result.code == 0 or any(words in result.err for words in NOT_YET), str(result)
            return result.code == 0

        until(removed, 20)
