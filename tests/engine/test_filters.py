"""Device programs on cgroups of version 2 in the kernel: what a process in the cgroup may open before, after, and when all is undone."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bed.leftovers import CGROUPS
from bed.namespaces import MS_PRIVATE, MS_REC, apart, as_user, mount
from oci_udev_hook.edit import CgroupRule
from oci_udev_hook.errors import ConfigurationError, UnavailableError
from oci_udev_hook.injection import bpf, filters, linux, pins, programs, verdict
from oci_udev_hook.injection.filters import FilterStep, Way
from oci_udev_hook.injection.rules import RUNTIME_DEFAULTS, DeviceRule
from oci_udev_hook.injection.undo import UndoLog
from oci_udev_hook.model import DeviceNumber, DeviceType

ROOT = next(path for path in (CGROUPS / "unified", CGROUPS) if Path(path, "cgroup.controllers").exists())
NULL, ZERO, FULL, URANDOM = (DeviceNumber(DeviceType.CHAR, 1, minor) for minor in (3, 5, 7, 9))
KMSG, DISK = DeviceNumber(DeviceType.CHAR, 1, 11), DeviceNumber(DeviceType.BLOCK, 1, 15)  # a RAM disk that nobody has
DEVICES = (NULL, ZERO, FULL, URANDOM, KMSG, DISK)
ASKS = ("r", "w", "rw", "m", "")
FLAGS = {"r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR}
RULES = (CgroupRule(FULL, "rw"), CgroupRule(DISK, "r"))
LINK_CREATE, MAP_CREATE, F_OVERRIDE = 28, 0, 1
JIT_HARDEN, KPTR_RESTRICT = Path("/proc/sys/net/core/bpf_jit_harden"), Path("/proc/sys/kernel/kptr_restrict")


def code(operation: int, destination: int = 0, source: int = 0, jump: int = 0, value: int = 0) -> bytes:
    """One instruction, as linux/bpf.h has it."""
    registers = destination | source << 4 if sys.byteorder == "little" else destination << 4 | source
    return struct.pack("=BBhi", operation, registers, jump, value)


EXIT = code(0x95)
NO, YES = code(0xB7) + EXIT, code(0xB7, value=1) + EXIT
TYPES, BITS = {DeviceType.BLOCK: 1, DeviceType.CHAR: 2}, {"m": 1, "r": 2, "w": 4}


def rule(text: str) -> DeviceRule:
    """A rule from `allow c 1:3 rw`."""
    word, kind, number, access = text.split()
    major, minor = (None if part == "*" else int(part) for part in number.split(":"))
    return DeviceRule(word == "allow", None if kind == "a" else DeviceType(kind), major, minor, access)


def runtimes(*texts: str, narrow: bool = False, common_end: bool = False) -> bytes:
    """A program as crun and runc make it: the last rule first, R1 as a temporary register.

    NARROW: the type by a load of 16 bits, as crun had it on little endian. COMMON_END: rules jump to one end, as systemd's do.
    """
    kind = code(0x69, 2, 1) if narrow and sys.byteorder == "little" else code(0x61, 2, 1) + code(0x54, 2, value=0xFFFF)
    blocks = [kind + code(0x61, 3, 1) + code(0x74, 3, value=16) + code(0x61, 4, 1, 4) + code(0x61, 5, 1, 8)]
    for each in [rule(text) for text in reversed(texts)]:
        bits = sum(BITS[letter] for letter in each.access)
        access = [code(0xBC, 1, 3) + code(0x54, 1, value=bits)] if bits != 7 else []
        tests = [(0x5D, 1, 3, 0)] if bits != 7 else []
        tests += [(0x55, 2, 0, TYPES[each.type])] if each.type else []
        tests += [(0x55, 4, 0, each.major)] if each.major is not None else []
        tests += [(0x55, 5, 0, each.minor)] if each.minor is not None else []
        action = code(0xB7, value=int(each.allow)) + (code(0x05, jump=999) if common_end else EXIT)
        length = len(action) // 8
        jumps = [code(op, a, b, len(tests) - place - 1 + length, value) for place, (op, a, b, value) in enumerate(tests)]
        blocks.append(b"".join([*access, *jumps, action]))
    program = b"".join([*blocks, NO])
    pieces = [program[place : place + 8] for place in range(0, len(program), 8)]
    return b"".join([code(0x05, jump=len(pieces) - place - 2) if p == code(0x05, jump=999) else p for place, p in enumerate(pieces)])


#: As a runtime starts a container: anything may be made, standard devices used.
CONTAINERS = runtimes("allow c *:* m", "allow b *:* m", "allow c 1:3 rwm", "allow c 1:9 r")
ALLOWED = {
    (NULL, "r"),
    (NULL, "w"),
    (NULL, "rw"),
    (NULL, ""),
    (URANDOM, "r"),
    *[(number, "m") for number in DEVICES],
    *[(n, "") for n in DEVICES],
}
ADDED = {(FULL, "r"), (FULL, "w"), (FULL, "rw"), (DISK, "r")}


@pytest.fixture(scope="module")
def nodes(machine: None) -> Iterator[Path]:
    """A folder with a node for each of DEVICES."""
    folder = Path(f"/dev/oci-udev-hook-filters-{os.getpid()}")
    folder.mkdir(mode=0o700)
    for number in DEVICES:
        os.mknod(folder / name(number), kind(number) | 0o600, os.makedev(number.major, number.minor))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def cgroup(machine: None) -> Iterator[str]:
    """A cgroup of the test's own."""
    folder = Path(ROOT, f"oci-udev-hook-filters-{os.getpid()}")
    folder.mkdir()
    yield str(folder)
    for path in (folder / "container", folder):
        if path.exists():
            path.rmdir()


