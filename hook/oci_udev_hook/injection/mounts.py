"""Device nodes that are mounted into a container's mount namespace, each on an empty file.

A node in a user namespace's own tmpfs does not open (SB_I_NODEV, linux/fs.h). So nodes are made in a tmpfs of the host's, with the owners
that the container sees as its own, and each is mounted on its place. The mounting is a forked child's: it enters the container's mount
namespace, where it loads no module, opens no path and makes no calls but those for which it went there.
"""

from __future__ import annotations

import errno
import os
import stat

from ..errors import ConfigurationError, RefusedError, UnavailableError
from ..frozen import frozen
from ..model import DeviceType, number_of
from ..places import NAME
from . import linux, rootfs
from .target import namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import DeviceNumber
    from .target import Target

_ATTRIBUTES = linux.MOUNT_ATTR_NOSUID | linux.MOUNT_ATTR_NOEXEC
_UNKNOWN = 255  #: no errno


@frozen
class Attachment:
    """A node that is to be mounted on the open file PLACE: TREE, a detached mount, or the one of that NAME in the private tmpfs."""

    place: int
    tree: int | None = None
    name: str = ""


def private_tmpfs(mount_label: str) -> int:
    """A new tmpfs that only this process can reach, with MOUNT_LABEL as the label of all files in it. Raises OSError.

    In a mount with `context=` a node has its SELinux label from the start, as in the container's own /dev.
    """
    options = {"source": NAME, "mode": "0700"}
    if mount_label:
        options["context"] = mount_label
    return linux.new_tmpfs(options, _ATTRIBUTES)


def make_node(folder: int, name: str, number: DeviceNumber, mode: int, owner: tuple[int, int]) -> None:
    """Make a device node in the open FOLDER; the umask must be 0. Raises OSError, PermissionError where this process may make none."""
    kind = stat.S_IFBLK if number.type == DeviceType.BLOCK else stat.S_IFCHR
    os.mknod(name, kind | mode, os.makedev(number.major, number.minor), dir_fd=folder)
    try:
        os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise


def host_tree(path: str, number: DeviceNumber, *, read_only: bool) -> int:
    """A detached mount of the host's node at PATH, which is NUMBER. Raises UnavailableError if it is not, OSError."""
    node = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        tree = linux.open_tree(node, "")
    finally:
        os.close(node)
    try:
        found = number_of(os.fstat(tree))
        if found != number:
            raise UnavailableError(f"{path} was {number} when it was allotted and is {found or 'no device'} now; start the container again")
        # It would share its peers' propagation: what the container mounts over it would be mounted over the host's node.
        linux.mount_setattr(tree, _ATTRIBUTES | (linux.MOUNT_ATTR_RDONLY if read_only else 0), linux.MS_PRIVATE)
    except BaseException:
        os.close(tree)
        raise
    return tree


def host_node(number: DeviceNumber) -> str | None:
    """The path of the kernel's own node of the device, DEVNAME in its uevent, which udev cannot rename (udev(7)); None without one."""
    kind = "block" if number.type == DeviceType.BLOCK else "char"
    try:
        with open(f"/sys/dev/{kind}/{number.major}:{number.minor}/uevent", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    return next((f"/dev/{line.removeprefix('DEVNAME=')}" for line in lines if line.startswith("DEVNAME=")), None)


def make_place(folder: int, path: str) -> int:
    """The open empty file on which a node is mounted, new at the last name of PATH in FOLDER; owned by the thread's ids for files."""
    return os.open(path.rpartition("/")[2], os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0, dir_fd=folder)


def attach(target: Target, attachments: list[Attachment], tmpfs: int | None) -> None:
    """Mount ATTACHMENTS in the container of TARGET. Raises ConfigurationError, RefusedError; some may be mounted then."""
    inside = namespace(target)

    def work() -> None:
        trees = _trees(attachments, tmpfs)
        linux.setns(inside, linux.CLONE_NEWNS)
        for tree, attachment in zip(trees, attachments, strict=True):
            linux.move_mount(tree, attachment.place)

    try:
        _in_a_child(work, "mounted")
    finally:
        os.close(inside)


def _trees(attachments: list[Attachment], tmpfs: int | None) -> list[int]:
    """A detached mount for each of ATTACHMENTS.

    Linux before 6.15 clones no part of a mount that stands nowhere (open_tree(2): EINVAL). So the tmpfs is first mounted in a namespace of
    this child alone, on a mount that tells no other of it.
    """
    if tmpfs is not None:
        linux.unshare(linux.CLONE_NEWNS)
        somewhere = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        linux.mount_setattr(somewhere, 0, linux.MS_PRIVATE)
        linux.move_mount(tmpfs, somewhere)
    folder = -1 if tmpfs is None else tmpfs
    return [linux.open_tree(folder, each.name) if each.tree is None else each.tree for each in attachments]


def take_away(target: Target, path: str, number: DeviceNumber, *, place: bool) -> None:
    """Take the node NUMBER from PATH, if it is there; PLACE: and the empty file that it was mounted on. Raises OSError, HookError."""

    def work(folder: int, name: str) -> None:
        found = rootfs.status(folder, path)
        made = found is not None and number_of(found) == number
        if found is not None and made and found.st_dev != os.fstat(folder).st_dev:
            _detach(target, folder, name)
            found, made = rootfs.status(folder, path), False
        if found is not None and place and (made or (stat.S_ISREG(found.st_mode) and found.st_size == 0)):
            os.unlink(name, dir_fd=folder)

    rootfs.with_dev(target, path, work)


def _detach(target: Target, folder: int, name: str) -> None:
    """Take away the mount at NAME in FOLDER, which is open in the container's namespace: umount2(2) knows paths only. Raises HookError."""
    inside = namespace(target)

    def work() -> None:
        linux.setns(inside, linux.CLONE_NEWNS)
        os.fchdir(folder)
        linux.umount(name, linux.MNT_DETACH | linux.UMOUNT_NOFOLLOW)

    try:
        _in_a_child(work, "unmounted")
    finally:
        os.close(inside)


def _in_a_child(work: Callable[[], None], done: str) -> None:
    """Run WORK in a forked child, and raise HookError if it fails; its nodes are to be DONE.

    The child tells its errno by a pipe: where the engine has left SIGCHLD ignored, a child's exit status is lost.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        code = _UNKNOWN
        try:
            work()
            code = 0
        except OSError as error:
            code = error.errno or _UNKNOWN
        finally:
            os.write(writer, bytes([code]))
            os._exit(0)
    os.close(writer)
    try:
        answer = os.read(reader, 1)
    finally:
        os.close(reader)
        _reap(child)
    code = answer[0] if answer else _UNKNOWN
    if code:
        raise _failed(code, done)


def _reap(child: int) -> None:
    """Wait for CHILD to end, which no one can where SIGCHLD is ignored."""
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        return


def _failed(code: int, done: str) -> ConfigurationError | RefusedError:
    """The error for an errno of the child."""
    why = f"the nodes cannot be {done} in the container ({os.strerror(code) if code != _UNKNOWN else 'its process broke off'})"
    if code == errno.ENOSYS:
        return ConfigurationError(f"{why}; that needs Linux 5.12, or start the container without a user namespace of its own")
    if code in (errno.EPERM, errno.EACCES):
        return ConfigurationError(
            f"{why}; the hook needs CAP_SYS_ADMIN and CAP_SYS_CHROOT where the engine runs it, which podman unshare gives a user"
        )
    if code in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
        return RefusedError(f"{why}; something in the container changes its /dev meanwhile, so look what that is and start it again")
    return ConfigurationError(f"{why}; see dmesg, and what else mounts things in this container")
