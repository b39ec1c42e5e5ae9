"""Which units a container held last, so that it gets the same again: a preference, worth no error and no sync.

Kept apart from the ledger, since it can live in a folder that outlasts a reboot, which the ledger must not.
"""

from __future__ import annotations

import json
import os

from .. import files, places, typed

_ROOT_FOLDER = f"/var/lib/{places.NAME}"  #: root's outlasts a reboot; a user's is in the runtime folder, since no one tells a hook the home
_FILE = "history.json"
_LIMIT = 256  #: names kept
_FRESH = _LIMIT // 2  #: an entry among the newest so many is not moved up again, which saves a write at most starts
_MAX_SIZE = 4 * 1024 * 1024  #: bytes


def path(state_dir: str) -> str:
    """The file that goes with the ledger in STATE_DIR."""
    return f"{_ROOT_FOLDER if state_dir == places.ROOT_STATE_DIR else state_dir}/{_FILE}"


def read(file: str) -> dict[str, tuple[str, ...]]:
    """The identities that each name held last, oldest name first; nothing where the file is absent or damaged."""
    try:
        fields = typed.parse(files.read(file, _MAX_SIZE).data)
        return {name: fields.strings(name) for name in fields.value}
    except (OSError, typed.TypedError):
        return {}


def remember(file: str, name: str, identities: tuple[str, ...]) -> None:
    """Note in FILE that NAME holds IDENTITIES now, if it can be written. The caller holds the lock."""
    entries = read(file)
    if entries.get(name) == identities and name in list(entries)[-_FRESH:]:
        return
    entries.pop(name, None)
    entries[name] = identities
    kept = dict(list(entries.items())[-_LIMIT:])
    try:
        os.makedirs(os.path.dirname(file), mode=0o755, exist_ok=True)
        files.replace(file, json.dumps(kept).encode(), sync=False)
    except OSError:
        return
