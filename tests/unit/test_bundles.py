"""Where a bundle is, and its config.json patched in place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from oci_udev_hook import bundles, ociconfig
from oci_udev_hook.errors import ConfigurationError


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


def test_a_config_that_cannot_be_patched_is_the_hosts_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_in(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError) as error:
        bundles.patch(config, {})

    assert str(error.value) == (
        f"{config.source} cannot be patched: No space left on device; its folder must be one that may be written to and have room, "
        "since what the hook gives a container stands there"
    )
    assert os.listdir(tmp_path) == ["config.json"]
