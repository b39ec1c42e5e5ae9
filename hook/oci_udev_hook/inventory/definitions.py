"""From definition files to a catalog: reads and checks them, and tells all that is wrong with all of them.

Loaded only when the cache does not know the files.
"""

from __future__ import annotations

import json
import re
import time

from ..files import read as read_file
from ..frozen import frozen
from ..model import Missing, Resource
from ..typed import shown
from . import fields, rules
from .catalog import Catalog
from .resources import SIZE_MAX, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .fields import Path
    from .resources import Source

_TICK = 20_000_000  #: nanoseconds, twice the longest tick (HZ=100) of the clock that inodes' times are taken from
_COARSE_TICK = 2_000_000_000  #: the same where the file system keeps whole seconds, or two of them
_QUOTED_TWICE = re.compile(r'''(?:^|[\[,=\s])"\s*[A-Z]+(?:\{[^}"']*\})?\s*[=!]="''')  #: a match line that double quotes begin
_FAULTS_SHOWN = 3  #: how many of a file's faults a refused request is told


class _UnreadableError(Exception):
    """A file that gives no data at all; the text is a sentence's predicate."""


@frozen
class _Definitions:
    """What one file says."""

    path: str
    names: tuple[str, ...] = ()  #: of all resources in it, of the bad ones as far as they have one
    resources: tuple[Resource, ...] = ()  #: none if there is a fault
    faults: tuple[str, ...] = ()  #: each begins with the place in the file
    readable: bool = True


def read(found: tuple[Source, ...]) -> tuple[Catalog, bool]:
    """The catalog of the files FOUND, and whether they have settled: one that changes just now may change again unseen."""
    settled = True
    files = []
    for source in found:
        try:
            content, same = _content(source)
            settled = settled and same
            files.append(_definitions(source.path, _data(source.path, content)))
        except _UnreadableError as error:
            files.append(_Definitions(source.path, faults=(str(error),), readable=False))
        except RecursionError:
            files.append(_Definitions(source.path, faults=("is nested too deeply",), readable=False))
    return _joined(files), settled


def _content(source: Source) -> tuple[bytes, bool]:
    """The file's content, and whether the file is still the one that SOURCE tells of. Raises UnreadableError."""
    if source.trouble:
        raise _UnreadableError(source.trouble)
    try:
        content = read_file(source.path, SIZE_MAX, follow=True)
    except OSError as error:
        raise _UnreadableError(f"cannot be read: {error.strerror}") from None
    return content.data, _settled(content.status.st_ctime_ns, time.time_ns()) and identity(content.status) == source.identity


def _settled(changed: int, now: int) -> bool:
    """Whether a file that CHANGED before it was read, NOW, will show it if it changes again: within one tick it would not."""
    tick = _TICK if changed % 1_000_000_000 else _COARSE_TICK
    return abs(now - changed) > tick


def _data(path: str, content: bytes) -> object:
    """What CONTENT says as TOML or JSON. Raises UnreadableError."""
    try:
        text = content.decode()
        return _toml(text) if path.endswith(".toml") else _whole(json.loads(text, object_pairs_hook=_once))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _UnreadableError(f"is no UTF-8 text (at line {line})") from None
    except json.JSONDecodeError as error:
        raise _UnreadableError(f"is no JSON: {error.msg} (at line {error.lineno}, column {error.colno})") from None
    except ValueError as error:
        raise _UnreadableError(f"is no JSON: {error}") from None


def _toml(text: str) -> object:
    """What TEXT says as TOML. Raises UnreadableError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError as error:
        # Only the message of tomllib before Python 3.14 has the line: `… (at line 3, column 18)`, or `… (at end of document)`.
        number = str(error).rpartition("(at line ")[2].partition(",")[0]
        lines = text.rstrip().split("\n")
        line = lines[int(number) - 1 if number.isdecimal() else -1]
        hint = """; a match line stands in single quotes: match = ['KERNEL=="tty42"']""" if _QUOTED_TWICE.search(line) else ""
        raise _UnreadableError(f"is no TOML: {error}{hint}") from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object, in which no key may stand twice."""
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {shown(twice)} stands twice in one object")
    return value


