"""The way below a container's root folder, in trees of files. Mounts and races are engine tests' matter."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oci_udev_hook.errors import RefusedError, UsageError
from oci_udev_hook.injection import linux, rootfs

LINK = "{} in the container is a symbolic link, which could lead out of it; its image must have a folder there, or nothing"
FILE = "{} in the container is a file where a folder is needed; its image must have a folder there, or nothing"
Way = Callable[[int, list[str]], int]


@pytest.fixture(params=["openat2", "no openat2", "openat2 denied", "name by name"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Way:
    """Each way to a folder."""
    number = {"no openat2": errno.ENOSYS, "openat2 denied": errno.EPERM}.get(request.param)
    if number is not None:

        def fails(*_: object) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(linux, "openat2", fails)
    return rootfs.walk if request.param == "name by name" else rootfs._folder


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root folder with all sorts of things in it."""
    outside = tmp_path_factory.mktemp("outside")
    top = outside / "root"
    (top / "dev" / "serial" / "by-id").mkdir(parents=True)
    (top / "file").touch()
    os.mkfifo(top / "fifo")
    for name, aim in (("absolute", outside), ("relative", ".."), ("inside", "dev"), ("magic", "/proc/self/root"), ("loop", "loop")):
        (top / name).symlink_to(aim)
        (top / "dev" / name).symlink_to(aim)
    (outside / "serial").mkdir()
    return top


@pytest.fixture
def root(tree: Path) -> Iterator[int]:
    """The same as a descriptor."""
    descriptor = os.open(tree, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    before = os.listdir("/proc/self/fd")
    yield descriptor
    assert os.listdir("/proc/self/fd") == before, "nothing stays open"
    os.close(descriptor)


@pytest.mark.parametrize("names", [[], ["dev"], ["dev", "serial", "by-id"]], ids=lambda names: "/".join(names) or "itself")
def test_a_folder_is_found(root: int, way: Way, tree: Path, names: list[str]) -> None:
    found = way(root, names)
    try:
        assert os.path.samestat(os.fstat(found), os.stat(tree.joinpath(*names)))
        assert not os.get_inheritable(found)
    finally:
        os.close(found)


@pytest.mark.parametrize("link", ["absolute", "relative", "inside", "magic", "loop"])
@pytest.mark.parametrize("rest", [[], ["serial", "by-id"]], ids=["last", "on the way"])
@pytest.mark.parametrize("before", [[], ["dev"]], ids=["first", "below a folder"])
def test_no_link_is_followed(root: int, way: Way, before: list[str], link: str, rest: list[str]) -> None:
    """Case 33: wherever it leads."""
    with pytest.raises(RefusedError) as caught:
        way(root, [*before, link, *rest])

    assert str(caught.value) == LINK.format("/".join(["", *before, link]))


@pytest.mark.parametrize("name", ["file", "fifo"])
@pytest.mark.parametrize("rest", [[], ["more"]], ids=["last", "on the way"])
def test_a_file_on_the_way_is_named(root: int, way: Way, name: str, rest: list[str]) -> None:
    """And a FIFO is not opened, which would never end."""
    with pytest.raises(RefusedError) as caught:
        way(root, [name, *rest])

    assert str(caught.value) == FILE.format(f"/{name}")


def test_what_is_not_there_is_no_fault(root: int, way: Way) -> None:
    """It can be made."""
    with pytest.raises(FileNotFoundError):
        way(root, ["dev", "snd", "by-id"])


@pytest.mark.parametrize(
    ("path", "names"), [("/", []), ("/dev", ["dev"]), ("/dev/odd:dev 0", ["dev", "odd:dev 0"]), ("/dev/...", ["dev", "..."])]
)
def test_a_path_is_its_names(path: str, names: list[str]) -> None:
    assert rootfs.parts(path) == names


@pytest.mark.parametrize("path", ["", "dev/x", "/dev/../x", "/dev/./x", "//dev/x", "/dev//x", "/dev/x/", "/dev/..", "/dev/x\0y", "."])
def test_a_path_that_could_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(UsageError) as caught:
        rootfs.parts(path)

    assert str(caught.value) == f'"{path}" is no absolute path without "//", "." and ".."; a device\'s place in a container must be one'


@pytest.mark.parametrize(
    ("path", "below"), [("/dev/x", True), ("/dev/snd/x", True), ("/dev", False), ("/devices/x", False), ("/run/dev/x", False)]
)
def test_what_is_below_dev(path: str, below: bool) -> None:
    assert rootfs.below_dev(path) is below


def test_file_systems_are_those_of_the_mount_table() -> None:
    """Device number and type, with bind mounts, optional fields, and names of any bytes."""
    table = (
        b"22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        b"24 27 0:6 /sub /de\\040v\xff rw,relatime shared:2 master:1 - devtmpfs devtmpfs rw\n"
        b"27 1 254:300 / / rw - ext4 /dev/vda rw\n"
        b"99 1 0:21 / /proc2 rw - proc proc rw\n"
    )

    assert rootfs._file_systems(table) == {os.makedev(0, 21): b"proc", os.makedev(0, 6): b"devtmpfs", os.makedev(254, 300): b"ext4"}


def test_the_mount_of_a_descriptor_is_the_kernels(root: int) -> None:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/self/fdinfo/{root}").read_text().splitlines())

    assert rootfs._mount(root) == int(fields["mnt_id"])


def test_a_status_is_the_links_own(root: int) -> None:
    assert rootfs.status(root, "/x/nothing") is None
    for name in ("absolute", "loop", "fifo", "file"):
        found = rootfs.status(root, f"/any/where/{name}")
        assert found is not None
        assert os.path.samestat(found, os.lstat(name, dir_fd=root))


@pytest.mark.parametrize("name", ["fifo", "absolute", "inside", "loop", "dev", "full"])
def test_what_is_no_empty_file_is_no_place_to_mount_on(root: int, tree: Path, name: str) -> None:
    """A link is none either, wherever it leads."""
    (tree / "full").write_text("text")

    assert rootfs.empty_file(root, f"/{name}") is None


def test_an_empty_file_is_a_place_to_mount_on(root: int, tree: Path) -> None:
    found = rootfs.empty_file(root, "/any/where/file")
    assert found is not None
    try:
        assert os.path.samestat(os.fstat(found), os.lstat(tree / "file"))
        assert not os.get_inheritable(found)
    finally:
        os.close(found)


def test_no_file_is_no_place_yet(root: int) -> None:
    with pytest.raises(FileNotFoundError):
        rootfs.empty_file(root, "/nothing")
