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
from ..frozen import frozen, replace
from ..model import number_of
from . import rootfs
from .looking import host_device, place, what
from .rights import outside
from .target import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..edit import Edit
    from ..errors import HookError
    from ..model import DeviceNumber
    from .target import Target
    from .undo import UndoLog

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
                path = place(edit)
                steps.append(_step(target, dev, edit))
            return tuple(steps)
        finally:
            os.close(dev)
    except OSError as error:
        raise _failed(path, error) from None


def _step(target: Target, dev: int, edit: Node | Mount) -> NodeStep:
    """What is to be done for EDIT. Raises OSError, HookError."""
    if isinstance(edit, Mount):
        status, number = host_device(edit.source)
        mode, uid, gid = stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid
        step = NodeStep(edit.destination, number, How.BIND, mode, uid, gid, edit.source, "ro" in edit.options)
        return _or_there(target, dev, step)
    mapped, group = outside(target.uid_map, edit.uid), outside(target.gid_map, edit.gid)
    if mapped is None or group is None:
        raise UsageError(
            f"{edit.path} is to belong to user {edit.uid} and group {edit.gid}, which the container's user namespace does not have; "
            "name others in the device's definition (uid, gid)"
        )
    how = How.MOUNT if target.user_namespace or not rootfs.below_dev(edit.path) else How.MAKE
    return _or_there(target, dev, NodeStep(edit.path, edit.number, how, edit.mode, mapped, group))


def _or_there(target: Target, dev: int, step: NodeStep) -> NodeStep:
    """STEP, or one that does nothing where the device is there already. Raises OSError, HookError."""
    return replace(step, how=How.THERE) if is_there(target, dev, step.path, step.number, on_file=step.how is not How.MAKE) else step


def is_there(target: Target, dev: int, path: str, number: DeviceNumber, *, on_file: bool = False) -> bool:
    """Whether the device is at its place already. ON_FILE: an empty file is as good as nothing, since the node is to be mounted on one.

    Raises UsageError if something else is there, RefusedError, OSError.
    """
    try:
        folder = rootfs.folder(target, dev, path)
    except FileNotFoundError:
        return False
    try:
        found = rootfs.status(folder, path)
        if found is None or number_of(found) == number:
            return found is not None
        empty = rootfs.empty_file(folder, path) if on_file else None
    finally:
        os.close(folder)
    if empty is not None:
        os.close(empty)
        return False
    raise UsageError(
        f"the container has {what(found)} at {path}, where {number} is to appear; "
        "take that out of its image or mounts, or give the device another path in its definition"
    )


def make(target: Target, steps: tuple[NodeStep, ...], undo: UndoLog) -> tuple[str, ...]:
    """Do STEPS, which `look` has given; sentences on what came out otherwise than they say. UNDO gets what takes each of them back.

    All or some of them may be done when it raises.
    Raises RefusedError for a file tree that is not to be trusted, UsageError for something else at a node's place, UnavailableError for
    what has gone meanwhile, ConfigurationError where the hook may not make or mount nodes.
    """
    wanted = [step for step in steps if step.how is not How.THERE]
    if not wanted:
        return ()
    from .making import Making

    check(target)
    making = Making(target, undo)
    mask = os.umask(0)
    try:
        making.all(wanted)
        return tuple(making.notes)
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
    if error.errno == errno.EROFS:
        return RefusedError(f"{why}; let the container have a file system there that can be written, or give the device another path")
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EXDEV, errno.EEXIST):
        return RefusedError(f"{why}; look what its image and its mounts have on the way there")
    return ConfigurationError(f"{why}; mend that on the host, where the engine runs the hook, and {_AGAIN}")
