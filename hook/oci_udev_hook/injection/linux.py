"""System calls that the standard library does not have, each as its man page names it; OSError where one fails.

By ctypes, loaded only where a live container is changed. Numbers: the calls since Linux 5.1 have one number on every architecture (but
alpha and mips, asm-generic/unistd.h); bpf(2) is older and has one of its own on each, another for 32-bit programs of a 64-bit kernel.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_libc = ctypes.CDLL(None, use_errno=True)
_ORDER = sys.byteorder

_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 430, 431, 432, 437, 442
_BPF = {  #: by `uname -m`: for 64-bit programs, for 32-bit programs
    "x86_64": (321, 357),
    "i686": (None, 357),
    "aarch64": (280, 386),
    "armv7l": (None, 386),
    "armv8l": (None, 386),
    "riscv64": (280, None),
    "loongarch64": (280, None),
    "ppc64le": (361, None),
    "ppc64": (361, 361),
    "s390x": (351, 351),
}

# linux/openat2.h
RESOLVE_NO_XDEV = 0x01
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_IN_ROOT = 0x10

# linux/mount.h
MOUNT_ATTR_RDONLY = 0x01
MOUNT_ATTR_NOSUID = 0x02
MOUNT_ATTR_NOEXEC = 0x08
MS_PRIVATE = 1 << 18
MNT_DETACH = 2
UMOUNT_NOFOLLOW = 8
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH, _MOVE_MOUNT_T_EMPTY_PATH = 0x04, 0x40
_FSCONFIG_SET_STRING, _FSCONFIG_CMD_CREATE = 1, 6
_AT_EMPTY_PATH, _AT_SYMLINK_NOFOLLOW = 0x1000, 0x100
CLONE_NEWNS = 0x00020000

# linux/magic.h
PROC_SUPER_MAGIC = 0x9FA0
TMPFS_MAGIC = 0x01021994
CGROUP_SUPER_MAGIC = 0x27E0EB
CGROUP2_SUPER_MAGIC = 0x63677270
_F_TYPE = {"s390x": 4}  #: bytes of `struct statfs`'s first field where it is no long (asm/statfs.h)

#: Kernels 6.17 to 7.1 write behind a short bpf_attr, so a zeroed buffer of more than any size known goes in.
_BPF_ATTR_SIZE = 256
_TRIES = 30  #: of a call that was interrupted


def _call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """The system call NUMBER. Raises OSError."""
    words = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result: int = _libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise _error()
    return result


def _error() -> OSError:
    """The OSError of the call that has just failed."""
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


def openat2(folder: int, path: str, flags: int, resolve: int) -> int:
    """Open PATH below the open FOLDER as RESOLVE says, close-on-exec. Raises OSError, ENOSYS before Linux 5.6."""
    how = b"".join([value.to_bytes(8, _ORDER) for value in (flags | os.O_CLOEXEC, 0, resolve)])
    for _ in range(_TRIES):
        try:
            return _call(_OPENAT2, folder, os.fsencode(path), how, len(how))
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EINTR):  # EAGAIN: a rename or mount elsewhere raced with `..`
                raise
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def open_tree(folder: int, path: str) -> int:
    """A detached mount of PATH below the open FOLDER alone, whose last component is not followed."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_SYMLINK_NOFOLLOW | (0 if path else _AT_EMPTY_PATH)
    return _call(_OPEN_TREE, folder, os.fsencode(path), flags)


def mount_setattr(tree: int, attributes: int, propagation: int) -> None:
    """Set ATTRIBUTES and PROPAGATION of the mount TREE, whose root it is open on. Raises OSError, ENOSYS before Linux 5.12."""
    values = b"".join([value.to_bytes(8, _ORDER) for value in (attributes, 0, propagation, 0)])
    _call(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, values, len(values))


def move_mount(tree: int, target: int) -> None:
    """Attach the detached TREE on the file that TARGET is open on."""
    _call(_MOVE_MOUNT, tree, b"", target, b"", _MOVE_MOUNT_F_EMPTY_PATH | _MOVE_MOUNT_T_EMPTY_PATH)


