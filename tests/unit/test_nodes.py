"""What is told of a live container's nodes, in trees of files. Real nodes are engine tests' matter."""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oci_udev_hook.edit import CgroupRule, Edit, Mount, Node, Variable
from oci_udev_hook.errors import ConfigurationError, HookError, RefusedError, UnavailableError
from oci_udev_hook.injection import mounts, nodes, target
from oci_udev_hook.model import DeviceNumber, DeviceType

NULL, ZERO = DeviceNumber(DeviceType.CHAR, 1, 3), DeviceNumber(DeviceType.CHAR, 1, 5)
AGAIN = "start the container again"


def node(path: str, number: DeviceNumber = NULL) -> Node:
    return Node(path, number, 0o660, 0, 0)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[target.Target]:
    """One whose root folder is the test's."""
    (tmp_path / "dev").mkdir()
    found = target.open_target(os.getpid(), str(tmp_path), "", "", rootless=False)
    yield found
    target.close(found)


@pytest.fixture
def host() -> Iterator[target.Target]:
    """One that has the host's nodes."""
    found = target.open_target(os.getpid(), "/", "", "", rootless=False)
    yield found
    target.close(found)


class TestWrongNode:
    def test_none_is(self, host: target.Target) -> None:
        edits = (CgroupRule(ZERO, "rw"), node("/dev/null"), Variable("A", "b"), Mount("/dev/zero", "/dev/zero", ()))

        assert nodes.wrong_node(host, edits) is None

    @pytest.mark.parametrize(
        ("edit", "sentence"),
        [
            pytest.param(node("/dev/null", ZERO), "the device c 1:3 at /dev/null, not the leased c 1:5", id="another device"),
            pytest.param(
                node("/dev/null", DeviceNumber(DeviceType.BLOCK, 1, 3)),
                "the device c 1:3 at /dev/null, not the leased b 1:3",
                id="of another type",
            ),
            pytest.param(
                Mount("/dev/zero", "/dev/null", ()),
                "the device c 1:3 at /dev/null, not the leased c 1:5",
                id="another device than the mount's",
            ),
            pytest.param(node("/dev/not there"), "nothing at /dev/not there, not the leased c 1:3", id="nothing"),
            pytest.param(node("/not/there/either"), "nothing at /not/there/either, not the leased c 1:3", id="not even its folder"),
            pytest.param(node("/dev"), "a folder at /dev, not the leased c 1:3", id="a folder"),
        ],
    )
    def test_the_first_that_is_wrong_is_told(self, host: target.Target, edit: Edit, sentence: str) -> None:
        assert nodes.wrong_node(host, (node("/dev/null"), edit, node("/dev/later"))) == f"the container has {sentence}; {AGAIN}"

    @pytest.mark.parametrize(
        ("make", "what"),
        [
            pytest.param(Path.touch, "a regular file", id="file"),
            pytest.param(os.mkfifo, "a FIFO", id="fifo"),
            pytest.param(lambda path: path.symlink_to("/dev/null"), "a symbolic link", id="link to the device"),
            pytest.param(lambda path: socket.socket(socket.AF_UNIX).bind(os.path.relpath(path)), "a socket", id="socket"),
        ],
    )
    @pytest.mark.filterwarnings("ignore::ResourceWarning")
    def test_another_kind_of_file_is_named(
        self, container: target.Target, tmp_path: Path, make: Callable[[Path], None], what: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        make(tmp_path / "dev" / "foo")

        assert nodes.wrong_node(container, (node("/dev/foo"),)) == f"the container has {what} at /dev/foo, not the leased c 1:3; {AGAIN}"

    def test_a_link_on_the_way_is_refused(self, container: target.Target, tmp_path: Path) -> None:
        """Case 33: the host's own device behind it would look right."""
        (tmp_path / "dev").rmdir()
        (tmp_path / "dev").symlink_to("/dev")

        with pytest.raises(RefusedError) as caught:
            nodes.wrong_node(container, (node("/dev/null"),))

        assert str(caught.value) == (
            "/dev in the container is a symbolic link, which could lead out of it; its image must have a folder there, or nothing"
        )

    @pytest.mark.parametrize(
        ("source", "sentence"),
        [
            (
                "{}/gone",
                "{}/gone has gone since it was allotted (No such file or directory); plug it in again and start the container again",
            ),
            ("{}/dev", "{}/dev was a device when it was allotted and is a folder now; start the container again"),
        ],
        ids=["gone", "no device"],
    )
    def test_a_mount_without_its_device_is_unavailable(self, container: target.Target, tmp_path: Path, source: str, sentence: str) -> None:
        edits = (Mount(source.format(tmp_path), "/dev/foo", ()),)

        with pytest.raises(UnavailableError) as caught:
            nodes.wrong_node(container, edits)

        assert str(caught.value) == sentence.format(tmp_path)


class TestLook:
    def test_nothing_to_make_is_no_step(self, container: target.Target) -> None:
        """Not even its /dev is looked at."""
        assert nodes.look(container, (CgroupRule(NULL, "rw"), Variable("A", "b"))) == ()
        undo: list[Callable[[], None]] = []
        nodes.make(container, (nodes.NodeStep("/dev/null", NULL, nodes.How.THERE, 0o666, 0, 0),), undo)
        assert undo == []

    def test_dev_must_be_its_own(self, host: target.Target) -> None:
        """Case 33: a node in it would be on the host."""
        with pytest.raises(RefusedError, match=r"^/dev in the container is "):
            nodes.look(host, (node("/dev/null"),))


MAKES = "/dev/foo cannot be made in the container"


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
        (errno.EROFS, RefusedError, f"{MAKES} (Read-only file system); its /dev must be one that nodes can be made in"),
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
            f"{NODES} (Operation not permitted); the hook needs CAP_SYS_ADMIN and CAP_SYS_CHROOT where the engine runs it",
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
