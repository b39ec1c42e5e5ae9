"""The last decision for each container, kept for `why`: what an engine's user cannot see, since engines throw a hook's stderr away.

A file a container in the state folder's `decisions/`, at most 256 of them; when one too many is there, the oldest goes, refusals last.
"""

from __future__ import annotations

import json
import os
from binascii import crc32

from . import files, places, typed
from .errors import ConfigurationError
from .frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LIMIT = 256
_LONGEST_NAME = 128  #: letters of a file's name
_CODES = range(256)  #: exit(3)
_MAX_SIZE = 1024 * 1024  #: bytes of one decision; a refusal with many holders has a few thousand


@frozen
class Decision:
    """What the hook decided at one start of a container."""

    stage: str
    container: str  #: its id, or what else it is known by
    name: str
    time: float  #: seconds since the epoch
    code: int
    outcome: str
    reason: str = ""
    requests: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def keep(state_dir: str, decision: Decision) -> None:
    """Write DECISION down; one that cannot be written stops nothing."""
    folder = f"{state_dir}/decisions"
    name = _file_name(decision)
    other = _file_name(decision, refused=not decision.code)
    record = {field: getattr(decision, field) for field in Decision.__annotations__}
    try:
        places.make_state_dir(state_dir)
        os.makedirs(folder, mode=0o755, exist_ok=True)
        files.replace(f"{folder}/{name}", json.dumps(record).encode(), sync=False, locked=False)
        if os.path.exists(f"{folder}/{other}"):
            os.unlink(f"{folder}/{other}")
        _prune(folder)
    except (OSError, ConfigurationError):
        return


def _file_name(decision: Decision, *, refused: bool | None = None) -> str:
    """The file of DECISION: refusals are told apart by name, so that pruning opens none."""
    known_as = decision.container or decision.name or "unknown"
    safe = "".join([letter if (letter.isascii() and letter.isalnum()) or letter in "-_" else f"+{ord(letter):x}+" for letter in known_as])
    safe = safe if len(safe) <= _LONGEST_NAME else f"{safe[:_LONGEST_NAME]}+{crc32(known_as.encode('utf-8', 'surrogatepass')):x}"
    return f"{safe}.{'refused' if (bool(decision.code) if refused is None else refused) else 'granted'}"


def _prune(folder: str) -> None:
    """Remove what is over the limit."""
    names = [name for name in os.listdir(folder) if name.endswith((".refused", ".granted"))]
    if len(names) <= LIMIT:
        return
    by_age = sorted(names, key=lambda name: (name.endswith(".refused"), os.lstat(f"{folder}/{name}").st_mtime_ns))
    for name in by_age[: len(names) - LIMIT]:
        os.unlink(f"{folder}/{name}")


def _read(state_dir: str) -> Iterator[Decision]:
    """All decisions that are kept, in no order; a damaged one is passed over."""
    folder = f"{state_dir}/decisions"
    try:
        names = [name for name in os.listdir(folder) if name.endswith((".refused", ".granted"))]
    except OSError:
        return
    for name in names:
        try:
            yield _decision_of(typed.parse(files.read(f"{folder}/{name}", _MAX_SIZE).data))
        except (OSError, typed.TypedError):
            continue


def _decision_of(fields: typed.Fields) -> Decision:
    """A decision from its JSON form. Raises TypedError."""
    time = fields.seconds("time")
    if time is None:
        raise fields.wrong("time", "a number of seconds")
    return Decision(
        stage=fields.text("stage"),
        container=fields.text("container"),
        name=fields.text("name"),
        time=time,
        code=fields.number("code", within=_CODES),
        outcome=fields.text("outcome"),
        reason=fields.text("reason", ""),
        requests=fields.strings("requests"),
        units=fields.strings("units"),
        notes=fields.strings("notes"),
    )


def find(state_dir: str, asked: str) -> tuple[Decision, ...]:
    """The decisions for the container ASKED by name, id or the id's beginning (four characters at least), newest first."""
    found = [decision for decision in _read(state_dir) if is_called(asked, decision.container, decision.name)]
    return _newest_first(found)


def latest(state_dir: str) -> tuple[Decision, ...]:
    """All decisions that are kept, newest first."""
    return _newest_first(_read(state_dir))


def _newest_first(found: Iterable[Decision]) -> tuple[Decision, ...]:
    """FOUND in the order in which people look for them."""
    return tuple(sorted(found, key=lambda decision: -decision.time))


def is_called(asked: str, container: str, name: str) -> bool:
    """Whether a person who says ASKED can mean the CONTAINER of that id and NAME."""
    return asked in (name, container) or (len(asked) >= 4 and container.startswith(asked))
