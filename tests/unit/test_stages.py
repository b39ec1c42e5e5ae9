"""A container's life through the stages, with devices that every Linux machine has."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from oci_udev_hook import allocation, confirming, decisions, engine, log, ociconfig, places, stages
from oci_udev_hook.allocation import rebuild
from oci_udev_hook.errors import ConfigurationError, HeldError, HookError, UnavailableError, UsageError
from oci_udev_hook.findings import Findings
from oci_udev_hook.frozen import replace
from oci_udev_hook.injection import checks
from oci_udev_hook.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = str(Path(stages.__file__).parents[1])
DEFINITIONS = """
    [[resource]]
    name = "kernel.example/random"
    match = ['SUBSYSTEM=="mem", KERNEL=="random|urandom"']
"""
LIMITS = "io.oci-udev-hook.limits"
MARK = "io.oci-udev-hook.injected"
ONE, TWO, THREE = ("1f" * 32, "2f" * 32, "3f" * 32)


@pytest.fixture(name="run")
def fixture_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Definitions and a ledger of the test's own, which knows nothing of containers that run on this machine."""
    monkeypatch.setattr(rebuild, "leases", lambda *_: ())
    monkeypatch.setattr(confirming, "check_container", lambda *_: None)  # engine tests look into real containers
    folder = tmp_path / "config" / "resources.d"
    folder.mkdir(parents=True)
    (folder / "50-random.toml").write_text(textwrap.dedent(DEFINITIONS))
    return Run(places.User(os.geteuid(), rootless=False), (str(tmp_path / "config"),), str(tmp_path / "state"))


def config(asked: str | None, container: str = ONE, **annotations: str) -> dict[str, Any]:
    """An OCI config as podman gives it, cut down."""
    return {
        "ociVersion": "1.0.2-dev",
        "process": {"user": {"uid": 0, "gid": 0}, "args": ["sh"], "env": ["PATH=/bin"]},
        "root": {"path": "rootfs"},
        "annotations": {**annotations, **({LIMITS: asked} if asked is not None else {})},
        "linux": {"resources": {"devices": [{"allow": False, "access": "rwm"}]}, "cgroupsPath": f"/libpod_parent/libpod-{container}"},
        "x-unknown": {"kept": [1, None]},
    }


def precreate(run: Run, asked: str | None, container: str = ONE) -> dict[str, Any]:
    """What precreate makes of a container's config."""
    answer = stages.precreate(run, json.dumps(config(asked, container)).encode(), Findings())
    patched: dict[str, Any] = json.loads(answer)
    return patched


def state(bundle: Path, container: str = ONE, pid: int | None = None) -> bytes:
    """A container's state, of a bundle."""
    return json.dumps(
        {"ociVersion": "1.0", "id": container, "status": "created", "bundle": str(bundle), **({"pid": pid} if pid else {})}
    ).encode()


def bundle_of(tmp_path: Path, patched: dict[str, Any]) -> Path:
    """A bundle with that config."""
    bundle = tmp_path / "bundle"
    bundle.mkdir(exist_ok=True)
    (bundle / "config.json").write_text(json.dumps(patched))
    return bundle


def test_two_units_come_with_node_rule_and_variable(run: Run) -> None:
    """Cases 1 and 8."""
    patched = precreate(run, "kernel.example/random: 2")

    assert {(node["path"], node["major"], node["minor"]) for node in patched["linux"]["devices"]} == {
        ("/dev/random", 1, 8),
        ("/dev/urandom", 1, 9),
    }
    assert patched["linux"]["resources"]["devices"] == [
        {"allow": False, "access": "rwm"},
        {"allow": True, "type": "c", "major": 1, "minor": 8, "access": "rw"},
        {"allow": True, "type": "c", "major": 1, "minor": 9, "access": "rw"},
    ]
    assert "OCI_UDEV_KERNEL_EXAMPLE_RANDOM=/dev/random,/dev/urandom" in patched["process"]["env"]
    assert patched["x-unknown"] == {"kept": [1, None]}


