"""dry-run --pid: what createRuntime would do in a container that runs, step by step, and nothing of it is done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bed.cells import Cell, Mode, cells, diagonal
from bed.engine import RESOURCE, Engine
from bed.plain import Plain
from bed.setup import define, without_precreate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.devices import Loop
    from conftest import Views

ONE = f"{RESOURCE}: 1"
on_both_hierarchies = pytest.mark.parametrize("idle", [*diagonal(Mode.ROOTFUL, Mode.ROOTLESS), *cells(plain=True)], indirect=True)


@pytest.fixture
def idle(request: pytest.FixtureRequest, views: Views) -> Iterator[Engine | Plain]:
    """An engine with a running container that has asked for nothing yet, and never had the precreate hook."""
    cell: Cell = request.param
    runner = (Plain if cell.plain else Engine)(cell, views.get(cell))
    for loop in views.loops:
        loop.appear(runner.view, 0o666 if cell.mode is Mode.ROOTLESS else 0o660)
    define(runner.view, views.loops[:4])
    with without_precreate(runner.view):
        runner.start("idle", "")
        yield runner
        runner.remove_all()


@on_both_hierarchies
def test_it_shows_each_step_and_does_none(idle: Engine | Plain, loops: tuple[Loop, ...]) -> None:
    """For the eye and for programs: the cgroups with the program or list found there, and each node."""
    node, number = loops[0].node, f"b {loops[0].major}:{loops[0].minor}"
    options = ("dry-run", "--pid", str(idle.process("idle")), "--bundle", idle.bundle("idle"), "--limits", ONE)
    before = idle.view.path(f"{idle.bundle('idle')}/config.json").read_bytes()
    text = idle.hook(*options).out
    steps = json.loads(idle.hook(*options, "--json").out)["steps"]

    assert [(step["path"], step["number"]) for step in steps["nodes"]] == [(node, number)]
    assert f"node {node} ({number})" in text
    rootless = idle.cell.mode is Mode.ROOTLESS
    assert steps["nodes"][0]["how"] == ("bind" if rootless else "make")
    changed = [*[step["rules"] for step in steps["lists"]], *[[step["way"]] for step in steps["programs"]]]
    assert changed == ([] if rootless else [[f"{number} rw"]] if idle.cell.cgroup == "v1" else [["prepend"]])
    assert idle.leases() == {}
    assert idle.exec("idle", "ls", node, check=False).code != 0
    assert idle.view.path(f"{idle.bundle('idle')}/config.json").read_bytes() == before


@pytest.mark.parametrize("idle", diagonal(), indirect=True)
def test_a_podman_container_is_known_by_its_process(idle: Engine, loops: tuple[Loop, ...]) -> None:
    """conmon names its bundle; one that has devices shows them as there."""
    idle.remove_all()
    idle.start("holder", ONE)
    text = idle.hook("dry-run", "--pid", str(idle.process("holder"))).out

    assert f"node {loops[0].node} (b {loops[0].major}:{loops[0].minor}) is there already" in text
    assert "is replaced" not in text
    assert "devices.allow gets" not in text
