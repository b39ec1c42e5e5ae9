"""Device programs in the kernel, by bpf(2): one function for each of its commands, on cgroups of version 2 and their programs.

Descriptors are close-on-exec, as the kernel makes them. Everything here raises OSError, as the kernel says it. Source: linux/bpf.h.
"""

from __future__ import annotations

import errno
import os
import struct

from ..frozen import frozen
from . import linux

_PROG_GET_NEXT_ID = 11
_PROG_LOAD, _OBJ_PIN, _OBJ_GET, _PROG_ATTACH, _PROG_DETACH, _PROG_GET_FD_BY_ID, _OBJ_GET_INFO_BY_FD, _PROG_QUERY = 5, 6, 7, 8, 9, 13, 15, 16
CGROUP_DEVICE = 15  #: enum bpf_prog_type
_ATTACH_TYPE = 6  #: enum bpf_attach_type: BPF_CGROUP_DEVICE
MULTI, REPLACE = 2, 4  #: BPF_F_ALLOW_MULTI, BPF_F_REPLACE
_LICENSE = b"Apache-2.0"
_MOST = 64  #: programs on a cgroup, BPF_CGROUP_MAX_PROGS
_INFO_SIZE = 256
_LOG_SIZE = 1 << 16


@frozen
class Program:
    """A program as the kernel shows it."""

    id: int
    type: int  #: enum bpf_prog_type
    name: str
    maps: int  #: how many it uses
    code: bytes  #: its instructions; not always those that were loaded, see `bpf.unusable`


def attached(cgroup: int) -> tuple[tuple[int, ...], int]:
    """The ids of the device programs that are attached to the open CGROUP itself, and the flags that they were attached with."""
    ids = linux.memory(b"", 4 * _MOST)
    attributes = struct.pack("=IIIIQI", cgroup, _ATTACH_TYPE, 0, 0, linux.address(ids), _MOST)
    _, answer = linux.bpf(_PROG_QUERY, attributes)
    _, _, _, flags, _, count = struct.unpack_from("=IIIIQI", answer)
    return struct.unpack_from(f"={count}I", ids.raw), flags


def is_bpf() -> bool:
    """Whether it is bpf(2) that answers: no program has the last of all ids, and only bpf(2) says ENOENT to that."""
    try:
        linux.bpf(_PROG_GET_NEXT_ID, struct.pack("=I", 2**31 - 2))
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def open_program(number: int) -> int:
    """The program with the id NUMBER."""
    return linux.bpf(_PROG_GET_FD_BY_ID, struct.pack("=I", number))[0]


def show(program: int) -> Program:
    """What the kernel shows of the open PROGRAM, `struct bpf_prog_info`."""
    code = linux.memory(b"", _length(_info(program, b"")))
    info = _info(program, struct.pack("=20xI8xQ", len(code), linux.address(code)))
    kind, number = struct.unpack_from("=II", info)
    (maps,) = struct.unpack_from("=I", info, 52)
    name = info[64:80].split(b"\0")[0].decode("ascii", "replace")
    return Program(number, kind, name, maps, code.raw[: _length(info)])


def load(code: bytes, name: str) -> int:
    """Load CODE as a device program called NAME (15 letters at most). The text of an error for EINVAL and EACCES is the verifier's own.

    Before Linux 5.11 a program counts against RLIMIT_MEMLOCK, with EPERM as the answer: the limit is raised then, for this process.
    """
    try:
        return _load(code, name)
    except OSError as error:
        if error.errno == errno.EPERM and _raise_memlock():
            return _load(code, name)
        if error.errno not in (errno.EINVAL, errno.EACCES):
            raise
        log = linux.memory(b"", _LOG_SIZE)
        try:
            return _load(code, name, 1, _LOG_SIZE, linux.address(log))
        except OSError as again:
            raise OSError(error.errno, _last_words(log.raw) or again.strerror) from None


def attach(cgroup: int, program: int, flags: int, replaced: int = 0) -> None:
    """Attach PROGRAM to CGROUP with FLAGS; with REPLACE, in one step in the place of the program REPLACED (since Linux 5.6)."""
    linux.bpf(_PROG_ATTACH, struct.pack("=IIIII", cgroup, program, _ATTACH_TYPE, flags, replaced))


def detach(cgroup: int, program: int) -> None:
    """Detach PROGRAM from CGROUP."""
    linux.bpf(_PROG_DETACH, struct.pack("=III", cgroup, program, _ATTACH_TYPE))


def pin(program: int, path: str) -> None:
    """Give PROGRAM the new name PATH in a BPF file system."""
    name = linux.memory(os.fsencode(path) + b"\0")
    linux.bpf(_OBJ_PIN, struct.pack("=QI", linux.address(name), program))


def open_pin(path: str) -> int:
    """The program that has the name PATH in a BPF file system."""
    name = linux.memory(os.fsencode(path) + b"\0")
    return linux.bpf(_OBJ_GET, struct.pack("=QI", linux.address(name), 0))[0]


def _info(program: int, asked: bytes) -> bytes:
    """`struct bpf_prog_info` of PROGRAM, ASKED being its first fields."""
    info = linux.memory(asked, _INFO_SIZE)
    linux.bpf(_OBJ_GET_INFO_BY_FD, struct.pack("=IIQ", program, _INFO_SIZE, linux.address(info)))
    return info.raw


def _length(info: bytes) -> int:
    """`xlated_prog_len` of a `struct bpf_prog_info`."""
    length: int = struct.unpack_from("=I", info, 20)[0]
    return length


def _load(code: bytes, name: str, *log: int) -> int:
    """BPF_PROG_LOAD, with a LOG of level, size and address, or none."""
    place, licence = linux.memory(code), linux.memory(_LICENSE + b"\0")
    head = struct.pack("=IIQQ", CGROUP_DEVICE, len(code) // 8, linux.address(place), linux.address(licence))
    return linux.bpf(_PROG_LOAD, head + struct.pack("=IIQII16s", *(log or (0, 0, 0)), 0, 0, name.encode("ascii")))[0]


def _raise_memlock() -> bool:
    """Take the limit off locked memory, setrlimit(2); whether that was allowed."""
    import resource

    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        return False
    return True


def _last_words(log: bytes) -> str:
    """What the verifier refuses a program for: the last line of its LOG before the statistics."""
    lines = log.split(b"\0")[0].decode("utf-8", "replace").splitlines()
    return next((line for line in reversed(lines) if line and not line.startswith(("processed ", "verification time "))), "")
