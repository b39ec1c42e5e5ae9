"""Fixtures of the engine tests: one view for each release and cgroup hierarchy, and podman in it, as a test's cell says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bed import leftovers
from bed.cells import Cell, Cgroup, Mode, Release
from bed.devices import Loop, add_loops, remove_loops
from bed.engine import USER, Engine
from bed.matrix import Results
from bed.setup import define, import_image, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.views import View

UNITS = 4  #: of the bed's resource
SPARE = 2  #: loop devices more, that no definition takes


@pytest.fixture(scope="session", autouse=True)
def machine() -> Iterator[None]:
    """The machine is afterwards as it was before. One run at a time: cgroups and loop devices are the whole machine's."""
    with leftovers.alone():
        before = leftovers.look()
        yield
        leftovers.sweep(before)
        assert leftovers.changes(before, leftovers.look()) == []


@pytest.fixture(scope="session")
def loops(machine: None) -> Iterator[tuple[Loop, ...]]:
    """Loop devices: UNITS of the bed's resource, then SPARE others."""
    made = add_loops(UNITS + SPARE)
    yield made
    remove_loops(made)


class Views:
    """The views of a session, each made when it is first asked for."""

    def __init__(self, loops: tuple[Loop, ...]) -> None:
        self.loops = loops
        self.views: dict[tuple[Release, Cgroup], View] = {}
        self.users: set[tuple[Release, Cgroup]] = set()

    def get(self, cell: Cell) -> View:
        """The view for CELL, with an image for the user who runs podman there."""
        key = cell.release, cell.cgroup
        if key not in self.views:
            self.views[key] = prepare(*key, self.loops, self.loops[:UNITS])
        if cell.mode is Mode.ROOTLESS and key not in self.users:
            import_image(self.views[key], USER)
            self.users.add(key)
        return self.views[key]


@pytest.fixture(scope="session")
def views(loops: tuple[Loop, ...]) -> Iterator[Views]:
    """All views of the session."""
    made = Views(loops)
    yield made
    for view in made.views.values():
        view.stop()


@pytest.fixture(scope="session")
def matrix(request: pytest.FixtureRequest) -> Iterator[Results]:
    """What createRuntime does on the stacks of this run; kept for `make matrix` where no claim was left out."""
    results = Results()
    yield results
    if results.rows and not request.config.getoption("keyword"):
        results.save()


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, views: Views) -> Iterator[Engine]:
    """podman of the cell that a test is for; nothing is held before and after."""
    cell: Cell = request.param
    engine = Engine(cell, views.get(cell))
    for loop in views.loops:
        loop.appear(engine.view, 0o666 if engine.binds_nodes else 0o660)
    define(engine.view, views.loops[:UNITS])
    yield engine
    engine.remove_all()
    assert engine.leases() == {}


@pytest.fixture
def clean(engine: Engine, loops: tuple[Loop, ...]) -> Iterator[Engine]:
    """The same for a test that starts containers of its own: they are gone afterwards, and so is what it changed in the definition."""
    engine.remove_all()
    yield engine
    engine.remove_all()
    define(engine.view, loops[:UNITS])
    assert engine.leases() == {}