def name(number: DeviceNumber) -> str:
    """The node's name."""
    return str(number).replace(" ", "-")


def kind(number: DeviceNumber) -> int:
    """The file type of the device's node."""
    return stat.S_IFCHR if number.type is DeviceType.CHAR else stat.S_IFBLK


def allowed(cgroup: str, nodes: Path) -> set[tuple[DeviceNumber, str]]:
    """What a process in CGROUP may do with DEVICES, of ASKS; anything but EPERM comes from behind the device cgroup."""

    def work() -> set[tuple[DeviceNumber, str]]:
        Path(cgroup, "cgroup.procs").write_text(str(os.getpid()))
        return {(number, ask) for number in DEVICES for ask in ASKS if permitted(number, ask)}

    def permitted(number: DeviceNumber, ask: str) -> bool:
        path = nodes / name(number)
        try:
            if ask == "m":
                os.mknod(f"{path}-new", kind(number) | 0o600, os.makedev(number.major, number.minor))
                os.unlink(f"{path}-new")
            elif ask:
                os.close(os.open(path, FLAGS[ask] | os.O_NONBLOCK))
            else:
                return os.access(path, os.F_OK)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENXIO, errno.ENODEV):
                raise
            return error.errno != errno.EPERM
        return True

    return apart(work)


@contextmanager
def opened(cgroup: str) -> Iterator[int]:
    """A descriptor of CGROUP."""
    folder = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
    yield folder
    os.close(folder)


def attach(cgroup: str, program: bytes, name: str = "", flags: int = programs.MULTI) -> int:
    """Load PROGRAM and attach it to CGROUP; its id."""
    with opened(cgroup) as folder:
        loaded = programs.load(program, name)
        programs.attach(folder, loaded, flags)
        number = programs.show(loaded).id
        os.close(loaded)
    return number


def attached(cgroup: str) -> list[int]:
    """The ids of the programs on CGROUP."""
    with opened(cgroup) as folder:
        return list(programs.attached(folder)[0])


def test_where_no_program_is_nothing_is_to_be_done(cgroup: str, nodes: Path) -> None:
    """Case 30: everything is allowed there, and a program would only take that away."""
    undo = UndoLog()

    assert filters.look(cgroup, RULES) == ()
    filters.swap((), RULES, (), undo)
    filters.wait_for_systemd(cgroup, RULES, 0)
    assert (attached(cgroup), undo.steps) == ([], [])
    assert allowed(cgroup, nodes) == {(number, ask) for number in DEVICES for ask in ASKS}


