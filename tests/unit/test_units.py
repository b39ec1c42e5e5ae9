"""What units are known by, what people may call them, and in which order they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from oci_udev_hook.frozen import replace
from oci_udev_hook.inventory import identity
from oci_udev_hook.inventory.identity import Usb, _shape, natural
from oci_udev_hook.inventory.units import identified, key, units
from oci_udev_hook.model import Device, DeviceNumber, DeviceType, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

pytestmark = pytest.mark.unit

HUB = "/devices/pci0000:00/0000:00:14.0/usb1"
FTDI = Usb("0403", "6001", "A1B2C3")
FAR = 250  #: a major number; which one it is must not matter


def device(devpath: str, subsystem: str = "", devtype: str = "", minor: int = 0, **properties: str) -> Device:
    """A device with a node of its sysname; its parents are what its path says."""
    name = devpath.rpartition("/")[2]
    number = DeviceNumber(DeviceType.BLOCK if subsystem == "block" else DeviceType.CHAR, FAR, minor)
    return Device(
        f"/sys{devpath}", subsystem, name, devtype, devnode=f"/dev/{name}", number=number, properties=properties, parents=parents(devpath)
    )


def parents(devpath: str) -> tuple[Device, ...]:
    """The parents that a DEVPATH tells of, as the kernel has them."""
    found = []
    while (devpath := devpath.rpartition("/")[0]).count("/") > 1:
        name = devpath.rpartition("/")[2]
        subsystem, devtype = kind(name)
        if subsystem:
            found.append(Device(f"/sys{devpath}", subsystem, name, devtype))
    return tuple(found)


def kind(name: str) -> tuple[str, str]:
    """The subsystem and type of a parent called NAME."""
    shapes = {
        "usb#": ("usb", "usb_device"),
        "#-#": ("usb", "usb_device"),
        "#-#.#": ("usb", "usb_device"),
        "#-#:#.#": ("usb", "usb_interface"),
        "#-#.#:#.#": ("usb", "usb_interface"),
        "#:#:#.#": ("pci", ""),
        "ttyUSB#": ("usb-serial", ""),
        "#:#:#:#": ("scsi", "scsi_device"),
        "input#": ("input", ""),
        "sda": ("block", "disk"),
        "sdb": ("block", "disk"),
        "nvme#": ("nvme", ""),
        "nvme#n#": ("block", "disk"),
        "mmc#:#": ("mmc", ""),
        "virtio#": ("virtio", ""),
        "card#": ("sound", ""),
        "serial#": ("platform", ""),
    }
    return shapes.get(_shape(name), ("", ""))


def tty(name: str, port: str = "1-2", interface: int = 0, **properties: str) -> Device:
    """The tty NAME of a USB serial adapter."""
    bus = port.partition("-")[0]
    return device(f"{HUB[:-1]}{bus}/{port}/{port}:1.{interface}/{name}/tty/{name}", "tty", **properties)


def identities(
    devices: Iterable[Device], usb: Mapping[str, Usb] | None = None, folders: Mapping[str, tuple[str, ...]] | None = None
) -> list[str]:
    """The identities of DEVICES, with USB's serials and names that stand beside theirs in FOLDERS."""
    devices = tuple(devices)
    found = identified(devices, lambda directory: (folders or {}).get(directory, ()), usb or {})
    return [found[key(one)] for one in devices]


