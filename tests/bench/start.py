"""How long the hook keeps an engine waiting, as ratios to the bare interpreter in the same run.

    start.py PROGRAM [ROUNDS]

PROGRAM is the installed hook program. The runs are interleaved, so that what else the machine does touches all of them alike; the
medians are compared. Prints a table, or JSON with --json. Wants root and a private mount namespace (it mounts a udev database of its own).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from container import Container

PYTHON = "/usr/bin/python3"
#: Some of the kernel's sixty-odd consoles as USB serial adapters: real nodes, a record as udev writes it.
RECORD = """\
S:serial/by-id/usb-FTDI_FT232R_{serial}-if00-port0
I:1234567
E:ID_BUS=usb
E:ID_MODEL=FT232R
E:ID_MODEL_ID=6001
E:ID_PATH=pci-0000:00:14.0-usb-0:{port}:1.0
E:ID_SERIAL=FTDI_FT232R_{serial}
E:ID_SERIAL_SHORT={serial}
E:ID_USB_INTERFACE_NUM=00
E:ID_VENDOR=FTDI
E:ID_VENDOR_ID=0403
G:systemd
Q:systemd
V:1
"""
DEFINITION = """\
[[resource]]
name  = "hardware-vendor.example/foo"
match = ['SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0403", ENV{ID_MODEL_ID}=="6001"']
"""
LIMITS = "io.oci-udev-hook.limits"
ADAPTERS = (60, 61, 62, 63)


def asked(count: int) -> dict[str, str]:
    """The annotation that asks for COUNT adapters."""
    return {LIMITS: f"hardware-vendor.example/foo: {count}"}


@dataclass(frozen=True)
class Timed:
    """A command whose run is timed with DATA as its standard input, and what is done before each run, which does not count."""

    command: list[str]
    data: bytes = b""
    before: Callable[[], None] = lambda: None


def config(annotations: dict[str, str]) -> bytes:
    """An OCI config of a podman container's size."""
    container = "ab" * 32
    storage = "/var/lib/containers/storage"
    return json.dumps(
        {
            "ociVersion": "1.0.2-dev",
            "process": {
                "user": {"uid": 0, "gid": 0},
                "args": ["sh"],
                "env": [f"VARIABLE_{number}=value" for number in range(20)],
                "cwd": "/",
                "capabilities": {kind: [f"CAP_{number}" for number in range(12)] for kind in ("bounding", "effective", "permitted")},
            },
            "root": {"path": f"{storage}/overlay/layer/merged"},
            "hostname": "host",
            "mounts": [
                {"destination": f"/mount{number}", "type": "bind", "source": f"/source{number}", "options": ["bind", "rprivate"]}
                for number in range(20)
            ],
            "annotations": {"io.container.manager": "libpod", **annotations},
            "linux": {
                "resources": {"devices": [{"allow": False, "access": "rwm"}]},
                "cgroupsPath": f"/libpod_parent/libpod-{container}",
                "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
                "maskedPaths": [f"/proc/masked{number}" for number in range(15)],
            },
        }
    ).encode()


def commands(program: str, folder: str, container: Container) -> dict[str, Timed]:
    """What is timed."""
    hook, own = ([program, "--config-dir", f"{folder}/config", "--state-dir", f"{folder}/{name}"] for name in ("state", "live"))
    precreate, live = [*hook, "precreate"], [*own, "createRuntime"]

    def again() -> None:
        subprocess.run([*own, "poststop"], input=container.state(), env={}, check=True, stderr=subprocess.DEVNULL)
        container.reset()

    return {
        "python3 -I -c pass": Timed([PYTHON, "-I", "-c", "pass"]),
        "precreate, nothing asked": Timed(precreate, config({})),
        "precreate, two units": Timed(precreate, config(asked(2))),
        "precreate, four units": Timed(precreate, config(asked(4))),
        "createRuntime, four units": Timed(live, container.state(), again),
        "(python3 -I -c 'import pyudev')": Timed([PYTHON, "-I", "-c", "import pyudev"]),
        "(python3 -I -c 'import dataclasses')": Timed([PYTHON, "-I", "-c", "import dataclasses"]),
    }


def prepare(folder: str) -> None:
    """A definition, and a udev database that holds four serial adapters."""
    definitions = Path(folder, "config", "resources.d")
    definitions.mkdir(parents=True)
    (definitions / "50-foo.toml").write_text(DEFINITION, encoding="utf-8")
    Path("/run/udev").mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "bench", "/run/udev"], check=True)
    records = Path("/run/udev/data")
    records.mkdir()
    for minor in range(64):
        (records / f"c4:{minor}").write_text("I:1234567\nV:1\n", encoding="utf-8")
    for number, minor in enumerate(ADAPTERS):
        (records / f"c4:{minor}").write_text(RECORD.format(serial=f"A1B2C{number}", port=number + 1), encoding="utf-8")


def measure(timed: dict[str, Timed], rounds: int) -> dict[str, float]:
    """The median of each command's wall time over ROUNDS, in seconds; the first round warms caches and does not count."""
    times: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(rounds + 1):
        for name, each in timed.items():
            each.before()
            started = time.perf_counter()
            subprocess.run(each.command, input=each.data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={}, check=True)
            times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def proved(timed: dict[str, Timed], container: Container) -> None:
    """Each answer is right: a bench of what does nothing is worth nothing."""
    for name, devices in (("precreate, nothing asked", 0), ("precreate, two units", 2), ("precreate, four units", 4)):
        answer = subprocess.run(timed[name].command, input=timed[name].data, stdout=subprocess.PIPE, env={}, check=True)
        paths = {node["path"] for node in json.loads(answer.stdout)["linux"].get("devices", []) if node["path"].startswith("/dev/tty")}
        if len(paths) != devices:
            sys.exit(f"{name} gave {sorted(paths)}, not {devices} devices: {answer.stdout[:300]!r}")
    live = timed["createRuntime, four units"]
    live.before()
    nodes = [f"tty{minor}" for minor in ADAPTERS]
    before = container.opens(nodes)
    answer = subprocess.run(live.command, input=live.data, env={}, check=False, stderr=subprocess.PIPE)
    if answer.returncode:
        sys.exit(f"createRuntime, four units: exit {answer.returncode}: {answer.stderr.decode()}")
    after = container.opens(nodes)
    if (before, after) != ([], nodes):
        sys.exit(f"createRuntime, four units: {before} could be opened before it and {after} after it, not all of {nodes}")


def main(arguments: list[str]) -> None:
    """Measure and print."""
    as_json = "--json" in arguments
    program, *rest = [argument for argument in arguments if argument != "--json"]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        prepare(folder)
        try:
            with Container(Path(folder), json.loads(config(asked(4)))) as container:
                timed = commands(program, folder, container)
                proved(timed, container)
                medians = measure(timed, int(rest[0]) if rest else 20)
        finally:
            subprocess.run(["umount", "/run/udev"], check=True)
    bare = medians["python3 -I -c pass"]
    if as_json:
        print(json.dumps({name: median * 1000 for name, median in medians.items()}))
        return
    print(f"{'median of one run':40}  {'ms':>6}  ratio")
    for name, median in medians.items():
        print(f"{name:40}  {median * 1000:6.1f}  {median / bare:5.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
