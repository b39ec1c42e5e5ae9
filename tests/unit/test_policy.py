"""policy.toml is read from the last folder that has it; its faults are named by file, place and value."""

from __future__ import annotations

from pathlib import Path

import pytest

from oci_udev_hook import policy
from oci_udev_hook.errors import ConfigurationError
from oci_udev_hook.policy import Pinned, Policy


def put(folder: Path, content: str | bytes) -> str:
    """Make a folder with a policy; its path."""
    folder.mkdir(exist_ok=True)
    (folder / "policy.toml").write_bytes(content.encode() if isinstance(content, str) else content)
    return str(folder)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("", Policy(), id="empty"),
        pytest.param("# [systemd]\n", Policy(), id="comment"),
        pytest.param("[systemd]\n", Policy(), id="empty table"),
        pytest.param('[systemd]\npinned = "replace"\n', Policy(Pinned.REPLACE), id="replace"),
        pytest.param("systemd.pinned = 'leave'\n", Policy(Pinned.LEAVE), id="leave"),
    ],
)
def test_it_says_what_happens_to_pinned_programs(tmp_path: Path, content: str, expected: Policy) -> None:
    assert policy.load((put(tmp_path, content),)) == expected


def test_without_one_they_are_replaced(tmp_path: Path) -> None:
    assert policy.load((f"{tmp_path}/none", str(tmp_path))) == Policy(Pinned.REPLACE)


def test_a_later_folder_masks_an_earlier(tmp_path: Path) -> None:
    first = put(tmp_path / "usr", "systemd.pinned = 'leave'")
    bad = put(tmp_path / "run", "pinned")

    assert policy.load((first, str(tmp_path))) == Policy(Pinned.LEAVE)
    assert policy.load((bad, first)) == Policy(Pinned.LEAVE)
    assert policy.load((first, put(tmp_path / "etc", ""))) == Policy()


def test_a_link_to_dev_null_masks_as_well(tmp_path: Path) -> None:
    first = put(tmp_path / "usr", "systemd.pinned = 'leave'")
    (tmp_path / "policy.toml").symlink_to("/dev/null")

    assert policy.load((first, str(tmp_path))) == Policy()


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        pytest.param('systemd.pinned = "lave"', ['systemd.pinned is "lave", it must be "replace" or "leave"'], id="value"),
        pytest.param('systemd.pinned = "2s"', ['systemd.pinned is "2s", it must be "replace" or "leave"'], id="value like a time"),
        pytest.param("systemd.pinned = true", ['systemd.pinned is true, it must be "replace" or "leave"'], id="no text"),
        pytest.param("systemd.pinned = []", ['systemd.pinned is [], it must be "replace" or "leave"'], id="list"),
        pytest.param("systemd = 'leave'", ['systemd is "leave", it must be a table'], id="no table"),
        pytest.param("[[systemd]]", ["systemd is [{}], it must be a table"], id="list of tables"),
        pytest.param("[sytemd]", ['the file has the field "sytemd", which is not known; write systemd'], id="mistyped table"),
        pytest.param(
            "raw = ['/dev/fuse']\nsystemd.pin = 'leave'",
            [
                'the file has the field "raw", which is not one of systemd',
                'systemd has the field "pin", which is not known; write pinned',
            ],
            id="two faults",
        ),
        pytest.param("[systemd", ["is no TOML: Expected ']' at the end of a table declaration (at end of document)"], id="no TOML"),
        pytest.param(b"a = 1\nb = '\xff'", ["is no UTF-8 text (at line 2)"], id="no text at all"),
        pytest.param("a = " + "[" * 9999, ["is nested too deeply"], id="nested"),
    ],
)
def test_faults_are_named(tmp_path: Path, content: str | bytes, faults: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        policy.load((put(tmp_path, content),))

    assert sorted(caught.value.sentences) == sorted([f"{tmp_path}/policy.toml: {fault}" for fault in faults])


@pytest.mark.parametrize(
    ("make", "why"),
    [
        pytest.param(lambda path: path.mkdir(), "it is no regular file", id="folder"),
        pytest.param(lambda path: path.write_bytes(b"#" * 1024 * 1024 + b"#"), "it has more than 1048576 bytes", id="too large"),
        pytest.param(lambda path: path.symlink_to("policy.toml"), "Too many levels of symbolic links", id="link to itself"),
    ],
)
def test_one_that_cannot_be_read_is_an_error(tmp_path: Path, make: object, why: str) -> None:
    assert callable(make)
    make(tmp_path / "policy.toml")

    with pytest.raises(ConfigurationError) as caught:
        policy.load((str(tmp_path),))

    assert str(caught.value) == f"{tmp_path}/policy.toml cannot be read: {why}"
