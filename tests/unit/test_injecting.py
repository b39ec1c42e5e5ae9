"""createRuntime without precreate: all or nothing, with the live container's part as the engine tests prove it left out."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from oci_udev_hook import allocation, bundles, decisions, engine, injecting, places, stages
from oci_udev_hook.allocation import rebuild
from oci_udev_hook.errors import ConfigurationError, HookError, RefusedError, UsageError
from oci_udev_hook.findings import Findings
from oci_udev_hook.injection import live
from oci_udev_hook.injection.systemd import ScopeStep
from oci_udev_hook.injection.undo import UndoLog
from oci_udev_hook.model import LeaseState
from oci_udev_hook.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

DEFINITION = """
    [[resource]]
    name = "kernel.example/random"
    match = ['SUBSYSTEM=="mem", KERNEL=="random|urandom"']
"""
MARK = "io.oci-udev-hook.injected"
CONFIG: dict[str, Any] = {
    "ociVersion": "1.0.2",
    "root": {"path": "rootfs"},
    "annotations": {"io.oci-udev-hook.limits": "kernel.example/random: 1"},
    "linux": {"resources": {"devices": [{"allow": False, "access": "rwm"}]}},
}


class Opened:
    """A container that is open; what is in it is not looked at."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture(name="run")
def fixture_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Definitions and a ledger of the test's own."""
    monkeypatch.setattr(rebuild, "leases", lambda *_: ())
    monkeypatch.setattr(injecting, "Opened", Opened)
    monkeypatch.setattr(live, "look", lambda *_: live.Steps((), (), (), None, (), (), ()))
    folder = tmp_path / "config" / "resources.d"
    folder.mkdir(parents=True)
    (folder / "50-random.toml").write_text(textwrap.dedent(DEFINITION))
    return Run(places.User(os.geteuid(), rootless=False), (str(tmp_path / "config"),), str(tmp_path / "state"))


@pytest.fixture(name="bundle")
def fixture_bundle(tmp_path: Path) -> Path:
    """A bundle that no engine of ours has made."""
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "config.json").write_text(json.dumps(CONFIG))
    return bundle


def state(bundle: Path, identity: str = "mine", pid: int = os.getpid()) -> bytes:
    return json.dumps({"ociVersion": "1.0", "id": identity, "status": "creating", "bundle": str(bundle), "pid": pid}).encode()


def held(run: Run) -> tuple[Any, ...]:
    return allocation.Ledger.read_only(run.state_dir, uid=run.who.uid).leases()


def config_of(bundle: Path) -> Any:
    return json.loads((bundle / "config.json").read_text())


