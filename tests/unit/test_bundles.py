"""Where a bundle is, and its config.json patched in place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from oci_udev_hook import bundles, ociconfig
from oci_udev_hook.errors import ConfigurationError
from oci_udev_hook.frozen import replace


@pytest.mark.parametrize(
    ("words", "bundle"),
    [
        pytest.param(["/usr/bin/crun", "create", "--bundle", "/b/userdata", "--pid-file", "/p", "id"], "/b/userdata", id="conmon's"),
        pytest.param(["runc", "run", "-b", "/b/", "id"], "/b", id="short"),
        pytest.param(["runc", "run", "--bundle=/b", "id"], "/b", id="one word"),
        pytest.param(["runc", "run", "id"], "", id="none"),
        pytest.param(["runc", "run", "--bundle"], "", id="cut off"),
    ],
)
def test_the_runtimes_command_line_tells_the_bundle(tmp_path: Path, words: list[str], bundle: str) -> None:
    """Case 27: crun's state says `/` under --uidmap, and without precreate no lease knows better."""
    folder = tmp_path / "42"
    folder.mkdir()
    (folder / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in words))

    assert bundles._of_runtime(42, str(tmp_path)) == bundle


def test_a_runtime_that_has_ended_tells_nothing(tmp_path: Path) -> None:
    assert bundles._of_runtime(42, str(tmp_path)) == ""


def config_in(folder: Path) -> ociconfig.Config:
    """A config in a bundle."""
    path = folder / "config.json"
    path.write_text('{"ociVersion": "1.0.2"}')
    path.chmod(0o640)
    return ociconfig.read(path.read_bytes(), str(path))


def test_a_patched_config_keeps_its_mode_and_leaves_no_file_beside_it(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    bundles.patch(config, {**config.value, "new": True})

    assert json.loads(Path(config.source).read_text()) == {"ociVersion": "1.0.2", "new": True}
    assert Path(config.source).stat().st_mode & 0o7777 == 0o640
    assert os.listdir(tmp_path) == ["config.json"]


def test_a_config_that_is_a_link_is_not_patched(tmp_path: Path) -> None:
    """Runtimes follow it, and other bundles' may lead to the same file."""
    shared = tmp_path / "shared"
    shared.mkdir()
    config = config_in(shared)
    link = tmp_path / "config.json"
    link.symlink_to(config.source)
    with pytest.raises(ConfigurationError, match=r"config\.json cannot be patched: it is a symbolic link; it must be a plain file"):
        bundles.patch(replace(config, source=str(link)), {})

    assert link.is_symlink()
    assert json.loads(Path(config.source).read_text()) == config.value
    assert sorted(os.listdir(tmp_path)) == ["config.json", "shared"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_patched_config_keeps_its_owner(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    os.chown(config.source, 1234, 5678)
    bundles.patch(config, {})

    assert (Path(config.source).stat().st_uid, Path(config.source).stat().st_gid) == (1234, 5678)


def test_extended_attributes_go_with_a_patched_config(tmp_path: Path) -> None:
    """Where SELinux has one, its label."""
    config = config_in(tmp_path)
    os.setxattr(config.source, "user.kept", b"yes")
    bundles.patch(config, {})

    assert os.getxattr(config.source, "user.kept") == b"yes"


def test_a_config_that_cannot_be_patched_is_the_hosts_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_in(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError) as error:
        bundles.patch(config, {})

    assert str(error.value) == (
        f"{config.source} cannot be patched: No space left on device; it must be a plain file in a folder that may be written to "
        "and has room, since what the hook gives a container stands there"
    )
    assert os.listdir(tmp_path) == ["config.json"]
