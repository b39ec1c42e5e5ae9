"""A live container's device nodes: looking what is there, and making what is not.

Three ways, each proved with runc and crun: made in the container's /dev; in a user namespace, mounted from a tmpfs of the host's; rootless,
where the kernel lets nobody make nodes, the host's node is mounted.
"""

from __future__ import annotations

import errno
import os
import stat
from enum import StrEnum

from ..edit import Mount, Node
from ..errors import ConfigurationError, RefusedError, UnavailableError, UsageError
from ..frozen import frozen
from ..model import number_of
from . import rootfs
from .rights import outside
from .target import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..edit import Edit
    from ..errors import HookError
    from ..model import DeviceNumber
    from .target import Target
    from .undo import UndoLog

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFREG: "a regular file",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}
_AGAIN = "start the container again"


class How(StrEnum):
    """How a node gets to its place."""

    THERE = "there"  #: nothing is to be done
    MAKE = "make"  #: mknod(2) in the container's /dev
    MOUNT = "mount"  #: a node of a private tmpfs is mounted
    BIND = "bind"  #: the host's node is mounted


@frozen
class NodeStep:
    """What is done for one node of a container."""

    path: str  #: in the container
    number: DeviceNumber
    how: How
    mode: int
    uid: int  #: as the hook sees it, and so the gid
    gid: int
    source: str = ""  #: the host's node, for BIND
    read_only: bool = False  #: for BIND


def look(target: Target, edits: tuple[Edit, ...]) -> tuple[NodeStep, ...]:
    """A step for each node and mount in EDITS, in their order. Only reads.

    Raises RefusedError for a file tree that is not to be trusted, UsageError where the container has something else at a node's place,
    UnavailableError for a host's node that has gone.
    """
    wanted = [edit for edit in edits if isinstance(edit, (Node, Mount))]
    if not wanted:
        return ()
    check(target)
    path = "/dev"
    try:
        dev = rootfs.own_dev(target)
        try:
            steps = []
            for edit in wanted:
                path = _place(edit)
                steps.append(_step(target, dev, edit))
            return tuple(steps)
        finally:
            os.close(dev)
    except OSError as error:
        raise _failed(path, error) from None


def _place(edit: Node | Mount) -> str:
    """Where EDIT puts a node in the container."""
    return edit.path if isinstance(edit, Node) else edit.destination


def _step(target: Target, dev: int, edit: Node | Mount) -> NodeStep:
    """What is to be done for EDIT. Raises OSError, HookError."""
    if isinstance(edit, Mount):
        status, number = _host(edit.source)
        mode, uid, gid = stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid
        how = How.THERE if is_there(target, dev, edit.destination, number) else How.BIND
        return NodeStep(edit.destination, number, how, mode, uid, gid, edit.source, "ro" in edit.options)
    mapped, group = outside(target.uid_map, edit.uid), outside(target.gid_map, edit.gid)
    if mapped is None or group is None:
        raise UsageError(
            f"{edit.path} is to belong to user {edit.uid} and group {edit.gid}, which the container's user namespace does not have; "
            "name others in the device's definition (uid, gid)"
        )
    how = How.MOUNT if target.user_namespace or not rootfs.below_dev(edit.path) else How.MAKE
    how = How.THERE if is_there(target, dev, edit.path, edit.number) else how
    return NodeStep(edit.path, edit.number, how, edit.mode, mapped, group)


def _host(path: str) -> tuple[os.stat_result, DeviceNumber]:
    """The host's node at PATH and its number. Raises UnavailableError."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise UnavailableError(f"{path} has gone since it was allotted ({error.strerror}); plug it in again and {_AGAIN}") from None
    number = number_of(status)
    if number is None:
        raise UnavailableError(f"{path} was a device when it was allotted and is {_what(status)} now; {_AGAIN}")
    return status, number


def is_there(target: Target, dev: int, path: str, number: DeviceNumber) -> bool:
    """Whether the device is at its place already. Raises UsageError if something else is, RefusedError, OSError."""
    try:
        folder = rootfs.folder(target, dev, path)
    except FileNotFoundError:
        return False
    try:
        found = rootfs.status(folder, path)
    finally:
        os.close(folder)
    if found is None or number_of(found) == number:
        return found is not None
    raise UsageError(
        f"the container has {_what(found)} at {path}, where {number} is to appear; "
        "take that out of its image or mounts, or give the device another path in its definition"
    )


def _what(status: os.stat_result) -> str:
    """What a file with STATUS is, in words."""
    number = number_of(status)
    return f"the device {number}" if number is not None else _KINDS.get(stat.S_IFMT(status.st_mode), "a file of an unknown kind")


def make(target: Target, steps: tuple[NodeStep, ...], undo: UndoLog) -> None:
    """Do STEPS, which `look` has given; what takes each of them back goes on UNDO. All or some of them may be done when it raises.

    Raises RefusedError for a file tree that is not to be trusted, UsageError for something else at a node's place, UnavailableError for
    what has gone meanwhile, ConfigurationError where the hook may not make or mount nodes.
    """
    wanted = [step for step in steps if step.how is not How.THERE]
    if not wanted:
        return
    from .making import Making

    check(target)
    making = Making(target, undo)
    mask = os.umask(0)
    try:
        making.all(wanted)
    except OSError as error:
        raise _failed(making.path, error) from None
    finally:
        os.umask(mask)
        making.close()


def _failed(path: str, error: OSError) -> HookError:
    """The error for a system call that failed on the way to PATH."""
    why = f"{path} cannot be made in the container ({error.strerror})"
    if error.errno == errno.ENOSYS:
        return ConfigurationError(f"{why}; that needs Linux 5.12")
    if error.errno in (errno.EPERM, errno.EACCES):
        return ConfigurationError(f"{why}; run the engine where the hook may mount and make nodes (CAP_SYS_ADMIN, CAP_MKNOD)")
    if error.errno in (errno.ENOENT, errno.ESRCH):
        return UnavailableError(f"{why}: it has gone meanwhile; {_AGAIN}")
    return RefusedError(f"{why}; its /dev must be one that nodes can be made in")


def wrong_node(target: Target, edits: tuple[Edit, ...]) -> str | None:
    """The sentence on the first node or mount in EDITS whose place in the container is not its device; None if all are.

    Loads no ctypes, since each start of a container comes here. Raises RefusedError for a link or file on the way.
    """
    for edit in edits:
        if isinstance(edit, (Node, Mount)):
            path = _place(edit)
            number = edit.number if isinstance(edit, Node) else _host(edit.source)[1]
            found = _look_up(target, path)
            if found is None or number_of(found) != number:
                return f"the container has {_what(found) if found is not None else 'nothing'} at {path}, not the leased {number}; {_AGAIN}"
    return None


def _look_up(target: Target, path: str) -> os.stat_result | None:
    """What the container has at PATH, None if nothing. Raises RefusedError, UsageError."""
    try:
        folder = rootfs.walk(target.rootfs, rootfs.parts(path)[:-1])
        try:
            return rootfs.status(folder, path)
        finally:
            os.close(folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RefusedError(f"{path} cannot be looked at in the container ({error.strerror}); its /dev must be one that can") from None
