"""The hook's mark on a patched config: whose it is, what it leased, each edit, and what they replaced.

It stands in the annotation `io.oci-udev-hook.injected` as compact JSON, so that createRuntime and poststop know the hook's own work in a
bundle's config.json from all else there, and can take it out again exactly.
"""

from __future__ import annotations

import json

from .. import typed
from ..edit import Annotation, CgroupRule, Group, Mount, Node, Variable
from ..errors import UsageError
from ..frozen import frozen
from ..leases import as_json, leased, read_leases, read_number
from ..places import MARK
from .draft import MADE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..edit import Edit
    from ..leases import Leased
    from ..model import Lease

_VERSION = 1


@frozen
class Undo:
    """What patching found, so that it can be put back."""

    made: Mapping[str, str] = {}  #: path of an object or list that was not there, and `absent` or `null`
    kept: tuple[int, ...] = ()  #: edits (by their place in the mark) that the config had already
    was: Mapping[int, object] = {}  #: what an edit took the place of


@frozen
class Mark:
    """The mark on a config."""

    container: str  #: id, empty where no engine gave one
    boot: str  #: boot id
    name: str
    leases: tuple[Leased, ...]
    edits: tuple[Edit, ...]
    undo: Undo = Undo()


def make(container: str, boot: str, name: str, leases: tuple[Lease, ...], edits: tuple[Edit, ...]) -> Mark:
    """The mark for the container of id CONTAINER, called NAME, that holds LEASES in this BOOT."""
    return Mark(container, boot, name, tuple([leased(lease) for lease in leases]), edits)


def read(annotations: Mapping[str, str]) -> Mark | None:
    """The mark among ANNOTATIONS, None if there is none. Raises UsageError for one that this version cannot read."""
    text = annotations.get(MARK)
    if text is None:
        return None
    try:
        fields = typed.parse(text.encode("utf-8", "surrogatepass"))
        version = fields.number("version")
        if version != _VERSION:
            raise typed.TypedError(f"version is {typed.shown(version)}, and this program knows {_VERSION}")
        edits = tuple([_edit_from(edit) for edit in fields.objects("edits")])
        leases = read_leases(fields)
        return Mark(fields.text("container"), fields.text("boot"), fields.text("name"), leases, edits, _undo(fields, edits))
    except typed.TypedError as error:
        says = typed.about(f"the config's annotation {MARK}", error)
        raise UsageError(f"{says}; make the container anew, so that it gets a config without this mark") from None


def write(mark: Mark) -> str:
    """MARK as its annotation's value."""
    undo = mark.undo
    document: dict[str, object] = {
        "version": _VERSION,
        "container": mark.container,
        "boot": mark.boot,
        "name": mark.name,
        "leases": [as_json(lease) for lease in mark.leases],
        "edits": [edit_as_json(edit) for edit in mark.edits],
    }
    found: dict[str, object] = {"made": undo.made, "kept": undo.kept, "was": undo.was}
    document.update({name: value for name, value in found.items() if value})
    return json.dumps(document, separators=(",", ":"))


def edit_as_json(edit: Edit) -> dict[str, object]:
    """EDIT as JSON, in the mark and for programs that read a plan. Its first key tells its kind."""
    if isinstance(edit, Node):
        return {"node": edit.path, "number": str(edit.number), "mode": edit.mode, "uid": edit.uid, "gid": edit.gid}
    if isinstance(edit, CgroupRule):
        return {"rule": str(edit.number), "access": edit.access}
    if isinstance(edit, Mount):
        return {"mount": edit.destination, "source": edit.source, "options": list(edit.options)}
    if isinstance(edit, Variable):
        return {"variable": edit.name, "value": edit.value}
    if isinstance(edit, Group):
        return {"group": edit.gid}
    return {"annotation": edit.key, "value": edit.value}


def _edit_from(fields: typed.Fields) -> Edit:
    """The edit that `edit_as_json` gave. Raises TypedError."""
    kinds = fields.value.keys() & {"node", "rule", "mount", "variable", "group", "annotation"}
    match kinds.pop() if len(kinds) == 1 else "":
        case "node":
            number = read_number(fields, "number")
            return Node(fields.path("node"), number, fields.number("mode"), fields.number("uid"), fields.number("gid"))
        case "rule":
            return CgroupRule(read_number(fields, "rule"), fields.text("access"))
        case "mount":
            return Mount(fields.path("source"), fields.path("mount"), fields.strings("options"))
        case "variable":
            return Variable(fields.text("variable"), fields.text("value"))
        case "group":
            return Group(fields.number("group"))
        case "annotation":
            return Annotation(fields.text("annotation"), fields.text("value"))
    raise typed.TypedError(f"{fields.place} is {typed.shown(fields.value)}, which is no edit")


def _undo(fields: typed.Fields, edits: tuple[Edit, ...]) -> Undo:
    """What patching found, for EDITS. Raises TypedError: what is put back must be what an edit can have taken the place of."""
    made, kept, was = fields.texts("made"), fields.numbers("kept"), fields.object("was")
    for path, before in made.items():
        if path not in MADE or before not in ("absent", "null"):
            raise fields.wrong("made", "an object of places that edits make, each absent or null")
    if any(index not in range(len(edits)) for index in kept):
        raise fields.wrong("kept", "a list of edits by their numbers")
    numbered = {str(index): edit for index, edit in enumerate(edits)}
    if not was.value.keys() <= numbered.keys():
        raise fields.wrong("was", "an object whose keys are numbers of edits")
    return Undo(made, kept, {int(key): _replaced(was, key, numbered[key]) for key in was.value})


def _replaced(was: typed.Fields, key: str, edit: Edit) -> object:
    """What EDIT, which has the number KEY, took the place of. Raises TypedError for what it cannot have."""
    if isinstance(edit, Node):
        device = was.object(key)
        device.text("path")
        return device.value
    if isinstance(edit, Variable):
        return list(was.strings(key))
    if isinstance(edit, Annotation):
        return was.text(key)
    raise typed.TypedError(f"{was.at(key)} is {typed.shown(was.value[key])}, but edit {key} takes the place of nothing")
