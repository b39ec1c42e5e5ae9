"""What a unit is known by: its serial where that is unique on the host now, else its port. Pure.

Neither may hold a number that the kernel gives out anew at each plugging in (`ttyUSB3`, `host6`). Two containers' hooks, each of which
looks at what its container asks for, must call one device by one name, and two devices by two: ports and ranks are told from sysfs, and
whether a USB serial is unique from all USB devices of the host. Of other hardware's serials there is no list: those are held against the
devices of the one look only, so a clone of a disk that nobody has asked for is not seen, and the disk's name changes once somebody does.
"""

from __future__ import annotations

from ..frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..model import Device

    Siblings = Callable[[str], Iterable[str]]  #: the names in the folder of a device, by its DEVPATH

#: Subsystems that name their devices by where they sit. (USB is one more, but for the number of the bus.)
_PORT_SUBSYSTEMS = frozenset(("pci", "platform", "pnp", "acpi", "amba", "ccw", "vmbus"))
_FIXED = frozenset(("video4linux", "i2c-dev"))  #: folders of classes, of which there are no more than one
_VIRTUAL = "/devices/virtual/"


@frozen
class Usb:
    """What a USB device says of itself, chapter 9.6.1 of the USB 2.0 specification; lower-case hexadecimal numbers."""

    vendor: str
    product: str
    serial: str

    @property
    def key(self) -> str:
        """A serial is the maker's own: two makers' may be the same."""
        return f"{self.vendor}:{self.product}:{self.serial}" if self.serial else ""


def identify(devices: Iterable[Device], siblings: Siblings, usb: Mapping[str, Usb]) -> dict[str, str]:
    """The identity of each of DEVICES, by syspath. USB is every USB device of the host, by DEVPATH."""
    devices = tuple(devices)
    serials = {device.syspath: _serial(device, usb) for device in devices}
    owners: dict[str, set[str]] = {}
    for path, found in usb.items():
        owners.setdefault(found.key, set()).add(path)
    for device in devices:
        # Whether a serial that is not USB's own is unique is told from these devices alone: disks have no list of serials.
        owners.setdefault(serials[device.syspath], set()).add(_owner(device).devpath)
    return {
        device.syspath: f"serial:{key}{_place(device, _owner(device), siblings)}"
        if (key := serials[device.syspath]) and len(owners[key]) == 1
        else f"port:{_port(device, siblings)}"
        for device in devices
    }


def _serial(device: Device, usb: Mapping[str, Usb]) -> str:
    """What tells DEVICE's hardware from all other, wherever it is plugged in; empty if nothing does.

    ID_SERIAL alone is none for USB: udev makes it up from maker and model where there is no serial (udev-builtin-usb_id.c of systemd).
    """
    plugged = usb_device(device)
    key = usb[plugged.devpath].key if plugged is not None and plugged.devpath in usb else ""
    if key:
        return key
    properties = device.properties
    number = properties.get("ID_SERIAL_SHORT") or ("" if properties.get("ID_BUS") == "usb" else properties.get("ID_SERIAL", ""))
    vendor = properties.get("ID_VENDOR_ID") or properties.get("ID_VENDOR", "")
    model = properties.get("ID_MODEL_ID") or properties.get("ID_MODEL", "")
    return ":".join([part for part in (vendor, model, number) if part]) if number else ""


def usb_device(device: Device) -> Device | None:
    """The USB device that DEVICE is or is a part of."""
    return next((one for one in (device, *device.parents) if one.subsystem == "usb" and one.devtype == "usb_device"), None)


def _owner(device: Device) -> Device:
    """The device whose serial DEVICE's properties tell: its USB device, or the nearest of another kind, as the disk of a partition."""
    return usb_device(device) or next((parent for parent in device.parents if parent.subsystem != device.subsystem), device)


def _anchor(device: Device) -> Device | None:
    """The nearest of DEVICE and its parents that is named by where it sits."""
    return usb_device(device) or next((one for one in (device, *device.parents) if one.subsystem in _PORT_SUBSYSTEMS), None)


def _port(device: Device, siblings: Siblings) -> str:
    """Where DEVICE is plugged in, and which of the nodes there it is. Virtual devices are made under their name and keep it."""
    plugged = _anchor(device)
    if plugged is None:
        return device.devpath
    if plugged.subsystem != "usb":
        return plugged.devpath + _place(device, plugged, siblings)
    # /devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2.4: buses are numbered in the order in which controllers come up.
    hub = [one for one in (device, *device.parents) if one.devtype == "usb_device"][-1]
    controller = hub.devpath.rpartition("/")[0]
    return controller + _below(controller, plugged.devpath, siblings) + _place(device, plugged, siblings)


