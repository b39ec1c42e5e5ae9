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
from ..model import DeviceNumber, DeviceType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..edit import Edit
    from ..model import Lease

KEY = "io.oci-udev-hook.injected"
VERSION = 1


@frozen
class Leased:
    """A lease as the mark keeps it: without its holder, which is the container itself."""

    resource: str
    unit: str
    numbers: tuple[DeviceNumber, ...]
    nodes: tuple[str, ...]  #: on the host
    sharing: int = 1  #: how many containers may hold it with this one


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
    kept = [Leased(lease.resource, lease.unit, tuple(sorted(lease.numbers, key=str)), lease.nodes, lease.sharing) for lease in leases]
    return Mark(container, boot, name, tuple(kept), edits)


def read(annotations: Mapping[str, object]) -> Mark | None:
    """The mark among ANNOTATIONS, None if there is none. Raises UsageError for one that this version cannot read."""
    text = annotations.get(KEY)
    if text is None:
        return None
    try:
        if not isinstance(text, str):
            raise typed.TypedError(f"is {typed.shown(text)}, not a string")
        fields = typed.parse(text.encode("utf-8", "surrogatepass"))
        version = fields.number("version")
        if version != VERSION:
            raise typed.TypedError(f"version is {version}, and this program knows {VERSION}")
        return Mark(
            fields.text("container"),
            fields.text("boot"),
            fields.text("name"),
            tuple([_leased(lease) for lease in fields.objects("leases")]),
            tuple([edit_from(edit) for edit in fields.objects("edits")]),
            _undo(fields),
        )
    except typed.TypedError as error:
        says = typed.about(f"the config's annotation {KEY}", error)
        raise UsageError(f"{says}; make the container anew, so that it gets a config without this mark") from None


def write(mark: Mark) -> str:
    """MARK as its annotation's value."""
    undo = mark.undo
    document: dict[str, object] = {
        "version": VERSION,
        "container": mark.container,
        "boot": mark.boot,
        "name": mark.name,
        "leases": [
            {
                "resource": lease.resource,
                "unit": lease.unit,
                "numbers": [str(number) for number in lease.numbers],
                "nodes": lease.nodes,
                **({"sharing": lease.sharing} if lease.sharing != 1 else {}),
            }
            for lease in mark.leases
        ],
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


def edit_from(fields: typed.Fields) -> Edit:
    """The edit that `edit_as_json` gave. Raises TypedError."""
    kinds = fields.value.keys() & {"node", "rule", "mount", "variable", "group", "annotation"}
    match kinds.pop() if len(kinds) == 1 else "":
        case "node":
            return Node(
                fields.text("node"), number(fields.text("number")), fields.number("mode"), fields.number("uid"), fields.number("gid")
            )
        case "rule":
            return CgroupRule(number(fields.text("rule")), fields.text("access"))
        case "mount":
            return Mount(fields.text("source"), fields.text("mount"), _texts(fields, "options"))
        case "variable":
            return Variable(fields.text("variable"), fields.text("value"))
        case "group":
            return Group(fields.number("group"))
        case "annotation":
            return Annotation(fields.text("annotation"), fields.text("value"))
    raise typed.TypedError(f"{fields.path} is {typed.shown(fields.value)}, which is no edit")


def number(text: str) -> DeviceNumber:
    """The device number in TEXT, as `str()` gives it: `c 188:0`. Raises TypedError."""
    kind, _, rest = text.partition(" ")
    major, _, minor = rest.partition(":")
    if kind not in ("b", "c") or not (major.isdecimal() and minor.isdecimal() and rest.isascii() and len(rest) <= 21):
        raise typed.TypedError(f"has {typed.shown(text)}, which is no device number such as c 188:0")
    return DeviceNumber(DeviceType(kind), int(major), int(minor))


def _leased(fields: typed.Fields) -> Leased:
    """One entry of `leases`."""
    return Leased(
        fields.text("resource"),
        fields.text("unit"),
        tuple([number(text) for text in _texts(fields, "numbers")]),
        _texts(fields, "nodes"),
        fields.number("sharing", 1),
    )


def _texts(fields: typed.Fields, key: str) -> tuple[str, ...]:
    """The list of strings at KEY."""
    found = []
    for item in fields.items(key):
        if not isinstance(item, str):
            raise fields.wrong(key, "a list of strings")
        found.append(item)
    return tuple(found)


def _undo(fields: typed.Fields) -> Undo:
    """What patching found."""
    kept, was = [], {}
    for item in fields.items("kept"):
        if not isinstance(item, int):
            raise fields.wrong("kept", "a list of numbers")
        kept.append(item)
    for key, value in fields.object("was").value.items():
        if not key.isdecimal() or not key.isascii() or len(key) > 9:
            raise fields.wrong("was", "an object whose keys are numbers")
        was[int(key)] = value
    return Undo(fields.texts("made"), tuple(kept), was)
