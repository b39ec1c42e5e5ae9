"""Units are free again whatever ends a container, and come back to it when it comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bed.cells import MODES, diagonal
from bed.engine import HELD, RESOURCE, Engine
from bed.setup import define
from bed.views import until

if TYPE_CHECKING:
    from bed.devices import Loop

ONE = f"{RESOURCE}: 1"
pytestmark = pytest.mark.parametrize("engine", diagonal(*MODES), indirect=True)


def test_a_stopped_container_holds_nothing(clean: Engine) -> None:
    clean.start("a", ONE)
    assert set(clean.leases()) == {"a"}

    clean.podman("stop", "--time", "0", "a")

    assert clean.leases() == {}


def test_a_removed_container_holds_nothing(clean: Engine) -> None:
    clean.start("a", ONE)

    clean.remove("a")

    assert clean.leases() == {}


def test_a_container_that_ends_by_itself_holds_nothing(clean: Engine) -> None:
    clean.podman(*clean.run_arguments("a", ONE, (), ("true",)))

    until(lambda: clean.leases() == {})


def test_a_container_that_comes_back_gets_the_same_units(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 3: the first free ones would be others."""
    clean.start("a", ONE)
    clean.start("b", ONE)
    held = clean.leases()
    assert held == {"a": (loops[0].node,), "b": (loops[1].node,)}
    clean.podman("stop", "--time", "0", "a", "b")

    clean.podman("start", "b")

    assert clean.leases() == {"b": held["b"]}
    clean.podman("start", "a")
    assert clean.leases() == held


def test_a_restart_keeps_the_units(clean: Engine) -> None:
    clean.start("a", f"{RESOURCE}: 2")
    held = clean.leases()

    clean.podman("restart", "--time", "0", "a")

    assert clean.leases() == held
    assert clean.exec("a", "sh", "-c", f"exec 3<>{held['a'][1]} && echo opened").out == "opened\n"


def test_a_container_whose_command_does_not_exist_holds_nothing(clean: Engine) -> None:
    """The runtime fails after the hook has allotted, and no poststop hook runs."""
    result = clean.podman(*clean.run_arguments("a", ONE, (), ("no-such-command",)), check=False)

    assert result.code in {126, 127}
    assert clean.leases() == {}
    clean.start("b", f"{RESOURCE}: 4")


def test_a_killed_monitor_frees_nothing_that_is_in_use(clean: Engine) -> None:
    """conmon, which would run the poststop hook, is killed; then the container's process ends, too."""
    clean.start("a", ONE)
    held = clean.leases()
    monitor, process = (clean.inspect("a", f"{{{{.State.{pid}}}}}") for pid in ("ConmonPid", "Pid"))

    clean.view.run("sh", "-c", f"kill -9 {monitor}")
    until(lambda: not clean.view.path(f"/proc/{monitor}").exists())
    assert clean.leases() == held
    clean.refused("b", f"{RESOURCE}: 4", code=HELD)

    clean.view.run("sh", "-c", f"kill -9 {process}")
    until(lambda: not clean.view.path(f"/proc/{process}").exists())
    assert clean.leases() == {}
    clean.start("c", f"{RESOURCE}: 4")


def test_a_restart_by_policy_gives_the_units_again(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 24: hooks named by a configuration file run then; those named by an option do not."""
    script = f"exec 3<>{loops[0].node} && echo $OCI_UDEV_BED_EXAMPLE_LOOP; exit 1"

    clean.start("a", ONE, "--restart", "on-failure:2", command=("sh", "-c", script))

    until(lambda: clean.podman("logs", "a").out.splitlines() == [loops[0].node] * 3)
    until(lambda: clean.leases() == {})


def test_eight_at_once_share_out_four_units(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 25, too: podman answers meanwhile, for no hook calls it."""
    names = [f"at-once-{number}" for number in range(8)]
    starts = [clean.popen(*clean.run_arguments(name, ONE, ("--detach",), ("sleep", "1000"))) for name in names]
    clean.podman("ps", "--all")
    answers = [(process.communicate(timeout=60), process.returncode) for process in starts]

    assert sorted(code for _, code in answers) == [0] * 4 + [126] * 4
    assert all(f"exit status {HELD}" in err for (_, err), code in answers if code)
    held = clean.leases()
    assert sorted(held) == sorted(name for name, (_, code) in zip(names, answers, strict=True) if code == 0)
    assert sorted(held.values()) == [(loop.node,) for loop in loops[:4]]


def test_a_shared_unit_goes_to_as_many_as_its_definition_says(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 17: a third is told who holds it."""
    define(clean.view, loops[:1], "sharing = 2\n")

    clean.start("a", ONE)
    clean.start("b", ONE)
    clean.refused("c", ONE, code=HELD)

    assert clean.leases() == {"a": (loops[0].node,), "b": (loops[0].node,)}
    reason = clean.hook("why", "c").out
    assert "a" in reason.split()
    assert "b" in reason.split()
