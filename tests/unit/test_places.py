"""Where things are depends on who runs the hook, and nobody else may write there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from oci_udev_hook import places
from oci_udev_hook.errors import ConfigurationError
from oci_udev_hook.places import User


@pytest.mark.parametrize(
    ("uid_map", "user"),
    [
        pytest.param("         0          0 4294967295\n", User(os.geteuid(), rootless=os.geteuid() != 0), id="no user namespace"),
        pytest.param("0 1000 1\n1 100000 65536\n", User(1000, rootless=True), id="rootless podman"),
        pytest.param("0 0 1\n1 100000 65536\n", User(0, rootless=False), id="root in a user namespace of its own"),
    ],
)
@pytest.mark.skipif(os.geteuid() != 0, reason="a map says who uid 0 is; this run is not uid 0")
def test_the_user_is_found_through_the_uid_map(uid_map: str, user: User) -> None:
    assert places.user(uid_map) == user


def test_a_hook_without_proc_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("builtins.open", missing)
    with pytest.raises(ConfigurationError) as error:
        places.user()

    assert str(error.value) == "/proc/self/uid_map cannot be read: No such file or directory; oci-udev-hook needs the host's /proc"


def test_roots_state_folder_is_in_run() -> None:
    assert places.state_dir(User(0, rootless=False)) == "/run/oci-udev-hook"


def test_a_user_without_a_runtime_folder_has_one_in_tmp() -> None:
    assert places.state_dir(User(4_000_000, rootless=True)) == "/tmp/oci-udev-hook-4000000"


def test_the_state_folder_is_made_for_all_to_read(tmp_path: Path) -> None:
    places.make_state_dir(str(tmp_path / "state"))
    places.make_state_dir(str(tmp_path / "state"))

    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) & 0o022 == 0


def make_writable(path: Path) -> None:
    """A folder that others may write."""
    path.mkdir()
    path.chmod(0o777)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make_writable, id="writable for others"),
        pytest.param(lambda path: path.symlink_to("/"), id="a link"),
        pytest.param(lambda path: path.write_text(""), id="a file"),
    ],
)
def test_an_unsafe_state_folder_is_refused(tmp_path: Path, make: object) -> None:
    path = tmp_path / "state"
    assert callable(make)
    make(path)
    with pytest.raises(ConfigurationError) as error:
        places.make_state_dir(str(path))

    assert str(error.value) == (
        f"the state folder {path} is not safe: it must be a folder of uid {os.geteuid()} that no one else may write; "
        "remove it and start again"
    )


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "state"
    with pytest.raises(ConfigurationError) as error:
        places.make_state_dir(str(path))

    assert (
        str(error.value) == f"the state folder {path} cannot be made: No such file or directory; make it or name another with --state-dir"
    )