def test_a_container_that_asks_for_nothing_gets_its_config_byte_for_byte(run: Run) -> None:
    """No ledger, no folder, no file is made for it."""
    data = b'{"ociVersion":  "1.0.2", "annotations": {"other": "x"}}\n'

    assert stages.precreate(run, data, Findings()) == data
    assert not Path(run.state_dir).exists()


def test_a_count_of_zero_gives_nothing(run: Run) -> None:
    """Kubernetes lets one write it."""
    assert precreate(run, "kernel.example/random: 0") == config("kernel.example/random: 0")


def test_units_do_not_go_to_a_second_container(run: Run) -> None:
    """It is told who holds them, and nothing is leased to it."""
    precreate(run, "kernel.example/random: 1", ONE)
    with pytest.raises(HeldError, match="held by 1f1f1f1f1f1f"):
        precreate(run, "kernel.example/random: 2", TWO)

    assert precreate(run, "kernel.example/random: 1", THREE)["linux"]["devices"][0]["path"] == "/dev/urandom"


def test_precreate_again_for_the_same_container_gives_the_same(run: Run) -> None:
    """Its own earlier lease is not in its way."""
    assert precreate(run, "kernel.example/random: 2") == precreate(run, "kernel.example/random: 2")


def test_a_container_that_comes_back_gets_the_unit_it_had(run: Run, tmp_path: Path) -> None:
    """Though another is free and comes first."""
    precreate(run, "kernel.example/random: 1", ONE)
    second = precreate(run, "kernel.example/random: 1", TWO)["linux"]["devices"]
    for container in (ONE, TWO):
        stages.poststop(run, state(tmp_path / "none", container), Findings())

    assert precreate(run, "kernel.example/random: 1", TWO)["linux"]["devices"] == second


def test_create_runtime_confirms_with_the_pid(run: Run, tmp_path: Path) -> None:
    """From then on the lease is the container's process's."""
    bundle = bundle_of(tmp_path, precreate(run, "kernel.example/random: 2"))
    findings = Findings()
    stages.create_runtime(run, state(bundle, pid=os.getpid()), findings)

    assert (findings.outcome, len(findings.units)) == ("confirmed", 2)


def test_poststop_releases_and_cleans_the_bundle(run: Run, tmp_path: Path) -> None:
    """The config is again what it was, and a second poststop is no error."""
    bundle = bundle_of(tmp_path, precreate(run, "kernel.example/random: 2"))
    (bundle / "config.json").chmod(0o640)
    for _ in range(2):
        stages.poststop(run, state(bundle), Findings())

    assert json.loads((bundle / "config.json").read_text()) == config("kernel.example/random: 2")
    assert (bundle / "config.json").stat().st_mode & 0o777 == 0o640
    assert precreate(run, "kernel.example/random: 2", TWO)


def test_create_runtime_leaves_a_container_alone_that_asks_for_nothing(run: Run, tmp_path: Path) -> None:
    """Another one of its pod does."""
    bundle = bundle_of(tmp_path, config("kernel.example/random: 0"))

    assert stages.create_runtime(run, state(bundle, pid=os.getpid()), Findings()) == b""


def change_boot(patched: dict[str, Any]) -> None:
    """The mark of an earlier boot."""
    mark = json.loads(patched["annotations"][MARK])
    mark["boot"] = "0" * 36
    patched["annotations"][MARK] = json.dumps(mark)


def change_number(patched: dict[str, Any]) -> None:
    """A node that somebody has changed."""
    patched["linux"]["devices"][0]["minor"] = 3


