"""The order of the steps in a live container, and how they are shown. What each step does is engine tests' matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from oci_udev_hook import livetext
from oci_udev_hook.edit import CgroupRule, Node, Variable
from oci_udev_hook.errors import ConfigurationError, UsageError
from oci_udev_hook.injection import bpf, cgroup, filters, live, nodes, pins, systemd
from oci_udev_hook.injection import levels as cgroups
from oci_udev_hook.injection.filters import FilterStep, Way
from oci_udev_hook.injection.levels import Level
from oci_udev_hook.injection.live import ListStep, Steps
from oci_udev_hook.injection.nodes import How, NodeStep
from oci_udev_hook.injection.programs import Program
from oci_udev_hook.injection.rules import DeviceRule
from oci_udev_hook.injection.systemd import ScopeStep
from oci_udev_hook.injection.undo import UndoLog
from oci_udev_hook.model import DeviceNumber, DeviceType

if TYPE_CHECKING:
    from oci_udev_hook.injection.target import Target

NUMBER = DeviceNumber(DeviceType.CHAR, 188, 0)
RULES = (CgroupRule(NUMBER, "rw"),)
TOP1, INNER1 = Level(1, "/x.scope", "/v1/x.scope"), Level(1, "/x.scope/container", "/v1/x.scope/container")
TOP2, INNER2 = Level(2, "/x.scope", "/v2/x.scope"), Level(2, "/x.scope/container", "/v2/x.scope/container")
LEVELS = (TOP1, INNER1, TOP2, INNER2)
STEP = FilterStep(INNER2.folder, 82, "", 77, Way.PREPEND)
SYSTEMDS = FilterStep(TOP2.folder, 81, "sd_devices", 90, Way.LEAVE, "systemd makes it anew from DeviceAllow=")
MADE = NodeStep("/dev/ttyUSB0", NUMBER, How.MAKE, 0o660, 0, 20)
CLOSED = ScopeStep("x.scope", "strict", (("/dev/char/188:0", "rw"),), "", "")
LIVE: Target = None  # type: ignore[assignment]  # no step of these looks into the container


def steps(**changes: Any) -> Steps:
    """Steps of a container on both hierarchies."""
    given: dict[str, Any] = {
        "rules": RULES,
        "config_rules": (),
        "levels": LEVELS,
        "scope": None,
        "lists": (ListStep(TOP1, RULES), ListStep(INNER1, RULES)),
        "programs": (STEP,),
        "nodes": (MADE,),
    }
    return Steps(**(given | changes))


@pytest.fixture(name="done")
def fixture_done(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is done, in its order; nothing is allowed on cgroup v1 before it is."""
    done: list[object] = []
    allowed: set[Level] = set()

    def allow(level: Level, rules: object, undo: UndoLog) -> None:
        allowed.add(level)
        done.append(("devices.allow", level.folder))

    def add(step: ScopeStep) -> None:
        allowed.add(TOP1)
        done.append(("DeviceAllow", step.scope))

    monkeypatch.setattr(systemd, "add", add)
    monkeypatch.setattr(filters, "wait_for_systemd", lambda folder, *_: done.append(("wait", folder)))
    monkeypatch.setattr(filters, "look", lambda folder, _: done.append(("look", folder)) or ())
    monkeypatch.setattr(filters, "swap", lambda programs, *_: done.append(("swap", programs)))
    monkeypatch.setattr(pins, "repin", lambda pin, *_: done.append(("repin", pin)))
    monkeypatch.setattr(nodes, "make", lambda _, made, __: done.append(("make", made)))
    monkeypatch.setattr(cgroup, "missing", lambda level, rules: () if level in allowed else rules)
    monkeypatch.setattr(cgroup, "allow", allow)
    monkeypatch.setattr(live, "_SYSTEMD_SECONDS", 0.0)
    return done


def test_lists_from_the_top_down_then_programs_then_nodes(done: list[object]) -> None:
    live.apply(LIVE, steps(), UndoLog(), replace_pin=True)

    assert done == [
        ("devices.allow", TOP1.folder),
        ("devices.allow", INNER1.folder),
        ("swap", (STEP,)),
        ("make", (MADE,)),
    ]


def test_systemd_is_first_and_what_it_has_changed_is_looked_at_again(done: list[object]) -> None:
    """It attaches a program of its own, and only later than it answers."""
    live.apply(LIVE, steps(scope=CLOSED), UndoLog(), replace_pin=True)

    assert done == [
        ("DeviceAllow", "x.scope"),
        ("wait", TOP2.folder),
        ("look", TOP2.folder),
        ("look", INNER2.folder),
        ("devices.allow", INNER1.folder),
        ("swap", ()),
        ("make", (MADE,)),
    ]


