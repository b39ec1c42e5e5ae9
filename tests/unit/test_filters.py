"""Device programs on data: what becomes of each kind of dump, in which order programs are swapped, what the kernel's refusals become."""

from __future__ import annotations

import errno
import os
import resource
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oci_udev_hook.edit import CgroupRule
from oci_udev_hook.errors import ConfigurationError, UnavailableError
from oci_udev_hook.injection import attached, bpf, filters, linux, programs
from oci_udev_hook.injection.filters import FilterStep, Way
from oci_udev_hook.injection.programs import MULTI, REPLACE, Program
from oci_udev_hook.injection.rules import RUNTIME_DEFAULTS, DeviceRule
from oci_udev_hook.injection.undo import UndoLog
from oci_udev_hook.model import DeviceNumber, DeviceType

SERIAL = DeviceNumber(DeviceType.CHAR, 188, 0)
RULES = (CgroupRule(SERIAL, "rw"),)
CONFIG = (DeviceRule(False, None, None, None, "rwm"), DeviceRule(True, DeviceType.CHAR, 10, 229, "rw"))
STANDARD = bpf.device_list(RUNTIME_DEFAULTS)
OTHER_WAY = "let podman's precreate hook give the devices, so that the runtime makes the rules itself"


def code(operation: int, destination: int = 0, source: int = 0, jump: int = 0, value: int = 0) -> bytes:
    """One instruction, as linux/bpf.h has it."""
    registers = destination | source << 4 if sys.byteorder == "little" else destination << 4 | source
    return struct.pack("=BBhi", operation, registers, jump, value)


def error(number: int) -> OSError:
    """What the kernel says."""
    return OSError(number, os.strerror(number))


class Kernel:
    """The programs of one cgroup, behind the names that `programs` has; `log` is what was changed."""

    def __init__(self, cgroup: Path, *codes: bytes, name: str = "") -> None:
        self.folder = str(cgroup)
        self.known = {10 + place: Program(10 + place, programs.CGROUP_DEVICE, name, 0, each) for place, each in enumerate(codes)}
        self.there = list(self.known)
        self.open: dict[int, int] = {}
        self.flags = MULTI
        self.log: list[str] = []
        self.fails: dict[str, int] = {}  #: name of a call and what it says

    def say(self, call: str) -> None:
        if call in self.fails:
            raise error(self.fails[call])

    def attached(self, _: int) -> tuple[tuple[int, ...], int]:
        self.say("attached")
        return tuple(self.there), self.flags

    def open_program(self, number: int) -> int:
        self.say("open_program")
        descriptor = os.open(os.devnull, os.O_RDONLY)
        self.open[descriptor] = number
        return descriptor

    def show(self, program: int) -> Program:
        return self.known[self.open[program]]

    def load(self, code: bytes, name: str) -> int:
        self.say("load")
        number = max(self.known) + 1
        self.known[number] = Program(number, programs.CGROUP_DEVICE, name, 0, code)
        return self.open_program(number)

    def attach(self, _: int, program: int, flags: int, replaced: int = 0) -> None:
        new = self.open[program]
        if flags & REPLACE:
            self.say("replace")
        self.say("attach")
        self.log.append(f"{self.open[replaced]} -> {new}" if flags & REPLACE else f"+ {new}, flags {flags}")
        if flags & REPLACE:
            self.there[self.there.index(self.open[replaced])] = new
        else:
            self.there = [*self.there, new] if flags & MULTI else [new]

    def detach(self, _: int, program: int) -> None:
        if self.open[program] == 10:
            self.say("detach")
        self.log.append(f"- {self.open[program]}")
        self.there.remove(self.open[program])


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Kernel]:
    """Makes the kernel with these programs on the test's folder."""

    def make(*codes: bytes, name: str = "") -> Kernel:
        made = Kernel(tmp_path, *codes, name=name)
        for call in ("attached", "open_program", "show", "load", "attach", "detach"):
            monkeypatch.setattr(programs, call, getattr(made, call))
        monkeypatch.setattr(linux, "file_system", lambda _: linux.CGROUP2_SUPER_MAGIC)
        return made

    return make