@pytest.mark.parametrize(
    ("change", "container", "error", "message"),
    [
        pytest.param(
            lambda patched: None,
            TWO,
            UsageError,
            "BUNDLE/config.json carries devices that an earlier run of the hook put in, and they are container 1f1f1f1f1f1f's; "
            "take them out, then start it again: "
            f'echo \'{{"id": "{ONE}", "status": "stopped", "bundle": "BUNDLE"}}\' | oci-udev-hook poststop',
            id="another container's mark",
        ),
        pytest.param(
            change_boot,
            ONE,
            UsageError,
            "BUNDLE/config.json carries devices that an earlier run of the hook put in, and they are from before the last boot; "
            "take them out, then start it again: "
            f'echo \'{{"id": "{ONE}", "status": "stopped", "bundle": "BUNDLE"}}\' | oci-udev-hook poststop',
            id="an earlier boot's mark",
        ),
        pytest.param(
            change_number,
            ONE,
            UnavailableError,
            "the container's config has c 1:3 at /dev/random, not the leased c 1:8; start the container again",
            id="another device at the node's path",
        ),
    ],
)
def test_create_runtime_refuses_what_is_not_leased(
    run: Run, tmp_path: Path, change: Any, container: str, error: type[HookError], message: str
) -> None:
    """With the command that mends it."""
    patched = precreate(run, "kernel.example/random: 2")
    change(patched)
    bundle = bundle_of(tmp_path, patched)
    with pytest.raises(error) as raised:
        stages.create_runtime(run, state(bundle, container, pid=os.getpid()), Findings())

    assert str(raised.value).replace(str(bundle), "BUNDLE") == message


def give_another_device(patched: dict[str, Any]) -> None:
    """A mark that keeps the leased unit's name and gives /dev/mem."""
    mark = json.loads(patched["annotations"][MARK])
    mark["leases"] = [{**lease, "numbers": ["c 1:1"], "nodes": []} for lease in mark["leases"]]
    mark["edits"] = [{"node": "/dev/random", "number": "c 1:1", "mode": 438, "uid": 0, "gid": 0}]
    patched["linux"]["devices"] = [{"path": "/dev/random", "type": "c", "major": 1, "minor": 1}]
    patched["annotations"][MARK] = json.dumps(mark)


def give_nothing(patched: dict[str, Any]) -> None:
    """A mark from which all was taken."""
    patched["annotations"][MARK] = json.dumps({**json.loads(patched["annotations"][MARK]), "leases": [], "edits": []})


@pytest.mark.parametrize("change", [give_another_device, give_nothing], ids=["another device", "nothing"])
def test_create_runtime_refuses_a_mark_that_says_other_than_the_ledger(run: Run, tmp_path: Path, change: Any) -> None:
    """The ledger is the truth."""
    patched = precreate(run, "kernel.example/random: 1")
    change(patched)
    with pytest.raises(UnavailableError) as error:
        stages.create_runtime(run, state(bundle_of(tmp_path, patched), pid=os.getpid()), Findings())

    assert str(error.value) == ("1f1f1f1f1f1f does not hold what its config gives it: the lease changed before it ran; start it again")


STALE = (
    "BUNDLE/config.json carries devices that an earlier run of the hook put in, and their lease has ended; "
    "take them out, then start it again: "
    f'echo \'{{"id": "{ONE}", "status": "stopped", "bundle": "BUNDLE"}}\' | oci-udev-hook poststop'
)


def test_create_runtime_refuses_a_lease_that_has_ended(run: Run, tmp_path: Path) -> None:
    """Its units can be another's by now."""
    bundle = bundle_of(tmp_path, precreate(run, "kernel.example/random: 1"))
    stages.poststop(run, state(tmp_path / "none"), Findings())
    with pytest.raises(UsageError) as error:
        stages.create_runtime(run, state(bundle, pid=os.getpid()), Findings())

    assert str(error.value).replace(str(bundle), "BUNDLE") == STALE


