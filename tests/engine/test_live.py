"""createRuntime alone: devices come into a live container, on every runtime, cgroup layout and mode; the README's table is made from this.

Each stack runs one container, looks into it by one `exec`, and stops it; what was seen is then held to each claim.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from bed.cells import Cell, Cgroup, Mode, Runtime, cells
from bed.devices import CONTROL, CONTROL_NUMBER, recorded
from bed.engine import RESOURCE, Engine
from bed.matrix import FAILED, WORKS
from bed.plain import Plain
from bed.setup import define, without_precreate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.devices import Loop
    from bed.matrix import Results
    from conftest import Views

NAME = "live"
READ_ONLY, CHARACTER = "bed.example/read-only", "bed.example/character"
LIMITS = f"{RESOURCE}: 1, {READ_ONLY}: 1, {CHARACTER}: 1"
MARK = "io.oci-udev-hook.injected"
LINK = "disk/by-id/ata-BED_A1B2C3"
OPENED = "opened"


@dataclass(frozen=True)
class Seen:
    """What one stack has shown."""

    cell: Cell
    loops: tuple[Loop, ...]
    answers: dict[str, str]  #: of commands that ran in the container, by what they are to show
    held: dict[str, tuple[str, ...]]  #: leases while it ran
    config: dict[str, Any]  #: its bundle's, while it ran
    held_after: dict[str, tuple[str, ...]]
    config_after: dict[str, Any]
    changes: list[str]  #: of the host's /dev and the image's, while it ran and afterwards


def all_cells(*cgroups: Cgroup, runtimes: tuple[Runtime, ...] = tuple(Runtime)) -> list[object]:
    """Every release, mode and engine."""
    return [one for plain in (True, False) for one in cells(cgroups=cgroups, runtimes=runtimes, modes=tuple(Mode), plain=plain)]


everywhere = pytest.mark.parametrize(
    "seen",
    [*all_cells(Cgroup.V1, Cgroup.V2), *all_cells(Cgroup.HYBRID, runtimes=(Runtime.RUNC,))],
    indirect=True,
)
crun_on_hybrid = pytest.mark.parametrize("cell", all_cells(Cgroup.HYBRID, runtimes=(Runtime.CRUN,)))


def runner(cell: Cell, views: Views) -> Engine | Plain:
    """Who runs the containers of CELL."""
    return (Plain if cell.plain else Engine)(cell, views.get(cell))


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest, views: Views, matrix: Results) -> Iterator[Seen]:
    """A container that was given three devices by createRuntime, looked at and stopped."""
    cell: Cell = request.param
    engine = runner(cell, views)
    matrix.put(cell, engine.view, FAILED)
    failed = request.session.testsfailed
    mode = 0o666 if cell.mode is Mode.ROOTLESS else 0o660
    control = engine.view.path(CONTROL)
    before = control.stat().st_mode & 0o7777
    control.chmod(mode)
    for loop in views.loops:
        loop.appear(engine.view, mode)
    links = {loop.node: "" for loop in views.loops} | {CONTROL: "", views.loops[0].node: LINK}
    define(engine.view, views.loops[:1], definition(READ_ONLY, views.loops[1].name, "r") + definition(CHARACTER, "loop-control", "rw"))
    try:
        with without_precreate(engine.view), recorded(engine.view, links):
            yield look(engine, views.loops)
    finally:
        engine.remove_all()
        control.chmod(before)
    if request.session.testsfailed == failed:
        matrix.put(cell, engine.view, WORKS)


def definition(name: str, kernel: str, permissions: str) -> str:
    """One more resource."""
    return f"[[resource]]\nname = '{name}'\nmatch = ['KERNEL==\"{kernel}\"']\npermissions = '{permissions}'\n"


def look(engine: Engine | Plain, loops: tuple[Loop, ...]) -> Seen:
    """Run a container, look into it, stop it."""
    image = [engine.rootfs()] if isinstance(engine, Plain) else []
    places = ["/dev", *(f"{folder}/dev" for folder in image)]
    before = listings(engine, places)
    main = f"(exec 3<>{loops[0].node}) 2>/tmp/main && echo {OPENED} >/tmp/main; exec sleep 1000"
    options = () if isinstance(engine, Plain) else ("--cap-add", "mknod")
    engine.start(NAME, LIMITS, *options, command=("sh", "-c", main))
    answers = ask(engine, loops)
    held = engine.leases()
    path = engine.view.path(f"{engine.bundle(NAME)}/config.json")
    config = json.loads(path.read_text())
    during = listings(engine, places)
    engine.stop(NAME)
    changes = sorted((before ^ during) | (before ^ listings(engine, places)))
    return Seen(engine.cell, loops, answers, held, config, engine.leases(), json.loads(path.read_text()), changes)


def listings(engine: Engine | Plain, places: list[str]) -> set[str]:
    """All that is in PLACES. crun gives the host's /dev/null, a container's standard input, to the container's root."""
    engine.view.run("chown", "root:root", "/dev/null")
    return {f"{place}{line}" for place in places for line in engine.view.listing(place)}