@pytest.mark.parametrize(
    ("program", "way", "reason"),
    [
        pytest.param(STANDARD, Way.PREPEND, "", id="a list"),
        pytest.param(bpf.allow(RULES, STANDARD), Way.LEAVE, "it allows them already", id="with the rules"),
        pytest.param(code(0xB7, value=1) + code(0x95), Way.LEAVE, "it allows them already", id="privileged"),
        pytest.param(bpf.allow((CgroupRule(SERIAL, "r"),), STANDARD), Way.PREPEND, "", id="with a part of them"),
        pytest.param(bytes(len(STANDARD)), Way.REGENERATE, "it shows zeros in place of its instructions", id="zeros"),
        pytest.param(b"", Way.REGENERATE, "it does not show its instructions", id="nothing"),
        pytest.param(
            code(0xBF, 0, 11) + STANDARD, Way.REGENERATE, "it shows a register of the kernel's own in its instructions", id="hidden"
        ),
    ],
)
def test_what_is_done_with_a_program(kernel: Callable[..., Kernel], program: bytes, way: Way, reason: str) -> None:
    """Case 31: zeros are never put behind the rules."""
    given = kernel(program)

    assert filters.look(given.folder, RULES) == (FilterStep(given.folder, 10, "", len(program) // 8, way, reason),)
    assert (given.there, given.log) == ([10], [])


def test_systemds_own_program_is_left_and_must_allow_the_rules_when_the_others_are_swapped(kernel: Callable[..., Kernel]) -> None:
    """It would come back as it was: systemd is told first."""
    given, undo = kernel(STANDARD, name="sd_devices"), UndoLog()
    steps = filters.look(given.folder, RULES)
    with pytest.raises(ConfigurationError) as raised:
        filters.swap(steps, RULES, CONFIG, undo)
    given.known[10] = Program(10, programs.CGROUP_DEVICE, "sd_devices", 0, bpf.allow(RULES, STANDARD))
    again = filters.look(given.folder, RULES)
    filters.swap(again, RULES, CONFIG, undo)

    assert [(step.way, step.reason) for step in (*steps, *again)] == [
        (Way.LEAVE, "systemd makes it anew from DeviceAllow="),
        (Way.LEAVE, "it allows them already"),
    ]
    assert str(raised.value) == (
        f"the device program 10 of {given.folder} is systemd's own and denies c 188:0 rw; give the container's unit DeviceAllow=, "
        f"or {OTHER_WAY}"
    )
    assert (given.log, undo.steps) == ([], [])


def test_one_of_several_that_hides_itself_is_not_made_anew(kernel: Callable[..., Kernel]) -> None:
    """Case 31: it may be another hook's, or the admin's, whose rules would be lost."""
    given = kernel(STANDARD, bytes(80))
    with pytest.raises(ConfigurationError) as raised:
        filters.look(given.folder, RULES)

    assert str(raised.value) == (
        f"the device program 11 of {given.folder} cannot be told from the runtime's own, which could be made anew from its config: "
        f"it shows zeros in place of its instructions, and there are 2 programs; {OTHER_WAY}"
    )


@pytest.mark.parametrize("flags", [0, MULTI])
def test_one_that_has_gone_meanwhile_is_told(kernel: Callable[..., Kernel], flags: int) -> None:
    """Nothing is attached in its place."""
    given, undo = kernel(STANDARD), UndoLog()
    given.flags = flags
    steps = filters.look(given.folder, RULES)
    given.there = []
    with pytest.raises(UnavailableError) as raised:
        filters.swap(steps, RULES, CONFIG, undo)

    assert str(raised.value) == f"the device program 10 of {given.folder} has gone meanwhile; start the container again"
    assert (given.log, undo.steps) == ([], [])


def test_one_that_allows_parts_but_not_all_at_once_is_not_left(kernel: Callable[..., Kernel]) -> None:
    """As a runtime's program with a rule for each letter says: an open for reading and writing is refused."""
    both = bpf.allow((CgroupRule(SERIAL, "r"),), bpf.allow((CgroupRule(SERIAL, "w"),), STANDARD))

    assert [step.way for step in filters.look(kernel(both).folder, RULES)] == [Way.PREPEND]


def test_one_that_allows_only_all_at_once_is_not_left(kernel: Callable[..., Kernel]) -> None:
    wanted = code(0x61, 2, 1) + code(0x55, 2, jump=2, value=6 << 16 | 2) + code(0xB7, value=1) + code(0x95) + STANDARD

    assert [step.way for step in filters.look(kernel(wanted).folder, RULES)] == [Way.PREPEND]


def test_one_that_the_verifier_refuses_is_made_anew(kernel: Callable[..., Kernel]) -> None:
    """On some architectures a dump is not what was loaded."""
    given = kernel(STANDARD)
    given.fails["load"] = errno.EACCES

    (step,) = filters.look(given.folder, RULES)
    assert (step.way, step.reason) == (Way.REGENERATE, "it shows instructions that the kernel does not take again (Permission denied)")


def test_a_hidden_program_is_made_of_the_config_the_defaults_and_the_rules(kernel: Callable[..., Kernel]) -> None:
    """Case 31: in that order, as the runtimes have it; ours win."""
    given, undo = kernel(bytes(80)), UndoLog()
    filters.swap(filters.look(given.folder, RULES), RULES, CONFIG, undo)

    ours = DeviceRule(True, DeviceType.CHAR, 188, 0, "rw")
    assert given.known[given.there[0]].code == bpf.device_list((*CONFIG, *RUNTIME_DEFAULTS, ours))
    assert given.known[given.there[0]].name == "oci_udev_hook"
    assert given.log == ["10 -> 11"]


@pytest.mark.parametrize("flags", [0, 1])
def test_where_a_cgroup_has_one_program_only_attaching_swaps(kernel: Callable[..., Kernel], flags: int) -> None:
    """With the flags of the first: BPF_F_ALLOW_OVERRIDE, or none."""
    given, undo = kernel(STANDARD), UndoLog()
    given.flags = flags
    filters.swap(filters.look(given.folder, RULES), RULES, CONFIG, undo)
    assert undo.take_back() == ()

    assert given.log == [f"+ 12, flags {flags}", f"+ 10, flags {flags}"]


@pytest.mark.parametrize("says", [errno.EINVAL, errno.ENOENT])
def test_without_replace_the_new_one_comes_first(kernel: Callable[..., Kernel], says: int) -> None:
    given, undo = kernel(STANDARD), UndoLog()
    given.fails["replace"] = says
    filters.swap(filters.look(given.folder, RULES), RULES, CONFIG, undo)
    assert undo.take_back() == ()

    assert given.log == ["+ 12, flags 2", "- 10", "+ 10, flags 2", "- 12"]


@pytest.mark.parametrize(
    ("says", "reason"),
    [pytest.param(errno.ENOENT, "it is held by a BPF link", id="link"), pytest.param(errno.EIO, "Input/output error", id="else")],
)
def test_where_the_old_one_cannot_go_the_new_one_does(kernel: Callable[..., Kernel], says: int, reason: str) -> None:
    given, undo = kernel(STANDARD), UndoLog()
    given.fails.update(replace=errno.EINVAL, detach=says)
    with pytest.raises(ConfigurationError) as raised:
        filters.swap(filters.look(given.folder, RULES), RULES, CONFIG, undo)

    assert str(raised.value) == f"the device program 10 of {given.folder} cannot be read or changed ({reason}); {OTHER_WAY}"
    assert (given.there, given.log, undo.steps) == ([10], ["+ 12, flags 2", "- 12"], [])


@pytest.mark.parametrize(("there", "shown"), [([10, 11], "10, 11"), ([10, 14], "10, 14"), ([], "none")], ids=["old", "both", "none"])
def test_a_swap_is_looked_at_again(kernel: Callable[..., Kernel], monkeypatch: pytest.MonkeyPatch, there: list[int], shown: str) -> None:
    """Its way back is there all the same."""
    given, undo = kernel(STANDARD, STANDARD), UndoLog()
    steps = filters.look(given.folder, RULES)
    monkeypatch.setattr(programs, "attach", lambda *_: setattr(given, "there", there))
    with pytest.raises(ConfigurationError) as raised:
        filters.swap(steps, RULES, CONFIG, undo)

    assert str(raised.value) == (
        f"the device program 10 of {given.folder} was to be replaced by 14, but the kernel shows {shown} there; look who else changes it"
    )
    assert [what for what, _ in undo.steps] == [f"what took the place of the device program 10 of {given.folder}"]


@pytest.mark.parametrize(
    ("call", "says", "sentence"),
    [
        pytest.param("attached", errno.EIO, "the device programs of {0} cannot be read or changed (Input/output error); {1}", id="query"),
        pytest.param(
            "attached",
            errno.EPERM,
            "the device programs of {0} cannot be read or changed: bpf(2) needs CAP_SYS_ADMIN, CAP_BPF and CAP_NET_ADMIN of the host's "
            "own user namespace; run the engine as the host's root, or {1}",
            id="no rights",
        ),
        pytest.param(
            "open_program", errno.EACCES, "the device program 10 of {0} cannot be read or changed (Permission denied); {1}", id="SELinux"
        ),
        pytest.param(
            "load",
            errno.EPERM,
            "the device program 10 of {0} cannot be read or changed: bpf(2) needs CAP_SYS_ADMIN, CAP_BPF and CAP_NET_ADMIN of the host's "
            "own user namespace; run the engine as the host's root, or {1}",
            id="no right to load",
        ),
    ],
)
def test_what_the_kernel_refuses_is_told(kernel: Callable[..., Kernel], call: str, says: int, sentence: str) -> None:
    given = kernel(STANDARD)
    given.fails[call] = says
    with pytest.raises(ConfigurationError) as raised:
        filters.look(given.folder, RULES)

    assert str(raised.value) == sentence.format(given.folder, OTHER_WAY)


def test_programs_that_change_all_the_time_are_told(kernel: Callable[..., Kernel]) -> None:
    given = kernel(STANDARD)
    given.fails["open_program"] = errno.ENOENT
    with pytest.raises(UnavailableError) as raised:
        filters.look(given.folder, RULES)

    assert str(raised.value) == f"the device programs of {given.folder} change all the time; start the container again"


@pytest.mark.parametrize(
    ("says", "known"),
    [
        pytest.param(errno.EINVAL, True, id="a kernel without device programs"),
        pytest.param(errno.ENOSYS, False, id="a kernel without bpf(2)"),
    ],
)
def test_where_the_kernel_has_no_programs_nothing_is_to_be_done(
    kernel: Callable[..., Kernel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: int, known: bool
) -> None:
    """Case 30."""
    monkeypatch.setattr(attached, "_BPF_SYSCALL", str(tmp_path if known else tmp_path / "none"))
    given = kernel(STANDARD)
    given.fails["attached"] = says

    assert filters.look(given.folder, RULES) == ()


def test_a_kernel_that_has_programs_and_does_not_tell_is_another_thing(kernel: Callable[..., Kernel], tmp_path: Path) -> None:
    """A seccomp filter of an engine's around the engine."""
    given = kernel(STANDARD)
    given.fails["attached"] = errno.ENOSYS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attached, "_BPF_SYSCALL", str(tmp_path))
        with pytest.raises(ConfigurationError) as raised:
            filters.look(given.folder, RULES)

    assert str(raised.value) == f"the device programs of {given.folder} cannot be read or changed (Function not implemented); {OTHER_WAY}"


@pytest.mark.parametrize(
    ("answers", "raisable", "result", "limits"),
    [
        pytest.param([7], True, 7, 0, id="at once"),
        pytest.param([errno.EPERM, 7], True, 7, 1, id="after the limit is raised"),
        pytest.param([errno.EPERM, errno.EPERM], True, errno.EPERM, 1, id="not even then"),
        pytest.param([errno.EPERM], False, errno.EPERM, 1, id="no right to raise it"),
        pytest.param([errno.ENOMEM], True, errno.ENOMEM, 0, id="another error"),
    ],
)
def test_locked_memory_counts_before_5_11(
    monkeypatch: pytest.MonkeyPatch, answers: list[int], raisable: bool, result: int, limits: int
) -> None:
    """The limit is raised once, and only where the kernel has refused. An answer is a descriptor, or an error."""
    asked: list[tuple[int, tuple[int, int]]] = []
    left = list(answers)

    def call(_: int, __: bytes) -> tuple[int, bytes]:
        answer = left.pop(0)
        if answer != 7:
            raise error(answer)
        return answer, b""

    def limit(kind: int, limits: tuple[int, int]) -> None:
        asked.append((kind, limits))
        if not raisable:
            raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(linux, "bpf", call)
    monkeypatch.setattr(resource, "setrlimit", limit)
    try:
        got = programs.load(STANDARD, "x")
    except OSError as refused:
        got = refused.errno or 0

    assert (got, left) == (result, [])
    assert asked == [(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))] * limits