def test_create_runtime_refuses_the_lease_of_an_earlier_process_of_that_id(run: Run, tmp_path: Path) -> None:
    """A bundle that is run again under its old id, though no poststop hook has cleaned it."""
    bundle = bundle_of(tmp_path, precreate(run, "kernel.example/random: 1"))
    with subprocess.Popen(["sleep", "100"]) as process:
        stages.create_runtime(run, state(bundle, pid=process.pid), Findings())
        process.kill()
    with pytest.raises(UsageError) as error:
        stages.create_runtime(run, state(bundle, pid=os.getpid()), Findings())

    assert str(error.value).replace(str(bundle), "BUNDLE") == STALE


def test_create_runtime_run_twice_for_one_process_is_no_error(run: Run, tmp_path: Path) -> None:
    """Two hook JSON files can name the program."""
    bundle = bundle_of(tmp_path, precreate(run, "kernel.example/random: 1"))
    outcomes = []
    for _ in range(2):
        findings = Findings()
        stages.create_runtime(run, state(bundle, pid=os.getpid()), findings)
        outcomes.append(findings.outcome)

    assert outcomes == ["confirmed", "confirmed"]


def set_bundle(run: Run, bundle: Path) -> None:
    """What an engine's config would have told."""
    with allocation.Ledger(run.state_dir, uid=run.who.uid) as ledger:
        (lease,) = ledger.leases()
        ledger.commit([replace(lease, holder=replace(lease.holder, bundle=str(bundle)))])


def test_a_bundle_whose_container_runs_is_not_cleaned_for_another(run: Run, tmp_path: Path) -> None:
    """One bundle run under two ids: the first one's mark must stay."""
    bundle = bundle_of(tmp_path, precreate(run, "kernel.example/random: 1"))
    stages.create_runtime(run, state(bundle, pid=os.getpid()), Findings())
    set_bundle(run, bundle)
    with pytest.raises(UsageError) as error:
        stages.create_runtime(run, state(bundle, TWO, pid=os.getpid()), Findings())

    assert str(error.value) == (
        f"{bundle}/config.json is of the container 1f1f1f1f1f1f, which runs now (process {os.getpid()}) and has devices; "
        "stop it first, or run another bundle"
    )


def test_poststop_of_a_container_that_lives_ends_no_lease(run: Run, tmp_path: Path) -> None:
    """Anyone can say that it has stopped; it ends with its process all the same."""
    bundle = bundle_of(tmp_path, precreate(run, "kernel.example/random: 1"))
    with subprocess.Popen(["sleep", "100"]) as process:
        stages.create_runtime(run, state(bundle, pid=process.pid), Findings())
        stages.poststop(run, state(bundle), Findings())
        with pytest.raises(HeldError):
            precreate(run, "kernel.example/random: 2", TWO)
        process.kill()

    assert precreate(run, "kernel.example/random: 2", TWO)


def test_cleaning_a_copied_bundle_takes_nothing_from_the_container_that_lives(run: Run, tmp_path: Path) -> None:
    """The command in the error names the other bundle, and the lease is not of that one."""
    patched = precreate(run, "kernel.example/random: 1")
    first = bundle_of(tmp_path, patched)
    stages.create_runtime(run, state(first, pid=os.getpid()), Findings())
    copy = tmp_path / "copy"
    shutil.copytree(first, copy)
    set_bundle(run, first)
    stages.poststop(run, state(copy), Findings())

    assert "annotations" in json.loads((first / "config.json").read_text())
    assert MARK not in json.loads((copy / "config.json").read_text())["annotations"]
    with pytest.raises(HeldError, match="held by 1f1f1f1f1f1f"):
        precreate(run, "kernel.example/random: 2", TWO)


def test_a_state_whose_bundle_is_the_root_is_found_by_its_lease(run: Run, tmp_path: Path) -> None:
    """Case 27: so crun has it under --uidmap, at createRuntime and at poststop."""
    storage = tmp_path / "storage"
    bundle = storage / "overlay-containers" / ONE / "userdata"
    bundle.mkdir(parents=True)
    asked = config("kernel.example/random: 1")
    asked["root"]["path"] = str(storage / "overlay" / ("ab" * 32) / "merged")
    (bundle / "config.json").write_bytes(stages.precreate(run, json.dumps(asked).encode(), Findings()))
    findings = Findings()
    stages.create_runtime(run, state(Path("/"), pid=os.getpid()), findings)
    stages.poststop(run, state(Path("/")), Findings())

    assert findings.outcome == "confirmed"
    assert json.loads((bundle / "config.json").read_text()) == asked


