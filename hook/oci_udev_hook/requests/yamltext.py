"""YAML as a tree that knows where each part stands in the text, so that the text can be changed in places and is not written anew.

The one door of PyYAML. It is asked for events only: its own trees do not tell an alias from what it stands for, and making them
crashes the interpreter on deeply nested input (PyYAML 6.0 with libyaml).
"""

from __future__ import annotations

from ..dependencies import allow
from ..errors import UsageError
from ..frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    import yaml


_MAX_DEPTH = 1000  #: of nesting; the time that libyaml takes grows with its square


@frozen
class Place:
    """Where a node stands, from its anchor or tag on; a block collection ends somewhere behind its last line. All count from 0."""

    start: int
    end: int
    line: int
    column: int
    end_column: int


@frozen
class Scalar:
    """A text, number or null."""

    place: Place
    tag: str | None  #: as written
    text: str
    plain: bool  #: without quotes, so that its text may mean a number or null

    @property
    def null(self) -> bool:
        """Whether it means no value."""
        may = self.plain if self.tag is None else self.tag == "tag:yaml.org,2002:null"
        return may and self.text in ("", "~", "null", "Null", "NULL")


@frozen
class Sequence:
    """A list."""

    place: Place
    tag: str | None
    items: tuple[Node, ...]


@frozen
class Entry:
    """A key and its value. `alias`: the value stands elsewhere in the text."""

    key: Node
    value: Node
    alias: bool


@frozen
class Mapping:
    """Keys and values in the order of writing."""

    place: Place
    tag: str | None
    flow: bool  #: in braces
    inside: int  #: where the first entry can stand: behind the brace, or the first entry itself
    indent: int  #: the column of that
    entries: tuple[Entry, ...]

    def own(self) -> dict[str, Entry]:
        """The entries that stand here, by key; of a key that stands twice the last."""
        return {entry.key.text: entry for entry in self.entries if isinstance(entry.key, Scalar)}

    def all(self) -> dict[str, Entry]:
        """The entries that stand here and those that a merge key (`<<`, https://yaml.org/type/merge.html) brings in."""
        found: dict[str, Entry] = {}
        pending: list[Mapping] = [self]
        merged: set[int] = set()
        while pending:
            mapping = pending.pop(0)
            if id(mapping) in merged:
                continue
            merged.add(id(mapping))
            entries = mapping.own()
            merge = entries.pop("<<", None)
            found = {**entries, **found}
            if merge is not None:
                sources = merge.value.items if isinstance(merge.value, Sequence) else (merge.value,)
                pending[:0] = [source for source in sources if isinstance(source, Mapping)]
        return found


Node = Scalar | Sequence | Mapping


class _TreeError(Exception):
    """Events that no tree can be made of."""


class _Builder:
    """Makes trees of events."""

    def __init__(self) -> None:
        self.documents: list[Node | None] = []
        self.open: list[tuple[yaml.CollectionStartEvent, list[tuple[Node, bool]]]] = []
        self.anchors: dict[str, Node | None] = {}

    def take(self, event: yaml.Event) -> None:
        """Build EVENT in. Raises _TreeError."""
        import yaml

        if isinstance(event, yaml.DocumentStartEvent):
            self.anchors = {}
        elif isinstance(event, yaml.AliasEvent):
            self.put(self.meant(event), alias=True)
        elif isinstance(event, yaml.ScalarEvent):
            scalar = Scalar(_place(event, event), event.tag, event.value, event.style in (None, ""))
            self.finish(event.anchor, scalar)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self.open) == _MAX_DEPTH:
                raise _TreeError(f"line {_start(event)[1] + 1}: it is nested more than {_MAX_DEPTH} deep")
            self.open.append((event, []))
            if event.anchor is not None:
                self.anchors[event.anchor] = None
        elif isinstance(event, yaml.CollectionEndEvent):
            start, children = self.open.pop()
            self.finish(start.anchor, _collection(start, event, children))

    def meant(self, event: yaml.AliasEvent) -> Node:
        """What the alias EVENT stands for."""
        node = self.anchors.get(str(event.anchor))
        if node is None:
            what = "stands inside what it stands for" if event.anchor in self.anchors else "stands for nothing before it"
            raise _TreeError(f"line {_start(event)[1] + 1}: the alias *{event.anchor} {what}")
        return node

    def finish(self, anchor: str | None, node: Node) -> None:
        """Put the finished NODE where it belongs."""
        if anchor is not None:
            self.anchors[anchor] = node
        self.put(node, alias=False)

    def put(self, node: Node, *, alias: bool) -> None:
        """Add NODE to the collection that is open, or it is a document."""
        if self.open:
            self.open[-1][1].append((node, alias))
        else:
            self.documents.append(None if isinstance(node, Scalar) and node.null else node)


def _start(event: yaml.Event) -> tuple[int, int, int]:
    """Index, line and column of where EVENT starts."""
    mark = event.start_mark
    assert mark is not None  # only events that no text is behind have none
    return mark.index, mark.line, mark.column


def _end(event: yaml.Event) -> tuple[int, int]:
    """Index and column of where EVENT ends."""
    mark = event.end_mark
    assert mark is not None
    return mark.index, mark.column


def _place(first: yaml.Event, last: yaml.Event) -> Place:
    start, line, column = _start(first)
    end, end_column = _end(last)
    return Place(start, end, line, column, end_column)


def _collection(start: yaml.CollectionStartEvent, end: yaml.Event, children: list[tuple[Node, bool]]) -> Node:
    """The sequence or mapping between the events START and END."""
    import yaml

    place = _place(start, end)
    if isinstance(start, yaml.SequenceStartEvent):
        return Sequence(place, start.tag, tuple([node for node, _ in children]))
    entries = [Entry(key, value, alias) for (key, _), (value, alias) in zip(children[::2], children[1::2], strict=True)]
    return Mapping(place, start.tag, bool(start.flow_style), *_end(start), tuple(entries))


def parse(text: str, source: str) -> tuple[Node | None, ...]:
    """The documents of TEXT, None for an empty one. Raises UsageError with a sentence that names SOURCE."""
    allow()
    import yaml

    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise UsageError(f"{source} is no YAML, {where}{error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        raise UsageError(f"{source} is no YAML, position {error.position}: {error.reason}") from None
    except _TreeError as error:
        raise UsageError(f"{source} cannot be read, {error}") from None
    return tuple(builder.documents)