def _place(device: Device, top: Device, siblings: Siblings) -> str:
    """Which of TOP's nodes DEVICE is, empty if it is TOP itself: `/:1.0/ttyUSB#[2]/tty/ttyUSB#[0]`."""
    if top is device:
        return "" if device.subsystem == "usb" else f"/{_shape(device.sysname)}"
    return _below(top.devpath, device.devpath, siblings)


def _below(top: str, devpath: str, siblings: Siblings) -> str:
    """The way from TOP down to DEVPATH in a form that does not change when the kernel numbers anew."""
    parts = []
    directory = top
    for name in devpath.removeprefix(top).strip("/").split("/"):
        if name:
            parts.append(f"/{_steady(name, directory, siblings)}")
            directory = f"{directory}/{name}"
    return "".join(parts)


def _steady(name: str, directory: str, siblings: Siblings) -> str:
    """NAME in DIRECTORY without the numbers that the kernel gives out.

    What goes on from the name above is kept: interface `:1.0` of `1-2`, partition `1` of `sda`, `n1` of `nvme0`, port `.4` of `1-2`.
    Otherwise the rank among names of the same shape takes the numbers' place: a driver numbers what it finds in one device in order.
    """
    folder, _, above = directory.rpartition("/")
    if name in _FIXED:
        return name
    rest = name.removeprefix(above)
    # ttyUSB10 is nothing of ttyUSB1.
    if rest != name and not (_is_digit(above[-1:]) and _is_digit(rest[:1])) and (_shape(above) != above or folder.endswith("/block")):
        return rest
    if above.startswith("usb") and name.startswith(f"{above[3:]}-"):
        return f"#{name[len(above) - 3 :]}"
    if above == "block":
        return "#" + _rank(name, siblings(directory))
    own = _form(name)
    return own if own == name else own + _rank(name, [other for other in siblings(directory) if _form(other) == own])


def _form(name: str) -> str:
    """NAME with `#` for each number that the kernel may give out anew."""
    return f"{name[:15]}#" if _is_hid(name) else _shape(name)


def _is_hid(name: str) -> bool:
    """Whether NAME is a HID device: bus, maker, product, how many came before it: `0003:0403:6001.001A` (hid_add_device of Linux)."""
    return [name[index : index + 1] for index in (4, 9, 14)] == [":", ":", "."]


def _rank(name: str, alike: Iterable[str]) -> str:
    """`[2]` for the third of ALIKE. It is there for an only one, too: others may be about to come."""
    ordered = sorted({name, *alike}, key=(lambda one: (len(one), one)) if _is_hid(name) else natural)
    return f"[{ordered.index(name)}]"


def _is_digit(char: str) -> bool:
    """Whether CHAR is one of 0 to 9; Python's own tests take other scripts' digits too."""
    return "0" <= char <= "9"


def _split(text: str) -> list[str]:
    """The parts of TEXT without and with digits in turn, the first without: `2a` is ["", "2", "a"]."""
    parts = []
    start, number = 0, False
    for index, char in enumerate(text):
        if _is_digit(char) is not number:
            parts.append(text[start:index])
            start, number = index, not number
    return [*parts, text[start:]]


def natural(text: str) -> tuple[list[str | int], str]:
    """A key to sort TEXT by; two texts have one key only if they are the same."""
    return [int(part) if index % 2 else part for index, part in enumerate(_split(text))], text


def _shape(text: str) -> str:
    """TEXT with `#` in the place of each number."""
    return "".join(["#" if index % 2 else part for index, part in enumerate(_split(text))])


def names(device: Device, usb: Mapping[str, Usb]) -> tuple[str, ...]:
    """What people may call DEVICE: serials, then ports, those of the kernel last."""
    plugged = _anchor(device)
    interface = next((one.sysname for one in device.parents if one.devtype == "usb_interface"), "")
    found = [
        device.properties.get("ID_SERIAL_SHORT", ""),
        usb[plugged.devpath].serial if plugged is not None and plugged.devpath in usb else "",
        device.properties.get("ID_SERIAL", ""),
        device.properties.get("ID_PATH", ""),
        interface,
        plugged.sysname if plugged is not None else "",
        device.sysname if device.devpath.startswith(_VIRTUAL) else "",
    ]
    return tuple(dict.fromkeys([name for name in found if name]))
