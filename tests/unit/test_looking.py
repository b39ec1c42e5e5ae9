"""Seeing what a container has at its devices' places, in trees of files. Mounts are engine tests' matter."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oci_udev_hook.allocation import liveness
from oci_udev_hook.edit import CgroupRule, Edit, Mount, Node, Variable
from oci_udev_hook.errors import RefusedError, UnavailableError
from oci_udev_hook.injection import target
from oci_udev_hook.injection.looking import wrong_node
from oci_udev_hook.model import DeviceNumber, DeviceType

NULL, ZERO = DeviceNumber(DeviceType.CHAR, 1, 3), DeviceNumber(DeviceType.CHAR, 1, 5)
AGAIN = "start the container again"


def node(path: str, number: DeviceNumber = NULL) -> Node:
    return Node(path, number, 0o660, 0, 0)


def opened(root: str) -> Iterator[target.Target]:
    """A container of this process whose root folder is ROOT."""
    own = liveness.process(os.getpid())
    assert own is not None
    found = target.open_target(own, root, "", "", rootless=False)
    yield found
    target.close(found)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[target.Target]:
    """One whose root folder is the test's."""
    (tmp_path / "dev").mkdir()
    yield from opened(str(tmp_path))


@pytest.fixture
def host() -> Iterator[target.Target]:
    """One that has the host's nodes."""
    yield from opened("/")


def test_none_is(host: target.Target) -> None:
    edits = (CgroupRule(ZERO, "rw"), node("/dev/null"), Variable("A", "b"), Mount("/dev/zero", "/dev/zero", ()))

    assert wrong_node(host, edits) is None


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
def test_the_first_that_is_wrong_is_told(host: target.Target, edit: Edit, sentence: str) -> None:
    assert wrong_node(host, (node("/dev/null"), edit, node("/dev/later"))) == f"the container has {sentence}; {AGAIN}"


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
    container: target.Target, tmp_path: Path, make: Callable[[Path], None], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "dev" / "foo")

    assert wrong_node(container, (node("/dev/foo"),)) == f"the container has {what} at /dev/foo, not the leased c 1:3; {AGAIN}"


@pytest.fixture(name="links")
def fixture_links(tmp_path: Path) -> Path:
    """Links to the host's /dev, whose container has the host's root."""
    (tmp_path / "absolute").symlink_to("/dev")
    (tmp_path / "relative").symlink_to("../" * 40 + "./dev//")
    (tmp_path / "again").symlink_to("relative")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "up").symlink_to("../absolute")
    (tmp_path / "root").symlink_to("/")
    return tmp_path


@pytest.mark.parametrize("way", ["absolute", "relative", "again", "folder/up", "root/dev"])
def test_links_on_the_way_lead_where_they_lead_its_runtime(host: target.Target, links: Path, way: str) -> None:
    """As /var/run to /run, which most images have."""
    before = os.listdir("/proc/self/fd")

    assert wrong_node(host, (node(f"{links}/{way}/null"),)) is None
    assert wrong_node(host, (node(f"{links}/{way}/null", ZERO),)) == (
        f"the container has the device c 1:3 at {links}/{way}/null, not the leased c 1:5; {AGAIN}"
    )
    assert os.listdir("/proc/self/fd") == before, "nothing stays open"


@pytest.mark.parametrize("aim", ["/dev", "../../../../../../../../../../dev", "/proc/self/root/dev", "/proc/1/root/dev", "gone"])
def test_no_link_leads_out_of_the_container(container: target.Target, tmp_path: Path, aim: str) -> None:
    """Case 33: the host's own device behind it would look right."""
    (tmp_path / "nodes").symlink_to(aim)

    assert wrong_node(container, (node("/nodes/null"),)) == f"the container has nothing at /nodes/null, not the leased c 1:3; {AGAIN}"


def test_a_magic_link_leads_nowhere(host: target.Target) -> None:
    """It names no path, and runtimes do not follow it."""
    folder = os.open("/dev", os.O_RDONLY)
    try:
        pipes = os.pipe()
        sentence = wrong_node(host, (node(f"/proc/self/fd/{pipes[0]}/null"),))
        for each in pipes:
            os.close(each)
    finally:
        os.close(folder)

    assert sentence == f"the container has nothing at /proc/self/fd/{pipes[0]}/null, not the leased c 1:3; {AGAIN}"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        pytest.param(lambda path: path.symlink_to("nodes"), "Too many levels of symbolic links", id="loop"),
        pytest.param(lambda path: path.symlink_to("/nodes/x"), "Too many levels of symbolic links", id="loop that grows"),
        pytest.param(lambda path: path.symlink_to("dev/file"), "Not a directory", id="link to a file"),
        pytest.param(Path.touch, "Not a directory", id="file"),
        pytest.param(os.mkfifo, "Not a directory", id="fifo"),
    ],
)
def test_a_place_that_cannot_be_reached_is_refused(
    container: target.Target, tmp_path: Path, make: Callable[[Path], None], why: str
) -> None:
    (tmp_path / "dev" / "file").touch()
    make(tmp_path / "nodes")
    before = os.listdir("/proc/self/fd")

    with pytest.raises(RefusedError) as caught:
        wrong_node(container, (node("/nodes/null"),))

    assert str(caught.value) == (
        f"/nodes/null cannot be looked at in the container ({why}); look what its image and its mounts have on the way there"
    )
    assert os.listdir("/proc/self/fd") == before, "nothing stays open"


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
def test_a_mount_without_its_device_is_unavailable(container: target.Target, tmp_path: Path, source: str, sentence: str) -> None:
    edits = (Mount(source.format(tmp_path), "/dev/foo", ()),)

    with pytest.raises(UnavailableError) as caught:
        wrong_node(container, edits)

    assert str(caught.value) == sentence.format(tmp_path)