def test_a_scope_that_has_both_gets_both(done: list[object]) -> None:
    """A drop-in of the admin's beside crun's program: either alone would come back without the device."""
    both = ScopeStep("x.scope", "strict", CLOSED.allow, "/pin", "")
    live.apply(LIVE, steps(scope=both, levels=(), lists=()), UndoLog(), replace_pin=True)

    assert done == [("DeviceAllow", "x.scope"), ("repin", "/pin"), ("swap", ()), ("make", (MADE,))]


def test_a_list_that_systemd_never_writes_is_an_error(done: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it writes later would take the device away."""
    monkeypatch.setattr(systemd, "add", lambda step: None)
    with pytest.raises(ConfigurationError) as error:
        live.apply(LIVE, steps(scope=CLOSED), UndoLog(), replace_pin=True)

    assert str(error.value) == (
        "systemd was told to allow the devices in /v1/x.scope, but after 0 seconds its devices.list does not have them; "
        "`journalctl -b _PID=1` may tell why"
    )


@pytest.mark.parametrize(("replaced", "expected"), [(True, [("repin", "/pin")]), (False, [])], ids=["replaced", "left"])
def test_a_pinned_program_is_replaced_as_policy_says(done: list[object], replaced: bool, expected: list[object]) -> None:
    pinned = ScopeStep("x.scope", "auto", (), "/pin", "its program is the one at /pin")
    live.apply(LIVE, steps(scope=pinned, levels=(), lists=()), UndoLog(), replace_pin=replaced)

    assert done == [*expected, ("swap", (STEP,)), ("make", (MADE,))]


def test_an_open_scope_is_told_nothing(done: list[object]) -> None:
    """A first DeviceAllow would close it, and take away what the container has."""
    live.apply(
        LIVE, steps(scope=ScopeStep("x.scope", "auto", (), "", "it keeps no device out"), levels=(), lists=()), UndoLog(), replace_pin=True
    )

    assert done == [("swap", (STEP,)), ("make", (MADE,))]


def test_edits_without_a_rule_need_no_cgroup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rootless: there is none, and none is looked for."""
    monkeypatch.setattr(nodes, "look", lambda *_: (MADE,))
    found = live.look(LIVE, (Variable("A", "b"), Node("/dev/ttyUSB0", NUMBER, 0o660, 0, 20)), {"linux": {}}, "c")

    assert found == Steps((), (), (), None, (), (), (MADE,))


def test_the_devices_of_the_config_are_kept_for_a_program_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "look", lambda *_: ())
    rules = [{"allow": False, "access": "rwm"}, {"allow": True, "type": "c", "major": 1, "minor": 3, "access": "r"}]
    found = live.look(LIVE, (), {"linux": {"resources": {"devices": rules}}}, "c")

    assert found.config_rules == (DeviceRule(False, None, None, None, "rwm"), DeviceRule(True, DeviceType.CHAR, 1, 3, "r"))


def test_a_config_with_a_wrong_cgroups_path_is_its_makers_fault() -> None:
    with pytest.raises(UsageError, match=r"^the container's config: linux\.cgroupsPath is 1, not a string$"):
        live.look(LIVE, RULES, {"linux": {"cgroupsPath": 1}}, "c")


DENIES_ALL = bpf.device_list(())
ALLOWS_ALL = bpf.device_list((DeviceRule(True, None, None, None, "rwm"),))


def test_what_a_cgroup_above_denies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """All programs up to the root are asked by the kernel, and podman 4.3 denies its pods all devices."""
    attached = {"/v2/pod": [Program(5, 15, "", 0, DENIES_ALL)], "/v2": [Program(6, 15, "", 0, ALLOWS_ALL)]}
    monkeypatch.setattr(live, "programs_on", lambda folder: attached[folder])

    (sentence,) = live._denied((Level(2, "/pod/c", "/v2/pod/c"),), RULES)
    assert sentence == (
        "the device program 5 of /v2/pod, above the container's own cgroup, denies c 188:0 rw, so the container cannot open it; "
        "see whose it is: bpftool cgroup tree"
    )


@pytest.mark.parametrize(
    ("cgroup_text", "mounts", "denies"),
    [
        pytest.param("5:devices:/session.scope\n", "36 1 0:33 / /v1 rw - cgroup cgroup rw,devices\n", "/v1/session.scope", id="a v1 list"),
        pytest.param("0::/session.scope\n", "41 1 0:38 / /v2 rw - cgroup2 cgroup2 rw\n", "/v2/session.scope", id="a v2 program"),
        pytest.param("0::/a/b\n", "41 1 0:38 / /v2 rw - cgroup2 cgroup2 rw\n", "/v2/a/b", id="a v2 program above"),
    ],
)
def test_a_cgroup_of_anothers_that_denies_is_an_error(monkeypatch: pytest.MonkeyPatch, cgroup_text: str, mounts: str, denies: str) -> None:
    """The container would start, and its device not open: nothing of another's may be changed."""
    monkeypatch.setattr(live, "read_proc", lambda *_: cgroup_text)
    monkeypatch.setattr(live, "_mountinfo", lambda: mounts)
    monkeypatch.setattr(live, "programs_on", lambda folder: [Program(5, 15, "", 0, DENIES_ALL)] if folder.count("/") == 2 else [])
    monkeypatch.setattr(cgroup, "missing", lambda level, rules: rules if level.version == 1 else ())
    with pytest.raises(ConfigurationError) as error:
        live.look(LIVE, RULES, {"linux": {"cgroupsPath": "elsewhere"}}, "c")

    assert str(error.value) == (
        f"the container sits in the cgroup {denies}, which is not its own, and something there or above denies c 188:0 rw; "
        'let its engine give it a cgroup of its own (cgroupsPath of its config is "elsewhere")'
    )