@pytest.mark.parametrize("flags", [programs.MULTI, F_OVERRIDE, 0], ids=["multi", "override", "none"])
def test_a_program_is_swapped_and_swapped_back(cgroup: str, nodes: Path, flags: int) -> None:
    """Case 8: the node's rule is there. Case 28: standard devices work as before, other devices stay closed."""
    undo = UndoLog()
    old = attach(cgroup, CONTAINERS, "old", flags)
    before = allowed(cgroup, nodes)
    steps = filters.look(cgroup, RULES)
    filters.swap(steps, RULES, (), undo)

    assert before == ALLOWED
    assert steps == (FilterStep(cgroup, old, "old", len(CONTAINERS) // 8, Way.PREPEND),)
    assert allowed(cgroup, nodes) == ALLOWED | ADDED
    (again,) = filters.look(cgroup, RULES)
    assert (again.way, again.name, again.reason) == (Way.LEAVE, "oci_udev_hook", "it allows them already")
    assert undo.take_back() == ()
    assert (attached(cgroup), allowed(cgroup, nodes)) == ([old], ALLOWED)


def test_each_of_several_programs_gets_the_rules_that_it_lacks(cgroup: str, nodes: Path) -> None:
    """All of them must agree: two that lack them, and one that has them."""
    undo = UndoLog()
    numbers = [attach(cgroup, program) for program in (CONTAINERS, runtimes("allow a *:* rwm")[:-16], runtimes("allow c 1:* rwm"))]
    steps = filters.look(cgroup, RULES)
    filters.swap(steps, RULES, (), undo)

    assert [step.way for step in steps] == [Way.PREPEND, Way.LEAVE, Way.PREPEND]
    assert attached(cgroup)[1] == numbers[1]
    assert allowed(cgroup, nodes) == ALLOWED - {(DISK, "m")} | ADDED
    assert undo.take_back() == ()
    assert attached(cgroup) == numbers


def test_both_levels_of_a_scope_are_swapped(cgroup: str, nodes: Path) -> None:
    """crun has a cgroup of its own below the scope."""
    inner = f"{cgroup}/container"
    Path(inner).mkdir()
    for level in (cgroup, inner):
        attach(level, CONTAINERS)
    filters.swap(filters.look(inner, RULES), RULES, (), UndoLog())
    half = allowed(inner, nodes)
    filters.swap(filters.look(cgroup, RULES), RULES, (), UndoLog())

    assert (half, allowed(inner, nodes)) == (ALLOWED, ALLOWED | ADDED)


def test_systemds_own_program_is_left_to_systemd(cgroup: str, nodes: Path) -> None:
    """Which makes it anew at any time."""
    number = attach(cgroup, CONTAINERS, "sd_devices")
    steps = filters.look(cgroup, RULES)

    assert steps == (FilterStep(cgroup, number, "sd_devices", len(CONTAINERS) // 8, Way.LEAVE, "systemd makes it anew from DeviceAllow="),)
    with pytest.raises(ConfigurationError) as raised:
        filters.swap(steps, RULES, (), UndoLog())
    assert str(raised.value) == (
        f"the device program {number} of {cgroup} is systemd's own and denies c 1:7 rw; give the container's unit DeviceAllow=, "
        "or let podman's precreate hook give the devices, so that the runtime makes the rules itself"
    )
    with pytest.raises(ConfigurationError) as raised:
        filters.wait_for_systemd(cgroup, RULES, 0.02)
    assert str(raised.value) == (
        f"systemd was told to allow c 1:7 rw on {cgroup}, but after 0.02 seconds its device program {number} still denies it; "
        "`journalctl -b _PID=1` may tell why"
    )


def test_systemd_is_waited_for(cgroup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers on D-Bus first, and attaches its new program before it takes the old one away."""
    attach(cgroup, CONTAINERS, "sd_devices")
    waited = []

    def systemd(_: float) -> None:
        waited.append(attached(cgroup))
        if len(waited) == 1:
            attach(cgroup, bpf.allow(RULES, CONTAINERS), "sd_devices")
        else:
            with opened(cgroup) as folder:
                old = programs.open_program(waited[0][0])
                programs.detach(folder, old)
                os.close(old)

    monkeypatch.setattr(time, "sleep", systemd)
    filters.wait_for_systemd(cgroup, RULES, 5)

    assert [len(each) for each in (*waited, attached(cgroup))] == [1, 2, 1]


@contextmanager
def without_replace(monkeypatch: pytest.MonkeyPatch, cgroup: str, seen: list[int]) -> Iterator[None]:
    """A kernel before 5.6; SEEN gets how many programs are attached after each call that changes that."""
    real = linux.bpf

    def old_kernel(command: int, attributes: bytes) -> tuple[int, bytes]:
        if command == 8 and struct.unpack_from("=I", attributes, 12)[0] & programs.REPLACE:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        answer = real(command, attributes)
        if command in (8, 9):
            with opened(cgroup) as folder:
                seen.append(len(programs.attached(folder)[0]))
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(linux, "bpf", old_kernel)
        yield


def test_without_replace_the_new_program_comes_before_the_old_one_goes(cgroup: str, nodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undo = UndoLog()
    seen: list[int] = []
    old = attach(cgroup, CONTAINERS)
    with without_replace(monkeypatch, cgroup, seen):
        filters.swap(filters.look(cgroup, RULES), RULES, (), undo)
        swapped = allowed(cgroup, nodes)
        assert undo.take_back() == ()

    assert (seen, swapped) == ([2, 1, 2, 1], ALLOWED | ADDED)
    assert (attached(cgroup), allowed(cgroup, nodes)) == ([old], ALLOWED)


def test_a_program_that_a_link_holds_stays_and_is_told(cgroup: str, nodes: Path) -> None:
    undo = UndoLog()
    with opened(cgroup) as folder:
        loaded = programs.load(CONTAINERS, "linked")
        link, _ = linux.bpf(LINK_CREATE, struct.pack("=IIII", loaded, folder, 6, 0))
        number = programs.show(loaded).id
    try:
        with pytest.raises(ConfigurationError) as raised:
            filters.swap(filters.look(cgroup, RULES), RULES, (), undo)

        assert str(raised.value) == (
            f"the device program {number} of {cgroup} cannot be read or changed (it is held by a BPF link); "
            "let podman's precreate hook give the devices, so that the runtime makes the rules itself"
        )
        assert (undo.steps, attached(cgroup), allowed(cgroup, nodes)) == ([], [number], ALLOWED)
    finally:
        os.close(link)
        os.close(loaded)


def reading_a_map() -> bytes:
    """A program with an array map; its descriptor stays open until the test process ends."""
    array, _ = linux.bpf(MAP_CREATE, struct.pack("=IIII", 2, 4, 4, 1))
    return code(0x18, 2, 1, value=array) + bytes(8) + YES


@pytest.mark.parametrize(
    ("make", "does"),
    [
        pytest.param(lambda: code(0x85, value=5) + NO, "calls functions", id="calls"),
        pytest.param(lambda: reading_a_map()[:-16] + NO, "reads maps", id="maps"),
    ],
)
def test_what_is_no_list_of_devices_is_refused(cgroup: str, make: Callable[[], bytes], does: str) -> None:
    """It is not made anew: what it does would be lost."""
    number = attach(cgroup, make())
    with pytest.raises(ConfigurationError) as raised:
        filters.look(cgroup, RULES)

    assert str(raised.value) == (
        f"the device program {number} of {cgroup} {does}, so it is no plain list of devices that rules could be put in front of; "
        "let podman's precreate hook give the devices, so that the runtime makes the rules itself"
    )


@contextmanager
def hardened(kptr: str) -> Iterator[None]:
    """A kernel that hides the constants of programs, and with KPTR 2 their instructions; as it was afterwards."""
    before = {path: path.read_text() for path in (JIT_HARDEN, KPTR_RESTRICT)}
    try:
        JIT_HARDEN.write_text("2")
        KPTR_RESTRICT.write_text(kptr)
        yield
    finally:
        for path, text in before.items():
            path.write_text(text)


@pytest.mark.parametrize(
    ("kptr", "reason"),
    [
        pytest.param("2", "it shows zeros in place of its instructions", id="zeros"),
        pytest.param("0", "it shows a register of the kernel's own in its instructions", id="hidden constants"),
    ],
)
def test_a_program_that_hides_itself_is_made_anew(cgroup: str, nodes: Path, kptr: str, reason: str) -> None:
    """Case 31: from the config, with the standard devices, and never from zeros."""
    undo = UndoLog()
    config = (rule("deny a *:* rwm"), rule("allow c 1:11 r"))
    made = {(NULL, "r"), (NULL, "w"), (NULL, "rw"), (KMSG, "r")} | {(n, ask) for n in (ZERO, FULL, URANDOM) for ask in ("r", "w", "rw")}
    made |= {(number, ask) for number in DEVICES for ask in ("m", "")}
    with hardened(kptr):
        old = attach(cgroup, CONTAINERS)
        steps = filters.look(cgroup, RULES)
        if steps[0].way is Way.PREPEND:  # no JIT for this architecture, or switched off: nothing is hidden then
            assert Path("/proc/sys/net/core/bpf_jit_enable").read_text() == "0\n"
            pytest.skip(f"without a JIT the kernel shows a program's instructions even with {JIT_HARDEN} at 2")
        filters.swap(steps, RULES, config, undo)
        after = allowed(cgroup, nodes)
        attach(cgroup, CONTAINERS)
        with pytest.raises(ConfigurationError) as raised:
            filters.look(cgroup, RULES)
        hidden = attached(cgroup)[0 if kptr == "2" else 1]  # where only constants are hidden, it can still be found out what is allowed

    assert steps == (FilterStep(cgroup, old, "", steps[0].instructions, Way.REGENERATE, reason),)
    assert after == made | ADDED
    assert str(raised.value) == (
        f"the device program {hidden} of {cgroup} cannot be told from the runtime's own, which could be made anew from its config: "
        f"{reason}, and there are 2 programs; "
        "let podman's precreate hook give the devices, so that the runtime makes the rules itself"
    )
    assert undo.take_back() == ()
    assert attached(cgroup)[0] == old


VERDICTS = {
    "crun's and runc's": CONTAINERS,
    "with a narrow load": runtimes("allow c 1:* rw", "deny c 1:7 rw", narrow=True),
    "systemd's, with one end": runtimes("allow c 1:3 rwm", "allow b *:* r", "allow c 1:11 w", common_end=True),
    "with rules in front": bpf.allow(RULES, CONTAINERS),
    "the hook's own": bpf.device_list((rule("allow a *:* rwm"), rule("deny c 1:* w"), rule("deny b *:15 m"), rule("allow c 1:3 w"))),
    "the runtimes' defaults": bpf.device_list(RUNTIME_DEFAULTS),
    "of many rules": bpf.device_list(tuple([rule(f"allow c {major}:{minor} r") for major in range(40) for minor in range(10)])),
    "of numbers that no device has": bpf.device_list((rule(f"allow c {2**31 - 1}:* rwm"), rule(f"allow c 1:{2**40} rwm"))),
    "no rule": bpf.device_list(()),
    "everything": bpf.device_list((rule("allow a *:* rwm"),)),
    "by bits, as a compiler has it": code(0x61, 2, 1) + code(0x47, 2, value=0x10000) + code(0x45, 2, jump=2, value=0x40000) + YES + NO,
    "with the stack": code(0x61, 2, 1, 8) + code(0x63, 10, 2, -4) + code(0x71, 0, 10, -4) + code(0x57, 0, value=1) + EXIT,
    "with 32 bits and signs": code(0x61, 2, 1, 8) + code(0x14, 2, value=7) + code(0xC6, 2, jump=2) + NO + YES,
}  # fmt: skip


@pytest.mark.parametrize("program", VERDICTS)
def test_the_kernels_verdict_is_the_hooks(cgroup: str, nodes: Path, program: str) -> None:
    """Of each program, before and after it went through the kernel."""
    number = attach(cgroup, VERDICTS[program])
    loaded = programs.open_program(number)
    shown = programs.show(loaded)
    os.close(loaded)
    found = allowed(cgroup, nodes)

    for each in (VERDICTS[program], shown.code):
        assert {(number, ask) for number in DEVICES for ask in ASKS if verdict.allows(each, number, ask)} == found
        assert None not in [verdict.allows(each, number, ask) for number in DEVICES for ask in ASKS]
    assert bpf.unusable(shown.code) is None


def test_a_pin_is_replaced_by_one_that_allows_the_rules(cgroup: str, nodes: Path, tmp_path: Path) -> None:
    """Of a scope with BPFProgram=: systemd attaches what is pinned anew when it likes. The pin is there at any time, and comes back."""

    def work() -> tuple[list[str], list[int], list[bool | None]]:
        mount("", "/", flags=MS_REC | MS_PRIVATE)
        mount("bpf", str(tmp_path), "bpf")
        pin, undo = str(tmp_path / "crun-abc_scope"), UndoLog()
        old = programs.load(CONTAINERS, "old")
        programs.pin(old, pin)
        numbers, answers = [], []

        def pinned() -> list[str]:
            return [each for each in os.listdir(tmp_path) if not each.endswith(".debug")]  # bpffs has two of its own

        def now() -> None:
            program = programs.open_pin(pin)
            shown = programs.show(program)
            numbers.append(shown.id)
            answers.append(verdict.allows(shown.code, FULL, "rw"))
            os.close(program)

        now()
        pins.repin(pin, RULES, (), undo)
        now()
        pins.repin(pin, RULES, (), undo)
        now()
        assert len(undo.steps) == 1
        names = pinned()
        assert undo.take_back() == ()
        now()
        pins.repin(pin, RULES, (), undo)
        os.unlink(pin)
        assert undo.take_back() == ()
        assert pinned() == []
        with pytest.raises(UnavailableError) as raised:
            pins.repin(pin, RULES, (), undo)
        assert str(raised.value) == f"the pinned device program {pin} has gone meanwhile; start the container again"
        return names, numbers, answers

    names, numbers, answers = apart(lambda: (linux.unshare(linux.CLONE_NEWNS), work())[1])

    assert names == ["crun-abc_scope"]
    assert answers == [False, True, True, False]
    assert (numbers[0], numbers[1]) == (numbers[3], numbers[2])


def test_a_program_that_has_gone_meanwhile_is_told(cgroup: str) -> None:
    attach(cgroup, CONTAINERS)
    steps = filters.look(cgroup, RULES)
    with opened(cgroup) as folder:
        program = programs.open_program(steps[0].program)
        programs.detach(folder, program)
        undo = UndoLog()
        with pytest.raises(UnavailableError) as held:
            filters.swap(steps, RULES, (), undo)
        os.close(program)

    assert str(held.value) == f"the device program {steps[0].program} of {cgroup} has gone meanwhile; start the container again"
    assert (undo.steps, attached(cgroup)) == ([], [])


def test_a_cgroup_that_has_gone_or_is_none_is_told(cgroup: str, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as gone:
        filters.look(f"{cgroup}/gone", RULES)
    with pytest.raises(ConfigurationError) as none:
        filters.look(str(tmp_path), RULES)

    assert str(gone.value) == f"the cgroup {cgroup}/gone has gone meanwhile; start the container again"
    assert str(none.value) == (
        f"{tmp_path} is no cgroup of version 2; mount the hierarchy (`mount -t cgroup2`) or "
        "let podman's precreate hook give the devices, so that the runtime makes the rules itself"
    )


def test_a_user_namespace_is_told_what_is_lacking(cgroup: str) -> None:
    """bpf(2) asks for rights in the host's own."""
    attach(cgroup, CONTAINERS)

    def work() -> str:
        with pytest.raises(ConfigurationError) as raised:
            filters.look(cgroup, RULES)
        return str(raised.value)

    assert as_user(work) == (
        f"the device programs of {cgroup} cannot be read or changed: bpf(2) needs CAP_SYS_ADMIN, CAP_BPF and CAP_NET_ADMIN of the host's "
        "own user namespace; run the engine as the host's root, or "
        "let podman's precreate hook give the devices, so that the runtime makes the rules itself"
    )
