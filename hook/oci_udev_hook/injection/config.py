"""Edits into an OCI config, and out of it again exactly. Pure: the config given is never changed.

What a config already has stays as it is: rules are only appended (crun's systemd driver refuses a deny rule that would change anything),
unknown keys are kept. The shapes are those of the OCI runtime spec: config.md, config-linux.md.
"""

from __future__ import annotations

from .. import typed
from ..edit import Annotation, CgroupRule, Group, Mount, Node, Variable
from ..errors import UsageError
from ..frozen import frozen, replace
from ..places import MARK
from . import mark as marks
from .draft import ANNOTATIONS, DEVICES, ENVIRONMENT, GROUPS, MOUNTS, RULES, Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..edit import Edit
    from .mark import Mark


@frozen
class _Found:
    """What an edit met in the config: itself already, something that it took the place of, or nothing."""

    kept: bool = False
    was: object = None


def patch(config: Mapping[str, object], mark: Mark) -> dict[str, object]:
    """CONFIG with MARK and its edits in it; patching it again gives the same.

    Raises UsageError where the container has another device or mount at an edit's path, or where the config is not of OCI's shape.
    """
    draft = Draft(unpatch(config))
    try:
        found = [_put_in(draft, edit) for edit in mark.edits]
        annotations = draft.mapping(ANNOTATIONS)
    except typed.TypedError as error:
        raise UsageError(typed.about("the container's config", error)) from None
    undo = marks.Undo(
        made=draft.made,
        kept=tuple([index for index, each in enumerate(found) if each.kept]),
        was={index: each.was for index, each in enumerate(found) if each.was is not None},
    )
    annotations[MARK] = marks.write(replace(mark, undo=undo))
    return draft.config


def unpatch(config: Mapping[str, object]) -> dict[str, object]:
    """CONFIG without what `patch` put in, and with what that took the place of. Raises UsageError for a mark that cannot be read."""
    draft = Draft(config)
    mark = mark_of(config)
    if mark is None:
        return draft.config
    try:
        for index, edit in reversed(list(enumerate(mark.edits))):
            if index not in mark.undo.kept:
                _take_out(draft, edit, mark.undo.was.get(index))
        draft.mapping(ANNOTATIONS).pop(MARK, None)
        for path, before in reversed(list(mark.undo.made.items())):
            draft.unmake(tuple(path.split(".")), before)
    except typed.TypedError as error:
        raise UsageError(typed.about("the container's config", error)) from None
    return draft.config


def mark_of(config: Mapping[str, object]) -> Mark | None:
    """The mark on CONFIG, None if it has none. Raises UsageError for one that cannot be read."""
    try:
        annotations = typed.Fields(dict(config)).texts("annotations")
    except typed.TypedError as error:
        raise UsageError(typed.about("the container's config", error)) from None
    return marks.read(annotations)


def _put_in(draft: Draft, edit: Edit) -> _Found:
    """Put EDIT into DRAFT. Raises TypedError for a wrong shape, UsageError where something else is in its place."""
    match edit:
        case Node():
            return _put_node(draft, edit)
        case CgroupRule():
            return _append(draft.listing(RULES), _rule(edit), _allowed(draft.listing(RULES), edit))
        case Mount():
            return _append(draft.listing(MOUNTS), _mount(edit), _mounted(draft.listing(MOUNTS), edit))
        case Variable():
            return _put_variable(draft.listing(ENVIRONMENT), edit)
        case Group():
            return _append(draft.listing(GROUPS), edit.gid, edit.gid in draft.listing(GROUPS))
        case Annotation():
            annotations = draft.mapping(ANNOTATIONS)
            before = annotations.get(edit.key)
            annotations[edit.key] = edit.value
            return _Found(kept=before == edit.value, was=before if before != edit.value else None)


def _take_out(draft: Draft, edit: Edit, was: object) -> None:
    """Take EDIT out of DRAFT and put back what WAS in its place; what others have changed meanwhile stays. Raises TypedError."""
    match edit:
        case Node():
            _take(draft, DEVICES, _node(edit), was)
        case CgroupRule():
            _take(draft, RULES, _rule(edit), None)
        case Mount():
            _take(draft, MOUNTS, _mount(edit), None)
        case Variable():
            _take(draft, ENVIRONMENT, f"{edit.name}={edit.value}", *was if isinstance(was, list) else [None])
        case Group():
            _take(draft, GROUPS, edit.gid, None)
        case Annotation():
            annotations = draft.mapping(ANNOTATIONS)
            if annotations.get(edit.key) == edit.value:
                annotations[edit.key] = was
                if was is None:
                    del annotations[edit.key]