class TestSerial:
    """A unit is known by its serial where that is unique on the host now."""

    def test_it_is_the_usb_devices_own_and_its_makers(self) -> None:
        assert identities([tty("ttyUSB0")], {f"{HUB}/1-2": FTDI}) == ["serial:0403:6001:A1B2C3/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]"]

    def test_it_stays_when_the_adapter_is_plugged_in_elsewhere(self) -> None:
        """Case 3: another port, another number of the node."""
        before = identities([tty("ttyUSB0", "1-2")], {f"{HUB}/1-2": FTDI})
        after = identities([tty("ttyUSB3", "1-4.1")], {f"{HUB}/1-4/1-4.1": FTDI, f"{HUB}/1-4.1": FTDI})[:1]
        moved = identities([device(f"{HUB}/1-4/1-4.1/1-4.1:1.0/ttyUSB3/tty/ttyUSB3", "tty")], {f"{HUB}/1-4/1-4.1": FTDI})

        assert before == moved
        assert after != before  # two devices said the same there

    def test_two_makers_may_use_the_same(self) -> None:
        other = Usb("1a86", "7523", FTDI.serial)
        found = identities([tty("ttyUSB0", "1-2"), tty("ttyUSB1", "1-3")], {f"{HUB}/1-2": FTDI, f"{HUB}/1-3": other})

        assert found == [
            "serial:0403:6001:A1B2C3/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]",
            "serial:1a86:7523:A1B2C3/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]",
        ]

    def test_what_two_devices_say_is_none_even_if_only_one_was_looked_for(self) -> None:
        """Else two containers' hooks, each of which looks for another of the two, would know both by one name."""
        usb = {f"{HUB}/1-2": FTDI, f"{HUB}/1-3": FTDI}

        assert identities([tty("ttyUSB0", "1-2")], usb) == [
            "port:/devices/pci0000:00/0000:00:14.0/usb#[0]/#-2/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]"
        ]
        assert identities([tty("ttyUSB1", "1-3")], usb) == [
            "port:/devices/pci0000:00/0000:00:14.0/usb#[0]/#-3/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]"
        ]

    def test_udevs_name_for_a_usb_device_without_serial_is_none(self) -> None:
        """ID_SERIAL is then made of maker and model."""
        found = identities([tty("ttyUSB0", ID_BUS="usb", ID_SERIAL="1a86_USB_Serial")], {f"{HUB}/1-2": Usb("1a86", "7523", "")})

        assert found == ["port:/devices/pci0000:00/0000:00:14.0/usb#[0]/#-2/:1.0/ttyUSB#[0]/tty/ttyUSB#[0]"]

    @pytest.mark.parametrize(
        ("properties", "expected"),
        [
            ({"ID_SERIAL_SHORT": "X1", "ID_VENDOR_ID": "0403", "ID_MODEL_ID": "6001"}, "serial:0403:6001:X1/tty#"),
            ({"ID_SERIAL_SHORT": "X1", "ID_VENDOR": "ACME", "ID_MODEL": "Anvil"}, "serial:ACME:Anvil:X1/tty#"),
            ({"ID_SERIAL_SHORT": "X1"}, "serial:X1/tty#"),
            ({"ID_SERIAL": "X2"}, "serial:X2/tty#"),
            ({"ID_SERIAL": "X2", "ID_SERIAL_SHORT": "X1"}, "serial:X1/tty#"),
            ({"ID_SERIAL": "ACME_Anvil", "ID_BUS": "usb"}, "port:/devices/virtual/tty/tty60"),
            ({}, "port:/devices/virtual/tty/tty60"),
        ],
    )
    def test_where_there_is_no_usb_device_udevs_properties_tell(self, properties: dict[str, str], expected: str) -> None:
        assert identities([device("/devices/virtual/tty/tty60", "tty", **properties)]) == [expected]

    def test_of_two_disks_that_say_the_same_neither_is_known_by_it(self) -> None:
        """Two paths to one disk, or a disk and its clone."""
        pci = "/devices/pci0000:00/0000:00:17.0"
        disks = [
            device(f"{pci}/ata1/host0/target0:0:0/0:0:0:0/block/sda", "block", ID_SERIAL_SHORT="S1"),
            device(f"{pci}/ata2/host1/target1:0:0/1:0:0:0/block/sdb", "block", ID_SERIAL_SHORT="S1"),
        ]
        folders = {pci: ("ata1", "ata2", "uevent")}

        assert identities(disks, folders=folders) == [
            f"port:{pci}/ata#[0]/host#[0]/target#:#:#[0]/#:#:#:#[0]/block/#[0]",
            f"port:{pci}/ata#[1]/host#[0]/target#:#:#[0]/#:#:#:#[0]/block/#[0]",
        ]

    @pytest.mark.parametrize(
        ("devpath", "expected"),
        [
            ("/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda", "serial:S1/block/#[0]"),
            ("/devices/pci0000:00/0000:00:17.0/ata4/host3/target3:0:0/3:0:0:0/block/sdb", "serial:S1/block/#[0]"),
            ("/devices/pci0000:00/0000:00:17.0/ata4/host3/target3:0:0/3:0:0:0/block/sdb/sdb2", "serial:S1/block/#[0]/2"),
            ("/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1", "serial:S1/n1"),
            ("/devices/pci0000:00/0000:01:00.0/nvme/nvme3/nvme3n1/nvme3n1p2", "serial:S1/n1/p2"),
            ("/devices/platform/soc/mmc_host/mmc1/mmc1:0001/block/mmcblk1", "serial:S1/block/#[0]"),
            ("/devices/platform/soc/mmc_host/mmc1/mmc1:0001/block/mmcblk1/mmcblk1boot0", "serial:S1/block/#[0]/boot0"),
            ("/devices/pci0000:00/0000:00:04.0/virtio1/block/vdb", "serial:S1/block/#[0]"),
        ],
    )
    def test_disks_and_partitions_keep_theirs_on_another_port(self, devpath: str, expected: str) -> None:
        assert identities([device(devpath, "block", ID_SERIAL_SHORT="S1")]) == [expected]


