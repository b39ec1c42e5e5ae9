"""The hook JSON files that engines read, oci-hooks(5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oci_udev_hook.allocation import ledger
from oci_udev_hook.injection import live
from oci_udev_hook.injection.systemd import Manager
from oci_udev_hook.run import STAGES

FOLDER = Path(__file__).parents[2] / "oci-hooks.d"
FILES = sorted(FOLDER.rglob("*.json"))


def content(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_each_stage_has_one_file_and_precreate_is_in_a_folder_of_its_own() -> None:
    """In a shared folder it breaks root's `podman build` and CRI-O's start."""
    assert {str(path.relative_to(FOLDER)): content(path)["stages"] for path in FILES} == {
        "90-oci-udev-hook-createRuntime.json": ["createRuntime"],
        "90-oci-udev-hook-poststop.json": ["poststop"],
        "precreate/90-oci-udev-hook-precreate.json": ["precreate"],
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_is_left_to_the_engine(path: Path) -> None:
    """Its own environment above all, which an image or a user can have filled; the spec says nothing of what is not said here."""
    hook = content(path)["hook"]

    assert hook["path"] == "/usr/libexec/oci/hooks.d/oci-udev-hook"
    assert hook["args"][:2] == ["oci-udev-hook", *content(path)["stages"]]
    assert set(hook["args"][1:]) & set(STAGES) == set(content(path)["stages"])
    assert hook["env"] == ["LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]


def test_createruntime_may_take_as_long_as_all_that_it_waits_for() -> None:
    """An engine kills it without a word when its time is over."""
    waits = ledger._WAIT + 2 * Manager().seconds + live._SYSTEMD_SECONDS

    assert content(FOLDER / "90-oci-udev-hook-createRuntime.json")["hook"]["timeout"] > waits
    for name in ("90-oci-udev-hook-poststop.json", "precreate/90-oci-udev-hook-precreate.json"):
        assert content(FOLDER / name)["hook"]["timeout"] > ledger._WAIT
