"""Who may open the device: a user of the container, or the user who runs podman."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bed.cells import Mode, Runtime, cells
from bed.engine import RESOURCE, USER, Engine

if TYPE_CHECKING:
    from bed.devices import Loop

ONE = f"{RESOURCE}: 1"
GROUP = 6  #: disk, on every Debian
REFUSED = 77
rootful = pytest.mark.parametrize("engine", cells(), indirect=True)
rootless_crun = pytest.mark.parametrize("engine", cells(modes=(Mode.ROOTLESS,), runtimes=(Runtime.CRUN,)), indirect=True)
rootless_runc = pytest.mark.parametrize("engine", cells(modes=(Mode.ROOTLESS,), runtimes=(Runtime.RUNC,)), indirect=True)
uidmap_runc = pytest.mark.parametrize("engine", cells(modes=(Mode.UIDMAP,), runtimes=(Runtime.RUNC,)), indirect=True)
rootless = pytest.mark.parametrize("engine", cells(modes=(Mode.ROOTLESS,)), indirect=True)


def opened(loop: Loop) -> tuple[str, ...]:
    """A command that opens LOOP."""
    return "sh", "-c", f"exec 3<>{loop.node} && echo opened"


@rootful
def test_a_user_of_the_container_opens_it(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """The node belongs to that user and keeps the host's group, so health checks and `podman exec` can open it, too."""
    loops[0].appear(clean.view, 0o660, gid=GROUP)

    clean.start("a", ONE, "--user", "1000:1000")

    assert clean.exec("a", *opened(loops[0])).out == "opened\n"
    assert clean.exec("a", "stat", "-c", "%u:%g %a", loops[0].node).out == f"1000:{GROUP} 660\n"
    assert str(GROUP) in clean.exec("a", "grep", "^Groups:", "/proc/1/status").out.split()


@rootless_crun
def test_the_users_group_opens_it_with_crun(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 9: crun keeps the user's own groups when the hook says so."""
    clean.view.run("usermod", "--append", "--groups", "disk", USER)
    for loop in loops:
        loop.appear(clean.view, 0o660, gid=GROUP)

    assert clean.output(ONE, *opened(loops[0])) == "opened\n"


@rootless_runc
def test_runc_does_not_keep_the_users_groups_and_why_says_so(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 9: the reason and the way out are said."""
    clean.view.run("usermod", "--append", "--groups", "disk", USER)
    for loop in loops:
        loop.appear(clean.view, 0o660, gid=GROUP)

    result = clean.podman(*clean.run_arguments("a", ONE, (), opened(loops[0])), check=False)

    assert "Permission denied" in result.err
    assert "crun" in clean.hook("why", "a").out


@uidmap_runc
def test_runc_binds_the_hosts_node_in_a_user_namespace_and_why_says_so(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Its owner is nobody there; crun makes a node of the container's own."""
    for loop in loops:
        loop.appear(clean.view, 0o660)

    result = clean.podman(*clean.run_arguments("a", ONE, (), opened(loops[0])), check=False)

    assert "Permission denied" in result.err
    assert "use crun" in clean.hook("why", "a").out


@rootless
def test_a_node_of_roots_alone_is_refused(clean: Engine, loops: tuple[Loop, ...]) -> None:
    for loop in loops:
        loop.appear(clean.view, 0o600)

    clean.refused("a", ONE, code=REFUSED)

    assert loops[0].node in clean.hook("why", "a").out
    assert clean.leases() == {}


@rootless
def test_what_root_holds_is_taken(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Root's ledger counts for users, users' do not count for root."""
    for loop in loops:
        loop.appear(clean.view, 0o666)
    root = Engine(type(clean.cell)(clean.cell.release, clean.cell.cgroup, clean.cell.runtime), clean.view)
    root.start("roots", ONE)
    try:
        clean.start("users", ONE)

        assert clean.leases()["users"] == (loops[1].node,)
        assert root.leases()["users"] == (loops[1].node,), "root sees users' leases"
    finally:
        root.remove_all()
