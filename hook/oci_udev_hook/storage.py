"""containers/storage, where podman keeps the name of a container, which its OCI config does not have.

`<graphroot>/<driver>-containers/containers.json` and beside it volatile-containers.json (for `--rm`, podman 4.4 and later; with a transient
store both are below the runroot). Both are written by rename, so they are read without storage's lock: to ask podman would deadlock.
"""

from __future__ import annotations

import json

from . import files
from .typed import MAX_INPUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FILES = ("containers.json", "volatile-containers.json")
_BELOW_DRIVER = ("dir", "subvolumes", "graph")  #: vfs, btrfs and zfs keep layers one folder below their own
_HEX = frozenset("0123456789abcdef")


def is_id(text: str) -> bool:
    """Whether TEXT is an id of podman's or CRI-O's."""
    return len(text) == 64 and _HEX.issuperset(text)


def userdata(path: str) -> tuple[str, str]:
    """Folder and id in `<folder>/<id>/userdata[/…]`, as in `…/overlay-containers/0123…/userdata/hosts`; empty if PATH is none of these."""
    parts = path.split("/")
    for index in range(len(parts) - 3, 0, -1):
        if parts[index].endswith("-containers") and is_id(parts[index + 1]) and parts[index + 2] == "userdata":
            return "/".join(parts[: index + 1]), parts[index + 1]
    return "", ""


def layer(root: str) -> tuple[str, str]:
    """Folder and layer of `<graphroot>/<driver>/[dir/]<layer>[/merged]`, a container's root; empty if ROOT is none of these."""
    parts = root.split("/")
    for index in range(len(parts) - 1, 1, -1):
        if is_id(parts[index]):
            driver = index - 2 if parts[index - 1] in _BELOW_DRIVER else index - 1
            return "/".join([*parts[:driver], f"{parts[driver]}-containers"]), parts[index]
    return "", ""


class Storage:
    """The containers that FOLDERS list. A file is read when it is asked for, once."""

    def __init__(self, folders: Iterable[str]) -> None:
        self.folders = tuple(dict.fromkeys([folder for folder in folders if folder]))
        self._texts: dict[str, str] = {}

    def find(self, identity: str, layer: str) -> tuple[str, str]:
        """The folder that lists the container of that id, or of that layer, and its name; empty if none does."""
        for folder, text in self._files():
            entry = _entry(text, identity)
            if entry is not None:
                return folder, _name(entry)
        for folder, text in self._files():
            for entry in _entries(text):
                if layer and entry.get("layer") == layer:
                    return folder, _name(entry)
        return "", ""

    def names(self) -> frozenset[str]:
        """The names of all containers there are."""
        return frozenset([_name(entry) for _, text in self._files() for entry in _entries(text)])

    def _files(self) -> Iterator[tuple[str, str]]:
        """Each folder with the text of each of its files; what cannot be read is left out."""
        for folder in self.folders:
            for file in _FILES:
                path = f"{folder}/{file}"
                if path not in self._texts:
                    self._texts[path] = _text(path)
                if self._texts[path]:
                    yield folder, self._texts[path]


def _text(path: str) -> str:
    """The text of a plain file of sensible size, empty for anything else."""
    try:
        return files.read(path, MAX_INPUT).data.decode("utf-8", "replace")
    except OSError:
        return ""


def _entry(text: str, identity: str) -> dict[str, object] | None:
    """The entry of one container, read alone: there may be hundreds. Storage writes the id first."""
    at = text.find(f'{{"id":"{identity}"') if is_id(identity) else -1
    if at >= 0:
        try:
            entry = json.JSONDecoder().raw_decode(text, at)[0]
        except (ValueError, RecursionError):
            return None
        return entry if isinstance(entry, dict) else None
    return next((entry for entry in _entries(text) if identity and entry.get("id") == identity), None) if identity in text else None


def _entries(text: str) -> list[dict[str, object]]:
    """All entries of a file, none if it is damaged."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _name(entry: dict[str, object]) -> str:
    """A container's name; podman gives one, of characters that fit anywhere (define.NameRegex of libpod)."""
    names = entry.get("names")
    name = names[0] if isinstance(names, list) and names else ""
    return name if isinstance(name, str) and len(name) <= 1024 and name.isprintable() else ""
