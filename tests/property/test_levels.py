"""A container's own cgroups, for any path: never one above its own, each below the one before."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oci_udev_hook.injection import levels

pytestmark = pytest.mark.property
#: A few names, so that they meet, with what paths may have in them.
NAMES = st.sampled_from(["a", "b", "a:b", "x.scope", "p-n.scope", "container", "..a", "a b", "\x85"])
PATHS = st.lists(NAMES, min_size=1, max_size=5)
MOUNTINFO = "31 1 0:28 {root} /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def joined(parts: list[str]) -> str:
    return "".join([f"/{part}" for part in parts])


def escaped(text: str) -> str:
    """TEXT as mountinfo has it."""
    return text.replace("\\", r"\134").replace(" ", r"\040")


@given(PATHS, PATHS)
def test_an_absolute_path_is_owned_from_its_end_down(own: list[str], below: list[str]) -> None:
    path = joined(own + below)

    found = levels.levels(f"0::{path}\n", MOUNTINFO.format(root="/"), joined(own), "id")

    assert [level.path for level in found] == [joined((own + below)[:end]) for end in range(len(own), len(own + below) + 1)]
    assert [level.folder for level in found] == [f"/sys/fs/cgroup{level.path}" for level in found]


@given(PATHS, PATHS)
def test_elsewhere_nothing_is_owned(own: list[str], path: list[str]) -> None:
    assume(path[: len(own)] != own)

    assert levels.levels(f"0::{joined(path)}\n", MOUNTINFO.format(root="/"), joined(own), "id") == ()


@given(PATHS, PATHS, st.sampled_from(["", "a", "b/container", "s:p:n", "a:b", "s::x"]))
def test_the_root_of_a_mount_changes_nothing_below_it(root: list[str], path: list[str], cgroups_path: str) -> None:
    whole = levels.levels(f"0::{joined(path)}\n", MOUNTINFO.format(root="/"), cgroups_path, "id")
    part = levels.levels(f"0::{joined(root + path)}\n", MOUNTINFO.format(root=escaped(joined(root))), cgroups_path, "id")

    assert [level.folder for level in part] == [level.folder for level in whole]
    assert [level.path for level in part] == [joined(root) + level.path for level in whole]
