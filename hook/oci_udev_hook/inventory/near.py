"""Why devices are not of a resource though they nearly are. Loaded only to explain a shortage."""

from __future__ import annotations

from ..frozen import replace
from ..model import Rule
from . import rules
from .identity import natural
from .query import DATABASE_KEYS
from .rules import PARENT_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Device, Resource, Term

_TELLING = frozenset(("ENV", "ATTR", "ATTRS", "DRIVER", "DRIVERS"))  #: keys of which most devices have nothing, so that a value says much
_COMMON = frozenset(("SUBSYSTEM", "SUBSYSTEMS"))  #: keys that hold for too many devices to say anything


def sentences(resource: Resource, devices: tuple[Device, ...], database: bool) -> tuple[str, ...]:
    """A sentence for each of DEVICES that only one term of a rule keeps from being of RESOURCE; the more terms hold, the earlier.

    With a DATABASE, also for each that udev has not finished, as far as it can be told. A device gets one sentence, on its nearest rule.
    """
    found: list[tuple[int, str]] = []
    for device in devices:
        unfinished = database and not device.initialized
        said = [(len(rule.terms), _waiting(rule, device) if unfinished else _nearly(rule, device)) for rule in resource.rules]
        nearest = max(filter(lambda each: each[1], said), key=lambda each: each[0], default=None)
        if nearest:
            found.append(nearest)
    return tuple([sentence for _, sentence in sorted(found, key=lambda each: (-each[0], natural(each[1])))])


def _waiting(rule: Rule, device: Device) -> str:
    """The sentence on a DEVICE that udev has not finished, if it matches what RULE says of the kernel's side, and it says something."""
    terms = tuple([term for term in rule.terms if term.key not in DATABASE_KEYS])
    return f"udev has not finished with {device.label} yet" if terms and rules.matches(Rule(rule.text, terms), device) else ""


def _nearly(rule: Rule, device: Device) -> str:
    """The sentence on the one term of RULE that does not hold for DEVICE; empty if several do not, or if it is not worth a word."""
    failed = rules.failures(rule, device)
    if device.devnode is None or len(failed) != 1:
        return ""
    term = failed[0]
    at = _closest(rule, term, device) if term.key in PARENT_KEYS else device
    name = f"{term.key}{{{term.name}}}" if term.name else term.key
    of = "" if at is device else f" of {at.sysname}"
    wanted = " or ".join([f'"{pattern}"' for pattern in term.patterns])
    value = _value_of(term, at)
    if not term.negated and term.key in {"TAG", "TAGS"} and _stale_tags(at).intersection(term.patterns):
        found = f"the tag {wanted}{of} is of an earlier event, its rules no longer set it"
    elif not _worth(rule, term, value):
        found = ""
    elif value is None:
        found = f"it has no {name}{of}, so {term.text} does not hold"
    elif term.negated:
        found = f'{name}{of} is "{value}", which {term.text} rules out'
    else:
        found = f'{name}{of} is "{value}", not {wanted}'
    return found and f"{device.label} nearly matches: {found}"


def _worth(rule: Rule, failed: Term, value: str | None) -> bool:
    """Whether a device is worth a word for which of RULE only FAILED does not hold, since it has VALUE: something has to be special."""
    holding = [term for term in rule.terms if term is not failed and not term.negated and term.key not in _COMMON]
    return bool(holding) or (value is not None and failed.key in _TELLING)


def _closest(rule: Rule, failed: Term, device: Device) -> Device:
    """That of DEVICE and its parents at which the fewest parents' terms of RULE fail, if possible one that has something for FAILED."""
    common = Rule(rule.text, tuple([term for term in rule.terms if term.key in PARENT_KEYS]))
    return min(
        (device, *device.parents), key=lambda one: (len(rules.failures(common, replace(one, parents=()))), _value_of(failed, one) is None)
    )


def _value_of(term: Term, device: Device) -> str | None:
    """What DEVICE has for TERM to compare, None if nothing."""
    values = {
        "KERNEL": device.sysname,
        "SUBSYSTEM": device.subsystem,
        "DRIVER": device.driver,
        "DEVPATH": device.devpath,
        "ENV": device.properties.get(term.name, ""),
        "TAG": " ".join(sorted(device.tags)),
        "SYMLINK": " ".join([link.removeprefix("/dev/") for link in device.links]),
    }
    if term.key in {"ATTR", "ATTRS"}:
        return device.attributes.get(term.name)
    return values.get(term.key.removesuffix("S") if term.key in PARENT_KEYS else term.key, "") or None


def _stale_tags(device: Device) -> set[str]:
    """Tags that DEVICE had once and has no more."""
    return set(device.properties.get("TAGS", "").strip(":").split(":")) - device.tags
