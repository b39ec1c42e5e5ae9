"""What systemd says of a container's scope, and what is added there: asked of a busctl that answers as a real one did."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path

import pytest

from oci_udev_hook.edit import CgroupRule
from oci_udev_hook.errors import ConfigurationError
from oci_udev_hook.injection import systemd
from oci_udev_hook.injection.systemd import Manager, ScopeStep
from oci_udev_hook.model import DeviceNumber, DeviceType

SCOPE = "libpod-64a7.scope"
UNIT = "/org/freedesktop/systemd1/unit/libpod_2d64a7_2escope"
TTY = CgroupRule(DeviceNumber(DeviceType.CHAR, 188, 0), "rw")
LOOP = CgroupRule(DeviceNumber(DeviceType.BLOCK, 7, 1), "r")
NODE = "/dev/char/188:0"
PIN = "/sys/fs/bpf/crun/libpod-64a7_scope"
NO_UNIT = "Call failed: Unknown object '/org/freedesktop/systemd1/unit/x'."


class Busctl:
    """A busctl that notes its arguments and environment, then does as it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manager = Manager((f"{folder}/none", f"{folder}/bin"), f"{folder}/running", 5)
        (folder / "bin").mkdir()
        (folder / "running").mkdir()

    def does(self, script: str) -> Manager:
        program = self.folder / "bin" / "busctl"
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{self.folder}/arguments; env >{self.folder}/environment\n{script}\n')
        program.chmod(0o755)
        return self.manager

    def says(self, output: str) -> Manager:
        (self.folder / "output").write_text(output)
        return self.does(f"cat {self.folder}/output")

    def fails(self, error: str) -> Manager:
        return self.does(f"echo {shlex.quote(error)} >&2; exit 1")

    @property
    def arguments(self) -> list[str] | None:
        """What it was last asked; None if it was not."""
        path = self.folder / "arguments"
        return path.read_text().split("\n")[:-1] if path.exists() else None


@pytest.fixture
def busctl(tmp_path: Path) -> Busctl:
    return Busctl(tmp_path)


def answer(policy: str, *allow: tuple[str, str], pin: str | None = "", load: str = "loaded") -> str:
    """GetAll of a scope by systemd 252 (of its 300 properties, a few), or with PIN None by one before 249."""
    properties: dict[str, object] = {
        "Controller": {"type": "s", "data": ""},
        "TimeoutStopUSec": {"type": "t", "data": 90000000},
        "Slice": {"type": "s", "data": "machine.slice"},
        "Delegate": {"type": "b", "data": True},
        "DevicePolicy": {"type": "s", "data": policy},
        "DeviceAllow": {"type": "a(ss)", "data": allow},
        "LoadState": {"type": "s", "data": load},
    }
    if pin is not None:
        properties["BPFProgram"] = {"type": "a(ss)", "data": [["ingress", "/sys/fs/bpf/x"], ["device", pin]] if pin else []}
    return json.dumps({"type": "a{sv}", "data": [properties]})


AUTO = "it has DevicePolicy=auto, which keeps no device out"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(answer("strict", ("/dev/char/1:3", "rwm")), ScopeStep(SCOPE, "strict", ((NODE, "rw"),), "", ""), id="runc: strict"),
        pytest.param(answer("closed"), ScopeStep(SCOPE, "closed", ((NODE, "rw"),), "", ""), id="closed"),
        pytest.param(answer("strict", pin=None), ScopeStep(SCOPE, "strict", ((NODE, "rw"),), "", ""), id="a systemd without BPFProgram"),
        pytest.param(answer("auto"), ScopeStep(SCOPE, "auto", (), "", AUTO), id="crun to 1.17: auto"),
        pytest.param(
            answer("auto", pin=PIN), ScopeStep(SCOPE, "auto", (), PIN, f"its program is the one at {PIN}"), id="crun from 1.23: pinned"
        ),
        pytest.param(
            answer("auto", ("/dev/char/1:3", "rwm")), ScopeStep(SCOPE, "auto", ((NODE, "rw"),), "", ""), id="auto that entries have closed"
        ),
        pytest.param(answer("strict", pin=PIN), ScopeStep(SCOPE, "strict", ((NODE, "rw"),), PIN, ""), id="both"),
        pytest.param(answer("strict", (NODE, "rwm")), ScopeStep(SCOPE, "strict", (), "", "its DeviceAllow has them"), id="there already"),
        pytest.param(answer("auto", load="not-found"), None, id="no such unit"),
    ],
)
def test_only_a_scope_that_keeps_devices_out_gets_entries(busctl: Busctl, said: str, expected: ScopeStep | None) -> None:
    """Case 26; and a first entry would close a scope with DevicePolicy=auto."""
    assert systemd.look(SCOPE, (TTY,), busctl.says(said)) == expected


