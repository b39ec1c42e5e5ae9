"""A host in a folder: a small sysfs, udev database and /dev, written by hand. Nodes are links to those that every machine has."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oci_udev_hook.inventory.sysfs import Roots

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NULL, ZERO, FULL, RANDOM, URANDOM = "1:3", "1:5", "1:7", "1:8", "1:9"  #: devices.txt of the kernel; linked nodes must have these numbers
NODES = {NULL: "/dev/null", ZERO: "/dev/zero", FULL: "/dev/full", RANDOM: "/dev/random", URANDOM: "/dev/urandom"}
CONTROLLER = "/devices/pci0000:00/0000:00:14.0"


@dataclass
class FakeHost:
    """The folder, and what is put into it."""

    root: Path
    database: bool = True
    roots: Roots = field(init=False)

    def __post_init__(self) -> None:
        self.roots = Roots(*[str(self.root / name) for name in ("sys", "run", "dev")])
        for name in ("sys/devices", "sys/dev/char", "sys/dev/block", "dev", *(["run/data"] if self.database else [])):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    def device(
        self,
        devpath: str,
        subsystem: str = "",
        *,
        bus: bool = False,
        driver: str = "",
        number: str = "",
        node: str = "",
        uevent: Mapping[str, str] | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """A device at DEVPATH; SUBSYSTEM is a class unless it is a BUS. NODE is below /dev and has NUMBER, one of those above."""
        folder = self.root / "sys" / devpath[1:]
        folder.mkdir(parents=True, exist_ok=True)
        name = folder.name
        lines = dict(uevent or {})
        if number:
            lines["MAJOR"], lines["MINOR"] = number.split(":")
            self.link(f"sys/dev/{'block' if subsystem == 'block' else 'char'}/{number}", f"../..{devpath}")
        if node:
            lines["DEVNAME"] = node
            if number in NODES:
                self.link(f"dev/{node}", NODES[number])
        (folder / "uevent").write_text("".join([f"{key}={value}\n" for key, value in lines.items()]))
        for key, value in (attributes or {}).items():
            (folder / key).parent.mkdir(exist_ok=True)
            (folder / key).write_text(value)
        up = "../" * devpath.count("/")
        if subsystem:
            where = f"bus/{subsystem}" if bus else f"class/{subsystem}"
            (self.root / "sys" / where / ("devices" if bus else "")).mkdir(parents=True, exist_ok=True)
            os.symlink(f"{up}{where}", folder / "subsystem")
            self.link(f"sys/{where}/devices/{name}" if bus else f"sys/{where}/{name}", f"{'../../..' if bus else '../..'}{devpath}")
        if driver:
            os.symlink(f"{up}bus/x/drivers/{driver}", folder / "driver")

    def record(self, identifier: str, text: str | bytes = "") -> None:
        """Udev's record of a device, and its tags in the index."""
        data = text.encode() if isinstance(text, str) else text
        path = self.root / "run/data" / identifier
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        for line in data.splitlines():
            if line.startswith(b"G:"):
                tag = self.root / "run/tags" / line[2:].decode()
                tag.mkdir(parents=True, exist_ok=True)
                (tag / identifier).touch()

    def link(self, name: str, target: str) -> None:
        """A symbolic link NAME."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, path)

    def usb(self, port: str, *, vendor: str = "0403", product: str = "6001", serial: str = "", number: str = "") -> str:
        """A USB device at PORT (`1-2`) of the first controller, with its controller and hub where they are not there yet; its DEVPATH."""
        hub = f"{CONTROLLER}/usb{port.partition('-')[0]}"
        for devpath, subsystem in ((CONTROLLER, "pci"), (hub, "usb")):
            if not (self.root / "sys" / devpath[1:]).exists():
                kind = {"DEVTYPE": "usb_device"} if subsystem == "usb" else {}
                self.device(devpath, subsystem, bus=True, uevent=kind)
        attributes = {"idVendor": f"{vendor}\n", "idProduct": f"{product}\n"}
        if serial:
            attributes["serial"] = f"{serial}\n"
        devpath = f"{hub}/{port}"
        self.device(devpath, "usb", bus=True, driver="usb", number=number, uevent={"DEVTYPE": "usb_device"}, attributes=attributes)
        return devpath

    def adapter(self, port: str, name: str, number: str, *, serial: str = "A1B2C3", record: str | None = None, interface: int = 0) -> str:
        """A USB serial adapter's tty NAME; with a RECORD also its properties are there. Its DEVPATH."""
        above = f"{CONTROLLER}/usb{port.partition('-')[0]}/{port}"
        if not (self.root / "sys" / above[1:]).exists():
            self.usb(port, serial=serial)
        above = f"{above}/{port}:1.{interface}"
        if not (self.root / "sys" / above[1:]).exists():
            self.device(above, "usb", bus=True, driver="ftdi_sio", uevent={"DEVTYPE": "usb_interface"})
        self.device(f"{above}/{name}", "usb-serial", bus=True, driver="ftdi_sio")
        self.device(f"{above}/{name}/tty/{name}", "tty", number=number, node=name)
        if record is not None:
            self.record(f"c{number}", record)
        return f"{above}/{name}/tty/{name}"


def record(*lines: str, **properties: str) -> str:
    """A record of systemd 247 or later: LINES (`S:…`, `G:…`, `Q:…`) and PROPERTIES."""
    written = [line for line in lines if line[0] in "SL"] + ["I:1234567"]
    written += [f"E:{name}={value}" for name, value in properties.items()] + [line for line in lines if line[0] in "GQ"]
    return "".join([f"{line}\n" for line in [*written, "V:1"]])