class TestPlace:
    """The nodes of one physical device are told apart, by nothing that changes when they come again."""

    def test_by_interface(self) -> None:
        """Four ports of one adapter, an interface each."""
        ttys = [tty(f"ttyUSB{number}", interface=number) for number in range(4)]

        assert identities(ttys, {f"{HUB}/1-2": FTDI}) == [
            f"serial:0403:6001:A1B2C3/:1.{number}/ttyUSB#[0]/tty/ttyUSB#[0]" for number in range(4)
        ]

    @pytest.mark.parametrize("numbers", [(0, 1, 2, 3), (4, 5, 6, 7), (3, 9, 10, 11)])
    def test_by_rank_in_one_interface(self, numbers: tuple[int, ...]) -> None:
        """Four ports on one interface: a driver takes free numbers in rising order."""
        names = tuple(f"ttyUSB{number}" for number in numbers)
        folders = {f"{HUB}/1-2/1-2:1.0": (*reversed(names), "uevent", "ep_01", "ep_81", "bInterfaceNumber")}

        assert identities(map(tty, names), {f"{HUB}/1-2": FTDI}, folders) == [
            f"serial:0403:6001:A1B2C3/:1.0/ttyUSB#[{rank}]/tty/ttyUSB#[0]" for rank in range(4)
        ]

    def test_the_rank_does_not_depend_on_what_was_looked_for(self) -> None:
        folders = {f"{HUB}/1-2/1-2:1.0": ("ttyUSB0", "ttyUSB1")}

        assert identities([tty("ttyUSB1")], {f"{HUB}/1-2": FTDI}, folders) == ["serial:0403:6001:A1B2C3/:1.0/ttyUSB#[1]/tty/ttyUSB#[0]"]

    def test_nodes_of_different_kinds(self) -> None:
        below = f"{HUB}/1-2"
        devices = [
            device(below, "usb", "usb_device"),
            device(f"{below}/1-2:1.0/video4linux/video0", "video4linux"),
            device(f"{below}/1-2:1.0/video4linux/video1", "video4linux"),
            device(f"{below}/1-2:1.0/media0", "media"),
            device(f"{below}/1-2:1.2/sound/card1/pcmC1D0c", "sound"),
            device(f"{below}/1-2:1.2/sound/card1/controlC1", "sound"),
            device(f"{below}/1-2:1.3/0003:0403:6001.000A/hidraw/hidraw2", "hidraw"),
            device(f"{below}/1-2:1.3/0003:0403:6001.000A/input/input7/event5", "input"),
            device(f"{below}/1-2:1.4/host6/target6:0:0/6:0:0:0/block/sda", "block"),
            device(f"{below}/1-2:1.4/host6/target6:0:0/6:0:0:1/block/sdb", "block"),
            device(f"{below}/1-2:1.4/host6/target6:0:0/6:0:0:1/block/sdb/sdb1", "block"),
        ]
        folders = {
            f"{below}/1-2:1.0/video4linux": ("video0", "video1"),
            f"{below}/1-2:1.4/host6/target6:0:0": ("6:0:0:0", "6:0:0:1", "power"),
        }

        found = identities(devices, {below: FTDI}, folders)

        assert [one.removeprefix("serial:0403:6001:A1B2C3") for one in found] == [
            "",
            "/:1.0/video4linux/video#[0]",
            "/:1.0/video4linux/video#[1]",
            "/:1.0/media#[0]",
            "/:1.2/sound/card#[0]/pcmC#D#c[0]",
            "/:1.2/sound/card#[0]/controlC#[0]",
            "/:1.3/0003:0403:6001.#[0]/hidraw/hidraw#[0]",
            "/:1.3/0003:0403:6001.#[0]/input/input#[0]/event#[0]",
            "/:1.4/host#[0]/target#:#:#[0]/#:#:#:#[0]/block/#[0]",
            "/:1.4/host#[0]/target#:#:#[0]/#:#:#:#[1]/block/#[0]",
            "/:1.4/host#[0]/target#:#:#[0]/#:#:#:#[1]/block/#[0]/1",
        ]

    @pytest.mark.parametrize(
        ("name", "above", "expected"),
        [
            ("ttyUSB10", "ttyUSB1", "ttyUSB#[0]"),
            ("video4linux", "video4", "video4linux"),
            ("sda1", "block/sda", "1"),
            ("mmc0:0001", "mmc0", ":0001"),
            ("card1-HDMI-A-1", "card1", "-HDMI-A-1"),
            ("tty1", "tty", "tty#[0]"),
        ],
    )
    def test_what_goes_on_from_the_name_above_is_kept(self, name: str, above: str, expected: str) -> None:
        assert identity._steady(name, f"/devices/{above}", lambda directory: ()) == expected

    def test_a_new_number_of_a_hid_device_has_letters_too(self) -> None:
        """Its last part is hexadecimal and goes up with each device that is plugged in."""
        below = f"{HUB}/1-2/1-2:1.3"
        found = [
            identities([device(f"{below}/0003:0403:6001.{number}/hidraw/hidraw2", "hidraw")], {f"{HUB}/1-2": FTDI})
            for number in ("0009", "000A", "00FF", "10000")
        ]

        assert found[0] == found[1] == found[2]


