"""Device rules of an OCI config (config-linux.md, "Device Cgroup"), and those that the runtimes add to them. Pure."""

from __future__ import annotations

from .. import typed
from ..errors import UsageError
from ..frozen import frozen
from ..model import DeviceType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES = {"": None, "a": None, "c": DeviceType.CHAR, "b": DeviceType.BLOCK}


@frozen
class DeviceRule:
    """One entry of `linux.resources.devices`; what is None matches anything."""

    allow: bool
    type: DeviceType | None
    major: int | None
    minor: int | None
    access: str  #: of `rwm`


def _char(major: int, minor: int | None) -> DeviceRule:
    """What the runtimes let each container do with a standard device."""
    return DeviceRule(True, DeviceType.CHAR, major, minor, "rwm")


#: What crun (`default_devices`) and runc (`AllowedDevices`) both put behind the rules of each config, in all their versions: a program made
#: anew must not open more than the one whose place it takes. crun alone gives 5:1, the host's console; 10:200, tun, comes and goes in both.
RUNTIME_DEFAULTS = (
    DeviceRule(True, DeviceType.CHAR, None, None, "m"),
    DeviceRule(True, DeviceType.BLOCK, None, None, "m"),
    _char(1, 3),  # null
    _char(1, 5),  # zero
    _char(1, 7),  # full
    _char(1, 8),  # random
    _char(1, 9),  # urandom
    _char(5, 0),  # tty
    _char(5, 2),  # ptmx
    _char(136, None),  # pts
)


def of_config(config: Mapping[str, object]) -> tuple[DeviceRule, ...]:
    """The device rules of CONFIG, an OCI config, in their order. Raises UsageError where they are not of OCI's shape."""
    try:
        entries = typed.Fields(dict(config)).object("linux").object("resources").objects("devices")
        return tuple([_rule(entry) for entry in entries])
    except typed.TypedError as error:
        raise UsageError(typed.about("the container's config", error)) from None


def _rule(entry: typed.Fields) -> DeviceRule:
    """One entry. As in both runtimes, -1 is any number, and an absent `allow` does not. Raises TypedError."""
    allow = entry.value.get("allow", False)
    if not isinstance(allow, bool):
        raise entry.wrong("allow", "true or false")
    kind = entry.text("type") if entry.value.get("type") is not None else ""
    if kind not in _TYPES:
        raise entry.wrong("type", "a, b or c")
    access = entry.text("access") if entry.value.get("access") is not None else ""
    if not set(access) <= set("rwm"):
        raise entry.wrong("access", "of the letters r, w and m")
    return DeviceRule(allow, _TYPES[kind], _number(entry, "major"), _number(entry, "minor"), access or "rwm")


def _number(entry: typed.Fields, key: str) -> int | None:
    """A part of a device number; None for any. Raises TypedError."""
    if entry.value.get(key) is None:
        return None
    number = entry.number(key, within=range(-1, 2**63))
    return None if number == -1 else number
