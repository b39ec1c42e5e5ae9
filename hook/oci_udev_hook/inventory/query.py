"""What to look for on the host so that no device that a rule could match is missed, and little else is looked at. Pure."""

from __future__ import annotations

from ..frozen import frozen
from . import glob
from .rules import PARENT_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model import Rule, Term

DATABASE_KEYS = frozenset(("ENV", "TAG", "TAGS", "SYMLINK"))  #: these need what udev has written about the device


@frozen
class Selector:
    """Where the devices of one rule are found. What is empty does not narrow."""

    subsystems: tuple[str, ...] = ()  #: names of folders in /sys/class and /sys/bus; none: all devices with a number
    tags: tuple[str, ...] = ()  #: folders in /run/udev/tags; they are looked through in place of sysfs
    kernels: tuple[tuple[str, ...], ...] = ()  #: globs of sysnames: one of each group must match


@frozen
class Query:
    """What to look for and what to read of each device found."""

    selectors: tuple[Selector, ...] = ()
    attributes: tuple[str, ...] = ()
    parent_attributes: tuple[str, ...] = ()
    parents: bool = False  #: whether matching needs the parents


def query(rules: Iterable[Rule], *, wide: bool = False) -> Query:
    """The query that finds at least every device which one of RULES matches; WIDE also those that one term keeps from it."""
    rules = tuple(rules)
    terms = [term for rule in rules for term in rule.terms]
    upward = [term.name for term in terms if term.key == "ATTRS"]
    return Query(
        selectors=tuple(dict.fromkeys([_selector(rule, wide=wide) for rule in rules])),
        attributes=tuple(dict.fromkeys([*(term.name for term in terms if term.key == "ATTR"), *upward])),
        parent_attributes=tuple(dict.fromkeys(upward)),
        parents=any(term.key in PARENT_KEYS for term in terms),
    )


def _selector(rule: Rule, *, wide: bool = False) -> Selector:
    """Where to look for the devices of RULE; WIDE by its subsystem alone."""
    positive = [term for term in rule.terms if not term.negated and (term.key == "SUBSYSTEM" or not wide)]
    return Selector(
        subsystems=next((tuple(map(_folder, term.patterns)) for term in positive if term.key == "SUBSYSTEM" and _exact(term)), ()),
        tags=next((term.patterns for term in positive if term.key == "TAG" and _exact(term)), ()),
        kernels=tuple([term.patterns for term in positive if term.key == "KERNEL"]),
    )


def _exact(term: Term) -> bool:
    """Whether each alternative of TERM can be nothing but one name of a folder."""
    return all(pattern and not glob.has_glob(pattern) and pattern not in {".", ".."} for pattern in term.patterns)


def _folder(name: str) -> str:
    """NAME of a subsystem as sysfs writes it."""
    return name.replace("/", "!")


def needs_database(rules: Iterable[Rule]) -> bool:
    """Whether one of RULES looks at what only udev's database has."""
    return any(term.key in DATABASE_KEYS for rule in rules for term in rule.terms)
