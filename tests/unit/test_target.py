"""The live container by its process: this one, whose root is the host's as a created container's is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oci_udev_hook.errors import HookError, UnavailableError, UsageError
from oci_udev_hook.injection import target

PACKAGE = str(Path(target.__file__).parents[2])


def test_a_created_containers_root_is_where_its_config_says(tmp_path: Path) -> None:
    (tmp_path / "rootfs").mkdir()

    found = target.open_target(os.getpid(), "rootfs", str(tmp_path), "label", rootless=False)
    try:
        assert os.path.samestat(os.fstat(found.rootfs), os.stat(tmp_path / "rootfs"))
        assert (found.pid, found.pivoted, found.user_namespace, found.uid_map, found.gid_map) == (os.getpid(), False, False, (), ())
        assert (found.mount_label, found.rootless) == ("label", False)
        assert target.read_proc(found, "cgroup") == Path("/proc/self/cgroup").read_text()
    finally:
        target.close(found)


@pytest.mark.parametrize(
    ("pid", "root", "error", "sentence"),
    [
        pytest.param(
            None,
            "none",
            UsageError,
            'root.path "none" of the container\'s config is no folder that its process {pid} has (No such file or directory); '
            "it must name the container's root folder",
            id="no folder",
        ),
        pytest.param(
            None,
            "file",
            UsageError,
            'root.path "file" of the container\'s config is no folder that its process {pid} has '
            "(a file or link stands there or on the way); it must name the container's root folder",
            id="a file",
        ),
        pytest.param(
            None,
            "",
            UsageError,
            "the container's config has no root.path, so its root folder is not known; name it there",
            id="empty",
        ),
        *[
            pytest.param(
                pid,
                "",
                UnavailableError,
                "the container's process {pid} is not there, or not any more; start the container again",
                id=f"process {pid}",
            )
            for pid in (0, -1, 2**30)
        ],
    ],
)
def test_what_cannot_be_opened_is_named(tmp_path: Path, pid: int | None, root: str, error: type[HookError], sentence: str) -> None:
    """And nothing stays open."""
    (tmp_path / "file").touch()
    asked = os.getpid() if pid is None else pid
    before = os.listdir("/proc/self/fd")

    with pytest.raises(error) as caught:
        target.open_target(asked, root, str(tmp_path), "", rootless=False)

    assert str(caught.value) == sentence.format(pid=asked)
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param("", (), id="not written yet"),
        pytest.param("         0     100000      65536\n", ((0, 100000, 65536),), id="one range"),
        pytest.param(
            "         0       1000          1\n         1     100000      65536\n",
            ((0, 1000, 1), (1, 100000, 65536)),
            id="a user's own and more",
        ),
        pytest.param("0 0 4294967295\n", ((0, 0, 4294967295),), id="all"),
    ],
)
def test_an_id_map_is_read_as_the_kernel_shows_it(text: str, ids: object) -> None:
    assert target._id_map(text) == ids


def test_to_confirm_a_container_loads_no_ctypes() -> None:
    """Each start of a container comes this way, and ctypes takes a tenth of it to load."""
    script = (
        f"import os, sys; sys.path.insert(0, {PACKAGE!r}); before = set(sys.modules)\n"
        "from oci_udev_hook.edit import Node\n"
        "from oci_udev_hook.injection import nodes, target\n"
        "from oci_udev_hook.model import DeviceNumber, DeviceType\n"
        "container = target.open_target(os.getpid(), '/', '', '', rootless=False)\n"
        "print(nodes.wrong_node(container, (Node('/dev/null', DeviceNumber(DeviceType.CHAR, 1, 3), 0, 0, 0),)))\n"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('oci_udev_hook')))"
    )

    answer = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True).stdout.splitlines()

    assert answer[0] == "None"
    assert {"ctypes", "struct", "typing", "dataclasses"}.isdisjoint(answer[1].split())