@pytest.mark.parametrize(
    ("entries", "rules", "added"),
    [
        pytest.param({}, (TTY, LOOP), ((NODE, "rw"), ("/dev/block/7:1", "r")), id="char and block"),
        pytest.param({NODE: "r"}, (TTY,), ((NODE, "rw"),), id="one with less access takes its place"),
        pytest.param({NODE: "m"}, (TTY,), ((NODE, "rwm"),), id="and keeps what that allowed"),
        pytest.param({}, (CgroupRule(TTY.number, "w"), CgroupRule(TTY.number, "r")), ((NODE, "rw"),), id="two rules for a device"),
        pytest.param({"char-188": "rw"}, (TTY,), (), id="the whole major, as crun has it"),
        pytest.param({"char-*": "rwm"}, (TTY,), (), id="all of its type"),
        pytest.param({"char-*": "m", "block-*": "rwm"}, (TTY,), ((NODE, "rw"),), id="all of its type, other access"),
        pytest.param({"char-ttyUSB": "rw", "/dev/ttyUSB0": "rw"}, (TTY,), ((NODE, "rw"),), id="names, which may mean another later"),
    ],
)
def test_entries_go_by_number(entries: dict[str, str], rules: tuple[CgroupRule, ...], added: tuple[tuple[str, str], ...]) -> None:
    assert systemd._added(rules, entries) == added


def test_the_unit_is_asked_for_all_at_once(busctl: Busctl) -> None:
    """A single property that an older systemd does not have would be an error."""
    systemd.look(SCOPE, (TTY,), busctl.says(answer("strict")))

    options = ["--system", "--json=short", "--no-pager", "--"]
    called = ["call", "org.freedesktop.systemd1", UNIT, "org.freedesktop.DBus.Properties", "GetAll", "s", ""]
    assert busctl.arguments == options + called


def test_entries_are_set_until_the_scope_ends(busctl: Busctl) -> None:
    systemd.add(ScopeStep(SCOPE, "strict", ((NODE, "rw"), ("/dev/block/7:1", "r")), "", ""), busctl.says(""))

    assert busctl.arguments is not None
    assert busctl.arguments[4:] == [
        *["call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "SetUnitProperties"],
        *["sba(sv)", SCOPE, "true", "1", "DeviceAllow", "a(ss)", "2", NODE, "rw", "/dev/block/7:1", "r"],
    ]


def test_nothing_of_the_hooks_environment_reaches_it(busctl: Busctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/elsewhere")

    systemd.look(SCOPE, (TTY,), busctl.says(answer("strict")))

    variables = {line.partition("=")[0] for line in (busctl.folder / "environment").read_text().splitlines()}
    assert variables - {"_", "PWD", "SHLVL", "OLDPWD"} == {"LC_ALL", "PATH"}


def test_nothing_is_asked_where_systemd_is_not_the_init(busctl: Busctl) -> None:
    manager = busctl.says(answer("strict"))
    os.rmdir(manager.running)

    assert systemd.look(SCOPE, (TTY,), manager) is None
    assert busctl.arguments is None


@pytest.mark.parametrize("step", [ScopeStep(SCOPE, "auto", (), "", AUTO), ScopeStep(SCOPE, "auto", (), PIN, "it is pinned")])
def test_nothing_is_set_where_nothing_is_to_be_added(busctl: Busctl, step: ScopeStep) -> None:
    systemd.add(step, busctl.says(""))

    assert busctl.arguments is None


def test_nothing_is_asked_for_no_scope(busctl: Busctl) -> None:
    assert systemd.look("", (TTY,), busctl.says(answer("strict"))) is None
    assert busctl.arguments is None


def test_a_unit_that_systemd_does_not_know_is_none(busctl: Busctl) -> None:
    assert systemd.look(SCOPE, (TTY,), busctl.fails(NO_UNIT)) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("a9.scope", "a9_2escope", id="point"),
        pytest.param("9a", "_39a", id="digit at the beginning"),
        pytest.param("a_b\\x2dc@é", "a_5fb_5cx2dc_40_c3_a9", id="others"),
    ],
)
def test_an_object_path_is_escaped_as_systemd_does(name: str, expected: str) -> None:
    assert systemd._escaped(name) == expected


