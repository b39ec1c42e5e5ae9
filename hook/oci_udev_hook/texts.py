"""Text files of a person's: read with a bound, written whole or not at all."""

from __future__ import annotations

import os
import sys

from . import files, typed
from .errors import UsageError


def read_bytes(name: str) -> bytes:
    """The content of the file NAME, of standard input for `-`. Raises UsageError."""
    try:
        if name == "-":
            if sys.stdin is None:
                raise UsageError("standard input is closed, and - means standard input; name a file or open it")
            data = sys.stdin.buffer.read(typed.MAX_INPUT + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(typed.MAX_INPUT + 1)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}; see that it is there and yours to read") from None
    if len(data) > typed.MAX_INPUT:
        raise UsageError(f"{name} has more than {typed.MAX_INPUT >> 20} MiB; nothing that this program reads is that large")
    return data


def read_text(name: str) -> str:
    """The same as text. Raises UsageError."""
    data = read_bytes(name)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is no UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}; save it as UTF-8") from None


def write_text(name: str, text: str) -> None:
    """Write TEXT to the file NAME. Raises UsageError."""
    temporary = f"{name}.{os.getpid()}.new"
    try:
        try:
            with open(temporary, "x", encoding="utf-8", newline="") as file:
                file.write(text)
            os.rename(temporary, name)
        except OSError:
            files.discard(temporary)
            raise
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {error.strerror}; see that its folder is there and yours to write") from None
