"""The live container that devices go into: its process, its root folder, its user namespace.

At createRuntime the container's mount namespace still shows the runtime's whole tree, with the container's below `root.path`; once the
runtime has called pivot_root(2), it shows the container's only (OCI runtime spec, runtime.md, Lifecycle).
"""

from __future__ import annotations

import os

from ..errors import ConfigurationError, RefusedError, UnavailableError, UsageError
from ..frozen import frozen
from . import rootfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..errors import HookError
    from ..model import Process

    IdMap = tuple[tuple[int, int, int], ...]

_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


@frozen
class Target:
    """A container by open descriptors, so that neither a pid nor a path can come to mean another one meanwhile."""

    pid: int
    proc: int  #: /proc/PID
    rootfs: int  #: its root folder
    user_namespace: bool  #: of its own: another than the hook's
    uid_map: IdMap  #: inside, outside as the hook sees it, size, user_namespaces(7); empty without a user namespace of its own
    gid_map: IdMap
    mount_label: str  #: SELinux, `linux.mountLabel`
    rootless: bool  #: the hook is root in the engine's user namespace only
    pivoted: bool  #: pivot_root(2) has been called


def open_target(process: Process, root_path: str, bundle: str, mount_label: str, rootless: bool) -> Target:
    """The container of PROCESS; ROOT_PATH is `root.path` of its config, which may be relative to BUNDLE. To be closed by `close`.

    Loads no ctypes: what only confirms a container's devices comes this way too. Raises UnavailableError where there is no such process,
    RefusedError where the hook may not look into it, UsageError for a root folder that is none.
    """
    pid = process.pid
    proc = _process(pid)
    try:
        if _start(proc) != process.start:
            raise _gone(pid)
        own = _apart(proc, "user")
        uid_map, gid_map = [_id_map(_read(proc, f"{kind}_map")) if own else () for kind in ("uid", "gid")]
        folder, pivoted = _rootfs(pid, proc, root_path, bundle)
    except OSError as error:
        os.close(proc)
        raise _closed(pid, error) from None
    except BaseException:
        os.close(proc)
        raise
    return Target(pid, proc, folder, own, uid_map, gid_map, mount_label, rootless, pivoted)


def close(target: Target) -> None:
    """Close the descriptors of TARGET."""
    os.close(target.rootfs)
    os.close(target.proc)


def read_proc(target: Target, name: str) -> str:
    """The file NAME of /proc/PID (`cgroup`, `mountinfo`, …), odd bytes as os.fsdecode() has them. Raises as open_target does."""
    check(target)
    try:
        return _read(target.proc, name)
    except OSError as error:
        raise _closed(target.pid, error) from None


def check(target: Target) -> None:
    """See by its magic number that /proc/PID is of procfs, so that the kernel speaks there, and that the process lives.

    The mounts of one that has ended are gone, and what was below them shows. Raises ConfigurationError, UnavailableError.
    """
    from . import linux

    if linux.file_system(target.proc) != linux.PROC_SUPER_MAGIC:
        raise _no_procfs()
    try:
        os.stat("stat", dir_fd=target.proc)
    except OSError as error:
        raise _closed(target.pid, error) from None


def namespace(target: Target) -> int:
    """A descriptor of the container's mount namespace, for setns(2). Raises as open_target does."""
    check(target)
    try:
        return os.open("ns/mnt", os.O_RDONLY | os.O_CLOEXEC, dir_fd=target.proc)
    except OSError as error:
        raise _closed(target.pid, error) from None


def _process(pid: int) -> int:
    """A descriptor of /proc/PID. Raises HookError."""
    proc = os.open("/proc", _FLAGS)
    try:
        if not _is_own(proc):
            raise _no_procfs()
        return os.open(str(pid), _FLAGS | os.O_NOFOLLOW, dir_fd=proc)
    except OSError as error:
        raise _closed(pid, error) from None
    finally:
        os.close(proc)


def _start(proc: int) -> int:
    """When the process was started, field 22 of proc_pid_stat(5). Raises OSError."""
    return int(_read(proc, "stat").rpartition(")")[2].split()[19])  # the name before may hold anything; its field is the second


def _is_own(proc: int) -> bool:
    """Whether the open PROC knows who is looking, as only a procfs of this pid namespace does, proc_pid(5)."""
    try:
        return os.readlink("self", dir_fd=proc) == str(os.getpid())
    except OSError:
        return False


def _apart(proc: int, kind: str) -> bool:
    """Whether the process has another namespace of KIND than the hook."""
    try:
        own = os.stat(f"/proc/self/ns/{kind}")
    except FileNotFoundError:  # a kernel built without them
        return False
    return not os.path.samestat(own, os.stat(f"ns/{kind}", dir_fd=proc))


def _rootfs(pid: int, proc: int, root_path: str, bundle: str) -> tuple[int, bool]:
    """The container's root folder, and whether it is the root of the process already. Raises OSError, UsageError."""
    root = os.open("root", _FLAGS, dir_fd=proc)
    if not os.path.samestat(os.fstat(root), os.stat("/")):
        return root, True
    try:
        if not root_path:
            raise UsageError("the container's config has no root.path, so its root folder is not known; name it there")
        # The part of the path that is the host's may have links, which lead to the same places in both namespaces. Nothing is followed
        # on the way that is left then.
        path = os.path.realpath(os.path.join(bundle, root_path))
        return rootfs.walk(root, rootfs.parts(path)), False
    except (OSError, RefusedError) as error:
        why = error.strerror if isinstance(error, OSError) else "a file or link stands there or on the way"
        raise UsageError(
            f'root.path "{root_path}" of the container\'s config is no folder that its process {pid} has ({why}); '
            "it must name the container's root folder"
        ) from None
    finally:
        os.close(root)


def _read(proc: int, name: str) -> str:
    """A file of /proc/PID. Raises OSError."""
    with open(os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=proc), "rb") as file:
        return os.fsdecode(file.read())


def _id_map(text: str) -> IdMap:
    """A uid_map or gid_map, three numbers a line, user_namespaces(7)."""
    lines = [[int(number) for number in line.split()] for line in text.splitlines()]
    return tuple([(inside, outside, size) for inside, outside, size in lines])


def _closed(pid: int, error: OSError) -> HookError:
    """The error for a process that cannot be looked into."""
    if isinstance(error, PermissionError) and not os.geteuid():
        return RefusedError(
            f"root may not look into process {pid} of the container; the hook needs CAP_SYS_PTRACE, in that process's user namespace, "
            "where the engine runs it"
        )
    if isinstance(error, PermissionError):
        return RefusedError(
            f"you may not look into process {pid} of the container; do it as root, or run the runtime in a user namespace of yours, "
            "as podman unshare makes one"
        )
    if isinstance(error, (FileNotFoundError, ProcessLookupError)):
        return _gone(pid)
    return ConfigurationError(f"/proc/{pid} cannot be read ({error.strerror}); oci-udev-hook needs the host's /proc")


def _gone(pid: int) -> HookError:
    """The error for a process that has ended, whether or not another has its pid."""
    return UnavailableError(f"the container's process {pid} is not there, or not any more; start the container again")


def _no_procfs() -> HookError:
    """The error for a /proc that is something else."""
    return ConfigurationError(
        "/proc is not the procfs of the hook's own pid namespace, so it tells nothing of the container; mount that there, proc(5)"
    )