def ask(engine: Engine | Plain, loops: tuple[Loop, ...]) -> dict[str, str]:
    """What the container's own commands answer, what they say to stderr too."""
    given, read_only, other = loops[:3]
    commands = {
        "kinds": f"stat -c '%F %t:%T' {given.node} {read_only.node} {CONTROL}",
        "rights": f"stat -c '%a' {given.node}",
        "owner": f"stat -c '%u' {given.node}",
        "loops": "ls -d /dev/loop[0-9]*",
        "block": f"exec 3<>{given.node} && echo {OPENED}",
        "character": f"exec 3<>{CONTROL} && echo {OPENED}",
        "link": f"stat -L -c %t:%T /dev/{LINK} && exec 3<>/dev/{LINK} && echo {OPENED}",
        "read": f"exec 3<{read_only.node} && echo {OPENED}",
        "write": f"exec 3>{read_only.node} && echo {OPENED}",
        "other": f"mknod /tmp/other b {other.major} {other.minor} && exec 3<>/tmp/other && echo {OPENED}",
        "standard": "echo gone >/dev/null && head -c 4 /dev/zero | wc -c && head -c 4 /dev/urandom | wc -c && echo full >/dev/full",
        "terminal": f"exec 3<>/dev/ptmx && echo {OPENED}",
        "main": "cat /tmp/main",
    }
    script = "\n".join(f"echo '== {key}'; ({command}) 2>&1" for key, command in commands.items())
    parts = engine.exec(NAME, "sh", "-c", script, check=False).out.split("== ")[1:]
    return {key: answer.strip() for key, _, answer in (part.partition("\n") for part in parts)}


@everywhere
def test_its_nodes_are_the_devices(seen: Seen) -> None:
    """Case 1 on the engine's side; `exec` sees them."""
    blocks = [f"block special file {loop.major:x}:{loop.minor:x}" for loop in seen.loops[:2]]

    assert seen.answers["kinds"].splitlines() == [*blocks, "character special file {:x}:{:x}".format(*CONTROL_NUMBER)]


@everywhere
def test_no_other_node_is_there(seen: Seen) -> None:
    assert seen.answers["loops"].split() == [loop.node for loop in seen.loops[:2]]


@everywhere
def test_both_kinds_open_for_reading_and_writing(seen: Seen) -> None:
    """Cases 8 and 29: node and rule come as a pair, for what is executed in the container and for its own process.

    Case 30: podman's crun filters nothing in a user namespace; there is no program, and that is no error.
    """
    assert {key: seen.answers[key] for key in ("block", "character", "main")} == dict.fromkeys(("block", "character", "main"), OPENED)


@everywhere
def test_the_by_id_name_is_there(seen: Seen) -> None:
    """Cases 4, 5 and 10."""
    assert seen.answers["link"].splitlines() == [f"{seen.loops[0].major:x}:{seen.loops[0].minor:x}", OPENED]


@everywhere
def test_a_node_has_its_rights(seen: Seen) -> None:
    """Rootless it is the host's own node, whose owner nobody is in the container; else the container's root has it."""
    rootless = seen.cell.mode is Mode.ROOTLESS

    assert (seen.answers["rights"], seen.answers["owner"]) == (("666", "65534") if rootless else ("660", "0"))


@everywhere
def test_reading_alone_blocks_writing(seen: Seen) -> None:
    """Where the engine lets the runtime filter at all: rootless never, and podman not by crun in a user namespace."""
    assert seen.answers["read"] == OPENED
    if filters(seen.cell):
        assert "Operation not permitted" in seen.answers["write"]


@everywhere
def test_another_device_stays_out_of_reach(seen: Seen) -> None:
    """A unit that it did not get, by a node that it makes itself: open(2) is refused, or already mknod(2) in a user namespace."""
    assert OPENED not in seen.answers["other"]
    assert "/tmp/other: Operation not permitted" in seen.answers["other"]
    if seen.cell.mode is Mode.ROOTFUL:
        assert "mknod" not in seen.answers["other"], "the device cgroup must refuse, not the missing capability"


@everywhere
def test_the_standard_devices_still_work(seen: Seen) -> None:
    """Case 28."""
    assert seen.answers["standard"].splitlines() == ["4", "4", "sh: write error: No space left on device"]
    assert seen.answers["terminal"] == OPENED


@everywhere
def test_leases_tell_who_holds_them(seen: Seen) -> None:
    assert seen.held == {NAME: tuple(sorted([CONTROL, *(loop.node for loop in seen.loops[:2])]))}


@everywhere
def test_the_bundle_tells_what_it_was_given(seen: Seen) -> None:
    """Case 27: found where crun's state names `/`, too. `podman inspect` and `runc restore` read it."""
    assert seen.config["annotations"][MARK]


@everywhere
def test_after_stop_nothing_is_left(seen: Seen) -> None:
    """No lease, no mark or device in the bundle, no node on the host or in the image, and none while it ran."""
    assert seen.held_after == {}
    assert MARK not in json.dumps(seen.config_after)
    assert "loop" not in json.dumps({key: value for key, value in seen.config_after.items() if key not in {"process", "annotations"}})
    assert seen.changes == []


def filters(cell: Cell) -> bool:
    """Whether the runtime is told to keep devices out: podman gives no list where there is a user namespace, for which runc has its own."""
    if cell.mode is Mode.ROOTLESS:
        return False
    return cell.plain or cell.mode is Mode.ROOTFUL or cell.runtime is Runtime.RUNC


@crun_on_hybrid
def test_crun_refuses_a_hybrid_host(cell: Cell, views: Views, matrix: Results) -> None:
    """No container starts, whatever it asks for: its own words stand in the README."""
    engine = runner(cell, views)
    matrix.put(cell, engine.view, FAILED)
    if isinstance(engine, Plain):
        engine.make("refused", "")
        result = engine.run("refused")
    else:
        result = engine.podman(*engine.run_arguments("refused", "", ("--rm",), ("true",)), check=False)
    engine.remove_all()

    assert result.code != 0
    assert "cgroups in hybrid mode not supported" in result.err, str(result)
    said = result.err[result.err.index("cgroups in hybrid mode") :].splitlines()[0]
    matrix.put(cell, engine.view, f"crun: `{said}`")