def test_the_lease_is_there_before_the_first_step_and_the_mark_after_the_last(
    run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(live, "apply", lambda *_, **__: seen.append(([lease.unit for lease in held(run)], config_of(bundle))) or ())
    findings = Findings()
    stages.create_runtime(run, state(bundle), findings)
    (lease,) = held(run)

    assert seen == [(["port:/devices/virtual/mem/random"], CONFIG)]
    assert (lease.holder.state, lease.holder.process.pid, lease.holder.bundle) == (LeaseState.CONFIRMED, os.getpid(), str(bundle))
    assert (findings.outcome, findings.units) == ("allotted", ("port:/devices/virtual/mem/random",))
    patched = config_of(bundle)
    assert [node["path"] for node in patched["linux"]["devices"]] == ["/dev/random"]
    assert json.loads(patched["annotations"][MARK])["container"] == "mine"
    assert "process" not in patched, "what comes too late is not in the bundle either"


def test_the_bundle_run_again_after_poststop_asks_again(run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "apply", lambda *_, **__: ())
    for identity in ("first", "second"):
        with subprocess.Popen(["sleep", "100"]) as process:
            stages.create_runtime(run, state(bundle, identity, process.pid), Findings())
            assert [lease.holder.container for lease in held(run)] == [identity]
            process.kill()
        stages.poststop(run, state(bundle, identity), Findings())
        assert (held(run), config_of(bundle)) == ((), CONFIG)


def fail_in_the_container(monkeypatch: pytest.MonkeyPatch, way_back: Callable[[str], Callable[[], None]]) -> None:
    """Two steps are done, the third fails."""

    def apply(_: object, __: object, undo: UndoLog, **___: object) -> None:
        undo.add("the first", way_back("first"))
        undo.add("the second", way_back("second"))
        raise RefusedError("the image's /dev is a symbolic link")

    monkeypatch.setattr(live, "apply", apply)


def test_a_step_that_fails_takes_back_the_earlier_ones_last_first(run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken_back: list[str] = []
    fail_in_the_container(monkeypatch, lambda name: lambda: taken_back.append(name))
    with pytest.raises(RefusedError, match=r"^the image's /dev is a symbolic link$"):
        stages.create_runtime(run, state(bundle), Findings())

    assert (taken_back, held(run), config_of(bundle)) == (["second", "first"], (), CONFIG)


def test_a_way_back_that_is_barred_stops_no_other(run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the error stays the first one, whatever else fails."""
    taken_back: list[str] = []

    def way_back(name: str) -> Callable[[], None]:
        def step() -> None:
            taken_back.append(name)
            raise OSError(16, "Device or resource busy")

        return step

    fail_in_the_container(monkeypatch, way_back)
    findings = Findings()
    with pytest.raises(RefusedError):
        stages.create_runtime(run, state(bundle), findings)

    assert taken_back == ["second", "first"]
    assert [lease.holder.container for lease in held(run)] == ["mine"], "what is in the container stays leased as long as it lives"
    assert [note for note in findings.notes if "not taken back" in note] == [
        "not taken back: the second (Device or resource busy)",
        "not taken back: the first (Device or resource busy)",
    ]


def test_a_ledger_that_cannot_be_written_hides_no_cause(run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_in_the_container(monkeypatch, lambda _: lambda: None)

    def locked(*_: object) -> None:
        raise HookError("another run keeps the lock")

    monkeypatch.setattr(allocation.Ledger, "release", locked)
    findings = Findings()
    with pytest.raises(RefusedError, match=r"^the image's /dev is a symbolic link$"):
        stages.create_runtime(run, state(bundle), findings)

    assert findings.notes[-1] == "not released: another run keeps the lock"


def test_a_container_of_the_same_id_that_lives_keeps_what_it_has(
    run: Run, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runtimes, or two state folders of one, know nothing of each other's ids."""
    monkeypatch.setattr(live, "apply", lambda *_, **__: ())
    stages.create_runtime(run, state(bundle), Findings())
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text(json.dumps(CONFIG))
    with subprocess.Popen(["sleep", "100"]) as process:
        asked = json.dumps({**json.loads(state(other)), "pid": process.pid}).encode()
        with pytest.raises(UsageError) as error:
            stages.create_runtime(run, asked, Findings())
        stages.poststop(run, asked, Findings())
        process.kill()
    (lease,) = held(run)

    assert str(error.value) == (
        f"a container of the id mine runs already (process {os.getpid()}, bundle {bundle}) and holds devices, which are told apart by the "
        "ids; give this one another id"
    )
    assert (lease.holder.process.pid, lease.holder.bundle) == (os.getpid(), str(bundle))


def test_a_bundle_that_cannot_be_patched_takes_all_back(run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken_back: list[str] = []
    monkeypatch.setattr(live, "apply", lambda _, __, undo, **___: undo.add("the node", lambda: taken_back.append("node")) or ())

    def full(*_: object) -> None:
        raise ConfigurationError("no room")

    monkeypatch.setattr(bundles, "patch", full)
    with pytest.raises(ConfigurationError, match=r"^no room$"):
        stages.create_runtime(run, state(bundle), Findings())

    assert (taken_back, held(run), config_of(bundle)) == (["node"], (), CONFIG)


def test_a_device_of_the_containers_own_at_the_path_is_the_askers_fault_before_anything_is_done(
    run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its exit code is told as the engine gets it, and `why` keeps the reason."""
    other = {**CONFIG, "linux": {"devices": [{"path": "/dev/random", "type": "c", "major": 1, "minor": 3}]}}
    (bundle / "config.json").write_text(json.dumps(other))
    monkeypatch.setattr(engine, "_read_input", lambda: state(bundle))
    code = engine.main(run, "createRuntime")
    (decision,) = decisions.find(run.state_dir, "mine")

    assert (code, held(run), config_of(bundle)) == (64, (), other)
    assert decision.reason == (
        "the container has another device at /dev/random, c 1:3, where c 1:8 is to appear; leave that --device out or give it another path"
    )
    assert capsys.readouterr().err.splitlines()[-1] == f"oci-udev-hook: {decision.reason}"


def test_what_was_given_is_kept_for_why(run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "apply", lambda *_, **__: ("/dev/random in the container is the host's own",))
    monkeypatch.setattr(engine, "_read_input", lambda: state(bundle))
    code = engine.main(run, "createRuntime")
    (decision,) = decisions.find(run.state_dir, "mine")

    assert (code, decision.stage, decision.outcome, decision.units) == (
        0,
        "createRuntime",
        "allotted",
        ("port:/devices/virtual/mem/random",),
    )
    assert decision.notes[0].startswith("OCI_UDEV_KERNEL_EXAMPLE_RANDOM cannot be set for a container that is created already")
    assert decision.notes[-1] == "/dev/random in the container is the host's own"


@pytest.mark.parametrize(
    ("pinned", "says", "replaced"),
    [
        pytest.param("/sys/fs/bpf/crun/x_scope", "", True, id="nothing"),
        pytest.param("/sys/fs/bpf/crun/x_scope", '[systemd]\npinned = "replace"\n', True, id="replace"),
        pytest.param("/sys/fs/bpf/crun/x_scope", '[systemd]\npinned = "leave"\n', False, id="leave"),
        pytest.param("", "", False, id="nothing is pinned"),
    ],
)
def test_policy_decides_on_a_pinned_program(
    run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch, pinned: str, says: str, replaced: bool
) -> None:
    """policy.toml stands beside resources.d."""
    asked: list[object] = []
    scope = ScopeStep("x.scope", "auto", (), pinned, "its program is pinned")
    monkeypatch.setattr(live, "look", lambda *_: live.Steps((), (), (), scope, (), (), ()))
    monkeypatch.setattr(live, "apply", lambda *_, replace_pin: asked.append(replace_pin) or ())
    Path(run.config_dirs[0], "policy.toml").write_text(says)
    stages.create_runtime(run, state(bundle), Findings())

    assert asked == [replaced]