@pytest.fixture(name="journal")
def fixture_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A journal of the test's own."""
    monkeypatch.setattr(log, "_JOURNAL_SOCKET", str(tmp_path / "journal"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(log._JOURNAL_SOCKET)
        listening.setblocking(False)
        yield listening


@pytest.mark.parametrize(
    ("asked", "priority", "through_structlog", "event"),
    [
        pytest.param(
            "kernel.example/random: 2",
            6,
            False,
            {
                "requests": ["2 of kernel.example/random"],
                "units": ["port:/devices/virtual/mem/random", "port:/devices/virtual/mem/urandom"],
                "outcome": "allotted",
                "level": "info",
            },
            id="allotted",
        ),
        pytest.param(
            "kernel.example/random: 3",
            3,
            True,
            {
                "requests": ["3 of kernel.example/random"],
                "units": [],
                "outcome": "refused",
                "code": 69,
                "reason": (
                    "3 of kernel.example/random were asked for, but only 2 exist: /dev/random and /dev/urandom; "
                    "ask for fewer or plug in more"
                ),
                "level": "error",
            },
            id="refused",
        ),
        pytest.param(
            "kernel.example/random: 0", 6, False, {"requests": [], "units": [], "outcome": "nothing", "level": "info"}, id="nothing asked"
        ),
    ],
)
def test_each_run_is_one_event(
    run: Run, journal: socket.socket, monkeypatch: pytest.MonkeyPatch, asked: str, priority: int, through_structlog: bool, event: Any
) -> None:
    """With container, requests, units, duration, outcome; what went well without structlog, a failure through it."""
    rendered: list[str] = []
    monkeypatch.setattr(log, "_render_with_structlog", lambda *words: rendered.append(words[0]) or log._render(*words))
    monkeypatch.setattr(engine, "_read_input", lambda: json.dumps(config(asked)).encode())
    monkeypatch.setattr(engine, "_write_output", lambda output: None)
    engine.main(run, "precreate")
    first, second, message = journal.recv(1 << 16).decode().splitlines()
    found = json.loads(message.removeprefix("MESSAGE="))
    duration = found.pop("duration_ms")

    assert (first, second) == (f"PRIORITY={priority}", "SYSLOG_IDENTIFIER=oci-udev-hook")
    assert found == {"container": ONE, "event": "precreate", **event}
    assert 0 < duration < 10_000
    assert bool(rendered) == through_structlog
    with pytest.raises(BlockingIOError):
        journal.recv(1)


def test_a_start_that_is_refused_after_the_allotting_got_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes at one path: the definition's fault, found last."""
    folder = Path(run.config_dirs[0], "resources.d")
    (folder / "60-one.toml").write_text(DEFINITIONS.replace("example/random", "example/one") + 'path = "/dev/one"\n')
    monkeypatch.setattr(engine, "_read_input", lambda: json.dumps(config("kernel.example/one: 2")).encode())
    code = engine.main(run, "precreate")
    (decision,) = decisions.find(run.state_dir, ONE)

    assert (code, decision.code, decision.units) == (78, 78, ())


def test_create_runtime_refuses_a_host_node_that_is_another_device_now(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The config still has the leased number, but the name was given anew."""
    bundle = bundle_of(tmp_path, precreate(run, "kernel.example/random: 1"))
    monkeypatch.setattr(checks, "moved", lambda mark, moved=checks.moved: moved(mark, lambda _: os.stat("/dev/zero")))
    with pytest.raises(UnavailableError) as error:
        stages.create_runtime(run, state(bundle, pid=os.getpid()), Findings())

    assert str(error.value) == (
        "/dev/random, unit port:/devices/virtual/mem/random of kernel.example/random, was c 1:8 when it was allotted and is c 1:5 now; "
        "start the container again"
    )


def test_nothing_in_the_environment_reaches_the_installed_program(tmp_path: Path) -> None:
    """Case 34, where an engine hands its own environment on: `-I` and `-S` in the program's first line."""
    program = tmp_path / "oci-udev-hook"
    template = (Path(PACKAGE).parent / "packaging" / "oci-udev-hook").read_text(encoding="utf-8")
    program.write_text(template.replace("@PYTHON@", "/usr/bin/python3").replace("@LIBDIR@", PACKAGE), encoding="utf-8")
    program.chmod(0o755)
    evil = tmp_path / "evil"
    evil.mkdir()
    for module in ("json", "enum", "sitecustomize", "usercustomize"):
        (evil / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(99)\n")
    environment = {"PYTHONPATH": str(evil), "PYTHONHOME": str(evil), "PYTHONSTARTUP": str(evil / "json.py"), "HOME": str(evil)}
    answer = subprocess.run(
        [program, "precreate"], input=b'{"ociVersion": "1.0.2"}', env=environment, cwd=evil, capture_output=True, check=True
    )

    assert answer.stdout == b'{"ociVersion": "1.0.2"}'
    assert not (tmp_path / "ran").exists()


def test_a_log_that_fails_changes_nothing_for_the_engine(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is the stage's, and the decision is kept first."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr(engine, "_read_input", lambda: json.dumps(config("kernel.example/random: 3")).encode())
    monkeypatch.setattr(log, "event", fail)

    assert engine.main(run, "precreate") == 69
    assert "of a test" in capsys.readouterr().err
    assert [decision.code for decision in decisions.find(run.state_dir, ONE)] == [69]


def test_the_command_that_cleans_a_bundle_is_safe_to_paste(run: Run, tmp_path: Path) -> None:
    """A bundle is another's word: nothing in it runs in root's shell."""
    patched = precreate(run, "kernel.example/random: 1")
    mark = json.loads(patched["annotations"][MARK])
    mark["container"] = f"x' ; touch {tmp_path}/ran ; echo '"
    patched["annotations"][MARK] = json.dumps(mark)
    with pytest.raises(UsageError) as error:
        stages.create_runtime(run, state(bundle_of(tmp_path, patched), pid=os.getpid()), Findings())
    command = str(error.value).partition("start it again: ")[2].replace("| oci-udev-hook poststop", "| cat")
    printed = subprocess.run(["sh", "-c", command], capture_output=True, check=True)

    assert json.loads(printed.stdout)["id"] == mark["container"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        pytest.param("kernel.example/unknown: 1", UnavailableError, "kernel.example/unknown", id="unknown resource"),
        pytest.param("kernel.example/random: 3", UnavailableError, "3 of kernel.example/random", id="too few exist"),
        pytest.param("kernel.example/random: 500m", UsageError, "500m", id="no whole number"),
        pytest.param("random", UsageError, "random", id="no domain"),
    ],
)
def test_what_cannot_be_had_is_refused_and_leases_nothing(run: Run, asked: str, error: type[HookError], message: str) -> None:
    """One sentence, its own exit code."""
    with pytest.raises(error, match=message):
        precreate(run, asked)

    assert precreate(run, "kernel.example/random: 2", TWO)


def test_a_request_for_a_resource_in_a_bad_file_is_refused_with_that_reason(run: Run) -> None:
    """And other files still count."""
    folder = Path(run.config_dirs[0], "resources.d")
    (folder / "60-bad.toml").write_text("[[resource]]\nname = 'kernel.example/bad'\nmatch = ['KERNEL==\"x\"']\nsharing = 0\n")
    with pytest.raises(ConfigurationError, match=r"60-bad\.toml: resource\[0\]\.sharing is 0"):
        precreate(run, "kernel.example/bad: 1")

    assert precreate(run, "kernel.example/random: 2")


def test_the_hooks_own_mark_is_refused_in_what_a_user_writes(run: Run) -> None:
    """Whoever sets it could claim devices."""
    with pytest.raises(UsageError, match=f"^annotation {MARK} is this hook's own mark"):
        stages.precreate(run, json.dumps(config(None, **{MARK: "{}"})).encode(), Findings())


def test_the_plan_of_dry_run_is_what_precreate_does(run: Run) -> None:
    """Edit by edit."""
    plan = stages.dry_run(run, ociconfig.read(json.dumps(config("kernel.example/random: 2")).encode()), "/", Findings())
    patched = precreate(run, "kernel.example/random: 2")
    done = json.loads(patched["annotations"][MARK])["edits"]

    assert done == [json.loads(json.dumps(edit)) for edit in map(edit_as_json, plan.edits)]


def edit_as_json(edit: Any) -> object:
    """An edit in the form that the mark has."""
    from oci_udev_hook.injection import mark

    return mark.edit_as_json(edit)


def test_dry_run_leases_nothing(run: Run) -> None:
    """It needs no right to the state folder, and leaves none behind."""
    stages.dry_run(run, ociconfig.read(json.dumps(config("kernel.example/random: 2")).encode()), "/", Findings())

    assert not Path(run.state_dir).exists()


@pytest.mark.parametrize("stage", ["precreate", "createRuntime", "poststop"])
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"hello", id="no JSON"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"{}", id="an empty object"),
        pytest.param(b'{"ociVersion": "1.0.2"', id="cut off"),
        pytest.param(b'{"ociVersion": 1, "id": 1}', id="wrong types"),
        pytest.param(b"\xff\xfe{}", id="no UTF-8"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(
            b'{"ociVersion": "1.0.2", "id": "x", "annotations": {"io.oci-udev-hook.limits": 2}}', id="an annotation that is no string"
        ),
    ],
)
def test_bad_input_is_the_askers_fault_and_prints_no_config(
    run: Run, stage: str, data: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 64, a sentence, no traceback, nothing on standard output."""
    printed: list[bytes] = []
    monkeypatch.setattr(engine, "_read_input", lambda: data)
    monkeypatch.setattr(engine, "_write_output", printed.append)
    code = engine.main(run, stage)
    shown = capsys.readouterr()

    assert (code, printed, shown.out) == (64, [], "")
    assert shown.err.splitlines()[-1].startswith("oci-udev-hook: ")
    assert "Traceback" not in shown.err


def test_the_program_refuses_what_is_cut_off(run: Run) -> None:
    """As an engine runs it, with an empty environment."""
    answer = run_program(run, "precreate", b'{"ociVersion": "1.0.2", "annota')

    assert (answer.returncode, answer.stdout) == (64, b"")
    assert answer.stderr.splitlines()[-1].startswith(b"oci-udev-hook: the config on standard input is no JSON: ")


@pytest.mark.parametrize(
    ("streams", "asked", "code"),
    [
        pytest.param("2>&-", 2, 0, id="no stderr"),
        pytest.param("2>&-", 3, 69, id="no stderr for a refusal"),
        pytest.param("2>/dev/full", 2, 0, id="a full stderr"),
        pytest.param("2>/dev/full", 3, 69, id="a full stderr for a refusal"),
        pytest.param(">&-", 2, 70, id="no standard output"),
        pytest.param(">/dev/full", 2, 70, id="a full standard output"),
        pytest.param("<&-", 2, 64, id="no standard input"),
    ],
)
def test_standard_output_carries_a_config_or_nothing(run: Run, tmp_path: Path, streams: str, asked: int, code: int) -> None:
    """Whatever the other streams are, and the exit code tells what happened."""
    answer = tmp_path / "answer"
    (tmp_path / "input").write_text(json.dumps(config(f"kernel.example/random: {asked}")))
    script = f"import sys; sys.path.insert(0, {PACKAGE!r}); from oci_udev_hook.__main__ import program; program()"
    command = f'"$1" -I -c "$2" --config-dir "$3" --state-dir "$4" precreate <"$5" >"$6" {streams}'
    words = ["sh", "-c", command, "sh", sys.executable, script, run.config_dirs[0], run.state_dir, tmp_path / "input", answer]
    ended = subprocess.run(words, env={}, check=False)

    assert ended.returncode == code
    assert code or len(json.loads(json.loads(answer.read_text())["annotations"][MARK])["leases"]) == 2
    assert not code or answer.read_text() == ""


def test_a_refusal_of_any_length_is_kept_for_why(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cut to what a log takes and a person reads."""
    asked = ", ".join([f"kernel.example/none{number}" for number in range(20_000)])
    monkeypatch.setattr(engine, "_read_input", lambda: json.dumps(config(asked)).encode())
    code = engine.main(run, "precreate")
    (decision,) = decisions.find(run.state_dir, ONE)

    assert (code, decision.code) == (69, 69)
    assert decision.reason.startswith("kernel.example/none0 is not defined on this host")
    assert decision.reason.endswith(" letters more")
    assert len(decision.reason) < 11_000


def test_input_over_16_mib_is_refused(run: Run) -> None:
    """Without reading on."""
    answer = run_program(run, "precreate", b'{"ociVersion": "1.0.2", "x": "' + b"x" * (16 << 20) + b'"}')

    assert (answer.returncode, answer.stdout) == (64, b"")
    assert b"more than 16 MiB" in answer.stderr


def test_a_fault_of_the_hooks_own_has_its_code_and_its_traceback_in_the_log(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An engine gets a code and a sentence all the same."""

    def fail(*_: object) -> bytes:
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr(engine, "_read_input", lambda: b"")
    monkeypatch.setitem(stages.STAGES, "precreate", fail)
    code = engine.main(run, "precreate")
    event, sentence = capsys.readouterr().err.splitlines()

    assert code == 70
    assert json.loads(event)["traceback"].startswith("Traceback (most recent call last)")
    assert sentence == (
        "oci-udev-hook: precreate met a fault of oci-udev-hook itself (ZeroDivisionError: of a test); please report it with its traceback"
    )


def run_program(run: Run, stage: str, data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    """The program as an engine runs it, with an empty environment."""
    script = f"import sys; sys.path.insert(0, {PACKAGE!r}); from oci_udev_hook.__main__ import program; program()"
    command = [sys.executable, "-I", *options, "-c", script, "--config-dir", run.config_dirs[0], "--state-dir", run.state_dir, stage]
    return subprocess.run([*command, "the reason: oci-udev-hook why CONTAINER"], input=data, capture_output=True, env={}, check=False)


def test_the_success_path_loads_nothing_that_is_heavy(run: Run) -> None:
    """With the definitions' cache in place: neither third-party modules nor the slow ones of the standard library."""
    for _ in range(20):  # a definition file that was just written is not kept yet: it might change again within one tick of its clock
        run_program(run, "precreate", json.dumps(config("kernel.example/random: 2")).encode())
        if Path(run.cache).exists():
            break
    answer = run_program(run, "precreate", json.dumps(config("kernel.example/random: 2")).encode(), "-X", "importtime")
    loaded = {line.rpartition("|")[2].strip() for line in answer.stderr.decode().splitlines()}

    assert answer.returncode == 0
    assert (
        loaded & {"structlog", "yaml", "jsonschema", "pyudev", "tomllib", "typing", "dataclasses", "inspect", "argparse", "pathlib"}
        == set()
    )
    assert loaded & {"socket", "subprocess", "logging", "tempfile", "shutil", "ctypes", "datetime", "threading", "traceback"} == set()
