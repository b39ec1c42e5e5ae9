"""Device programs of cgroup v2 as bytes: rules put in front of one, or a whole one made from rules. Pure; `filters` loads them.

An instruction is `struct bpf_insn` of linux/bpf.h: 8 bytes in the machine's byte order. The program gets `struct bpf_cgroup_dev_ctx` (the
same header) in R1 and lets the request through by returning 1. It is read by whole words only: narrow loads would depend on the byte order,
and old kernels refuse them.
"""

from __future__ import annotations

import struct
import sys

from ..model import DeviceType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..edit import CgroupRule
    from ..model import DeviceNumber
    from .rules import DeviceRule

    Instruction = tuple[int, int, int, int, int]

INSTRUCTION = 8  #: bytes
ORDER = sys.byteorder
_LITTLE = ORDER == "little"
_REGISTERS = 11  #: R0 to R10; what comes behind is the kernel's own (its AX hides constants)
_LARGEST = 2**31 - 1  #: of an immediate operand; the largest device number in Linux has 20 bits

# linux/bpf_common.h, linux/bpf.h: class, size or operation, source of the operand
_LOAD_WORD = 0x61  # BPF_LDX | BPF_MEM | BPF_W
LOAD_CONSTANT = 0x18  # BPF_LD | BPF_IMM | BPF_DW: takes two instructions
_AND32 = 0x54
_SHIFT_RIGHT32 = 0x74
_MOVE32 = 0xBC  # from a register
_MOVE = 0xB7  # a constant
_JUMP = 0x05
_JUMP_IF_NOT = 0x55
_JUMP_IF_ANY_BIT = 0x45
_CALLS = (0x85, 0x8D)  # BPF_JMP | BPF_CALL, of a constant or a register
EXIT = 0x95

_TYPES = {DeviceType.BLOCK: 1, DeviceType.CHAR: 2}  # BPF_DEVCG_DEV_*
_BITS = {"m": 1, "r": 2, "w": 4}  # BPF_DEVCG_ACC_*
_ALL = 7


def allow(rules: tuple[CgroupRule, ...], program: bytes) -> bytes:
    """PROGRAM with RULES in front of it: what they allow is let through, anything else goes PROGRAM's way.

    PROGRAM's jumps are relative and stay right. Nothing in front of it writes R1, where it expects the request, or R2 to R5.
    """
    merged: dict[DeviceNumber, int] = {}
    for rule in rules:
        merged[rule.number] = merged.get(rule.number, 0) | _bits(rule.access)
    if not merged:
        return program
    head = [
        _code(_LOAD_WORD, 6, 1, 0),  # R6: what is wanted, R7: the type, R8 and R9: the number
        _code(_MOVE32, 7, 6),
        _code(_AND32, 7, value=0xFFFF),
        _code(_SHIFT_RIGHT32, 6, value=16),
        _code(_LOAD_WORD, 8, 1, 4),
        _code(_LOAD_WORD, 9, 1, 8),
    ]
    for number, access in merged.items():
        tests = [(_JUMP_IF_NOT, 7, _TYPES[number.type]), (_JUMP_IF_NOT, 8, number.major), (_JUMP_IF_NOT, 9, number.minor)]
        tests += [(_JUMP_IF_ANY_BIT, 6, _ALL & ~access)] if access != _ALL else []
        head += _block(tests, _answer(1))
    return b"".join(head) + program


def device_list(rules: tuple[DeviceRule, ...]) -> bytes:
    """A whole program of RULES, in the order of the OCI config: the last that matches decides on each bit of access, none means no.

    Read from the last rule to the first, R6 keeps the bits that no rule has decided on yet. A rule that allows strikes out its own, and the
    request is let through when none is left; a rule that denies ends it if one of its own is left.
    """
    body = [
        _code(_LOAD_WORD, 6, 1, 0),
        _code(_MOVE32, 2, 6),
        _code(_AND32, 2, value=0xFFFF),
        _code(_SHIFT_RIGHT32, 6, value=16),
        _code(_LOAD_WORD, 4, 1, 4),
        _code(_LOAD_WORD, 5, 1, 8),
    ]
    for rule in reversed(rules):
        if max(rule.major or 0, rule.minor or 0) > _LARGEST:
            continue  # no device has such a number
        tests = [(_JUMP_IF_NOT, 2, _TYPES[rule.type])] if rule.type is not None else []
        tests += [(_JUMP_IF_NOT, 4, rule.major)] if rule.major is not None else []
        tests += [(_JUMP_IF_NOT, 5, rule.minor)] if rule.minor is not None else []
        bits = _bits(rule.access)
        if not rule.allow:
            denied = [_code(_JUMP_IF_ANY_BIT, 6, jump=1, value=bits), _code(_JUMP, jump=2), *_answer(0)]
            body += _block(tests, denied) if bits else []
        elif bits == _ALL:
            body += _block(tests, _answer(1))
            if not tests:
                return b"".join(body)  # the kernel refuses instructions that are never reached
        else:
            left = [_code(_AND32, 6, value=_ALL & ~bits), _code(_JUMP_IF_NOT, 6, jump=2, value=0), *_answer(1)]
            body += _block(tests, left)
    return b"".join([*body, *_answer(0)])