class TestPort:
    """Without a unique serial a unit is known by where it is plugged in."""

    @pytest.mark.parametrize(
        ("devpath", "expected"),
        [
            pytest.param(
                f"{HUB}/1-4/1-4.1/1-4.1:1.0/ttyACM0/tty/ttyACM0", "/usb#[0]/#-4/.1/:1.0/ttyACM#[0]/tty/ttyACM#[0]", id="behind a hub"
            ),
            pytest.param(
                f"{HUB[:-1]}2/2-4/2-4:1.0/ttyACM0/tty/ttyACM0", "/usb#[1]/#-4/:1.0/ttyACM#[0]/tty/ttyACM#[0]", id="on the second bus"
            ),
        ],
    )
    def test_ports_of_usb_are_named_without_the_number_of_the_bus(self, devpath: str, expected: str) -> None:
        """Buses are numbered in the order in which controllers come up."""
        folders = {"/devices/pci0000:00/0000:00:14.0": ("usb1", "usb2", "power")}

        assert identities([device(devpath, "tty")], folders=folders) == [f"port:/devices/pci0000:00/0000:00:14.0{expected}"]

    @pytest.mark.parametrize(
        ("devpath", "subsystem"),
        [("/devices/virtual/block/loop3", "block"), ("/devices/virtual/tty/tty60", "tty"), ("/devices/virtual/misc/fuse", "misc")],
    )
    def test_virtual_devices_keep_their_name(self, devpath: str, subsystem: str) -> None:
        assert identities([device(devpath, subsystem)]) == [f"port:{devpath}"]

    def test_other_buses_name_devices_by_where_they_sit(self) -> None:
        pci = "/devices/pci0000:00/0000:00:02.0"

        assert identities([device(f"{pci}/drm/card1", "drm"), device(f"{pci}/drm/renderD128", "drm")]) == [
            f"port:{pci}/drm/card#[0]",
            f"port:{pci}/drm/renderD#[0]",
        ]

    def test_the_numbers_of_fixed_ports_are_their_ranks(self) -> None:
        folder = "/devices/serial8250/tty"
        folders = {folder: tuple(f"ttyS{number}" for number in range(12))}

        assert identities([device(f"{folder}/ttyS2", "tty"), device(f"{folder}/ttyS10", "tty")], folders=folders) == [
            "port:/devices/serial8250/tty/ttyS#[2]",
            "port:/devices/serial8250/tty/ttyS#[10]",
        ]