UNCLEAR = (
    "; what it lets libpod-64a7.scope do with devices must be known, "
    "see: systemctl show --property=DevicePolicy,DeviceAllow libpod-64a7.scope"
)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param("", "systemd's answer to busctl is no JSON: Expecting value: line 1 column 1 (char 0)", id="nothing"),
        pytest.param("[]", "systemd's answer to busctl is no JSON object but []", id="no object"),
        pytest.param("{}", "systemd's answer to busctl: LoadState.data is missing, it must be a string", id="empty"),
        pytest.param(
            answer("strict").replace('"strict"', "1"),
            "systemd's answer to busctl: data[0].DevicePolicy.data is 1, not a string",
            id="policy",
        ),
        pytest.param(
            answer("strict", ("x", "y")).replace('["x", "y"]', '["x"]'),
            'systemd\'s answer to busctl: data[0].DeviceAllow.data is [["x"]], not a list of pairs of strings',
            id="half an entry",
        ),
        pytest.param(
            answer("strict", ("x", "y")).replace('["x", "y"]', "1"),
            "systemd's answer to busctl: data[0].DeviceAllow.data is [1], not a list of pairs of strings",
            id="no entry",
        ),
    ],
)
def test_an_answer_that_is_not_understood_is_an_error(busctl: Busctl, said: str, why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        systemd.look(SCOPE, (TTY,), busctl.says(said))

    assert str(caught.value) == why + UNCLEAR


def test_a_question_that_fails_says_why(busctl: Busctl) -> None:
    with pytest.raises(ConfigurationError) as caught:
        systemd.look(SCOPE, (TTY,), busctl.fails("Failed to connect to bus: No such file or directory"))

    assert str(caught.value) == ("systemd's answer to busctl is an error: Failed to connect to bus: No such file or directory" + UNCLEAR)


@pytest.mark.parametrize("script", ["echo 'Call failed: Access denied' >&2; exit 1", "echo 'Call failed: Access denied' >&2"])
def test_a_refusal_says_why_and_how_to_see_it(busctl: Busctl, script: str) -> None:
    """By its words alone where whoever ran the hook ignores SIGCHLD: the exit code is lost then."""
    with pytest.raises(ConfigurationError) as caught:
        systemd.add(ScopeStep(SCOPE, "strict", ((NODE, "rw"),), "", ""), busctl.does(script))

    assert str(caught.value) == (
        f"systemd does not let {SCOPE} use the devices: Call failed: Access denied; see whether it does by hand: "
        f"systemctl set-property --runtime {SCOPE} 'DeviceAllow={NODE} rw'"
    )


def test_a_host_without_busctl_is_told_so(busctl: Busctl) -> None:
    with pytest.raises(ConfigurationError) as caught:
        systemd.look(SCOPE, (TTY,), busctl.manager)

    folders = f"{busctl.folder}/none or {busctl.folder}/bin"
    assert str(caught.value) == f"systemd is the init here, but its busctl is not in {folders}; install it, it is part of systemd"


def test_a_busctl_that_cannot_be_run_is_named(busctl: Busctl) -> None:
    manager = busctl.does("")
    (busctl.folder / "bin" / "busctl").write_text("#!/nowhere\n")

    with pytest.raises(ConfigurationError) as caught:
        systemd.look(SCOPE, (TTY,), manager)

    assert str(caught.value) == f"{busctl.folder}/bin/busctl cannot be run: No such file or directory; see that it is the one of systemd"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exec sleep 60", id="says nothing"),
        pytest.param("exec sleep 60 >/dev/null 2>&1", id="says so and does not end"),
        pytest.param("trap - PIPE; exec yes", id="says too much"),
    ],
)
def test_one_that_does_not_answer_is_ended_in_time(busctl: Busctl, script: str) -> None:
    before = time.monotonic()
    manager = Manager(busctl.does(script).folders, busctl.manager.running, 0.1)

    with pytest.raises(ConfigurationError) as caught:
        systemd.look(SCOPE, (TTY,), manager)

    assert str(caught.value) == (
        f"systemd did not answer {busctl.folder}/bin/busctl within 0.1 s; see what keeps it busy (systemctl list-jobs) "
        "and start the container again"
    )
    assert time.monotonic() - before < 3
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_long_answer_comes_through_whole(busctl: Busctl) -> None:
    """Longer than a pipe holds."""
    entries = [(f"/dev/char/{major}:0", "rw") for major in range(9999)]

    assert systemd.look(SCOPE, (TTY,), busctl.says(answer("strict", *entries))) == ScopeStep(
        SCOPE, "strict", (), "", "its DeviceAllow has them"
    )


def test_no_descriptor_is_left_open(busctl: Busctl) -> None:
    manager = busctl.says(answer("strict"))
    before = os.listdir("/proc/self/fd")

    systemd.look(SCOPE, (TTY,), manager)

    assert os.listdir("/proc/self/fd") == before


def test_without_sigchld_the_answer_counts_all_the_same(busctl: Busctl) -> None:
    from signal import SIG_IGN, SIGCHLD, signal

    before = signal(SIGCHLD, SIG_IGN)
    try:
        assert systemd.look(SCOPE, (TTY,), busctl.says(answer("auto"))) == ScopeStep(SCOPE, "auto", (), "", AUTO)
    finally:
        signal(SIGCHLD, before)
