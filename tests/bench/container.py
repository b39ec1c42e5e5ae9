"""A container as its runtime leaves it for createRuntime hooks: mount namespace and cgroup of its own, before pivot_root."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).parents[2] / "hook"))

from oci_udev_hook.injection import bpf, programs, rules

VT_DISALLOCATE = 0x5608  # linux/vt.h
#: What a runtime's own program says: what the config says, then the devices that each container has.
RULES = (rules.DeviceRule(False, None, None, None, "rwm"), *rules.RUNTIME_DEFAULTS)
#: Run in the container: its own /dev, then word by word which of the nodes named on standard input opens.
INIT = """
import os, sys
print("ready", flush=True)
for line in sys.stdin:
    opened = []
    for name in line.split():
        try:
            os.close(os.open(f"{sys.argv[1]}/{name}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))
        except OSError:
            continue
        opened.append(name)
    print(" ".join(opened), flush=True)
"""


def hierarchy() -> Path:
    """Where cgroup v2 is mounted."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        if " - cgroup2 " in line:
            return Path(line.split()[4])
    sys.exit("no cgroup v2 is mounted on this machine")


class Container:
    """It, as a context manager. FOLDER gets its bundle, whose config.json is CONFIG."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.id = f"bench{os.getpid()}"
        self.bundle = folder / "bundle"
        self.dev = self.bundle / "rootfs" / "dev"
        self.cgroup = hierarchy() / self.id
        config["root"]["path"] = str(self.dev.parent)
        config["linux"]["cgroupsPath"] = f"/{self.id}"
        self.config = config
        self.consoles: set[int] = set()

    def __enter__(self) -> Self:
        self.dev.mkdir(parents=True)
        self.cgroup.mkdir()
        (self.bundle / "config.json").write_text(json.dumps(self.config), encoding="utf-8")
        mount = f"mount -t tmpfs -o mode=755 dev {self.dev} && exec {sys.executable} -IS -c '{INIT}' {self.dev}"
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", mount], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._answer()
        (self.cgroup / "cgroup.procs").write_text(str(self.process.pid), encoding="ascii")
        self.reset()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()
        self.cgroup.rmdir()
        with open("/dev/tty0", "wb", buffering=0) as console:
            for number in self.consoles:
                with suppress(OSError):  # someone else uses it
                    fcntl.ioctl(console, VT_DISALLOCATE, number)

    def _answer(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def state(self) -> bytes:
        """Its state, as its runtime tells it to hooks."""
        state = {"ociVersion": "1.0.2", "id": self.id, "status": "creating", "pid": self.process.pid, "bundle": str(self.bundle)}
        return json.dumps(state).encode()

    def reset(self) -> None:
        """Make it as its runtime left it: no node, the runtime's own program."""
        root = Path(f"/proc/{self.process.pid}/root{self.dev}")
        for node in root.iterdir():
            node.unlink()
        cgroup = os.open(self.cgroup, os.O_RDONLY | os.O_DIRECTORY)
        for number in programs.attached(cgroup)[0]:
            program = programs.open_program(number)
            programs.detach(cgroup, program)
            os.close(program)
        program = programs.load(bpf.device_list(RULES), "bench")
        programs.attach(cgroup, program, programs.MULTI)
        os.close(program)
        os.close(cgroup)

    def opens(self, names: list[str]) -> list[str]:
        """Those of the consoles NAMES in its /dev that its process can open. The kernel makes /dev/vcsN for each that was."""
        assert self.process.stdin
        self.consoles |= {int(name.removeprefix("tty")) for name in names}
        self.process.stdin.write(" ".join(names) + "\n")
        return self._answer().split()
