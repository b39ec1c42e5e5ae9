"""What a definition's fields may say beyond their JSON types: names, match lines, paths, templates, modes.

What is wrong with a value is a predicate (`is "x", it must …`) or a clause that follows on `is "x", `.
"""

from __future__ import annotations

from .. import names, template
from ..typed import shown
from . import rules
from .sysfs import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Path = tuple[str | int, ...]  #: keys and indices that lead to a value

_ACCESS = "rwm"  #: in the order in which the kernel's device cgroup has them


def check(field: str, value: object) -> Iterator[tuple[Path, str]]:
    """What is wrong with the VALUE of FIELD: where below the field, and a predicate. A value of another type is the schema's business."""
    if isinstance(value, str) and field in _TEXTS:
        yield from _about((), value, _TEXTS[field](value))
    elif isinstance(value, list) and field in _ITEMS:
        for index, item in enumerate(value):
            if isinstance(item, str):
                for predicate in _ITEMS[field](item):
                    yield (index,), predicate
    elif isinstance(value, dict) and field == "env":
        for variable, text in value.items():
            if not is_variable(variable):
                yield (), f'has the name "{variable}", but a variable\'s name has letters, digits and "_" and no digit in front'
            if isinstance(text, str):
                yield from _about((variable,), text, _wrong_template(text, template.IN_VARIABLES))


def _about(path: Path, value: str, clause: str | None) -> Iterator[tuple[Path, str]]:
    if clause is not None:
        yield path, f"is {shown(value)}, {clause}"


def _name(value: str) -> str | None:
    """What is wrong with a resource's name."""
    clause = names.why_not(value)
    return f"but {clause}" if clause else None


def _match_line(line: str) -> Iterator[str]:
    """What is wrong with a match line; predicates that begin with the column."""
    try:
        rules.parse(line)
    except rules.RuleError as error:
        for column, sentence in error.faults:
            yield f", column {column}: {sentence}"


def _below_dev(value: str) -> Iterator[str]:
    """What is wrong with a glob of device nodes; a predicate."""
    if not value.startswith("/dev/") or not _normal(value):
        yield f'is {shown(value)}, it must be a path below /dev without "//", "." and ".."'


def _permissions(value: str) -> str | None:
    """What is wrong with a cgroup access."""
    if not value or len(set(value)) < len(value) or not set(_ACCESS).issuperset(value):
        return "it must be letters of r, w and m, each at most once"
    return None


def in_order(value: str) -> str:
    """A faultless cgroup access as a resource has it."""
    return "".join([letter for letter in _ACCESS if letter in value])


def _sharing(value: str) -> str | None:
    """What is wrong with the text of a number of containers; where a file has the number itself, the schema asks for the same."""
    return None if is_number(value) and int(value) >= 1 else "it must be a whole number, at least 1, of at most ten digits"


def _mode(value: str) -> str | None:
    """What is wrong with permission bits."""
    if len(value) not in {3, 4} or value.strip("01234567") or (len(value) == 4 and value[0] != "0"):
        return 'it must be permission bits in octal as in "0660"'
    return None


def _path(value: str) -> str | None:
    """What is wrong with a template of the node's path in the container; what a property puts into it is checked when it is filled in."""
    clause = _wrong_template(value, template.IN_PATHS)
    if clause is None and not _normal(value):
        return 'it must be an absolute path without "//", "." and ".."'
    return clause


_ITEMS: dict[str, Callable[[str], Iterator[str]]] = {"match": _match_line, "paths": _below_dev}
_TEXTS: dict[str, Callable[[str], str | None]] = {"name": _name, "permissions": _permissions, "mode": _mode, "path": _path}
#: What udev rules can set of a resource, as texts: how each is checked, and read once it is faultless.
IN_MARKS: dict[str, tuple[Callable[[str], str | None], Callable[[str], object]]] = {
    "sharing": (_sharing, int),
    "path": (_path, str),
    "permissions": (_permissions, in_order),
}


def _normal(value: str) -> bool:
    """Whether VALUE is an absolute path that leads where it says."""
    parts = value.split("/")
    return len(parts) > 1 and not parts[0] and {"", ".", ".."}.isdisjoint(parts[1:])


def is_variable(text: str) -> bool:
    """Whether TEXT can be an environment variable's name (Base Definitions 8.1 of POSIX)."""
    return text.isascii() and text.isidentifier()


def _wrong_template(text: str, known: tuple[str, ...]) -> str | None:
    """What is wrong with a template that may name the KNOWN and properties."""
    try:
        parts = template.split(text)
    except template.TemplateError as error:
        return f"but it {error}"
    for _, named in parts:
        # Properties can be in lower case (adb_user), but one such word alone is a slip of the pen.
        if named not in known and named.isascii() and named.isalpha() and named.islower():
            return f"but {{{named}}} is none of {', '.join([f'{{{word}}}' for word in known])} and no property of udev's"
    return None
