"""A container that asks for two units has two working devices, and nothing else: on every stack, in every mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bed.cells import MODES, Mode, Runtime, cells, diagonal
from bed.engine import HELD, RESOURCE, Engine
from bed.setup import define

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.devices import Loop

HOLDER = "holder"
everywhere = pytest.mark.parametrize("engine", cells(modes=MODES), indirect=True)
#: Not runc in a user namespace: it binds the host's file of the same path (`why` says so).
renaming = pytest.mark.parametrize(
    "engine",
    [*diagonal(Mode.ROOTFUL, Mode.ROOTLESS), *cells(runtimes=(Runtime.CRUN,), modes=(Mode.UIDMAP,))],
    indirect=True,
)


@pytest.fixture(scope="module")
def held(engine: Engine) -> Iterator[Engine]:
    """A container that holds two units; it may make nodes, so that only the device cgroup keeps it from opening them."""
    engine.start(HOLDER, f"{RESOURCE}: 2", "--cap-add", "mknod")
    yield engine
    engine.remove_all()


@everywhere
def test_its_nodes_are_the_devices(held: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 1 on the engine's side."""
    expected = [f"block special file {loop.major:x}:{loop.minor:x}" for loop in loops[:2]]

    assert held.exec(HOLDER, "stat", "-c", "%F %t:%T", *(loop.node for loop in loops[:2])).out.splitlines() == expected


@everywhere
def test_no_other_node_is_there(held: Engine, loops: tuple[Loop, ...]) -> None:
    assert held.exec(HOLDER, "sh", "-c", "ls -d /dev/loop*").out.split() == [loop.node for loop in loops[:2]]


@everywhere
def test_each_opens_for_reading_and_writing(held: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 8: the node and the cgroup's rule come as a pair."""
    script = " && ".join(f"exec 3<>{loop.node} && echo {loop.name}" for loop in loops[:2])

    assert held.exec(HOLDER, "sh", "-c", script).out.split() == [loop.name for loop in loops[:2]]


@everywhere
def test_another_device_stays_out_of_reach(held: Engine, loops: tuple[Loop, ...]) -> None:
    """A unit that it did not get, by a node that it makes itself: open(2) is refused, or already mknod(2) in a user namespace."""
    other = loops[2]
    script = f"rm -f /tmp/other; mknod /tmp/other b {other.major} {other.minor} && exec 3<>/tmp/other && echo opened"

    result = held.exec(HOLDER, "sh", "-c", script, check=False)

    assert "opened" not in result.out
    assert "/tmp/other: Operation not permitted" in result.err
    if held.cell.mode is Mode.ROOTFUL:
        assert "mknod" not in result.err, "the device cgroup must refuse, not the missing capability"


@everywhere
def test_its_process_knows_them_by_a_variable(held: Engine, loops: tuple[Loop, ...]) -> None:
    """podman exec does not show what a hook added, the process itself has it."""
    variables = held.exec(HOLDER, "cat", "/proc/1/environ")

    assert f"OCI_UDEV_BED_EXAMPLE_LOOP={loops[0].node},{loops[1].node}" in variables.out.split("\0")


@everywhere
def test_the_standard_devices_still_work(held: Engine) -> None:
    """Case 28."""
    assert held.exec(HOLDER, "sh", "-c", "echo gone >/dev/null && head -c 4 /dev/zero | wc -c").out.strip() == "4"


@everywhere
def test_leases_tell_who_holds_them(held: Engine, loops: tuple[Loop, ...]) -> None:
    assert held.leases() == {HOLDER: tuple(loop.node for loop in loops[:2])}


@everywhere
def test_another_container_is_refused_what_is_held(held: Engine) -> None:
    """podman's user sees the exit status, `why` has the reason."""
    held.refused("second", f"{RESOURCE}: 3", code=HELD)

    reason = held.hook("why", "second").out
    assert HOLDER in reason
    assert f"3 of {RESOURCE}" in reason
    assert "second" not in held.leases()


@renaming
def test_a_path_with_colons_is_given_as_it_is(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 6: a definition has no HOST:CONTAINER:rwm to be mistaken for."""
    define(clean.view, loops[:1], 'path = "/dev/odd:dev{index}:rwm"\n')

    assert clean.output(f"{RESOURCE}: 1", "sh", "-c", "exec 3<>/dev/odd:dev0:rwm && echo opened") == "opened\n"
