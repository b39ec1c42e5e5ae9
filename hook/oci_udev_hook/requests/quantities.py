"""Counts as Kubernetes writes them: a resource.Quantity that must be whole and not negative.

Grammar and suffixes: ParseQuantity of k8s.io/apimachinery/pkg/api/resource (quantity.go, suffix.go). That parser also takes a sign
or a suffix without any digit for 0, which its own grammar does not have; here it is an error.
"""

from __future__ import annotations

from ..errors import UsageError
from ..typed import shown

_MAX = 2**31 - 1  #: what a 32-bit integer holds, which is more than any host has of anything
_MAX_LENGTH = 100  #: characters; 1 in `Ei` has 64, nothing that makes sense has more
_MAX_EXPONENT = 2 * _MAX_LENGTH  #: no text of _MAX_LENGTH has digits enough to make up for a larger one, up or down

_DIGITS = "0123456789"
#: Base and exponent of each suffix, a line for each form of them (kept so by fmt: skip).
_SUFFIXES = {
    "n": (10, -9), "u": (10, -6), "m": (10, -3), "": (10, 0),
    "k": (10, 3), "M": (10, 6), "G": (10, 9), "T": (10, 12), "P": (10, 15), "E": (10, 18),
    "Ki": (2, 10), "Mi": (2, 20), "Gi": (2, 30), "Ti": (2, 40), "Pi": (2, 50), "Ei": (2, 60),
}  # fmt: skip


class QuantityError(UsageError):
    """Text that is no count; `reason` is a clause that follows on `… is "500m", `."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"the count is {shown(text)}, {reason}")
        self.reason = reason


def count(text: str) -> int:
    """The number of units that TEXT asks for, from 0 to MAX. Raises QuantityError."""
    text = text.strip()  # as Quantity.UnmarshalJSON does
    if len(text) < 10 and text.isdecimal() and text.isascii():
        return int(text)
    if len(text) > _MAX_LENGTH:
        raise QuantityError(text, "which is too long for a count")
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    whole, rest = _digits(unsigned)
    fraction, suffix = _digits(rest[1:]) if rest[:1] == "." else ("", rest)
    if not whole and not fraction:
        raise QuantityError(text, "not a number: write a whole number such as 2")
    base, exponent = _suffix(text, suffix)
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0
    if text[0] == "-":
        raise QuantityError(text, "a negative number: write 0 for none")
    if exponent > _MAX_EXPONENT:
        raise QuantityError(text, f"more than {_MAX}: no host has as many devices")
    numerator: int = int(digits) * base ** max(exponent, 0)
    denominator: int = 10 ** len(fraction) * base ** min(max(-exponent, 0), _MAX_EXPONENT)
    number, remainder = divmod(numerator, denominator)
    if remainder:
        raise QuantityError(text, "not a whole number: devices are given whole")
    if number > _MAX:
        raise QuantityError(text, f"more than {_MAX}: no host has as many devices")
    return number


def _digits(text: str) -> tuple[str, str]:
    """The digits that TEXT starts with, and the rest."""
    rest = text.lstrip(_DIGITS)
    return text[: len(text) - len(rest)], rest


def _suffix(text: str, suffix: str) -> tuple[int, int]:
    """Base and exponent of SUFFIX, the tail of TEXT."""
    known = _SUFFIXES.get(suffix)
    if known is not None:
        return known
    exponent = suffix[2:] if suffix[1:2] in ("+", "-") else suffix[1:]
    if suffix[:1] not in ("e", "E") or not exponent or exponent.strip(_DIGITS):
        raise QuantityError(text, "not a number: write a whole number such as 2")
    return 10, int(suffix[1:])
