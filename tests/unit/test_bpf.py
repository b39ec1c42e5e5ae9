"""Device programs as bytes: what is put in front, what is made anew, and which dumps are not to be trusted."""

from __future__ import annotations

import struct
import sys

import pytest

from oci_udev_hook.edit import CgroupRule
from oci_udev_hook.injection import bpf, verdict
from oci_udev_hook.injection.rules import RUNTIME_DEFAULTS, DeviceRule
from oci_udev_hook.model import DeviceNumber, DeviceType

SERIAL = DeviceNumber(DeviceType.CHAR, 188, 0)
DISK = DeviceNumber(DeviceType.BLOCK, 188, 0)
NULL = DeviceNumber(DeviceType.CHAR, 1, 3)


def code(operation: int, destination: int = 0, source: int = 0, jump: int = 0, value: int = 0) -> bytes:
    """One instruction, as linux/bpf.h has it."""
    registers = destination | source << 4 if sys.byteorder == "little" else destination << 4 | source
    return struct.pack("=BBhi", operation, registers, jump, value)


EXIT = code(0x95)
NO = code(0xB7) + EXIT
YES = code(0xB7, value=1) + EXIT


def rule(text: str) -> DeviceRule:
    """A rule from `allow c 1:3 rw`."""
    word, kind, number, access = text.split()
    major, minor = (None if part == "*" else int(part) for part in number.split(":"))
    return DeviceRule(word == "allow", None if kind == "a" else DeviceType(kind), major, minor, access)


def listed(*texts: str) -> bytes:
    """The program of rules."""
    return bpf.device_list(tuple([rule(text) for text in texts]))


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["allow c 188:0 rw"], "r w rw", id="one"),
        pytest.param(["allow c 188:0 r", "allow c 188:0 w"], "r w rw", id="two that only together allow it"),
        pytest.param(["allow c 188:0 rw", "deny c 188:0 w"], "r", id="one takes back a part"),
        pytest.param(["deny c 188:0 w", "allow c 188:0 rw"], "r w rw", id="one gives it back"),
        pytest.param(["allow a *:* rwm", "deny c 188:* m"], "r w rw", id="all but one"),
        pytest.param(["deny a *:* rwm", "allow c *:* m"], "m", id="mknod of any"),
        pytest.param(["allow a *:* r", "allow c *:0 w"], "r w rw", id="by minor"),
        pytest.param(["allow b 188:0 rwm"], "", id="of the other type"),
        pytest.param(["allow c 188:1 rwm", "allow c 189:0 rwm"], "", id="of other numbers"),
        pytest.param([f"allow c {2**40}:0 rwm", f"deny c 188:{2**31} rwm", "allow c 188:0 m"], "m", id="of numbers that no device has"),
        pytest.param(["deny c 188:0 rwm", "allow a *:* rwm"], "r w m rw rm wm rwm", id="all"),
    ],
)
def test_the_last_matching_rule_wins_for_each_letter(rules: list[str], allowed: str) -> None:
    program = listed(*rules)

    assert [ask for ask in ("r", "w", "m", "rw", "rm", "wm", "rwm") if verdict.allows(program, SERIAL, ask)] == allowed.split()


def test_nothing_stands_behind_a_rule_that_allows_everything() -> None:
    """The kernel refuses instructions that are never reached."""
    assert listed("allow c 1:3 rwm", "allow a *:* rwm") == listed("allow a *:* rwm")
    assert listed("allow a *:* rwm").endswith(YES)


def test_standard_devices_stay_whatever_the_config_denies() -> None:
    """Case 28: rules that deny stay for the config's own devices only."""
    program = bpf.device_list((rule("allow a *:* rwm"), rule("deny a *:* rwm"), *RUNTIME_DEFAULTS))

    assert verdict.allows(program, NULL, "rwm")
    assert verdict.allows(program, DeviceNumber(DeviceType.CHAR, 136, 7), "rw")
    assert verdict.allows(program, DISK, "m")
    assert not verdict.allows(program, DISK, "r")
    assert not verdict.allows(program, SERIAL, "w")


