"""The way to a place below a container's root folder.

The image is not trusted: a link on the way can lead anywhere on the host, and can come while the hook looks elsewhere. So each place is a
descriptor of the folder that it is in and one name, no link is followed, and devices go only where the container has a file system of its
own. openat2(2) does this in one call; the walk does it name by name where the kernel has no openat2 or a seccomp filter denies it, and
tells which name it was where openat2 says no.
"""

from __future__ import annotations

import errno
import os
import stat

from ..errors import RefusedError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .target import Target
    from .undo import UndoLog

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_DEV = "dev"
_MEND = "give the container a tmpfs of its own on /dev, as the engines do, or take the device out of its requests"
#: What openat2 says of a link, of a mount, of a file on the way, and where it is not to be had.
_TELLS_LITTLE = (errno.ELOOP, errno.EXDEV, errno.ENOTDIR, errno.ENOSYS, errno.EPERM)


def parts(path: str) -> list[str]:
    """The names that make up the absolute PATH. Raises UsageError where one of them would lead elsewhere."""
    found = path.split("/")[1:] if path != "/" else []
    if not path.startswith("/") or "\0" in path or not {"", ".", ".."}.isdisjoint(found):
        raise UsageError(f'"{path}" is no absolute path without "//", "." and ".."; a device\'s place in a container must be one')
    return found


def walk(base: int, names: list[str], shown: str = "", *, one_mount: bool = False) -> int:
    """A descriptor of the folder NAMES below BASE, which is called SHOWN, name by name; ONE_MOUNT: no mount stands on the way.

    Raises RefusedError for a link, a file or a mount on the way, and OSError.
    """
    current = os.dup(base)
    try:
        mount = _mount(current) if one_mount else 0
        for count, name in enumerate(names, 1):
            where = "/".join([shown, *names[:count]])
            try:
                below = os.open(name, _FOLDER, dir_fd=current)
            except NotADirectoryError:
                raise RefusedError(_no_folder(current, name, where)) from None
            os.close(current)
            current = below
            if one_mount and _mount(current) != mount:
                raise RefusedError(
                    f"{where} in the container is a mount of something else, and devices are not made there; mount it elsewhere"
                )
    except BaseException:
        os.close(current)
        raise
    return current


def _mount(descriptor: int) -> int:
    """The id of the mount that DESCRIPTOR is open in, proc_pid_fdinfo(5)."""
    with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
        return int(file.read().partition(b"mnt_id:")[2].split(None, 1)[0])


def _no_folder(folder: int, name: str, where: str) -> str:
    """The sentence on NAME in FOLDER, which is in the way at WHERE."""
    if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return f"{where} in the container is a symbolic link, which could lead out of it; its image must have a folder there, or nothing"
    return f"{where} in the container is a file where a folder is needed; its image must have a folder there, or nothing"


def _folder(base: int, names: list[str], shown: str = "", *, one_mount: bool = False) -> int:
    """The same as `walk`, by openat2(2) where that can be."""
    from . import linux

    if not names:
        return os.dup(base)
    resolve = linux.RESOLVE_IN_ROOT | linux.RESOLVE_NO_MAGICLINKS | linux.RESOLVE_NO_SYMLINKS
    try:
        return linux.openat2(base, "/".join(names), _FOLDER, resolve | (linux.RESOLVE_NO_XDEV if one_mount else 0))
    except OSError as error:
        if error.errno not in _TELLS_LITTLE:
            raise
    return walk(base, names, shown, one_mount=one_mount)


