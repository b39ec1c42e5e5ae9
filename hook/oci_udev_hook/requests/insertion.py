"""Changes to the text of a YAML file that leave all else in it as it is: comments, order, quotes, indentation, line ends.

New entries come first in their mapping, where the text before them is known to be a key and a colon, or a brace: behind the last
entry there may be comments, block texts and the end of the file.
"""

from __future__ import annotations

import json
import re

from ..errors import UsageError
from ..frozen import frozen
from .yamltext import Mapping, Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .yamltext import Entry, Place

    _Tree = dict[str, "str | _Tree"]

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  #: what ends a line in YAML 1.1
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./")


@frozen
class Change:
    """The text from `start` to `end` becomes `text`."""

    start: int
    end: int
    text: str


def apply(text: str, changes: Sequence[Change]) -> str:
    """TEXT with CHANGES, which do not overlap; what starts at one place comes in the order given."""
    pieces = []
    position = 0
    for one in sorted(changes, key=lambda one: one.start):
        pieces += [text[position : one.start], one.text]
        position = max(position, one.end)
    return "".join([*pieces, text[position:]])


def change(text: str, document: Mapping, path: Sequence[str], removed: frozenset[str], added: dict[str, str]) -> list[Change]:
    """The changes to TEXT that take REMOVED out of the mapping at PATH in DOCUMENT and put ADDED in. A mapping that is missing is made.

    Raises UsageError with a clause where the way there is written so that this cannot be done.
    """
    editor = _Editor(text)
    mapping, header = document, None
    for depth, step in enumerate(path):
        where = ".".join(path[: depth + 1])
        entry = mapping.own().get(step)
        if entry is None:
            if step in mapping.all():
                raise UsageError(f"{where} comes in through a merge key (<<), write it out so that annotations can be added")
            return editor.insert(mapping, header, _nested(path[depth:], added))
        if isinstance(entry.value, Scalar) and entry.value.null:
            return editor.replace_null(mapping, header, entry, _nested(path[depth + 1 :], added), where)
        if not isinstance(entry.value, Mapping):
            raise UsageError(f"{where} is no mapping")
        mapping, header = entry.value, None if entry.alias else entry.key.place
    if any(key not in mapping.own() for key in removed):
        raise UsageError(f"{'.'.join(path)} has keys from a merge key (<<), write them out so that they can be put right")
    if removed and mapping.flow:
        return editor.rewrite(mapping, header, removed, added)
    return editor.insert(mapping, header, dict(added)) + [editor.remove(entry) for key, entry in mapping.own().items() if key in removed]


def _nested(path: Sequence[str], added: dict[str, str]) -> _Tree:
    tree: _Tree = dict(added)
    for step in reversed(path):
        tree = {step: tree}
    return tree


