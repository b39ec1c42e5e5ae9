"""A created container is opened as its config says, and what is made for it has the label of its files."""

from __future__ import annotations

import ast
import inspect
import os
from pathlib import Path
from typing import Any

import pytest

from oci_udev_hook.allocation import liveness
from oci_udev_hook.errors import UsageError
from oci_udev_hook.injection import linux, mounts
from oci_udev_hook.injection.opening import Opened
from oci_udev_hook.model import Process

OWN = liveness.process(os.getpid()) or Process(0, 0)


def test_root_and_label_are_the_configs(tmp_path: Path) -> None:
    """config-linux.md, Mount Label."""
    (tmp_path / "rootfs").mkdir()
    config = {"root": {"path": "rootfs"}, "linux": {"mountLabel": "system_u:object_r:container_file_t:s0:c1,c2"}}
    with Opened(OWN, config, str(tmp_path), rootless=True) as container:
        assert os.path.samestat(os.fstat(container.rootfs), os.stat(tmp_path / "rootfs"))
        assert (container.mount_label, container.rootless) == ("system_u:object_r:container_file_t:s0:c1,c2", True)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param({"root": {"path": 1}}, "the container's config: root.path is 1, not a string", id="a root that is no path"),
        pytest.param(
            {"root": {"path": "x"}, "linux": {"mountLabel": 1}},
            "the container's config: linux.mountLabel is 1, not a string",
            id="a label that is none",
        ),
    ],
)
def test_what_is_of_another_shape_is_its_makers_fault(config: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Opened(OWN, config, "/", rootless=False)

    assert str(error.value) == message


@pytest.mark.parametrize(
    ("label", "options"),
    [
        ("", {"source": "oci-udev-hook", "mode": "0700"}),
        ("a:b:c:s0", {"source": "oci-udev-hook", "mode": "0700", "context": "a:b:c:s0"}),
    ],
    ids=["no SELinux", "SELinux"],
)
def test_a_private_tmpfs_has_the_containers_label(monkeypatch: pytest.MonkeyPatch, label: str, options: dict[str, str]) -> None:
    """So a node in it has the label from the start, which a mount with `context=` lets nobody change (mount(8))."""
    asked: list[object] = []
    monkeypatch.setattr(linux, "new_tmpfs", lambda *arguments: asked.append(arguments) or 7)

    assert mounts.private_tmpfs(label) == 7
    assert asked == [(options, linux.MOUNT_ATTR_NOSUID | linux.MOUNT_ATTR_NOEXEC)]


def test_nothing_but_calls_of_the_kernel_is_done_in_a_containers_namespace() -> None:
    """No import, no file, no locale, no log: what stands behind setns(2) is listed here."""
    every = [node for node in ast.walk(ast.parse(inspect.getsource(mounts))) if isinstance(node, ast.FunctionDef)]
    functions = [node for node in every if any(ast.unparse(statement).startswith("linux.setns(") for statement in node.body)]
    behind: set[str] = set()
    for function in functions:
        lines = [ast.unparse(statement) for statement in function.body]
        (entered,) = [index for index, line in enumerate(lines) if line.startswith("linux.setns(")]
        for statement in function.body[entered + 1 :]:
            nodes = list(ast.walk(statement))
            assert not any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes)
            behind |= {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}

    assert behind == {"zip", "linux.move_mount", "os.fchdir", "linux.umount"}
    assert len(functions) == 2