def own_dev(target: Target) -> int:
    """A descriptor of the container's /dev, which is a tmpfs that the host does not have. Raises RefusedError, OSError.

    A devtmpfs, of which the kernel has one for all, has the magic number of a tmpfs: the type is looked up among the container's mounts,
    and the number of the file system itself among the hook's own.
    """
    from . import linux

    try:
        dev = _folder(target.rootfs, [_DEV])
    except FileNotFoundError:
        raise RefusedError(f"the container has no /dev to make devices in; {_MEND}") from None
    try:
        if linux.file_system(dev) != linux.TMPFS_MAGIC:
            raise RefusedError(f"/dev in the container is no tmpfs, so a node in it would be a file of the image or of the host; {_MEND}")
        number = os.fstat(dev).st_dev
        with open(os.open("mountinfo", os.O_RDONLY | os.O_CLOEXEC, dir_fd=target.proc), "rb") as file:
            its = _file_systems(file.read())
        with open("/proc/self/mountinfo", "rb") as file:
            if its.get(number) != b"tmpfs" or number in _file_systems(file.read()):
                raise RefusedError(f"/dev in the container is the host's file system, so a node in it would be made on the host; {_MEND}")
    except BaseException:
        os.close(dev)
        raise
    return dev


def _file_systems(mountinfo: bytes) -> dict[int, bytes]:
    """The type of each file system of a mount namespace, by st_dev, which is the third field of proc_pid_mountinfo(5)."""
    found = {}
    for line in mountinfo.splitlines():
        major, minor = line.split(None, 3)[2].split(b":")
        found[os.makedev(int(major), int(minor))] = line.partition(b" - ")[2].split(None, 1)[0]
    return found


def below_dev(path: str) -> bool:
    """Whether PATH is in the container's /dev."""
    return path.startswith(f"/{_DEV}/")


def folder(target: Target, dev: int, path: str) -> int:
    """A descriptor of the folder that PATH is in: below DEV, `own_dev`, or below the root folder, with no mount on the way.

    Raises FileNotFoundError where it is not there, RefusedError, OSError.
    """
    base, names, shown = _base(target, dev, path)
    return _folder(base, names[:-1], shown, one_mount=True)


def _base(target: Target, dev: int, path: str) -> tuple[int, list[str], str]:
    """Where the way to PATH begins: a descriptor, the names that follow, and what stands before them."""
    names = parts(path)
    return (dev, names[1:], f"/{_DEV}") if below_dev(path) else (target.rootfs, names, "")


def make_folder(target: Target, dev: int, path: str, undo: UndoLog) -> int:
    """The same as `folder`; folders that are not there are made, owned by the thread's ids for files. Raises RefusedError, OSError."""
    try:
        return folder(target, dev, path)
    except FileNotFoundError:
        place = path.rpartition("/")[0]
        parent = make_folder(target, dev, place, undo)
    try:
        os.mkdir(place.rpartition("/")[2], 0o755, dir_fd=parent)
        undo.add(f"the folder {place} in the container", lambda: _remove_folder(target, place))
    except FileExistsError:  # someone else makes the same one
        pass
    finally:
        os.close(parent)
    return folder(target, dev, path)


def _remove_folder(target: Target, path: str) -> None:
    """Take the empty folder PATH away again. Raises OSError, RefusedError."""
    with_dev(target, path, lambda parent, name: os.rmdir(name, dir_fd=parent))


def with_dev(target: Target, path: str, work: Callable[[int, str], None]) -> None:
    """Let WORK have the folder that PATH is in and the name of PATH there. Raises OSError, RefusedError."""
    dev = own_dev(target)
    try:
        parent = folder(target, dev, path)
        try:
            work(parent, path.rpartition("/")[2])
        finally:
            os.close(parent)
    finally:
        os.close(dev)


def status(folder: int, path: str) -> os.stat_result | None:
    """What stands in the open FOLDER at the last name of PATH, which is not followed if it is a link; None if nothing. Raises OSError."""
    try:
        descriptor = os.open(path.rpartition("/")[2], _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def empty_file(folder: int, path: str) -> int | None:
    """A descriptor of the empty regular file in the open FOLDER at the last name of PATH, None if no such file is there. Raises OSError.

    One that is mounted there is none: what is mounted on it would be seen wherever that mount is shared. What the descriptor is of is
    looked at, so nothing can come in between.
    """
    descriptor = os.open(path.rpartition("/")[2], _FILE, dir_fd=folder)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and not status.st_size and _mount(descriptor) == _mount(folder):
        return descriptor
    os.close(descriptor)
    return None
