"""The README's commands on a machine that has nothing of ours: installing, taking it off, and the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bed import setup
from bed.cells import Cell, Cgroup, Release, Runtime, impossible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.views import View

INSTALL = f"{setup.SOURCE}/packaging/install"
DEMO = f"{setup.SOURCE}/packaging/demo"


@pytest.fixture(params=[Cell(Release.DEBIAN12, Cgroup.V1, Runtime.RUNC), Cell(Release.DEBIAN13, Cgroup.V2, Runtime.CRUN)], ids=str)
def view(request: pytest.FixtureRequest) -> Iterator[View]:
    """A view with a checkout and nothing else."""
    cell: Cell = request.param
    if reason := impossible(cell):
        pytest.skip(reason)
    view = setup.bare(cell.release, cell.cgroup)
    yield view
    view.stop()


def files(view: View) -> set[str]:
    """All files where programs and settings are, modules' compiled forms and the locks that podman makes aside."""
    found = view.run("find", "/usr", "/etc", "!", "-type", "d", "!", "-name", "*.pyc", "!", "-name", "*.lock").out
    return set(found.splitlines())


def test_taking_it_off_leaves_nothing(view: View) -> None:
    """Case 22: a hook JSON that is left behind would break every container."""
    before = files(view)
    view.run(INSTALL)
    assert view.run("oci-udev-hook", "--version").out.startswith("oci-udev-hook ")

    view.run(INSTALL, "--uninstall")

    assert files(view) == before


def test_taking_it_off_leaves_the_admins_definitions(view: View) -> None:
    view.run(INSTALL)
    view.write(setup.DEFINITION, "")

    view.run(INSTALL, "--uninstall")

    assert view.path(setup.DEFINITION).exists()


def test_installing_it_again_is_the_same(view: View) -> None:
    view.run(INSTALL)
    once = files(view)

    view.run(INSTALL)

    assert files(view) == once


def test_a_missing_module_is_named_with_the_command_that_brings_it(view: View) -> None:
    view.run("rm", "-r", "/usr/lib/python3/dist-packages/yaml")
    before = files(view)

    result = view.run(INSTALL, check=False)

    assert result.code == 1
    assert "no module yaml: apt-get install python3-pyudev python3-jsonschema python3-structlog python3-yaml" in result.err
    assert files(view) == before


def test_another_user_is_told_to_use_sudo(view: View) -> None:
    view.run("useradd", "--create-home", "someone")

    for script in (INSTALL, DEMO):
        result = view.run(script, user="someone", check=False)

        assert result.code == 1
        assert "sudo" in result.err


def test_the_demo_shows_a_pod_with_two_devices_and_leaves_nothing(view: View) -> None:
    """Its own words are the claim: two opened, who holds them, the second pod refused."""
    before = files(view)

    shown = view.run(DEMO, timeout=120).out

    assert sum(line.startswith("/dev/") and line.endswith(" opened") for line in shown.splitlines()) == 2
    assert "demo-one-bridge" in shown
    refusal = shown[shown.index("why demo-two-bridge") :]
    assert "demo-one-bridge" in refusal
    assert files(view) == before
    assert not view.path("/etc/oci-udev-hook").exists()
    assert not view.path("/run/oci-udev-hook").exists()
    assert view.run("podman", "ps", "--all", "--quiet").out == ""
    assert view.run("podman", "images", "--quiet").out == ""
