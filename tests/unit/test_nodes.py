"""What is told of a live container's nodes, in trees of files. Real nodes are engine tests' matter."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator

import pytest

from oci_udev_hook.allocation import liveness
from oci_udev_hook.edit import CgroupRule, Node, Variable
from oci_udev_hook.errors import ConfigurationError, HookError, RefusedError, UnavailableError
from oci_udev_hook.injection import mounts, nodes, target
from oci_udev_hook.injection.undo import UndoLog
from oci_udev_hook.model import DeviceNumber, DeviceType

NULL = DeviceNumber(DeviceType.CHAR, 1, 3)
AGAIN = "start the container again"


@pytest.fixture
def host() -> Iterator[target.Target]:
    """A container of this process that has the host's nodes."""
    own = liveness.process(os.getpid())
    assert own is not None
    found = target.open_target(own, "/", "", "", rootless=False)
    yield found
    target.close(found)


class TestLook:
    def test_nothing_to_make_is_no_step(self, host: target.Target) -> None:
        """Not even its /dev is looked at."""
        assert nodes.look(host, (CgroupRule(NULL, "rw"), Variable("A", "b"))) == ()
        undo = UndoLog()
        assert nodes.make(host, (nodes.NodeStep("/dev/null", NULL, nodes.How.THERE, 0o666, 0, 0),), undo) == ()
        assert undo.steps == []

    def test_dev_must_be_its_own(self, host: target.Target) -> None:
        """Case 33: a node in it would be on the host."""
        with pytest.raises(RefusedError, match=r"^/dev in the container is "):
            nodes.look(host, (Node("/dev/null", NULL, 0o660, 0, 0),))


MAKES = "/dev/foo cannot be made in the container"
WRITABLE = "let the container have a file system there that can be written, or give the device another path"


@pytest.mark.parametrize(
    ("number", "error", "sentence"),
    [
        (errno.ENOSYS, ConfigurationError, f"{MAKES} (Function not implemented); that needs Linux 5.12"),
        (
            errno.EPERM,
            ConfigurationError,
            f"{MAKES} (Operation not permitted); run the engine where the hook may mount and make nodes (CAP_SYS_ADMIN, CAP_MKNOD)",
        ),
        (errno.ENOENT, UnavailableError, f"{MAKES} (No such file or directory): it has gone meanwhile; {AGAIN}"),
        (errno.ESRCH, UnavailableError, f"{MAKES} (No such process): it has gone meanwhile; {AGAIN}"),
        (
            errno.EROFS,
            RefusedError,
            f"{MAKES} (Read-only file system); {WRITABLE}",
        ),
        *[
            (number, RefusedError, f"{MAKES} ({os.strerror(number)}); look what its image and its mounts have on the way there")
            for number in (errno.ELOOP, errno.ENOTDIR, errno.EXDEV, errno.EEXIST)
        ],
        *[
            (
                number,
                ConfigurationError,
                f"{MAKES} ({os.strerror(number)}); mend that on the host, where the engine runs the hook, and {AGAIN}",
            )
            for number in (errno.ENOSPC, errno.EMFILE, errno.ENOMEM, errno.EINVAL, errno.EIO)
        ],
    ],
    ids=errno.errorcode.get,
)
def test_a_system_calls_error_is_told(number: int, error: type[HookError], sentence: str) -> None:
    found = nodes._failed("/dev/foo", OSError(number, os.strerror(number)))

    assert (type(found), str(found)) == (error, sentence)


def fails(number: int) -> Callable[[], None]:
    def work() -> None:
        raise OSError(number, os.strerror(number))

    return work


CAPABILITIES = "the hook needs CAP_SYS_ADMIN and CAP_SYS_CHROOT where the engine runs it"
NODES = "the nodes cannot be mounted in the container"
CHANGES = "something in the container changes its /dev meanwhile, so look what that is and start it again"


@pytest.mark.parametrize(
    ("work", "error", "sentence"),
    [
        (
            fails(errno.ENOSYS),
            ConfigurationError,
            f"{NODES} (Function not implemented); that needs Linux 5.12, or start the container without a user namespace of its own",
        ),
        (
            fails(errno.EPERM),
            ConfigurationError,
            f"{NODES} (Operation not permitted); {CAPABILITIES}, which podman unshare gives a user",
        ),
        (
            fails(errno.ENOENT),
            RefusedError,
            f"{NODES} (No such file or directory); {CHANGES}",
        ),
        (fails(errno.EINVAL), ConfigurationError, f"{NODES} (Invalid argument); see dmesg, and what else mounts things in this container"),
        (
            lambda: os.kill(os.getpid(), signal.SIGKILL),
            ConfigurationError,
            f"{NODES} (its process broke off); see dmesg, and what else mounts things in this container",
        ),
        (
            lambda: print(int("x")),
            ConfigurationError,
            f"{NODES} (its process broke off); see dmesg, and what else mounts things in this container",
        ),
    ],
    ids=["ENOSYS", "EPERM", "ENOENT", "EINVAL", "killed", "a fault"],
)
def test_the_error_of_the_mounting_process_is_told(work: Callable[[], None], error: type[HookError], sentence: str) -> None:
    """Whatever happens in it, it ends there."""
    with pytest.raises(error) as caught:
        mounts._in_a_child(work, "mounted")

    assert str(caught.value) == sentence


def test_the_mounting_process_leaves_nothing() -> None:
    before = os.listdir("/proc/self/fd")

    mounts._in_a_child(lambda: None, "mounted")

    assert os.listdir("/proc/self/fd") == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize(
    ("number", "path"),
    [(NULL, "/dev/null"), (DeviceNumber(DeviceType.CHAR, 250, 999999), None), (DeviceNumber(DeviceType.BLOCK, 1, 999999), None)],
    ids=["null", "none", "none of this type"],
)
def test_the_kernels_own_node_is_found(number: DeviceNumber, path: str | None) -> None:
    assert mounts.host_node(number) == path
