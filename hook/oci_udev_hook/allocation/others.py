"""Other users' ledgers: root's, which a user's hook obeys, and users', which root lists but does not obey.

What a user's folder holds is that user's word: links, FIFOs, huge files and file systems of their own must not hurt who looks.
"""

from __future__ import annotations

import os

from .. import files, places, typed
from ..errors import ConfigurationError
from ..frozen import frozen
from . import records
from .view import FILE, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Lease

_MAX_SIZE = 1024 * 1024  #: bytes of a user's ledger that root reads
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class Listing:
    """What users' ledgers say."""

    leases: tuple[Lease, ...]
    faults: tuple[str, ...]  #: a sentence for each ledger that was passed over


def root(folder: str = places.ROOT_STATE_DIR, boot: str | None = None) -> View:
    """Root's ledger, for a user's hook: read without the lock, which only root may take.

    Raises ConfigurationError where it is damaged or too new: what root's containers hold is then unknown.
    """
    return View(folder, uid=0, boot=boot).load()


def users(run: str = "/run/user", temporary: str = "/tmp", mountinfo: str | None = None) -> Listing:  # noqa: S108 — each file there is checked for its owner
    """The leases in all users' ledgers, for root to list. MOUNTINFO is the text of /proc/self/mountinfo.

    Whatever stands there is only their word, control characters in names included.
    """
    if mountinfo is None:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            mountinfo = file.read()
    leases: list[Lease] = []
    faults: list[str] = []
    for uid, folder in _folders(run, temporary):
        try:
            if _on_fuse(folder, mountinfo):
                raise files.NotRegularError(0, "it is on a FUSE file system, which its user could let hang")
            leases += _ledger_of(uid, folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            faults.append(f"the ledger in {folder} of uid {uid} was passed over: {error.strerror}")
        except typed.TypedError as error:
            faults.append(f"{typed.about(f'the ledger in {folder} of uid {uid}', error)}; it was passed over")
        except ConfigurationError as error:
            faults.append(str(error))
    return Listing(tuple(leases), tuple(faults))


def _folders(run: str, temporary: str) -> Iterator[tuple[int, str]]:
    """Each user's state folder that there could be, see `places.state_dir`."""
    for name in _listed(run):
        if name.isdigit():
            yield int(name), f"{run}/{name}/{places.NAME}"
    prefix = f"{places.NAME}-"
    for name in _listed(temporary):
        if name.startswith(prefix) and name.removeprefix(prefix).isdigit():
            yield int(name.removeprefix(prefix)), f"{temporary}/{name}"


def _listed(folder: str) -> list[str]:
    """What is in FOLDER, sorted; nothing where it cannot be read."""
    try:
        return sorted([name for name in os.listdir(folder) if name.isascii()])
    except OSError:
        return []


def _ledger_of(uid: int, folder: str) -> tuple[Lease, ...]:
    """The leases in the ledger of UID in FOLDER. Raises OSError, TypedError, ConfigurationError."""
    opened = os.open(folder, _FOLDER_FLAGS)
    try:
        content = files.read(FILE, _MAX_SIZE, opened)
    finally:
        os.close(opened)
    if content.owner != uid:
        raise files.NotRegularError(0, f"the file belongs to uid {content.owner}")
    # Each row is read whatever the file's sum says: who writes a hostile ledger writes its sum as well.
    rows = records.holders_in(content.data, f"{folder}/{FILE}").value
    return tuple([lease for container in rows for lease in records.read_row(container, rows[container], uid)])


def _on_fuse(folder: str, mountinfo: str) -> bool:
    """Whether FOLDER or one above or below it is a FUSE mount, see proc_pid_mountinfo(5)."""
    for line in mountinfo.split("\n")[:-1]:
        words = line.split(" ")
        point = words[4]
        inside = folder == point or folder.startswith(f"{point}/") or point.startswith(f"{folder}/")
        if inside and words[words.index("-") + 1].startswith("fuse"):
            return True
    return False
