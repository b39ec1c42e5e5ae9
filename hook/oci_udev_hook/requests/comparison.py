"""Whether two YAML trees say the same but for what was meant to change: the proof that a changed text is good."""

from __future__ import annotations

from ..frozen import frozen
from .yamltext import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .yamltext import Entry, Node


@frozen
class Delta:
    """Keys taken out of a mapping of texts, and keys put in with their values."""

    removed: frozenset[str]
    added: dict[str, str]


def same(before: Node | None, after: Node | None, deltas: dict[tuple[str, ...], Delta]) -> bool:
    """Whether AFTER says what BEFORE does with each of DELTAS, by path, done to it; null and what is missing hold nothing."""
    if not deltas:
        return _equal(before, after)
    old, new = _entries(before), _entries(after)
    if old is None or new is None:
        return False
    if () in deltas:
        delta = deltas[()]
        kept = old.keys() - delta.removed
        added = {key: entry.value.text for key, entry in new.items() if key not in kept and isinstance(entry.value, Scalar)}
        return new.keys() == kept | added.keys() and added == delta.added and all(_equal(old[key].value, new[key].value) for key in kept)
    steps = {path[0] for path in deltas}
    if old.keys() | steps != new.keys() | steps:
        return False
    for key in new.keys() | steps:
        below = {path[1:]: delta for path, delta in deltas.items() if path[0] == key}
        value, changed = (entries[key].value if key in entries else None for entries in (old, new))
        if not same(value, changed, below):
            return False
    return True


def _entries(node: Node | None) -> dict[str, Entry] | None:
    """The entries of NODE that stand in it; None if it is no mapping, or has keys that are no texts or stand twice."""
    if node is None or (isinstance(node, Scalar) and node.null):
        return {}
    entries = node.own() if isinstance(node, Mapping) else {}
    return entries if isinstance(node, Mapping) and len(entries) == len(node.entries) else None


def _equal(before: Node | None, after: Node | None) -> bool:
    """Whether both say the same. What is shared through aliases is looked at once, so time does not explode."""
    pending = [(before, after)]
    seen = set()
    while pending:
        old, new = pending.pop()
        if (id(old), id(new)) in seen:
            continue
        seen.add((id(old), id(new)))
        if isinstance(old, Scalar) and isinstance(new, Scalar):
            alike = (old.text, old.tag, old.plain) == (new.text, new.tag, new.plain)
        elif isinstance(old, Sequence) and isinstance(new, Sequence):
            alike = old.tag == new.tag and len(old.items) == len(new.items)
            pending += zip(old.items, new.items, strict=False)
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            alike = old.tag == new.tag and len(old.entries) == len(new.entries)
            for one, other in zip(old.entries, new.entries, strict=False):
                pending += [(one.key, other.key), (one.value, other.value)]
        else:
            alike = old is None and new is None
        if not alike:
            return False
    return True


def shares(document: Node | None) -> bool:
    """Whether a part of DOCUMENT stands for more than one place of it, through anchors and aliases."""
    pending = [document]
    seen = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            return True
        seen.add(id(node))
        if isinstance(node, Sequence):
            pending += node.items
        elif isinstance(node, Mapping):
            pending += [part for entry in node.entries for part in (entry.key, entry.value)]
    return False
