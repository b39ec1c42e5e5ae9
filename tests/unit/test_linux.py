"""What differs between architectures, on data of each."""

from __future__ import annotations

import errno
import sys

import pytest

from oci_udev_hook.injection import linux


@pytest.mark.parametrize(
    ("machine", "wide", "number"),
    [
        pytest.param("x86_64", True, 321, id="x86-64"),
        pytest.param("x86_64", False, 357, id="a 32-bit program on it"),
        pytest.param("aarch64", True, 280, id="arm64"),
        pytest.param("aarch64", False, 386, id="a 32-bit Raspberry Pi OS on a 64-bit kernel"),
        pytest.param("armv8l", False, 386, id="the same under setarch"),
        pytest.param("riscv64", True, 280, id="riscv64"),
        pytest.param("ppc64le", True, 361, id="ppc64le"),
        pytest.param("s390x", True, 351, id="s390x"),
    ],
)
def test_bpf_has_a_number_for_each_kind_of_program(machine: str, wide: bool, number: int) -> None:
    """Another call's number would be answered, too, and a container start without its device."""
    assert linux._bpf_number(machine, wide=wide) == number


@pytest.mark.parametrize(("machine", "wide"), [("sparc64", True), ("riscv64", False)])
def test_an_architecture_without_a_number_is_told(machine: str, wide: bool) -> None:
    with pytest.raises(OSError, match=rf"the number of bpf\(2\) on {machine} is not known") as error:
        linux._bpf_number(machine, wide=wide)

    assert error.value.errno == errno.ENOSYS


@pytest.mark.parametrize(
    ("order", "machine", "status"),
    [
        pytest.param("little", "x86_64", bytes.fromhex("a09f000000000000 0010000000000000"), id="x86-64: a long"),
        pytest.param("big", "ppc64", bytes.fromhex("0000000000009fa0 0000000000001000"), id="ppc64: a long"),
        pytest.param("big", "s390x", bytes.fromhex("00009fa0 00001000 0000000000000000"), id="s390x: an unsigned int"),
    ],
)
@pytest.mark.skipif(sys.maxsize < 2**32, reason="the bytes are those of 64-bit programs")
def test_the_magic_number_is_the_first_field_of_statfs(monkeypatch: pytest.MonkeyPatch, order: str, machine: str, status: bytes) -> None:
    """As uapi/asm/statfs.h of each has it."""
    monkeypatch.setattr(linux, "_ORDER", order)

    assert linux._f_type(status, machine) == linux.PROC_SUPER_MAGIC
