"""What is wrong has its own exit code, starts nothing and leases nothing; `why` has the sentence."""

from __future__ import annotations

import pytest

from bed.cells import Cgroup, Mode, Runtime, cells
from bed.engine import IMAGE, LIMITS, RESOURCE, SLEEP, Engine
from bed.setup import DEFINITION

pytestmark = pytest.mark.parametrize(
    "engine",
    [
        *cells(cgroups=(Cgroup.V2,), runtimes=(Runtime.CRUN,)),
        *cells(cgroups=(Cgroup.V1,), runtimes=(Runtime.RUNC,), modes=(Mode.ROOTLESS,)),
    ],
    indirect=True,
)
USAGE, UNAVAILABLE, CONFIGURATION = 64, 69, 78


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        pytest.param(f"{RESOURCE}: 0.5", USAGE, "0.5", id="half a device"),
        pytest.param(f"{RESOURCE}: -1", USAGE, "-1", id="less than none"),
        pytest.param(f"{RESOURCE}: 1, {RESOURCE}: 2", USAGE, RESOURCE, id="the same twice"),
        pytest.param('{"unknown": {}}', USAGE, "unknown", id="an object that has no meaning yet"),
        pytest.param("no-such.example/thing: 1", UNAVAILABLE, "no-such.example/thing", id="a resource that no one defined"),
        pytest.param(f"{RESOURCE}: 5", UNAVAILABLE, "4", id="more than there are"),
        pytest.param(f"{RESOURCE}=no-such-unit", UNAVAILABLE, "no-such-unit", id="a unit that is not there"),
    ],
)
def test_a_request_that_cannot_be_met(clean: Engine, limits: str, code: int, said: str) -> None:
    clean.refused("a", limits, code=code)

    assert said in clean.hook("why", "a").out
    assert clean.leases() == {}


@pytest.mark.parametrize("key", ["limit", "injected"])
def test_an_annotation_that_is_not_for_askers(clean: Engine, key: str) -> None:
    """One mistyped, and the hook's own mark."""
    annotation = f"{LIMITS.rpartition('.')[0]}.{key}"

    result = clean.podman("run", "--name", "a", "--annotation", f"{annotation}={RESOURCE}: 1", IMAGE, *SLEEP, check=False)

    assert f"exit status {USAGE}" in result.err
    assert annotation in clean.hook("why", "a").out


def test_a_bad_definition_stops_its_own_resource_only(clean: Engine) -> None:
    bad = DEFINITION.replace("50-bed", "60-bad")
    clean.view.write(bad, '[[resource]]\nname = "bad.example/thing"\nmatch = [\'SUBSYSTEM="block"\']\nsharing = 0\n')
    try:
        clean.refused("a", "bad.example/thing: 1", code=CONFIGURATION)

        assert bad in clean.hook("why", "a").out
        assert clean.leases() == {}
        clean.start("b", f"{RESOURCE}: 1")
    finally:
        clean.view.path(bad).unlink()


def test_a_container_that_asks_for_nothing_starts_whatever_is_wrong(clean: Engine) -> None:
    """The hook's JSON names annotations, so it is not even run."""
    clean.view.write("/etc/oci-udev-hook/resources.d/00-bad.toml", "no TOML")
    try:
        clean.start("a", "")
    finally:
        clean.view.path("/etc/oci-udev-hook/resources.d/00-bad.toml").unlink()
