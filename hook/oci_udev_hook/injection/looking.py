"""What a container has at its devices' places: seeing that what its runtime has made there is what was leased."""

from __future__ import annotations

import errno
import os
import stat

from ..edit import Mount, Node
from ..errors import RefusedError, UnavailableError
from ..model import number_of
from . import rootfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..edit import Edit
    from ..model import DeviceNumber
    from .target import Target

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFREG: "a regular file",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}
_AGAIN = "start the container again"
_LINKS = 40  #: on one way, as many as the kernel follows, path_resolution(7)


def wrong_node(target: Target, edits: tuple[Edit, ...]) -> str | None:
    """The sentence on the first node or mount in EDITS whose place in the container is not its device; None if all are.

    Loads no ctypes, since each start of a container comes here. Raises RefusedError for a place that cannot be looked at.
    """
    for edit in edits:
        if isinstance(edit, (Node, Mount)):
            path = place(edit)
            number = edit.number if isinstance(edit, Node) else host_device(edit.source)[1]
            found = _look_up(target, path)
            if found is None or number_of(found) != number:
                return f"the container has {what(found) if found is not None else 'nothing'} at {path}, not the leased {number}; {_AGAIN}"
    return None


def place(edit: Node | Mount) -> str:
    """Where EDIT puts a node in the container."""
    return edit.path if isinstance(edit, Node) else edit.destination


def host_device(path: str) -> tuple[os.stat_result, DeviceNumber]:
    """The status of the host's node at PATH and its number. Raises UnavailableError."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise UnavailableError(f"{path} has gone since it was allotted ({error.strerror}); plug it in again and {_AGAIN}") from None
    number = number_of(status)
    if number is None:
        raise UnavailableError(f"{path} was a device when it was allotted and is {what(status)} now; {_AGAIN}")
    return status, number


def what(status: os.stat_result) -> str:
    """What a file with STATUS is, in words."""
    number = number_of(status)
    return f"the device {number}" if number is not None else _KINDS.get(stat.S_IFMT(status.st_mode), "a file of an unknown kind")


def _look_up(target: Target, path: str) -> os.stat_result | None:
    """What the container has at PATH, None if nothing. Raises RefusedError, UsageError."""
    try:
        return _resolve(target.rootfs, rootfs.parts(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RefusedError(
            f"{path} cannot be looked at in the container ({error.strerror}); look what its image and its mounts have on the way there"
        ) from None


def _resolve(root: int, names: list[str]) -> os.stat_result:
    """What stands at NAMES below ROOT. Links on the way are followed as runtimes do it: none leads out of ROOT. The last name is not.

    What RESOLVE_IN_ROOT of openat2(2) does, but name by name, without ctypes and on any kernel: `..` goes back to a folder that was on the
    way, so whatever is renamed meanwhile, ROOT is not left; magic links are only texts here. Raises OSError.
    """
    left, way, links = names[::-1], [os.dup(root)], 0
    try:
        while left:
            name = left.pop()
            if name == "..":
                _up(way, 1)
                continue
            way.append(os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=way[-1]))
            if left and stat.S_ISLNK(os.fstat(way[-1]).st_mode):
                links += 1
                if links > _LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                aim = os.readlink("", dir_fd=way[-1])
                _up(way, len(way) if aim.startswith("/") else 1)
                left += [name for name in reversed(aim.split("/")) if name not in ("", ".")]
        return os.fstat(way[-1])
    finally:
        for descriptor in way:
            os.close(descriptor)


def _up(way: list[int], steps: int) -> None:
    """Go back STEPS folders on the open WAY, at most to its beginning."""
    for _ in range(min(steps, len(way) - 1)):
        os.close(way.pop())