class _Editor:
    """Makes changes for one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = _BREAK.search(text)
        self.newline = found.group() if found else "\n"

    def insert(self, mapping: Mapping, header: Place | None, tree: _Tree) -> list[Change]:
        """Put TREE into MAPPING, whose key stands at HEADER if it has one of its own."""
        if not tree:
            return []
        if not mapping.flow:
            at = self.below(mapping, header)
            lines = _lines(tree, mapping.indent, _step(mapping, header))
            return [Change(at, at, "".join([line + self.newline for line in lines]))]
        items = _items(tree, quoted=self.quotes(mapping, header))
        if not mapping.entries:
            return [Change(mapping.inside, mapping.inside, ", ".join(items))]
        first = mapping.entries[0].key.place
        if not _BREAK.search(self.text, mapping.inside, first.start):
            return [Change(mapping.inside, mapping.inside, ", ".join(items) + ", ")]
        indent = self.text[first.start - first.column : first.start]
        return [Change(first.start, first.start, "".join([f"{item},{self.newline}{indent}" for item in items]))]

    def below(self, mapping: Mapping, header: Place | None) -> int:
        """Where lines can be put at the top of the block MAPPING: below its key's line, or above its first entry."""
        above = mapping.inside - mapping.indent
        if self.text[above : mapping.inside].strip(" "):
            raise UsageError(f'line {mapping.place.line + 1} is written in a way that nothing can be added to, write its keys without "?"')
        simple = header is not None and mapping.place.start == mapping.inside and self.text[header.end :].lstrip(" \t")[:1] == ":"
        return self.next_line(header.end) if header is not None and simple else above

    def replace_null(self, mapping: Mapping, header: Place | None, entry: Entry, tree: _Tree, where: str) -> list[Change]:
        """Put TREE where ENTRY of MAPPING has null or nothing."""
        key, value = entry.key.place, entry.value.place
        if entry.alias or "&" in self.text[value.start : value.end]:
            raise UsageError(f"{where} is null with an anchor or an alias, take it away so that annotations can be added")
        between, written = self.text[key.end : value.start], self.text[value.start : value.end]
        if mapping.flow or between.strip(" \t") != ":" or _BREAK.search(written):
            space = "" if between.endswith((" ", self.newline)) else " " if ":" in between else ": "
            items = ", ".join(_items(tree, quoted=self.quotes(mapping, header)))
            return [Change(value.start, value.end, f"{space}{{{items}}}{self.newline if _BREAK.search(written[-1:]) else ''}")]
        colon = key.end + between.index(":") + 1
        at = self.next_line(value.end)
        step = _step(mapping, header)
        lines = self.newline.join(_lines(tree, mapping.indent + step, step))
        open_end = not _BREAK.search(self.text, value.end)
        return [Change(colon, value.end, ""), Change(at, at, self.newline + lines if open_end else lines + self.newline)]

    def rewrite(self, mapping: Mapping, header: Place | None, removed: frozenset[str], added: dict[str, str]) -> list[Change]:
        """MAPPING in braces without the keys REMOVED and with ADDED, in one line."""
        kept = [entry for entry in mapping.entries if not (isinstance(entry.key, Scalar) and entry.key.text in removed)]
        if any(entry.alias for entry in kept):
            raise UsageError(f"line {mapping.place.line + 1} has aliases (*), write them out so that annotations can be put right")
        items = _items(dict(added), quoted=self.quotes(mapping, header))
        items += [self.text[entry.key.place.start : entry.value.place.end] for entry in kept]
        return [Change(mapping.inside, mapping.place.end - 1, ", ".join(items))]

    def remove(self, entry: Entry) -> Change:
        """Take the lines of ENTRY of a block mapping away."""
        key, value = entry.key.place, entry.value.place
        start = key.start - key.column
        if entry.alias or not isinstance(entry.value, Scalar) or self.text[start : key.start].strip(" "):
            raise UsageError(f"line {key.line + 1} is written in a way that cannot be put right, write it as KEY: VALUE")
        whole = value.end_column == 0 and value.end > value.start  # a block text ends where the next line starts
        return Change(start, value.end if whole else self.next_line(value.end), "")

    def next_line(self, position: int) -> int:
        """Where the line behind the one of POSITION starts, or the end of the text."""
        found = _BREAK.search(self.text, position)
        return found.end() if found else len(self.text)

    def quotes(self, mapping: Mapping, header: Place | None) -> bool:
        """Whether keys in MAPPING are quoted, as in JSON; of an empty one its own key tells."""
        near = mapping.entries[0].key.place if mapping.entries else header
        return near is not None and self.text[near.start : near.start + 1] == '"'


def _step(mapping: Mapping, header: Place | None) -> int:
    """How much deeper than MAPPING a mapping in it stands, after what is done around it."""
    if header is not None and not mapping.flow and mapping.indent > header.column:
        return mapping.indent - header.column
    for entry in mapping.entries:
        below = entry.value
        if isinstance(below, Mapping) and not below.flow and not entry.alias and below.indent > mapping.indent:
            return below.indent - mapping.indent
    return 2


def _lines(tree: _Tree, indent: int, step: int) -> list[str]:
    """TREE as the lines of a block mapping."""
    lines = []
    for key, value in tree.items():
        head = f"{' ' * indent}{_key(key)}:"
        lines += [f"{head} {_quoted(value)}"] if isinstance(value, str) else [head, *_lines(value, indent + step, step)]
    return lines


def _items(tree: _Tree, *, quoted: bool) -> list[str]:
    """TREE as the items of a mapping in braces."""
    items = []
    for key, value in tree.items():
        inner = _quoted(value) if isinstance(value, str) else f"{{{', '.join(_items(value, quoted=quoted))}}}"
        items.append(f"{_quoted(key) if quoted else _key(key)}: {inner}")
    return items


def _key(text: str) -> str:
    return text if _PLAIN.issuperset(text) else _quoted(text)


def _quoted(text: str) -> str:
    """TEXT in double quotes, which mean the same to YAML and JSON."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join([char if char.isprintable() or char > "\uffff" else f"\\u{ord(char):04x}" for char in quoted])
