"""A runtime on its own: bundles written by hand, with the installed hooks in them, and run without any engine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .cells import Cell, Mode
from .engine import LIMITS, SLEEP, Runner
from .leftovers import POD_PARENT
from .setup import HOOKS, IMAGE_TAR
from .views import Result

BUNDLES = "bundles"  #: in the home folder of who runs them
CAPABILITIES = ("CAP_MKNOD", "CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_KILL")
NAMESPACES = ("pid", "ipc", "uts", "mount", "network")
#: User namespaces: ID inside, outside, how many. `auto` gives few ids, as podman's does.
MAPS = {Mode.UIDMAP: (0, 200000, 65536), Mode.AUTO: (0, 1000000, 1024)}
DENY_ALL = {"allow": False, "access": "rwm"}


@dataclass(frozen=True)
class Plain(Runner):
    """crun or runc as the tests of one cell use it."""

    @property
    def runtime(self) -> tuple[str, ...]:
        """The program with its own state folder. A user's runs where every rootless engine runs it: in the user's own user namespace."""
        if self.user:
            return "podman", "unshare", self.cell.runtime, "--root", f"/run/user/{self.view.uid(self.user)}/bed-{self.cell.runtime}"
        return self.cell.runtime, "--root", f"/run/bed-{self.cell.runtime}"

    @property
    def home(self) -> str:
        """Where bundles are."""
        return f"/home/{self.user}/{BUNDLES}" if self.user else f"/var/lib/{BUNDLES}"

    def bundle(self, name: str) -> str:
        """The bundle of the container NAME."""
        return f"{self.home}/{name}"

    def rootfs(self) -> str:
        """The root folder that bundles share; it is made when it is first asked for."""
        folder = f"{self.home}/rootfs"
        if not self.view.path(folder).exists():
            self.call("mkdir", "-p", folder)
            self.call("tar", "-C", folder, "--no-same-owner", "-xf", IMAGE_TAR)
        return folder

    def call(self, *arguments: str, check: bool = True) -> Result:
        """Run ARGUMENTS in the view as this user."""
        return self.view.run(*arguments, user=self.user, check=check)

    def make(self, name: str, limits: str, *, command: tuple[str, ...] = SLEEP) -> None:
        """Write the bundle NAME, whose container asks for LIMITS."""
        written = config(self.cell, self.hooks(), self.rootfs(), command)
        if limits:
            written["annotations"] = {LIMITS: limits}
        if self.cell.mode in MAPS:
            written["linux"] |= {f"{kind}Mappings": [mapping(*MAPS[self.cell.mode])] for kind in ("uid", "gid")}
        if not self.user:
            written["linux"] |= {"cgroupsPath": f"/{POD_PARENT}/{name}", "resources": {"devices": [DENY_ALL]}}
        self.call("mkdir", "-p", self.bundle(name))
        self.view.write(f"{self.bundle(name)}/config.json", json.dumps(written))
        self.view.run("chown", "-R", self.user or "root", self.bundle(name))

    def edit(self, name: str, change: Callable[[dict[str, Any]], object]) -> None:
        """CHANGE the config of the bundle NAME in place."""
        path = self.view.path(f"{self.bundle(name)}/config.json")
        written = json.loads(path.read_text())
        change(written)
        path.write_text(json.dumps(written))

    def hooks(self) -> dict[str, list[dict[str, Any]]]:
        """The installed hooks, as an engine puts them into a config."""
        files = [json.loads(path.read_text()) for path in sorted(self.view.path(HOOKS).glob("90-oci-udev-hook-*.json"))]
        return {stage: [file["hook"]] for file in files for stage in file["stages"]}

    def run(self, name: str, container: str = "") -> Result:
        """Run the bundle NAME in the background, as CONTAINER or under its own name."""
        with self.popen(name, container, "--detach") as process:
            _, err = process.communicate(timeout=60)
        log = self.view.path(f"{self.bundle(name)}/log").read_text()
        return Result(("run", container or name), process.returncode, "", log + err)

    def popen(self, name: str, container: str = "", *options: str) -> subprocess.Popen[str]:
        """Start the runtime for the bundle NAME and do not wait; what it and its container say is in the file `log` in the bundle."""
        words = " ".join([*self.runtime, "run", *options, "--bundle", self.bundle(name), container or name])
        return self.view.popen("sh", "-c", f": | {words} >{self.bundle(name)}/log 2>&1", user=self.user)

    def start(self, name: str, limits: str, *, command: tuple[str, ...] = SLEEP) -> str:
        """Start a container in the background and return its id."""
        self.make(name, limits, command=command)
        result = self.run(name)
        assert result.code == 0, str(result)
        return name

    def exec(self, name: str, *command: str, check: bool = True) -> Result:
        """Run COMMAND in the running container NAME."""
        return self.call(*self.runtime, "exec", name, *command, check=check)

    def stop(self, name: str) -> None:
        """End the container NAME; its bundle stays."""
        self.call(*self.runtime, "delete", "--force", name)

    def start_again(self, name: str) -> None:
        """Run a bundle that has run before."""
        result = self.run(name)
        assert result.code == 0, str(result)

    def process(self, name: str) -> int:
        """The pid of the container NAME, as the view counts."""
        return int(json.loads(self.call(*self.runtime, "state", name).out)["pid"])

    def remove_all(self) -> None:
        """End all containers and remove their bundles."""
        for container in json.loads(self.call(*self.runtime, "list", "--format", "json").out) or []:
            self.stop(container["id"])
        for path in self.view.path(self.home).glob("*/config.json"):
            self.call("rm", "-r", self.bundle(path.parent.name))


def mapping(inside: int, outside: int, size: int) -> dict[str, int]:
    """One entry of uidMappings, config-linux.md of the OCI runtime spec."""
    return {"containerID": inside, "hostID": outside, "size": size}


def config(cell: Cell, hooks: dict[str, Any], root: str, command: tuple[str, ...]) -> dict[str, Any]:
    """A config.json, config.md of the OCI runtime spec."""
    namespaces = (*NAMESPACES, "user") if cell.mode in MAPS else NAMESPACES
    capabilities = {kind: list(CAPABILITIES) for kind in ("bounding", "effective", "permitted")}
    mounts = [
        ("/proc", "proc", "proc", ""),
        ("/dev", "tmpfs", "tmpfs", "nosuid,strictatime,mode=755,size=65536k"),
        ("/dev/pts", "devpts", "devpts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620"),
        ("/dev/shm", "tmpfs", "shm", "nosuid,noexec,nodev,mode=1777,size=65536k"),
        ("/tmp", "tmpfs", "tmpfs", "nosuid,mode=1777"),
    ]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "args": list(command),
            "env": ["PATH=/bin"],
            "cwd": "/",
            "capabilities": capabilities,
            "noNewPrivileges": True,
        },
        "root": {"path": root},
        "hostname": "container",
        "mounts": [
            {"destination": destination, "type": kind, "source": source, "options": [option for option in options.split(",") if option]}
            for destination, kind, source, options in mounts
        ],
        "hooks": hooks,
        "annotations": {},
        "linux": {"namespaces": [{"type": kind} for kind in namespaces]},
    }