def new_tmpfs(options: Mapping[str, str], attributes: int) -> int:
    """A detached tmpfs with OPTIONS of tmpfs(5) and mount ATTRIBUTES: fsopen(2), fsconfig(2), fsmount(2), since Linux 5.2."""
    context = _call(_FSOPEN, b"tmpfs", 1)  # FSOPEN_CLOEXEC
    try:
        for name, value in options.items():
            _call(_FSCONFIG, context, _FSCONFIG_SET_STRING, os.fsencode(name), os.fsencode(value), 0)
        _call(_FSCONFIG, context, _FSCONFIG_CMD_CREATE, None, None, 0)
        return _call(_FSMOUNT, context, 1, attributes)  # FSMOUNT_CLOEXEC
    finally:
        os.close(context)


def umount(path: str, flags: int) -> None:
    """Take away the mount at PATH, umount2(2)."""
    if _libc.umount2(os.fsencode(path), flags) < 0:
        raise _error()


def unshare(kind: int) -> None:
    """Leave the namespace of KIND for a copy of it, as os.unshare() of Python 3.12."""
    if _libc.unshare(kind) < 0:
        raise _error()


def setns(namespace: int, kind: int) -> None:
    """Join NAMESPACE, as os.setns() of Python 3.12. The process must have one thread only."""
    if _libc.setns(namespace, kind) < 0:
        raise _error()


def set_fs_ids(uid: int, gid: int) -> None:
    """setfsgid(2) and setfsuid(2): whose the files are that this thread makes. With another uid than 0 its file capabilities rest.

    Raises PermissionError where the ids were not taken: both calls say nothing of that.
    """
    _libc.setfsgid(ctypes.c_uint(gid))
    _libc.setfsuid(ctypes.c_uint(uid))
    unchanged = ctypes.c_uint(0xFFFFFFFF)  # an id that none can be set to: the call only tells the present one
    if (_libc.setfsuid(unchanged), _libc.setfsgid(unchanged)) != (uid, gid):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def file_system(descriptor: int) -> int:
    """The magic number (linux/magic.h) of the file system that DESCRIPTOR is open on, fstatfs(2)."""
    buffer = ctypes.create_string_buffer(256)  # struct statfs is 120 bytes at most
    if _libc.fstatfs(descriptor, buffer) < 0:
        raise _error()
    return _f_type(buffer.raw, os.uname().machine)


def _f_type(status: bytes, machine: str) -> int:
    """The first field of STATUS, `struct statfs` on MACHINE (`uname -m`); no magic number has more than 32 bits."""
    return int.from_bytes(status[: _F_TYPE.get(machine, ctypes.sizeof(ctypes.c_long))], _ORDER) & 0xFFFFFFFF


def memory(content: bytes, size: int = 0) -> ctypes.Array[ctypes.c_char]:
    """CONTENT and zeros up to SIZE bytes in memory of its own, `.raw`, whose address stays: what attributes of `bpf` point to."""
    return ctypes.create_string_buffer(content, max(size, len(content), 1))


def address(buffer: ctypes.Array[ctypes.c_char]) -> int:
    """Where BUFFER stands."""
    return ctypes.addressof(buffer)


def bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    """Call COMMAND with the first fields of union bpf_attr; the result, and the attributes as the kernel left them.

    Buffers that ATTRIBUTES point to must be kept by the caller meanwhile. Raises OSError, ENOSYS on an architecture without a number here.
    """
    number = _bpf_number(os.uname().machine, wide=sys.maxsize > 2**32)
    buffer = ctypes.create_string_buffer(attributes, _BPF_ATTR_SIZE)
    for _ in range(_TRIES):
        try:
            return _call(number, command, buffer, _BPF_ATTR_SIZE), buffer.raw
        except OSError as error:
            if error.errno != errno.EAGAIN:  # a signal interrupted the verifier
                raise
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _bpf_number(machine: str, *, wide: bool) -> int:
    """The number of bpf(2) on MACHINE (`uname -m`) for a program of 64 bits if it is WIDE, else of 32. Raises OSError."""
    numbers = _BPF.get(machine, (None, None))
    number = numbers[0] if wide else numbers[1]
    if number is None:
        raise OSError(errno.ENOSYS, f"the number of bpf(2) on {machine} is not known")
    return number