@pytest.mark.parametrize(
    ("cgroup_text", "mounts"),
    [
        pytest.param("5:devices:/\n0::/own\n", "36 1 0:33 / /v1 rw - cgroup cgroup rw,devices\n", id="a v1 list that allows everything"),
        pytest.param("0::/session.scope\n", "41 1 0:38 / /v2 rw - cgroup2 cgroup2 rw\n", id="a v2 cgroup without a program"),
    ],
)
def test_a_cgroup_of_anothers_that_allows_is_left_alone(monkeypatch: pytest.MonkeyPatch, cgroup_text: str, mounts: str) -> None:
    """A hybrid host, or `--cgroups=disabled`."""

    def programs_on(folder: str) -> list[Program]:
        assert folder.startswith("/v2"), "cgroup v1 has no programs"
        return []

    monkeypatch.setattr(live, "read_proc", lambda *_: cgroup_text)
    monkeypatch.setattr(live, "_mountinfo", lambda: mounts)
    monkeypatch.setattr(live, "programs_on", programs_on)
    monkeypatch.setattr(cgroup, "missing", lambda *_: ())
    monkeypatch.setattr(nodes, "look", lambda *_: ())

    assert live.look(LIVE, RULES, {"linux": {"cgroupsPath": "elsewhere"}}, "c").levels == ()


def test_steps_are_shown_line_by_line() -> None:
    """For dry-run --pid."""
    bound = NodeStep("/dev/fuse", DeviceNumber(DeviceType.CHAR, 10, 229), How.BIND, 0o666, 0, 0, "/dev/fuse")
    found = steps(
        scope=CLOSED, lists=(ListStep(TOP1, RULES),), programs=(SYSTEMDS, STEP), nodes=(MADE, bound), denied=("the program 5 denies it",)
    )

    assert (
        livetext.text(found)
        == """\
in the live container createRuntime would go these steps:
  systemd x.scope (DevicePolicy=strict): gets DeviceAllow=/dev/char/188:0 rw
  cgroup v1 /v1/x.scope: devices.allow gets c 188:0 rw
  cgroup v1 /v1/x.scope/container: its devices.list allows it already
  cgroup v2 /v2/x.scope: program 81 sd_devices (90 instructions) stays as it is: systemd makes it anew from DeviceAllow=
  cgroup v2 /v2/x.scope/container: program 82 (77 instructions) is replaced by itself with the rules in front
  node /dev/ttyUSB0 (c 188:0) is made, mode 0660, owner 0:20
  node /dev/fuse (c 10:229) is bound from the host
  the program 5 denies it"""
    )


def test_a_cgroup_without_a_program_needs_nothing() -> None:
    """Case 30."""
    assert livetext.text(steps(lists=(), programs=(), nodes=(), levels=(TOP2,))).splitlines()[1:] == [
        "  cgroup v2 /v2/x.scope: no program, nothing to do"
    ]


def test_steps_are_data_for_programs() -> None:
    assert livetext.as_fields(steps(scope=CLOSED, lists=(ListStep(TOP1, RULES),), levels=(TOP1,))) == {
        "scope": {"scope": "x.scope", "policy": "strict", "allow": (("/dev/char/188:0", "rw"),), "pin": ""},
        "levels": [{"version": 1, "folder": "/v1/x.scope"}],
        "lists": [{"folder": "/v1/x.scope", "rules": ["c 188:0 rw"]}],
        "programs": [{"folder": "/v2/x.scope/container", "program": 82, "name": "", "instructions": 77, "way": "prepend"}],
        "denied": (),
        "nodes": [{"path": "/dev/ttyUSB0", "number": "c 188:0", "how": "make", "mode": 0o660, "uid": 0, "gid": 20}],
    }


def test_levels_of_another_manager_are_no_scope_of_systemds() -> None:
    """The user's own systemd is not asked: rootless there is nothing to ask it for."""
    assert cgroups.scope((Level(2, "/user.slice/user-1.slice/user@1.service/user.slice/libpod-1.scope", "/x"),)) == ""
