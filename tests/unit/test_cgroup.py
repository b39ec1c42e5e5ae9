"""cgroup v1: what a devices.list covers, and what is said where a rule cannot be given."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oci_udev_hook.edit import CgroupRule
from oci_udev_hook.errors import ConfigurationError, HookError, UnavailableError
from oci_udev_hook.injection import cgroup
from oci_udev_hook.injection.levels import Level
from oci_udev_hook.injection.undo import UndoLog
from oci_udev_hook.model import DeviceNumber, DeviceType

RULE = CgroupRule(DeviceNumber(DeviceType.CHAR, 188, 0), "rw")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    """An open folder that takes what is written to devices.allow, as a cgroup does."""
    (tmp_path / "devices.list").write_text("c 1:3 rwm\n")
    (tmp_path / "devices.allow").touch()
    descriptor = os.open(tmp_path, os.O_PATH)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize(
    ("listed", "access", "covered"),
    [
        pytest.param("a *:* rwm\n", "rwm", True, id="all"),
        pytest.param("c 188:0 rw\n", "rw", True, id="the same"),
        pytest.param("c 1:3 rwm\nc 188:0 rwm\n", "r", True, id="more"),
        pytest.param("c 188:* rw\n", "rw", True, id="all of its major"),
        pytest.param("c *:0 rw\n", "rw", True, id="all of its minor"),
        pytest.param("c *:* m\n", "m", True, id="all of its type"),
        pytest.param("c *:* m\n", "rw", False, id="other access"),
        pytest.param("c 188:0 r\n", "rw", False, id="less"),
        pytest.param("c 188:0 r\nc 188:* w\n", "rw", False, id="the kernel does not add up entries"),
        pytest.param("b 188:0 rwm\n", "rw", False, id="other type"),
        pytest.param("c 188:1 rwm\n", "rw", False, id="other minor"),
        pytest.param("c 18:0 rwm\n", "rw", False, id="other major"),
        pytest.param("", "rw", False, id="nothing"),
    ],
)
def test_one_entry_must_cover_a_rule(folder: int, tmp_path: Path, listed: str, access: str, covered: bool) -> None:
    (tmp_path / "devices.list").write_text(listed)

    assert cgroup._covered(CgroupRule(RULE.number, access), cgroup._entries(folder)) is covered


def test_cgroup_v2_has_no_list() -> None:
    assert cgroup.missing(Level(2, "/c", "/nowhere/c"), (RULE,)) == ()


def test_a_rule_that_the_list_never_shows_is_an_error_with_its_way_back(folder: int, tmp_path: Path) -> None:
    undo = UndoLog()

    with pytest.raises(ConfigurationError) as caught:
        cgroup._allow(Level(1, "/c", "/cg/c"), folder, RULE, undo, tries=1)

    assert str(caught.value) == (
        "/cg/c/devices.list does not show c 188:0 rw after it was allowed there; "
        "something else keeps rewriting it: see the log of systemd and of the engine"
    )
    assert (tmp_path / "devices.allow").read_text() == "c 188:0 rw"
    assert [what for what, _ in undo.steps] == ["c 188:0 rw, allowed in /cg/c"]


def test_what_is_covered_is_not_written(folder: int, tmp_path: Path) -> None:
    undo = UndoLog()

    cgroup._allow(Level(1, "/c", "/cg/c"), folder, CgroupRule(DeviceNumber(DeviceType.CHAR, 1, 3), "rw"), undo)

    assert (tmp_path / "devices.allow").read_text() == ""
    assert undo.steps == []


@pytest.mark.parametrize("change", [lambda level: cgroup.missing(level, (RULE,)), lambda level: cgroup.allow(level, (RULE,), UndoLog())])
class TestAFolderThatIsNone:
    """`missing` and `allow` say the same."""

    def test_has_gone(self, tmp_path: Path, change: Callable[[Level], object]) -> None:
        with pytest.raises(UnavailableError) as caught:
            change(Level(1, "/c", f"{tmp_path}/c"))

        assert str(caught.value) == f"the container's cgroup {tmp_path}/c has gone meanwhile; start the container again"

    def test_is_on_another_file_system(self, tmp_path: Path, change: Callable[[Level], object]) -> None:
        (tmp_path / "devices.allow").touch()

        with pytest.raises(ConfigurationError) as caught:
            change(Level(1, "/c", str(tmp_path)))

        assert str(caught.value) == f"{tmp_path} is to be a cgroup of version 1 and is another file system; see what is mounted on it"
        assert (tmp_path / "devices.allow").read_text() == ""


@pytest.mark.parametrize(
    ("number", "rule", "expected"),
    [
        pytest.param(
            errno.ENODEV,
            RULE,
            UnavailableError("the container's cgroup /cg/c has gone meanwhile; start the container again"),
            id="removed while it is open",
        ),
        pytest.param(
            errno.EACCES,
            None,
            ConfigurationError("the container's cgroup /cg/c cannot be read: Permission denied; the hook must run as root"),
            id="reading",
        ),
        pytest.param(
            errno.EROFS,
            RULE,
            ConfigurationError(
                "the container's cgroup /cg/c cannot be allowed c 188:0 rw: Read-only file system; "
                "the hook must run as root with CAP_SYS_ADMIN, where that file system can be written"
            ),
            id="read-only",
        ),
    ],
)
def test_an_error_says_the_way_out(number: int, rule: CgroupRule | None, expected: HookError) -> None:
    found = cgroup._failed(Level(1, "/c", "/cg/c"), OSError(number, os.strerror(number)), rule)

    assert (type(found), str(found)) == (type(expected), str(expected))
