"""What NAME may be in a request: an extended resource, or `NAME=UNIT`, one unit of it by serial or port."""

from __future__ import annotations

from ..errors import UsageError
from ..names import why_not


def split(text: str) -> tuple[str, str | None]:
    """The resource that TEXT names, and the unit if it names one. Raises UsageError with a clause that follows on `"TEXT": `.

    A unit's name is what udev or sysfs says, so all that can be printed is possible, but no comma, which separates requests.
    `vendor/class=device` of CDI has the same form; the definitions decide which of the two it is.
    """
    name, equals, unit = text.partition("=")
    if name.startswith("io.podman.device/") or (equals and name == "podman.io/device"):
        raise UsageError("raw devices are not served by this version, name a resource that is defined on this host")
    reason = why_not(name)
    if reason is not None:
        raise UsageError(f"{reason}; between a name and its count stand a colon and a space" if ":" in name else reason)
    if not equals:
        return name, None
    if not unit or unit != unit.strip() or "," in unit or not unit.isprintable():
        raise UsageError('behind the "=" must stand the serial or the port of one unit, without a comma')
    return name, unit
