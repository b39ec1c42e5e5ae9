"""The device programs on a container's cgroup of version 2 as they are now, with errors for people."""

from __future__ import annotations

import errno
import os

from ..errors import ConfigurationError, HookError, UnavailableError
from . import linux, programs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .programs import Program

OTHER_WAY = "let podman's precreate hook give the devices, so that the runtime makes the rules itself"
_BPF_SYSCALL = "/proc/sys/kernel/unprivileged_bpf_disabled"  #: there if the kernel has bpf(2)
_TRIES = 10  #: to read programs while systemd swaps its own


def programs_on(folder: str) -> list[Program]:
    """The programs on the cgroup FOLDER itself. Raises UnavailableError, ConfigurationError."""
    cgroup = open_cgroup(folder)
    try:
        for _ in range(_TRIES):
            numbers = _attached(cgroup, folder)
            found = [_shown(number, folder) for number in numbers]
            if None not in found:
                return [program for program in found if program is not None]
    finally:
        os.close(cgroup)
    raise UnavailableError(f"the device programs of {folder} change all the time; start the container again")


def _attached(cgroup: int, folder: str) -> tuple[int, ...]:
    """The ids of the programs on the open CGROUP; none where the kernel has no device programs at all."""
    try:
        return programs.attached(cgroup)[0]
    except OSError as error:
        # EINVAL: CONFIG_CGROUP_BPF=n
        if (error.errno == errno.EINVAL and programs.is_bpf()) or (error.errno == errno.ENOSYS and not os.path.exists(_BPF_SYSCALL)):
            return ()
        raise refusal(error, f"the device programs of {folder}") from None


def _shown(number: int, folder: str) -> Program | None:
    """The program with the id NUMBER, None if it has gone meanwhile."""
    try:
        program = programs.open_program(number)
        try:
            return programs.show(program)
        finally:
            os.close(program)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        raise refusal(error, called(number, folder)) from None


def open_cgroup(folder: str) -> int:
    """The cgroup FOLDER, open for reading. Raises UnavailableError, ConfigurationError."""
    try:
        cgroup = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise refusal(error, f"the cgroup {folder}") from None
    if linux.file_system(cgroup) != linux.CGROUP2_SUPER_MAGIC:
        os.close(cgroup)
        raise ConfigurationError(f"{folder} is no cgroup of version 2; mount the hierarchy (`mount -t cgroup2`) or {OTHER_WAY}")
    return cgroup


def called(number: int, folder: str) -> str:
    """A program in an error."""
    return f"the device program {number} of {folder}"


def refusal(error: OSError, what: str) -> HookError:
    """The error for what the kernel has said about WHAT."""
    if error.errno in (errno.ENOENT, errno.ENODEV):
        return UnavailableError(f"{what} has gone meanwhile; start the container again")
    if error.errno == errno.EPERM:
        return ConfigurationError(
            f"{what} cannot be read or changed: bpf(2) needs CAP_SYS_ADMIN, CAP_BPF and CAP_NET_ADMIN of the host's own user namespace; "
            f"run the engine as the host's root, or {OTHER_WAY}"
        )
    return ConfigurationError(f"{what} cannot be read or changed ({error.strerror}); {OTHER_WAY}")
