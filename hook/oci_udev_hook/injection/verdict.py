"""What a device program of cgroup v2 says to a request, found out by running its instructions here. Pure.

It knows arithmetic, jumps, and loads and stores in the request and on the stack: what crun, runc, systemd and this project make device
programs of, and most of what a compiler makes of one in C (kernel: Documentation/bpf/standardization/instruction-set.rst).
"""

from __future__ import annotations

from . import bpf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import DeviceNumber

_REQUEST, _STACK, _STACK_SIZE = 1 << 40, 1 << 41, 512  #: where memory stands for a program that runs here
_HALF = 2**32 - 1

_LDX, _ST, _STX, _ALU32, _JUMP, _JUMP32, _ALU64 = 1, 2, 3, 4, 5, 6, 7  #: classes
_MEMORY = 0x60  #: mode of loads and stores
_SIZES = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}
_ALWAYS = 0x00

_ARITHMETIC: dict[int, Callable[[int, int, int], int]] = {  # of destination, operand, width
    0x00: lambda left, right, _: left + right,
    0x10: lambda left, right, _: left - right,
    0x20: lambda left, right, _: left * right,
    0x40: lambda left, right, _: left | right,
    0x50: lambda left, right, _: left & right,
    0x60: lambda left, right, width: left << right % width,
    0x70: lambda left, right, width: left >> right % width,
    0x80: lambda left, _, __: -left,
    0xA0: lambda left, right, _: left ^ right,
    0xB0: lambda _, right, __: right,
    0xC0: lambda left, right, width: _signed(left, width) >> right % width,
}
_COMPARISONS: dict[int, Callable[[int, int, int], bool]] = {
    0x10: lambda left, right, _: left == right,
    0x20: lambda left, right, _: left > right,
    0x30: lambda left, right, _: left >= right,
    0x40: lambda left, right, _: left & right != 0,
    0x50: lambda left, right, _: left != right,
    0x60: lambda left, right, width: _signed(left, width) > _signed(right, width),
    0x70: lambda left, right, width: _signed(left, width) >= _signed(right, width),
    0xA0: lambda left, right, _: left < right,
    0xB0: lambda left, right, _: left <= right,
    0xC0: lambda left, right, width: _signed(left, width) < _signed(right, width),
    0xD0: lambda left, right, width: _signed(left, width) <= _signed(right, width),
}


class _UnknownError(Exception):
    """Something that is not emulated here, or that no program does that the kernel has taken."""


def allows(program: bytes, number: DeviceNumber, access: str) -> bool | None:
    """Whether PROGRAM lets a request for ACCESS, of `rwm`, to the device NUMBER through; None where it does what this cannot tell."""
    if not program or len(program) % bpf.INSTRUCTION:
        return None
    try:
        return _Machine(list(bpf.instructions(program)), bpf.request(number, access)).run()
    except _UnknownError:
        return None


class _Machine:
    """Registers and memory while a program runs. What the kernel's verifier has taken reads no register before it is written."""

    def __init__(self, code: list[bpf.Instruction], request: bytes) -> None:
        self.code = code
        self.memory = {_REQUEST: bytearray(request), _STACK: bytearray(_STACK_SIZE)}
        self.registers = [0] * 16
        self.registers[1], self.registers[10] = _REQUEST, _STACK + _STACK_SIZE
        self.place = 0

    def run(self) -> bool:
        """The program's answer. Raises _UnknownError."""
        while self.place < len(self.code):
            place = self.place
            self.place += 1
            if self.code[place][0] == bpf.EXIT:
                return self.registers[0] != 0
            self.step(self.code[place])
            if self.place <= place:  # a loop, perhaps without an end: kernels before 5.3 take none
                raise _UnknownError
        raise _UnknownError

    def step(self, instruction: bpf.Instruction) -> None:
        """Do INSTRUCTION, which is no exit. Raises _UnknownError."""
        operation, destination, source, jump, value = instruction
        kind = operation & 7
        if kind in (_ALU32, _ALU64):
            self.compute(instruction, 64 if kind == _ALU64 else 32)
        elif kind in (_JUMP, _JUMP32):
            self.jump(instruction, 64 if kind == _JUMP else 32)
        elif operation == bpf.LOAD_CONSTANT and source == 0 and self.place < len(self.code):
            self.registers[destination] = value & _HALF | (self.code[self.place][4] & _HALF) << 32
            self.place += 1
        elif kind == _LDX and operation & 0xE0 == _MEMORY:
            part, at, size = self.at(self.registers[source] + jump, operation)
            self.registers[destination] = int.from_bytes(part[at : at + size], bpf.ORDER)
        elif kind in (_ST, _STX) and operation & 0xE0 == _MEMORY:
            part, at, size = self.at(self.registers[destination] + jump, operation)
            stored = self.registers[source] if kind == _STX else value
            part[at : at + size] = (stored & (1 << 8 * size) - 1).to_bytes(size, bpf.ORDER)
        else:
            raise _UnknownError

    def compute(self, instruction: bpf.Instruction, width: int) -> None:
        """An arithmetic instruction on registers of WIDTH bits. Raises _UnknownError."""
        operation, destination, _, jump, _ = instruction
        compute = _ARITHMETIC.get(operation & 0xF0)
        if compute is None or jump:  # division, byte order; the signed forms of 2023 have a jump
            raise _UnknownError
        left, right = self.operands(instruction, width)
        self.registers[destination] = compute(left, right, width) & (1 << width) - 1

    def jump(self, instruction: bpf.Instruction, width: int) -> None:
        """A jump that compares WIDTH bits. Raises _UnknownError."""
        operation, _, _, jump, value = instruction
        kind = operation & 0xF0
        if kind == _ALWAYS:
            self.place += jump if width == 64 else value
            return
        compare = _COMPARISONS.get(kind)
        if compare is None:  # a call
            raise _UnknownError
        if compare(*self.operands(instruction, width), width):
            self.place += jump

    def operands(self, instruction: bpf.Instruction, width: int) -> tuple[int, int]:
        """The two sides of an instruction."""
        operation, destination, source, _, value = instruction
        mask = (1 << width) - 1
        return self.registers[destination] & mask, (self.registers[source] if operation & 8 else value) & mask

    def at(self, address: int, operation: int) -> tuple[bytearray, int, int]:
        """The memory at ADDRESS, the place in it, and the size that OPERATION speaks of. Raises _UnknownError."""
        size = _SIZES[operation & 0x18]
        for start, part in self.memory.items():
            if start <= address and address + size <= start + len(part):
                return part, address - start, size
        raise _UnknownError


def _signed(value: int, width: int) -> int:
    """VALUE of WIDTH bits read as two's complement."""
    return value - (1 << width) if value >> width - 1 else value
