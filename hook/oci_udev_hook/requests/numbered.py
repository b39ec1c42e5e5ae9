"""Values too long for one annotation: podman before 5.0 takes no more than 63 characters, so a longer one stands in numbered keys."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_WIDTH = 63  #: bytes of a value, ValidateAnnotations of podman 4's pkg/domain/infra/abi/play.go


def too_long(text: str) -> bool:
    """Whether TEXT does not fit in one annotation."""
    return len(text.encode(errors="replace")) > _WIDTH


def split(text: str) -> tuple[str, ...]:
    """TEXT in parts of at most _WIDTH bytes; put together as they are they give TEXT again.

    A part ends behind a comma if it can; if not, it neither starts nor ends with white space if that can be: `podman kube generate`
    strips it, which beside a comma does no harm.
    """
    parts = []
    while too_long(text):
        cut = _cut(text)
        parts.append(text[:cut])
        text = text[cut:]
    return (*parts, text)


def _cut(text: str) -> int:
    """Where the first part of TEXT ends."""
    fits = len(text.encode(errors="replace")[:_WIDTH].decode(errors="ignore"))
    commas = [at for at in range(1, fits + 1) if text[at - 1] == ","]
    tight = [at for at in range(1, fits + 1) if not text[at - 1].isspace() and not text[at].isspace()]
    return max(commas or tight or [fits])


def join(parts: Mapping[int, str]) -> str:
    """The value of which PARTS are the parts by number, counted from 1, or the whole as number 0.

    Raises ValueError with a clause on the keys where a part is missing or there is a whole as well.
    """
    if 0 in parts and len(parts) > 1:
        raise ValueError("there is a key without a number as well, only one of the two can hold")
    if 0 in parts:
        return parts[0]
    for number in range(1, len(parts) + 1):
        if number not in parts:
            raise ValueError(f"number {number} is missing, they count from 1 without a gap")
    return "".join([parts[number] for number in range(1, len(parts) + 1)])
