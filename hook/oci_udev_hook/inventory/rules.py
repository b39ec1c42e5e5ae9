"""Match lines of udev(7), held against devices: `SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0403"`. Pure.

What a line means is what src/udev/udev-rules.c of systemd makes of it; comments name its functions. How a line is written stands in
`grammar`, which is loaded only for lines that are not in the cache.
"""

from __future__ import annotations

from ..errors import ConfigurationError
from . import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model import Device, Rule, Term

PARENT_KEYS = frozenset(("KERNELS", "SUBSYSTEMS", "DRIVERS", "ATTRS", "TAGS"))  #: these must all hold at one device, see `matches`
BLANKS = " \t\n\r"  # WHITESPACE of systemd's string-util-fundamental.h
_SPACES = BLANKS + "\v\f"  # isspace(3)


class RuleError(ConfigurationError):
    """A match line that cannot be used. `faults` are its errors, each with the column, from 1, and a sentence."""

    def __init__(self, faults: tuple[tuple[int, str], ...]) -> None:
        super().__init__("; ".join(f"column {column}: {sentence}" for column, sentence in faults))
        self.faults = faults


def parse(text: str) -> Rule:
    """The match line TEXT. Raises RuleError with all that is wrong with it."""
    from . import grammar

    return grammar.parse(text)


def matches(rule: Rule, device: Device) -> bool:
    """Whether all terms of RULE hold for DEVICE, and its parents' terms all at one and the same of DEVICE and its parents."""
    parental = []
    for term in rule.terms:
        if term.key in PARENT_KEYS:
            parental.append(term)
        elif not _holds(term, device):
            return False
    if not parental:
        return True
    # udev_rule_apply_parent_token_to_event: the device itself counts, then one parent after the other.
    return any(all(_holds(term, candidate) for term in parental) for candidate in (device, *device.parents))


def failures(rule: Rule, device: Device) -> tuple[Term, ...]:
    """All terms of RULE that do not hold for DEVICE, in the line's order.

    Of the parents' terms it is those that fail at the parent where the fewest do, the nearest if there are several.
    """
    parental = [term for term in rule.terms if term.key in PARENT_KEYS]
    failed = [term for term in rule.terms if term.key not in PARENT_KEYS and not _holds(term, device)]
    if parental:
        attempts = [[term for term in parental if not _holds(term, candidate)] for candidate in (device, *device.parents)]
        fewest = min(attempts, key=len)
        failed += fewest
    return tuple([term for term in rule.terms if term in failed])


def _holds(term: Term, device: Device) -> bool:
    """Whether TERM holds at DEVICE (udev_rule_apply_token_to_event)."""
    match term.key:
        case "KERNEL" | "KERNELS":
            return _compare(term, device.sysname)
        case "SUBSYSTEM" | "SUBSYSTEMS":
            return _compare(term, device.subsystem)
        case "DRIVER" | "DRIVERS":
            return _compare(term, device.driver)
        case "DEVPATH":
            return _compare(term, device.devpath)
        case "ENV":
            return _compare(term, device.properties.get(term.name, ""))
        case "ATTR" | "ATTRS":
            return _attribute(term, device.attributes.get(term.name))
        case "TAG" | "TAGS":
            return _one_of(term, device.tags)
        case "SYMLINK":
            return _one_of(term, [link.removeprefix("/dev/") for link in device.links])
    raise ValueError(term.key)


def _compare(term: Term, value: str) -> bool:
    """Whether TERM holds for VALUE, which is empty where the device has none (token_match_string): `!=` then holds for any name."""
    return glob.any_matches(term.patterns, value) != term.negated


def _attribute(term: Term, value: str | None) -> bool:
    """Whether TERM holds for the attribute's VALUE (token_match_attr); for one that is not there neither `==` nor `!=` does.

    White space at the value's end counts only where the first alternative ends with some, or is empty (rule_line_add_token).
    """
    if value is None:
        return False
    first = next(filter(None, term.patterns), "")
    if first and first[-1] not in _SPACES:
        value = value.rstrip(BLANKS)
    return _compare(term, value)


def _one_of(term: Term, values: Iterable[str]) -> bool:
    """Whether TERM holds for a list: `==` if one of VALUES matches, `!=` if none does."""
    if term.patterns == ("?*",):
        # rule_line_add_token turns =="?*" into !="", which holds for a list without an empty value, so for one without any too.
        return not term.negated
    return any(glob.any_matches(term.patterns, value) for value in values) != term.negated
