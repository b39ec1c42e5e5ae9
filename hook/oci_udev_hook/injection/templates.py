"""Fills in the templates of a definition: where a node appears and what a variable says (`path` and `env`, design section 6).

A device's strings are its maker's words, and a hostile device has any: what they put into a path is held to the characters that udev
itself lets into names, so that it stays one part of the path.
"""

from __future__ import annotations

from ..frozen import frozen
from ..template import TemplateError, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Device

__all__ = ["Given", "TemplateError", "node_path", "variable"]

#: udev_replace_chars() of systemd's udev-util.c lets these into the names of links; a slash or a control character it turns into `_`.
_IN_NAMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#+-.:=@_")


@frozen
class Given:
    """A node in the container that templates of variables speak of."""

    device: Device
    index: int  #: of its unit among the container's units of the resource
    path: str  #: in the container


def node_path(template: str, device: Device, index: int) -> str:
    """TEMPLATE filled in for DEVICE, whose unit is number INDEX of the container's units of the resource. Raises TemplateError."""
    return _fill(template, lambda name: _clean(_value(name, device, index), _IN_NAMES.__contains__))


def variable(template: str, nodes: tuple[Given, ...]) -> str:
    """TEMPLATE filled in for NODES: `{paths}`, `{count}` of units, any other value once for each node, by comma. Raises TemplateError."""

    def values(name: str) -> str:
        if name == "paths":
            return ",".join([node.path for node in nodes])
        if name == "count":
            return str(len({node.index for node in nodes}))
        return ",".join([_clean(_value(name, node.device, node.index), _in_a_list) for node in nodes])

    return _fill(template, values)


def _value(name: str, device: Device, index: int) -> str:
    """What `{NAME}` stands for at DEVICE: its node's name, its number, its serial, or the udev property of that name."""
    if name == "name":
        return (device.devnode or device.sysname).rpartition("/")[2]
    if name == "index":
        return str(index)
    if name == "serial":
        return _serial(device)
    text = device.properties.get(name, "")
    if not text:
        node = device.devnode
        raise TemplateError(f"names {{{name}}}, a udev property that {node} has not; `udevadm info {node}` shows those it has")
    return text


def _serial(device: Device) -> str:
    """The serial number of DEVICE's hardware, as udev's rules have found it."""
    for holder in (device, *device.parents):
        text = holder.properties.get("ID_SERIAL_SHORT") or holder.properties.get("ID_SERIAL")
        if text:
            return text
    raise TemplateError(f"names {{serial}}, and {device.devnode} has none; {{index}} numbers the container's units instead")


def _clean(text: str, allowed: Callable[[str], bool]) -> str:
    """TEXT with what is not allowed as `_`."""
    return "".join([letter if allowed(letter) else "_" for letter in text])


def _in_a_list(letter: str) -> bool:
    """Whether LETTER may stand in a variable's list."""
    return letter.isprintable() and letter != ","


def _fill(template: str, values: Callable[[str], str]) -> str:
    """TEMPLATE with VALUES for what stands in braces. Raises TemplateError."""
    return "".join([plain + (values(name) if name else "") for plain, name in split(template)])
