"""Names in the order in which people count: ttyUSB2 before ttyUSB10. Pure."""

from __future__ import annotations

DIGITS = frozenset("0123456789")


def split(text: str) -> list[str]:
    """The parts of TEXT without and with digits in turn, the first without: `2a` is ["", "2", "a"]."""
    parts = []
    start, number = 0, False
    for index, char in enumerate(text):
        if (char in DIGITS) is not number:
            parts.append(text[start:index])
            start, number = index, not number
    return [*parts, text[start:]]


def natural(text: str) -> tuple[list[str | int], str]:
    """A key to sort TEXT by; two texts have one key only if they are the same."""
    return [int(part) if index % 2 else part for index, part in enumerate(split(text))], text


def shape(text: str) -> str:
    """TEXT with `#` in the place of each number."""
    return "".join(["#" if index % 2 else part for index, part in enumerate(split(text))])
