"""What a schema has against a definition file or the policy, in sentences for the people who write such files."""

from __future__ import annotations

import json

from ..dependencies import allow
from ..errors import ConfigurationError
from ..typed import shown
from .resources import SCHEMA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .fields import Path

_TYPES = {"string": "a string", "integer": "a whole number", "boolean": "true or false", "array": "a list", "object": "a table"}
_LATER = ("unit", "with", "order", "udev", "mounts", "who")  #: fields that are described but not in this version
_HINTS = {
    "resource": "a list: write [[resource]], with two pairs of brackets",
    "match": "a list of lines: match = ['…']",
    "paths": 'a list of paths: paths = ["/dev/…"]',
    "mode": 'a string of octal digits as in "0660"',
}


def complaints(data: object, schema_file: str = SCHEMA) -> Iterator[tuple[Path, str, str]]:
    """All that the schema in SCHEMA_FILE has against DATA: the path to it, the schema's keyword and a predicate.

    Raises ConfigurationError where jsonschema is not installed.
    """
    allow()
    try:
        from jsonschema import Draft7Validator
    except ImportError as missing:
        raise ConfigurationError(
            f"definition files are checked with jsonschema, which does not load: {missing}; install python3-jsonschema"
        ) from None

    with open(schema_file, encoding="utf-8") as file:
        schema = json.load(file)
    for error in Draft7Validator(schema).iter_errors(data):
        for predicate in _PREDICATES[error.validator](error):
            yield tuple(error.absolute_path), error.validator, predicate


def _type(error: Any) -> Iterator[str]:
    path = tuple(error.absolute_path)
    wanted = _TYPES[error.validator_value]
    if path and isinstance(path[-1], str) and path[-1] in _HINTS and path[:1] == ("resource",):
        wanted = _HINTS[path[-1]]
    yield f"is {shown(error.instance)}, it must be {wanted}"


def _minimum(error: Any) -> Iterator[str]:
    yield f"is {shown(error.instance)}, it must be at least {error.validator_value}"


def _maximum(error: Any) -> Iterator[str]:
    yield f"is {shown(error.instance)}, it must be at most {error.validator_value}"


def _empty(_: Any) -> Iterator[str]:
    yield "is empty"


def _enum(error: Any) -> Iterator[str]:
    given = error.instance
    waits = "missing" in error.absolute_path and isinstance(given, str) and given[:1].isdigit()
    later = "; this version cannot wait for a device" if waits else ""
    yield f"is {shown(given)}, it must be {' or '.join(map(shown, error.validator_value))}{later}"


def _pattern(error: Any) -> Iterator[str]:
    yield f"is {shown(error.instance)}, it must match {error.validator_value}"


def _required(error: Any) -> Iterator[str]:
    if "name" not in error.instance:
        yield "has no name, it must say which resource it defines"


def _any_of(_: Any) -> Iterator[str]:
    yield "has neither match nor paths, one of them must say which devices belong to it"


def _additional(error: Any) -> Iterator[str]:
    known = error.schema["properties"]
    if not error.absolute_path and "resource" in known:
        yield from _at_the_top([key for key in error.instance if key not in known], known["resource"]["items"]["properties"])
        return
    for field in error.instance:
        if field in known:
            continue
        if field in _LATER:
            yield f"has the field {field}, which this version does not know yet; take it out"
        else:
            yield f'has the field "{field}", {_meant(field, tuple(known))}'


def _at_the_top(keys: list[str], fields: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with KEYS beside `resource`; FIELDS are what a resource can have."""
    from difflib import get_close_matches

    astray = [key for key in keys if key in fields]
    if astray:
        *first, last = astray
        named = f"the keys {', '.join(first)} and {last}" if first else f"the key {last}"
        yield f"has {named} outside of a resource: put [[resource]] above {'them' if first else 'it'}"
    for key in keys:
        if key not in fields:
            hint = ": write [[resource]]" if get_close_matches(key.lower(), ("resource",)) else ""
            yield f'has the key "{key}", it can have nothing but resource{hint}'


def _meant(field: str, known: tuple[str, ...]) -> str:
    """What the writer of the unknown FIELD may have meant."""
    from difflib import get_close_matches

    close = get_close_matches(field.lower(), known, 1)
    return f"which is not known; write {close[0]}" if close else f"which is not one of {', '.join(known)}"


_PREDICATES = {
    "type": _type,
    "minimum": _minimum,
    "maximum": _maximum,
    "minLength": _empty,
    "minItems": _empty,
    "enum": _enum,
    "pattern": _pattern,
    "required": _required,
    "anyOf": _any_of,
    "additionalProperties": _additional,
}
