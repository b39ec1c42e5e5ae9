"""Looks things up in a YAML tree as Kubernetes does: null is the same as absent, and merge keys count."""

from __future__ import annotations

from .. import typed
from ..errors import UsageError
from .yamltext import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence as Texts

    from .yamltext import Node


def value(node: Mapping | None, key: str) -> Node | None:
    """What stands at KEY; None for null."""
    entry = None if node is None else node.all().get(key)
    return None if entry is None or (isinstance(entry.value, Scalar) and entry.value.null) else entry.value


def mapping(node: Node | None, where: str) -> Mapping | None:
    """NODE as a mapping. Raises UsageError with a clause."""
    if node is not None and not isinstance(node, Mapping):
        raise UsageError(f"{where} is {shown(node)}, not a mapping")
    return node


def walk(document: Mapping, path: Texts[str]) -> Mapping | None:
    """The mapping at PATH. Raises UsageError with a clause if something else stands on the way."""
    found: Mapping | None = document
    for depth, step in enumerate(path, 1):
        found = mapping(value(found, step), ".".join(path[:depth]))
    return found


def text(node: Node | None) -> str:
    """NODE's text; of what has none, the empty one."""
    return node.text if isinstance(node, Scalar) and not node.null else ""


def shown(node: Node) -> str:
    """NODE for a sentence."""
    if isinstance(node, Scalar):
        return "null" if node.null else typed.shown(node.text)
    return "a list" if isinstance(node, Sequence) else "a mapping"