def unusable(program: bytes) -> str | None:
    """Why PROGRAM, as the kernel shows it, cannot be loaded again: a clause about it; None if nothing speaks against it.

    bpf_prog_get_info_by_fd() of kernel/bpf/syscall.c gives zeros, or none, where net.core.bpf_jit_harden has hidden the constants and the
    asker may not see kernel addresses; where it may, it shows what the hiding has made of the program, with a register of the kernel's own.
    """
    if not program:
        return "does not show its instructions"
    if len(program) % INSTRUCTION:
        return f"shows {len(program)} bytes, which are no whole instructions"
    if not any(program):
        return "shows zeros in place of its instructions"
    code = list(instructions(program))
    if any(max(destination, source) >= _REGISTERS for _, destination, source, _, _ in code):
        return "shows a register of the kernel's own in its instructions"
    if any(operation == 0 for operation, _, _, _, _ in _first_halves(code)):
        return "shows zeros in place of some of its instructions"
    if code[-1][0] not in (EXIT, _JUMP):
        return "shows instructions without an end"
    return None


def no_device_list(program: bytes) -> str | None:
    """What PROGRAM does that a plain list of devices does not, a clause about it; None if it is one."""
    for operation, _, source, _, _ in _first_halves(list(instructions(program[: len(program) // INSTRUCTION * INSTRUCTION]))):
        if operation in _CALLS:
            return "calls functions"
        if operation == LOAD_CONSTANT and source:
            return "reads maps"
    return None


def instructions(program: bytes) -> Iterator[Instruction]:
    """Each instruction of PROGRAM: operation, destination and source register, jump, value. Raises struct.error for half a one."""
    for operation, registers, jump, value in struct.iter_unpack("=BBhi", program):
        low, high = registers & 15, registers >> 4
        yield (operation, low, high, jump, value) if _LITTLE else (operation, high, low, jump, value)


def request(number: DeviceNumber, access: str) -> bytes:
    """`struct bpf_cgroup_dev_ctx` for ACCESS, of `rwm`, to the device NUMBER; access of none is what access(2) with F_OK asks for."""
    return struct.pack("=III", _bits(access) << 16 | _TYPES[number.type], number.major, number.minor)


def _first_halves(code: list[Instruction]) -> Iterator[Instruction]:
    """CODE without the second halves of instructions that take two."""
    second = False
    for instruction in code:
        if not second:
            yield instruction
        second = not second and instruction[0] == LOAD_CONSTANT


def _bits(access: str) -> int:
    """ACCESS, of `rwm`, as bits."""
    return sum([_BITS[letter] for letter in frozenset(access)])


def _block(tests: list[tuple[int, int, int]], action: list[bytes]) -> list[bytes]:
    """TESTS (jump, register, value), each of which jumps behind the block if it holds, then ACTION."""
    total = len(tests) + len(action)
    jumps = [_code(operation, register, jump=total - place - 1, value=value) for place, (operation, register, value) in enumerate(tests)]
    return [*jumps, *action]


def _answer(value: int) -> list[bytes]:
    """Return VALUE."""
    return [_code(_MOVE, 0, value=value), _code(EXIT)]


def _code(operation: int, destination: int = 0, source: int = 0, jump: int = 0, value: int = 0) -> bytes:
    """One instruction. The registers' order in their byte is that of C's bit fields, the machine's."""
    registers = destination | source << 4 if _LITTLE else destination << 4 | source
    return struct.pack("=BBhi", operation, registers, jump, value)