class TestNames:
    """What `NAME=UNIT` may say."""

    def test_serials_come_before_ports(self) -> None:
        one = tty("ttyUSB0", ID_SERIAL_SHORT="A1B2C3", ID_SERIAL="FTDI_FT232R_A1B2C3", ID_PATH="pci-0000:00:14.0-usb-0:2:1.0")

        assert identity.names(one, {f"{HUB}/1-2": FTDI}) == (
            "A1B2C3",
            "FTDI_FT232R_A1B2C3",
            "pci-0000:00:14.0-usb-0:2:1.0",
            "1-2:1.0",
            "1-2",
        )

    def test_without_udev_the_kernel_tells(self) -> None:
        assert identity.names(tty("ttyUSB0"), {f"{HUB}/1-2": FTDI}) == ("A1B2C3", "1-2:1.0", "1-2")

    def test_virtual_devices_have_their_own_name(self) -> None:
        assert identity.names(device("/devices/virtual/block/loop3", "block"), {}) == ("loop3",)

    def test_a_name_that_the_kernel_gives_out_anew_is_none(self) -> None:
        assert "ttyUSB0" not in identity.names(tty("ttyUSB0"), {})


class TestUnits:
    """Each node is a unit."""

    def made(self, *devices: Device) -> tuple[Unit, ...]:
        return units("a.b/c", devices, identified(devices, lambda directory: (), {}), {})

    def test_they_stand_in_peoples_counting_order(self) -> None:
        numbers = (10, 2, 0, 33, 1)
        found = self.made(*[device(f"/devices/virtual/block/loop{number}", "block", minor=number) for number in numbers])

        assert [unit.devices[0].devnode for unit in found] == [f"/dev/loop{number}" for number in sorted(numbers)]

    def test_a_unit_has_resource_identity_names_and_node(self) -> None:
        loop = device("/devices/virtual/block/loop3", "block", minor=3)

        assert self.made(loop) == (Unit("a.b/c", "port:/devices/virtual/block/loop3", ("loop3",), (loop,)),)

    def test_a_device_that_was_found_twice_is_one(self) -> None:
        loop = device("/devices/virtual/block/loop3", "block", minor=3)

        assert len(self.made(loop, replace(loop, links=("/dev/x",)))) == 1

    def test_a_device_without_node_is_none(self) -> None:
        assert self.made(replace(device("/devices/virtual/block/loop3", "block"), devnode=None)) == ()

    def test_what_sysfs_does_not_know_is_known_by_its_path_and_comes_last(self) -> None:
        nvidia = [Device("", devnode=f"/dev/nvidia{number}", number=DeviceNumber(DeviceType.CHAR, 195, number)) for number in (10, 9)]
        found = self.made(*nvidia, device("/devices/virtual/block/loop3", "block", minor=3))

        assert [(unit.identity, unit.names) for unit in found] == [
            ("port:/devices/virtual/block/loop3", ("loop3",)),
            ("path:/dev/nvidia9", ("nvidia9", "/dev/nvidia9")),
            ("path:/dev/nvidia10", ("nvidia10", "/dev/nvidia10")),
        ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a10", "a9", "a"], ["a", "a9", "a10"]),
        (["2a", "10a", "b"], ["2a", "10a", "b"]),
        (["1-2.10", "1-2.9", "1-10"], ["1-2.9", "1-2.10", "1-10"]),
        (["a01", "a1", "a001"], ["a001", "a01", "a1"]),
        (["", "0"], ["", "0"]),
        (["٣", "1"], ["1", "٣"]),
    ],
)
def test_counting_order(names: list[str], expected: list[str]) -> None:
    assert sorted(names, key=natural) == expected
