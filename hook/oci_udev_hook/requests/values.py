"""The value of a requests annotation: `NAME: COUNT` pairs by comma or line, or a JSON object of the same."""

from __future__ import annotations

import json

from ..errors import UsageError
from ..model import Request
from ..names import why_not
from ..typed import shown
from . import quantities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def parse(text: str) -> tuple[list[Request], list[str]]:
    """The requests in TEXT as they stand, those for 0 among them, and a clause for each fault.

    A pair splits at its last `: `, since a unit's name may hold colons; a count left out is 1.
    """
    requests: list[Request] = []
    faults: list[str] = []
    seen = set()
    try:
        pairs = list(_object(text) if text.lstrip()[:1] == "{" else _pairs(text))
    except UsageError as error:
        return [], [str(error)]
    for name, number in pairs:
        if name in seen:
            faults.append(f"{shown(name)} is asked for twice, write it once with the sum")
            continue
        seen.add(name)
        try:
            requests.append(_request(name, number))
        except UsageError as error:
            faults.append(str(error))
    return requests, faults


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
        counted = ":" in name or (" " in name and name.split()[-1].isdecimal())
        raise UsageError(f"{reason}; between a name and its count stand a colon and a space" if counted else reason)
    if not equals:
        return name, None
    if not unit or unit != unit.strip() or "," in unit or not unit.isprintable():
        raise UsageError('behind the "=" must stand the serial or the port of one unit, without a comma')
    return name, unit


def write(counts: dict[str, int], separator: str = ", ") -> str:
    """COUNTS by resource as a value that `parse` reads."""
    return separator.join([f"{name}: {count}" for name, count in counts.items()])


def _pairs(text: str) -> Iterator[tuple[str, object]]:
    """Names and counts of the first form. An item without text is none: a comma at a line's end is no fault."""
    for line in text.splitlines():
        for item in line.split(","):
            name, colon, number = item.strip().rpartition(": ")
            if colon:
                yield name.rstrip(), number
            elif number:
                yield number, "1"


def _object(text: str) -> Iterator[tuple[str, object]]:
    """Names and counts of the second form. Raises UsageError for what is no JSON."""
    try:
        # As tuples and texts: names that stand there twice are seen, and a count is judged as it is written.
        pairs = json.loads(text, object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError:
        raise UsageError(f"{shown(text)} is nested too deeply to be read") from None
    except ValueError as error:
        raise UsageError(f"{shown(text)} starts as JSON does but is none: {error}") from None
    yield from pairs


def _request(name: str, number: object) -> Request:
    """One request. Raises UsageError with a clause."""
    try:
        resource, unit = split(name)
    except UsageError as error:
        raise UsageError(f"{shown(name)} cannot be asked for: {error}") from None
    if not isinstance(number, str):
        found = "an object" if isinstance(number, tuple) else shown(number)
        raise UsageError(f"{name} is {found}, not a number: write a whole number such as 2")
    try:
        count = quantities.count(number)
    except quantities.QuantityError as error:
        raise UsageError(f"{name} is {shown(number)}, {error.reason}") from None
    if unit is not None and count != 1:
        raise UsageError(f"{name} is {shown(number)}, but it names one unit, so its count can only be 1")
    return Request(resource, count, unit)