def _whole(value: object) -> object:
    """VALUE, if JSON can say it. Raises ValueError for what Python lets through: half a surrogate pair, NaN, Infinity, 1e999."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a text in it is half of a surrogate pair") from None
    except ValueError:
        raise ValueError("a number in it is infinite or none at all") from None
    return value


def _definitions(path: str, data: object) -> _Definitions:
    """What DATA defines."""
    entries = data.get("resource") if isinstance(data, dict) else None
    entries = entries if isinstance(entries, list) else [entries]
    names = tuple([entry["name"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("name"), str)])
    faults = _faults(data)
    if faults:
        return _Definitions(path, names, faults=tuple(faults))
    return _Definitions(path, names, tuple([_resource(entry, path) for entry in entries if entry is not None]))


def _faults(data: object) -> list[str]:
    """All that is wrong with DATA, in the order of its entries."""
    from .complaints import complaints

    found: list[tuple[Path, str]] = list(_unusable((), data))
    held: list[tuple[Path, str]] = []
    for path, keyword, predicate in complaints(data):
        # What a pattern forbids, the field's own check says in better words.
        (held if keyword == "pattern" else found).append((path, predicate))
    bad = {path for path, _ in found}
    checked = [((*path, *below), predicate) for path, value in _values(data) for below, predicate in fields.check(str(path[-1]), value)]
    found += [(path, predicate) for path, predicate in checked if path not in bad]
    told = {path[:length] for path, _ in found for length in range(len(path) + 1)}
    found += [(path, predicate) for path, predicate in held if path not in told]
    found += _twice(data)
    found.sort(key=lambda fault: [part for part in fault[0] if isinstance(part, int)][:1])
    return [_place(path) + ("" if predicate.startswith(",") else " ") + predicate for path, predicate in found]


def _unusable(path: Path, value: object) -> Iterator[tuple[Path, str]]:
    """The texts below VALUE that no path, property or variable can hold."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _unusable(path, key)
            yield from _unusable((*path, key), below)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _unusable((*path, index), below)
    elif isinstance(value, str) and "\0" in value:
        yield path, "has the character U+0000 in it, which no name can have"


def _values(data: object) -> Iterator[tuple[Path, object]]:
    """Each field of each resource."""
    entries = data.get("resource") if isinstance(data, dict) else None
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        for field, value in entry.items() if isinstance(entry, dict) else ():
            yield ("resource", index, field), value


def _twice(data: object) -> Iterator[tuple[Path, str]]:
    """The names that stand twice in one file."""
    first: dict[object, Path] = {}
    for path, value in _values(data):
        if path[-1] == "name" and isinstance(value, str) and first.setdefault(value, path) != path:
            yield path, f'is "{value}", which {_place(first[value][:-1])} defines already'


def _place(path: Path) -> str:
    """PATH as people write it: `resource[0].env.FOO`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if fields.is_variable(part) else f"[{shown(part)}]"
    return text.removeprefix(".") or "the file"


def _resource(entry: dict[str, Any], path: str) -> Resource:
    """The resource that the faultless ENTRY defines."""
    values: dict[str, Any] = {key: entry[key] for key in ("name", "path", "links") if key in entry}
    # 2.0 is a whole number in JSON Schema.
    values |= {key: int(entry[key]) for key in ("sharing", "uid", "gid") if key in entry}
    values["rules"] = tuple([rules.parse(line) for line in entry.get("match", ())])
    values["paths"] = tuple(entry.get("paths", ()))
    if "permissions" in entry:
        values["permissions"] = fields.in_order(entry["permissions"])
    if "mode" in entry:
        values["mode"] = int(entry["mode"], 8)
    if "env" in entry:
        values["env"] = tuple(entry["env"].items())
    return Resource(**values, missing=Missing(entry.get("missing", Missing.FAIL)), source=path)


def _joined(files: list[_Definitions]) -> Catalog:
    """The catalog of all FILES. A name in two files is in none, since neither is meant more than the other."""
    resources = {resource.name: resource for file in files for resource in file.resources}
    broken = {name: _told(file) for file in files if file.faults for name in file.names}
    faults = [f"{file.path}: {fault}" for file in files for fault in file.faults]
    places: dict[str, dict[str, None]] = {}
    for file in files:
        for name in file.names:
            places.setdefault(name, {})[file.path] = None
    for name, paths in places.items():
        if len(paths) > 1:
            faults += [f"{path}: {name} is defined in {_others(paths, path)} too, it can be in one file only" for path in paths]
            broken.setdefault(name, f"it is in {' and in '.join(paths)}, it can be in one file only")
    for name in broken:
        resources.pop(name, None)
    return Catalog(resources, broken, tuple(faults), tuple([f"{file.path}: {file.faults[0]}" for file in files if not file.readable]))


def _told(file: _Definitions) -> str:
    """The first faults of FILE in one sentence."""
    more = len(file.faults) - _FAULTS_SHOWN
    return f"{file.path}: {'; '.join(file.faults[:_FAULTS_SHOWN])}" + (f"; and {more} more" if more > 0 else "")


def _others(paths: Iterable[str], path: str) -> str:
    return " and in ".join([other for other in paths if other != path])
