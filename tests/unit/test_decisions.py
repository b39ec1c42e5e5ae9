"""Decisions are kept by container, refusals longest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from oci_udev_hook import decisions
from oci_udev_hook.decisions import Decision
from oci_udev_hook.frozen import replace

REFUSED = Decision(
    stage="precreate",
    container="4f" * 32,
    name="zigbee-bridge",
    time=1000.5,
    code=75,
    outcome="refused",
    reason="2 of a.example/foo were asked for",
    requests=("2 of a.example/foo",),
    units=(),
    notes=("a note",),
)
GRANTED = replace(REFUSED, code=0, outcome="allotted", reason="", units=("u1", "u2"))


def test_a_decision_comes_back_as_it_was(tmp_path: Path) -> None:
    """Field by field."""
    decisions.keep(str(tmp_path), REFUSED)

    assert list(decisions._read(str(tmp_path))) == [REFUSED]


@pytest.mark.parametrize("asked", ["zigbee-bridge", "4f" * 32, "4f4f"], ids=["name", "id", "beginning of the id"])
def test_a_decision_is_found(tmp_path: Path, asked: str) -> None:
    """By what people know a container by."""
    decisions.keep(str(tmp_path), REFUSED)

    assert decisions.find(str(tmp_path), asked) == (REFUSED,)


@pytest.mark.parametrize("asked", ["zigbee", "4f4", "", "5f5f"], ids=["part of a name", "too short", "nothing", "another id"])
def test_a_decision_for_another_is_not_found(tmp_path: Path, asked: str) -> None:
    """Three hexadecimal digits could be anyone's."""
    decisions.keep(str(tmp_path), REFUSED)

    assert decisions.find(str(tmp_path), asked) == ()


def test_the_last_decision_for_a_container_replaces_the_one_before(tmp_path: Path) -> None:
    """Though one was a refusal."""
    for decision in (REFUSED, GRANTED):
        decisions.keep(str(tmp_path), decision)

    assert list(decisions._read(str(tmp_path))) == [GRANTED]


def test_refusals_outlive_grants(tmp_path: Path) -> None:
    """When one too many is there, the oldest grant goes."""
    decisions.keep(str(tmp_path), REFUSED)
    for number in range(decisions.LIMIT + 3):
        decisions.keep(str(tmp_path), replace(GRANTED, container=f"{number:064x}"))
    kept = list(decisions._read(str(tmp_path)))

    assert len(kept) == decisions.LIMIT
    assert REFUSED in kept


def test_damaged_and_odd_files_are_passed_over(tmp_path: Path) -> None:
    """A link, a pipe, a folder and half a file hide no decision."""
    decisions.keep(str(tmp_path), REFUSED)
    folder = tmp_path / "decisions"
    (folder / "half.refused").write_text('{"stage": "precr')
    (folder / "list.refused").write_text("[]")
    (folder / "link.refused").symlink_to("/etc/passwd")
    (folder / "folder.refused").mkdir()
    os.mkfifo(folder / "pipe.refused")

    assert list(decisions._read(str(tmp_path))) == [REFUSED]


@pytest.mark.parametrize(
    "change",
    [
        {"requests": ["2 of a.example/foo", 2]},
        {"units": "u1"},
        {"notes": [None]},
        {"time": True},
        {"time": None},
        {"time": 1e18},
        {"code": "75"},
        {"code": 256},
        {"code": True},
    ],
    ids=str,
)
def test_a_decision_with_a_wrong_value_is_passed_over(tmp_path: Path, change: dict[str, object]) -> None:
    """Half a decision would be told as a whole one."""
    decisions.keep(str(tmp_path), REFUSED)
    (kept,) = (tmp_path / "decisions").iterdir()
    kept.write_text(json.dumps({**json.loads(kept.read_text()), **change}))

    assert list(decisions._read(str(tmp_path))) == []


@pytest.mark.parametrize("letter", ["ü", "٣", "漢", "/", "\0", "\ud800"])
def test_a_name_of_any_letters_is_kept(tmp_path: Path, letter: str) -> None:
    """A file's name has 255 bytes at most, which 128 letters can be too many for (name_max, limits.h)."""
    decision = replace(REFUSED, container="", name=letter * 300)
    decisions.keep(str(tmp_path), decision)

    assert list(decisions._read(str(tmp_path))) == [decision]
    (name,) = [path.name for path in (tmp_path / "decisions").iterdir()]
    assert name.startswith((f"+{ord(letter):x}+" * 128)[:128] + "+")
    assert name.endswith(".refused")


def test_names_that_differ_in_odd_letters_only_are_told_apart(tmp_path: Path) -> None:
    """Ids of runtimes may have `.` and `+`; a refusal must not hide another's."""
    for name in ("a.b", "a+b", "a_b", "x" * 200 + "1", "x" * 200 + "2"):
        decisions.keep(str(tmp_path), replace(REFUSED, container=name))

    assert len(list(decisions._read(str(tmp_path)))) == 5


def test_a_name_with_a_path_in_it_stays_in_its_folder(tmp_path: Path) -> None:
    """Container names come from outside."""
    decisions.keep(str(tmp_path), replace(REFUSED, container="../../x"))

    assert [path.name for path in (tmp_path / "decisions").iterdir()] == ["+2e++2e++2f++2e++2e++2f+x.refused"]


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """A full or read-only state folder loses the reason, not the container."""
    (tmp_path / "decisions").write_text("")
    decisions.keep(str(tmp_path), REFUSED)

    assert list(decisions._read(str(tmp_path))) == []
