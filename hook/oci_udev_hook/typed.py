"""Typed getters over JSON values: nothing else subscripts what came from outside.

Each error names the place and the value: `linux.devices[0].major is "188", not a whole number`.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator

MAX_INPUT = 16 * 1024 * 1024  #: bytes; an OCI config has some ten thousand


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
    except ValueError as error:
        raise TypedError(f"is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise TypedError(f"is no JSON object but {shown(value)}")
    return Fields(value)


def _no_constant(name: str) -> float:
    """Refuse NaN and Infinity, which Python reads and JSON (RFC 8259, section 6) does not have."""
    raise ValueError(f"{name} is no JSON value")


class Fields:
    """A JSON object behind typed getters. `path` is where it stands in its document."""

    def __init__(self, value: dict[str, object], path: str = "") -> None:
        self.value = value
        self.path = path

    def at(self, key: str) -> str:
        """The path of KEY, for a message."""
        return f"{self.path}.{key}" if self.path else key

    def text(self, key: str, default: str | None = None) -> str:
        """The string at KEY."""
        value = self.value.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def number(self, key: str, default: int | None = None) -> int:
        """The whole number at KEY; true and false are none."""
        value = self.value.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(key, "a whole number")
        return value

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

    def texts(self, key: str) -> dict[str, str]:
        """The object of strings at KEY."""
        fields = self.object(key)
        return {name: fields.text(name) for name in fields.value}

    def wrong(self, key: str, expected: str) -> TypedError:
        """The error for KEY's value, or for none."""
        if key not in self.value:
            return TypedError(f"{self.at(key)} is missing, it must be {expected}")
        return TypedError(f"{self.at(key)} is {shown(self.value[key])}, not {expected}")
