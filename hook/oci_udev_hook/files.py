"""Files that others could have prepared or that a kill could cut off: read with care, written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import time

from .frozen import frozen

_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  #: a FIFO does not block, a terminal does not become the hook's own
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class Content:
    """What a file held, and whose it is."""

    data: bytes
    status: os.stat_result  #: before the first byte was read

    @property
    def owner(self) -> int:
        """The user whose file it is."""
        return self.status.st_uid

    @property
    def mode(self) -> int:
        """Its permission bits."""
        return stat.S_IMODE(self.status.st_mode)


class NotRegularError(OSError):
    """The file is no regular one, or larger than it may be."""


def read(path: str, limit: int, folder: int | None = None, *, follow: bool = False) -> Content:
    """The content of the regular file PATH (below the open FOLDER), LIMIT bytes at most. A link is refused unless the caller says FOLLOW.

    Raises OSError, NotRegularError for what is too large or no regular file.
    """
    descriptor = os.open(path, _READ_FLAGS if follow else _READ_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotRegularError(0, "it is no regular file")
        parts, size = [], 0
        while part := os.read(descriptor, min(limit + 1 - size, 1 << 20)):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise NotRegularError(0, f"it has more than {limit} bytes")
        return Content(b"".join(parts), status)
    finally:
        os.close(descriptor)


def replace(path: str, data: bytes, *, sync: bool, locked: bool = True, mode: int = 0o644, alike: bool = False) -> None:
    """Put DATA in the place of the file PATH: a reader sees the old content or the new, never a part. Raises OSError.

    Where the caller has LOCKED the folder, one temporary name is enough, and what a kill left there is simply written over. The file
    gets MODE whatever the umask, or if it is to be ALIKE, owner, mode and extended attributes of the old one, which must be no link.
    The folder is not synced: a crash that loses the rename has ended all leases with the boot.
    """
    temporary = f"{path}.new" if locked else f"{path}.{os.getpid()}-{time.monotonic_ns()}.new"
    descriptor = os.open(temporary, _WRITE_FLAGS, mode)
    try:
        try:
            if alike:
                _make_alike(descriptor, path)
            else:
                os.fchmod(descriptor, mode)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
    except OSError:
        discard(temporary)
        raise


def _make_alike(descriptor: int, path: str) -> None:
    """Give the open file what the file PATH has beside its content. Raises OSError, but not for an extended attribute."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "it is a symbolic link")
    os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    try:
        for name in os.listxattr(path, follow_symlinks=False):
            os.setxattr(descriptor, name, os.getxattr(path, name, follow_symlinks=False))
    except OSError:
        return


def discard(path: str) -> None:
    """Remove the file PATH if that can be done; it only took room."""
    try:
        os.unlink(path)
    except OSError:
        return