def test_rules_in_front_leave_the_program_as_it_is() -> None:
    old = listed("allow c 1:3 rwm")
    program = bpf.allow((CgroupRule(SERIAL, "r"), CgroupRule(DISK, "w"), CgroupRule(SERIAL, "w")), old)

    assert program.endswith(old)
    assert bpf.allow((), old) == old
    assert [verdict.allows(program, SERIAL, ask) for ask in ("r", "w", "rw", "m", "rwm")] == [True, True, True, False, False]
    assert [verdict.allows(program, DISK, ask) for ask in ("r", "w", "rw")] == [False, True, False]
    assert verdict.allows(program, NULL, "rwm")


def test_instructions_are_as_the_kernel_has_them() -> None:
    """Words only, R6 to R9 before the old program, whole bytes: what the verifier takes on each architecture."""
    program = bpf.allow((CgroupRule(SERIAL, "rw"),), NO)

    assert program == (
        code(0x61, 6, 1) + code(0xBC, 7, 6) + code(0x54, 7, value=0xFFFF) + code(0x74, 6, value=16)
        + code(0x61, 8, 1, 4) + code(0x61, 9, 1, 8)
        + code(0x55, 7, jump=5, value=2) + code(0x55, 8, jump=4, value=188) + code(0x55, 9, jump=3) + code(0x45, 6, jump=2, value=1)
        + YES + NO
    )  # fmt: skip


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        pytest.param(NO, None, id="one that can be"),
        pytest.param(listed("allow c 1:3 rw"), None, id="one of the hook's"),
        pytest.param(code(0x18, 2, value=-1) + bytes(8) + NO, None, id="a constant of 64 bits, with zeros in it"),
        pytest.param(NO + code(0x05, jump=-3), None, id="a jump back at the end"),
        pytest.param(b"", "does not show its instructions", id="empty"),
        pytest.param(NO[:-3], "shows 13 bytes, which are no whole instructions", id="cut off"),
        pytest.param(bytes(80), "shows zeros in place of its instructions", id="zeros"),
        pytest.param(NO + bytes(8) + EXIT, "shows zeros in place of some of its instructions", id="a zero"),
        pytest.param(code(0x07, 11) + NO, "shows a register of the kernel's own in its instructions", id="blinded, destination"),
        pytest.param(code(0xBF, 0, 11) + NO, "shows a register of the kernel's own in its instructions", id="blinded, source"),
        pytest.param(code(0xB7), "shows instructions without an end", id="no exit"),
    ],
)
def test_a_dump_is_looked_at_before_it_is_loaded_again(program: bytes, reason: str | None) -> None:
    """Case 31: zeros of the right length, where the kernel hides constants."""
    assert bpf.unusable(program) == reason


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        pytest.param(listed("allow c 1:3 rw"), None, id="a list"),
        pytest.param(code(0x18, 2, value=0x85) + code(0x85) + NO, None, id="a constant that looks like a call"),
        pytest.param(code(0x85, value=5) + NO, "calls functions", id="a helper"),
        pytest.param(code(0x85, source=1, value=1) + NO + NO, "calls functions", id="a function of its own"),
        pytest.param(code(0x18, 1, 1, value=7) + bytes(8) + NO, "reads maps", id="a map"),
        pytest.param(code(0x85)[:-1], None, id="cut off"),
    ],
)
def test_a_program_that_does_more_is_told_from_a_list(program: bytes, reason: str | None) -> None:
    assert bpf.no_device_list(program) == reason


@pytest.mark.parametrize(
    ("little", "head"),
    [
        pytest.param(True, "61 16 0000 00000000", id="x86-64, arm64"),
        pytest.param(False, "61 61 0000 00000000", id="s390x, ppc64"),
    ],
)
def test_registers_stand_in_the_machines_order(monkeypatch: pytest.MonkeyPatch, little: bool, head: str) -> None:
    """Bit fields of C, `struct bpf_insn`: R6 = the word that R1 points to. Numbers are packed in the machine's own order."""
    monkeypatch.setattr(bpf, "_LITTLE", little)
    program = bpf.allow((CgroupRule(DeviceNumber(DeviceType.CHAR, 188, 0), "rw"),), b"")

    assert program[:8] == bytes.fromhex(head)
    assert [each[:3] for each in bpf.instructions(program)][:2] == [(0x61, 6, 1), (0xBC, 7, 6)]
