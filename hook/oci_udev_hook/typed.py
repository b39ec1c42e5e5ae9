"""Typed getters over JSON values: nothing else subscripts what came from outside.

Each error names the place and the value: `linux.devices[0].major is "188", not a whole number`.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator
    from typing import TypeGuard

MAX_INPUT = 16 * 1024 * 1024  #: bytes; an OCI config has some ten thousand
MOST_SECONDS = 2.0**40  #: since the epoch or the boot: what strftime(3) and the clocks bear with ease
_LONGEST_KEY = 80  #: letters of a key that a sentence shows


class TypedError(ValueError):
    """A value of the wrong type or none where one must be; the caller puts its own error class and the file's name around it."""


def about(place: str, error: TypedError) -> str:
    """The sentence for ERROR in the document PLACE: some of them speak of the whole document, some of a path in it."""
    says = str(error)
    return f"{place} {says}" if says.startswith(("is ", "has ")) else f"{place}: {says}"


def shown(value: object) -> str:
    """VALUE as JSON, cut to a length that fits in a sentence."""
    try:
        text = json.dumps(value, default=str, ensure_ascii=False)
    except RecursionError:
        return "something nested very deeply"
    return text if len(text) <= 60 else text[:57] + "…"


def parse(data: bytes) -> Fields:
    """The JSON object in DATA. Raises TypedError with a sentence's predicate: `is no JSON (…)`."""
    try:
        value = json.loads(data, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise TypedError("is no JSON: it is not UTF-8 text") from None
    except RecursionError:
        raise TypedError("is no JSON that can be read: it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise TypedError(f"is no JSON: {error}") from None
    except TypedError:
        raise
    except ValueError:  # what int() says of too many digits is for programmers
        raise TypedError("is no JSON that can be read: a number in it has thousands of digits") from None
    if not isinstance(value, dict):
        raise TypedError(f"is no JSON object but {shown(value)}")
    return Fields(value)


def _no_constant(name: str) -> float:
    """Refuse NaN and Infinity, which Python reads and JSON (RFC 8259, section 6) does not have."""
    raise TypedError(f"is no JSON: {name} is no JSON value")


def _is_path(text: str) -> bool:
    """Whether a system call takes TEXT for a path: no NUL in it, and bytes in the file system's encoding for each letter."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


class Fields:
    """A JSON object behind typed getters. `place` is where it stands in its document."""

    def __init__(self, value: dict[str, object], place: str = "") -> None:
        self.value = value
        self.place = place

    def at(self, key: str) -> str:
        """The place of KEY, for a message."""
        name = key if len(key) <= _LONGEST_KEY else key[: _LONGEST_KEY - 1] + "…"
        return f"{self.place}.{name}" if self.place else name

    def text(self, key: str, default: str | None = None) -> str:
        """The string at KEY."""
        value = self.value.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def path(self, key: str, default: str | None = None) -> str:
        """The string at KEY, which must be one that a system call takes for a path."""
        value = self.text(key, default)
        if not _is_path(value):
            raise self.wrong(key, "a path")
        return value

    def number(self, key: str, default: int | None = None, *, within: range | None = None) -> int:
        """The whole number at KEY, which must be one WITHIN that range; true and false are none."""
        value = self.value.get(key, default)
        if not _is_number(value):
            raise self.wrong(key, "a whole number")
        if within is not None and value not in within:
            raise self.wrong(key, f"a whole number from {within.start} to {within.stop - 1}")
        return value

    def seconds(self, key: str) -> float | None:
        """The seconds at KEY, since the epoch or the boot; None where it is absent or null."""
        value = self.value.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_SECONDS:
            raise self.wrong(key, "a number of seconds")
        return float(value)

    def object(self, key: str) -> Fields:
        """The object at KEY; an absent or null one is empty, as Go's encoding/json has it."""
        value = self.value.get(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return Fields(value, self.at(key))

    def objects(self, key: str) -> Iterator[Fields]:
        """The objects of the list at KEY; an absent or null one is empty."""
        for index, value in enumerate(self.items(key)):
            if not isinstance(value, dict):
                raise TypedError(f"{self.at(key)}[{index}] is {shown(value)}, not an object")
            yield Fields(value, f"{self.at(key)}[{index}]")

    def items(self, key: str) -> list[builtins.object]:
        """The list at KEY; an absent or null one is empty."""
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """The list of strings at KEY; an absent or null one is empty."""
        found = [item for item in self.items(key) if isinstance(item, str)]
        if len(found) != len(self.items(key)):
            raise self.wrong(key, "a list of strings")
        return tuple(found)

    def paths(self, key: str) -> tuple[str, ...]:
        """The same of paths, see `path`."""
        found = self.strings(key)
        if not all(_is_path(text) for text in found):
            raise self.wrong(key, "a list of paths")
        return found

    def numbers(self, key: str) -> tuple[int, ...]:
        """The list of whole numbers at KEY; an absent or null one is empty, true and false are none."""
        found = [item for item in self.items(key) if _is_number(item)]
        if len(found) != len(self.items(key)):
            raise self.wrong(key, "a list of whole numbers")
        return tuple(found)

    def texts(self, key: str) -> dict[str, str]:
        """The object of strings at KEY."""
        fields = self.object(key)
        return {name: fields.text(name) for name in fields.value}

    def wrong(self, key: str, expected: str) -> TypedError:
        """The error for KEY's value, or for none."""
        if key not in self.value:
            return TypedError(f"{self.at(key)} is missing, it must be {expected}")
        return TypedError(f"{self.at(key)} is {shown(self.value[key])}, not {expected}")


def _is_number(value: object) -> TypeGuard[int]:
    """Whether VALUE is a whole number of JSON's."""
    return isinstance(value, int) and not isinstance(value, bool)