def _node(edit: Node) -> dict[str, object]:
    """EDIT as an entry of `linux.devices`."""
    number = edit.number
    return {
        "path": edit.path,
        "type": str(number.type),
        "major": number.major,
        "minor": number.minor,
        "fileMode": edit.mode,
        "uid": edit.uid,
        "gid": edit.gid,
    }


def _rule(edit: CgroupRule) -> dict[str, object]:
    """EDIT as an entry of `linux.resources.devices`."""
    return {"allow": True, "type": str(edit.number.type), "major": edit.number.major, "minor": edit.number.minor, "access": edit.access}


def _mount(edit: Mount) -> dict[str, object]:
    """EDIT as an entry of `mounts`."""
    return {"destination": edit.destination, "type": "bind", "source": edit.source, "options": list(edit.options)}


def number_at(entry: Mapping[str, object]) -> str:
    """The number of an entry of `linux.devices` as DeviceNumber has it; `u` is a character device too (mknod(1))."""
    kind = {"u": "c"}.get(str(entry.get("type")), entry.get("type"))
    return f"{kind} {entry.get('major', 0)}:{entry.get('minor', 0)}"


def same_path(path: object, edited: str) -> bool:
    """Whether PATH of a config names the place of an edit; `/dev//x/` is /dev/x, and old configs leave the first slash out."""
    return isinstance(path, str) and [part for part in path.split("/") if part not in ("", ".")] == edited.split("/")[1:]


def _put_node(draft: Draft, edit: Node) -> _Found:
    """Put the node at its path, in place of the same device there: `--privileged` has all, with the host's owner."""
    devices, new = draft.listing(DEVICES), _node(edit)
    for index, entry in enumerate(devices):
        if isinstance(entry, dict) and same_path(entry.get("path"), edit.path):
            if number_at(entry) != str(edit.number):
                raise UsageError(
                    f"the container has another device at {edit.path}, {number_at(entry)}, where {edit.number} is to appear; "
                    "leave that --device out or give it another path"
                )
            devices[index] = new
            return _Found(kept=entry == new, was=entry if entry != new else None)
    devices.append(new)
    return _Found()


def _allowed(rules: list[object], edit: CgroupRule) -> bool:
    """Whether RULES allow all that EDIT would. They count in their order: behind the last deny rule one of them must."""
    for entry in reversed(rules):
        if not isinstance(entry, dict) or entry.get("allow") is not True:
            return False
        if (
            entry.get("type") in (None, "", "a", str(edit.number.type))
            and _holds_for(entry.get("major"), edit.number.major)
            and _holds_for(entry.get("minor"), edit.number.minor)
            and set(edit.access) <= set(str(entry.get("access", "")))
        ):
            return True
    return False


def _holds_for(value: object, wanted: int) -> bool:
    """Whether a rule's major or minor holds for the number WANTED: none and, in runc's and crun's eyes, -1 hold for each."""
    return value in (None, -1, wanted)


def _mounted(mounts: list[object], edit: Mount) -> bool:
    """Whether the container mounts the same thing there already. Raises UsageError where it mounts another."""
    for entry in mounts:
        if isinstance(entry, dict) and same_path(entry.get("destination"), edit.destination):
            if entry.get("source") != edit.source:
                raise UsageError(
                    f"the container has another mount at {edit.destination}, of {entry.get('source')}, where {edit.source} is to appear; "
                    "leave that volume out or give it another path"
                )
            return True
    return False


def _put_variable(environment: list[object], edit: Variable) -> _Found:
    """Set the variable wherever the environment has it, else behind the others."""
    new = f"{edit.name}={edit.value}"
    places = [index for index, entry in enumerate(environment) if isinstance(entry, str) and entry.partition("=")[0] == edit.name]
    before = [environment[index] for index in places]
    for index in places:
        environment[index] = new
    if not places:
        environment.append(new)
        return _Found()
    return _Found(kept=before == [new] * len(before), was=before if before != [new] * len(before) else None)


def _append(items: list[object], new: object, present: bool) -> _Found:
    """NEW behind ITEMS, unless it is PRESENT in some form."""
    if not present:
        items.append(new)
    return _Found(kept=present)


def _take(draft: Draft, path: tuple[str, ...], entry: object, *was: object) -> None:
    """Take the last ENTRY out of the list at PATH, or put back what WAS in its place; in those of the last ones, if that is several."""
    items = draft.listing(path) if draft.has(path) else []
    places = [index for index, each in enumerate(items) if each == entry]
    for index, before in zip(reversed(places), reversed(was), strict=False):
        items[index : index + 1] = [] if before is None else [before]
