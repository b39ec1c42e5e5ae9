"""Running a device program on data: what it says to a request, or that this cannot be told."""

from __future__ import annotations

import struct
import sys

import pytest

from oci_udev_hook.injection import verdict
from oci_udev_hook.model import DeviceNumber, DeviceType

SERIAL = DeviceNumber(DeviceType.CHAR, 188, 5)


def code(operation: int, destination: int = 0, source: int = 0, jump: int = 0, value: int = 0) -> bytes:
    """One instruction, as linux/bpf.h has it."""
    registers = destination | source << 4 if sys.byteorder == "little" else destination << 4 | source
    return struct.pack("=BBhi", operation, registers, jump, value)


EXIT = code(0x95)
MAJOR, MINOR = code(0x61, 2, 1, 4), code(0x61, 3, 1, 8)  # into R2 and R3
REQUEST = code(0x61, 2, 1, 0)
MINUS_ONE = code(0xB7, 2, value=-1)  # 64 bits of ones


def if_jumps(*instructions: bytes) -> bytes:
    """A program that says yes if the last of INSTRUCTIONS, a jump over two, is done."""
    return b"".join([*instructions, code(0xB7), EXIT, code(0xB7, value=1), EXIT])


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        pytest.param(code(0xB7) + EXIT, False, id="no"),
        pytest.param(code(0xB7, value=1) + EXIT, True, id="yes"),
        pytest.param(if_jumps(MAJOR, code(0x15, 2, jump=2, value=188)), True, id="jeq"),
        pytest.param(if_jumps(MAJOR, code(0x15, 2, jump=2, value=189)), False, id="jeq not"),
        pytest.param(if_jumps(MAJOR, code(0x55, 2, jump=2, value=189)), True, id="jne"),
        pytest.param(if_jumps(MAJOR, MINOR, code(0x5D, 2, 3, jump=2)), True, id="jne of a register"),
        pytest.param(if_jumps(MAJOR, code(0x25, 2, jump=2, value=188)), False, id="jgt"),
        pytest.param(if_jumps(MAJOR, code(0x35, 2, jump=2, value=188)), True, id="jge"),
        pytest.param(if_jumps(MAJOR, code(0xA5, 2, jump=2, value=188)), False, id="jlt"),
        pytest.param(if_jumps(MAJOR, code(0xB5, 2, jump=2, value=188)), True, id="jle"),
        pytest.param(if_jumps(MAJOR, code(0x45, 2, jump=2, value=0x80)), True, id="jset"),
        pytest.param(if_jumps(MAJOR, code(0x45, 2, jump=2, value=0x43)), False, id="jset of none"),
        pytest.param(if_jumps(MINUS_ONE, code(0x25, 2, jump=2, value=5)), True, id="unsigned"),
        pytest.param(if_jumps(MINUS_ONE, code(0x65, 2, jump=2, value=5)), False, id="jsgt"),
        pytest.param(if_jumps(MINUS_ONE, code(0x75, 2, jump=2, value=-1)), True, id="jsge"),
        pytest.param(if_jumps(MINUS_ONE, code(0xC5, 2, jump=2, value=0)), True, id="jslt"),
        pytest.param(if_jumps(MINUS_ONE, code(0xD5, 2, jump=2, value=-2)), False, id="jsle"),
        pytest.param(if_jumps(code(0xB4, 2, value=-1), code(0x15, 2, jump=2, value=-1)), False, id="mov32 clears the upper half"),
        pytest.param(if_jumps(code(0xB4, 2, value=-1), code(0x16, 2, jump=2, value=-1)), True, id="jmp32"),
        pytest.param(if_jumps(code(0x05, jump=2)), True, id="ja"),
        pytest.param(if_jumps(code(0x06, value=2)), True, id="ja of a long way"),
        pytest.param(if_jumps(REQUEST, code(0x54, 2, value=0xFFFF), code(0x15, 2, jump=2, value=2)), True, id="the type, char"),
        pytest.param(if_jumps(REQUEST, code(0x74, 2, value=16), code(0x15, 2, jump=2, value=6)), True, id="the access, rw"),
        pytest.param(if_jumps(MAJOR, code(0x07, 2, value=2), code(0x15, 2, jump=2, value=190)), True, id="add"),
        pytest.param(if_jumps(MAJOR, code(0x17, 2, value=189), code(0x15, 2, jump=2, value=-1)), True, id="sub below zero"),
        pytest.param(if_jumps(MAJOR, code(0x27, 2, value=2), code(0x15, 2, jump=2, value=376)), True, id="mul"),
        pytest.param(if_jumps(MAJOR, code(0x47, 2, value=3), code(0x15, 2, jump=2, value=191)), True, id="or"),
        pytest.param(if_jumps(MAJOR, code(0x67, 2, value=1), code(0x15, 2, jump=2, value=376)), True, id="lsh"),
        pytest.param(if_jumps(MAJOR, code(0xA7, 2, value=188), code(0x15, 2, jump=2)), True, id="xor"),
        pytest.param(if_jumps(MAJOR, code(0x87, 2), code(0x15, 2, jump=2, value=-188)), True, id="neg"),
        pytest.param(if_jumps(MINUS_ONE, code(0xC7, 2, value=63), code(0x15, 2, jump=2, value=-1)), True, id="arsh"),
        pytest.param(if_jumps(code(0x18, 2, value=188), code(0, value=1), code(0x77, 2, value=32), code(0x15, 2, jump=2, value=1)),
                     True, id="a constant of 64 bits"),
        pytest.param(if_jumps(MAJOR, code(0x63, 10, 2, -4), code(0x61, 4, 10, -4), code(0x15, 4, jump=2, value=188)), True, id="the stack"),
        pytest.param(if_jumps(code(0x7A, 10, 0, -8, -1), code(0x71, 4, 10, -8), code(0x15, 4, jump=2, value=255)), True, id="a byte"),
        pytest.param(if_jumps(code(0xBF, 6, 1), code(0x07, 6, value=4), code(0x61, 2, 6, 4), code(0x15, 2, jump=2, value=5)),
                     True, id="a copy of the request's address"),
        pytest.param(b"", None, id="nothing"),
        pytest.param(EXIT[:-1], None, id="half an instruction"),
        pytest.param(bytes(80), None, id="zeros"),
        pytest.param(code(0xB7), None, id="no end"),
        pytest.param(code(0x05, jump=-1) + EXIT, None, id="a loop"),
        pytest.param(code(0x05, jump=5) + EXIT, None, id="a jump out of it"),
        pytest.param(code(0x85, value=5) + EXIT, None, id="a call"),
        pytest.param(code(0x18, 1, 1, value=7) + bytes(8) + EXIT, None, id="a map"),
        pytest.param(code(0x18, 1), None, id="half a constant"),
        pytest.param(code(0x61, 2, 3) + EXIT, None, id="memory that is not its own"),
        pytest.param(code(0x61, 2, 1, 12) + EXIT, None, id="memory behind the request"),
        pytest.param(code(0x37, 2, value=2) + EXIT, None, id="a division"),
        pytest.param(code(0xBF, 2, 2, 8) + EXIT, None, id="a move that extends the sign"),
        pytest.param(code(0xC3, 10, 2, -4) + EXIT, None, id="an atomic addition"),
    ],
)  # fmt: skip
def test_a_program_is_run(program: bytes, answer: bool | None) -> None:
    assert verdict.allows(program, SERIAL, "rw") is answer
