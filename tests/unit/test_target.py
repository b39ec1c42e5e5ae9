"""The live container by its process: this one, whose root is the host's as a created container's is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oci_udev_hook.allocation import liveness
from oci_udev_hook.errors import HookError, RefusedError, UnavailableError, UsageError
from oci_udev_hook.frozen import replace
from oci_udev_hook.injection import target
from oci_udev_hook.model import Process

PACKAGE = str(Path(target.__file__).parents[2])
OWN = liveness.process(os.getpid()) or Process(0, 0)


def test_a_created_containers_root_is_where_its_config_says(tmp_path: Path) -> None:
    (tmp_path / "rootfs").mkdir()

    found = target.open_target(OWN, "rootfs", str(tmp_path), "label", rootless=False)
    try:
        assert os.path.samestat(os.fstat(found.rootfs), os.stat(tmp_path / "rootfs"))
        assert (found.pid, found.pivoted, found.user_namespace, found.uid_map, found.gid_map) == (os.getpid(), False, False, (), ())
        assert (found.mount_label, found.rootless) == ("label", False)
        assert target.read_proc(found, "cgroup") == Path("/proc/self/cgroup").read_text()
    finally:
        target.close(found)


@pytest.mark.parametrize(
    ("process", "root", "error", "sentence"),
    [
        pytest.param(
            OWN,
            "none",
            UsageError,
            'root.path "none" of the container\'s config is no folder that its process {pid} has (No such file or directory); '
            "it must name the container's root folder",
            id="no folder",
        ),
        pytest.param(
            OWN,
            "file",
            UsageError,
            'root.path "file" of the container\'s config is no folder that its process {pid} has '
            "(a file or link stands there or on the way); it must name the container's root folder",
            id="a file",
        ),
        pytest.param(
            OWN,
            "",
            UsageError,
            "the container's config has no root.path, so its root folder is not known; name it there",
            id="empty",
        ),
        *[
            pytest.param(
                process,
                "",
                UnavailableError,
                "the container's process {pid} is not there, or not any more; start the container again",
                id=f"process {process.pid}, {name}",
            )
            for name, process in [
                ("none", Process(0, 0)),
                ("below none", Process(-1, 0)),
                ("above all", Process(2**30, OWN.start)),
                ("a later one", replace(OWN, start=OWN.start - 1)),
                ("an earlier one", replace(OWN, start=OWN.start + 1)),
            ]
        ],
    ],
)
def test_what_cannot_be_opened_is_named(tmp_path: Path, process: Process, root: str, error: type[HookError], sentence: str) -> None:
    """And nothing stays open. A pid that another process has meanwhile is none."""
    (tmp_path / "file").touch()
    before = os.listdir("/proc/self/fd")

    with pytest.raises(error) as caught:
        target.open_target(process, root, str(tmp_path), "", rootless=False)

    assert str(caught.value) == sentence.format(pid=process.pid)
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


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        pytest.param(
            0,
            "root may not look into process 7 of the container; the hook needs CAP_SYS_PTRACE, in that process's user namespace, "
            "where the engine runs it",
            id="root",
        ),
        pytest.param(
            1000,
            "you may not look into process 7 of the container; do it as root, or run the runtime in a user namespace of yours, "
            "as podman unshare makes one",
            id="a user",
        ),
    ],
)
def test_who_may_not_look_into_the_process_is_told_what_that_takes(monkeypatch: pytest.MonkeyPatch, user: int, sentence: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)

    found = target._closed(7, PermissionError(13, "Permission denied"))

    assert (type(found), str(found)) == (RefusedError, sentence)


def test_to_confirm_a_container_loads_no_ctypes(tmp_path: Path) -> None:
    """Each start of a container comes this way, and ctypes takes a tenth of it to load. Not even where there is a link on the way."""
    (tmp_path / "link").symlink_to("/dev")
    script = (
        f"import os, sys; sys.path.insert(0, {PACKAGE!r}); before = set(sys.modules)\n"
        "from oci_udev_hook.edit import Node\n"
        "from oci_udev_hook.injection import looking, target\n"
        "from oci_udev_hook.model import DeviceNumber, DeviceType, Process\n"
        "own = Process(os.getpid(), int(open('/proc/self/stat').read().rpartition(')')[2].split()[19]))\n"
        "container = target.open_target(own, '/', '', '', rootless=False)\n"
        f"edits = [Node(path, DeviceNumber(DeviceType.CHAR, 1, 3), 0, 0, 0) for path in ('/dev/null', '{tmp_path}/link/null')]\n"
        "print(looking.wrong_node(container, tuple(edits)))\n"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('oci_udev_hook')))"
    )

    answer = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True).stdout.splitlines()

    assert answer[0] == "None"
    assert {"ctypes", "struct", "typing", "dataclasses"}.isdisjoint(answer[1].split())
