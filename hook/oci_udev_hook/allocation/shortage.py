"""Why a container does not get what it asks for, in sentences for a person at night. Pure.

Not loaded where all goes well.
"""

from __future__ import annotations

from ..errors import HeldError, RefusedError, UnavailableError, UsageError
from .allocate import matched, slots_of, unserved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..errors import HookError
    from ..model import Lease, Resource, Unit
    from .allocate import Pool, Situation

_MOST = 8  #: how many of a kind a sentence names
#: For a request whose own units are all free and usable: other requests of the container, whose own are held or barred, need them.
_TAKEN = "the free ones go to this container's other requests"


def ambiguity(pools: Sequence[Pool]) -> UsageError:
    """The error for requests whose one name fits several units."""
    sentences = []
    for pool in pools:
        candidates = _both([f"{unit.identity} ({_node(unit)})" for unit in pool.units])
        sentences.append(f"{pool.request} was asked for, but {len(pool.units)} units have that name: {candidates}; name one of these")
    return UsageError(". ".join(sentences))


def error(situation: Situation, short: frozenset[int], units: Mapping[str, tuple[Unit, ...]]) -> HookError:
    """The one error for all SHORT pools, and for those that would be short if all that others hold were free. UNITS are all there are.

    Its class is that of the worst: what does not exist no waiting will bring, what may not be opened no stopping will.
    """
    missing = _lacking(situation, [list(pool.units) for pool in situation.pools])
    usable = [[unit for unit in pool.units if unit.identity not in situation.unusable] for pool in situation.pools]
    refused = _lacking(situation, usable) - missing
    sentences = []
    for index in sorted(short | missing | refused):
        pool = situation.pools[index]
        if index in missing:
            sentences.append(_missing_sentence(situation, pool, units.get(pool.resource.name, ())))
        elif index in refused:
            sentences.append(_refused_sentence(situation, pool))
        else:
            sentences.append(_held_sentence(situation, pool))
    kind = UnavailableError if missing else RefusedError if refused else HeldError
    return kind(". ".join(sentences))


def _lacking(situation: Situation, choices: list[list[Unit]]) -> frozenset[int]:
    """Which pools that must be served would be short if all of CHOICES were free."""
    slots = slots_of(situation.pools)
    return unserved(situation, slots, matched(situation, slots, choices))


def _missing_sentence(situation: Situation, pool: Pool, units: tuple[Unit, ...]) -> str:
    """The sentence for a POOL of which fewer exist than asked. UNITS are all of its resource."""
    near = situation.near.get(pool.resource.name, ())
    nearly = f" ({'; '.join(_shortened(near))})" if near else ""
    if not units:
        return f"{_asked(pool)}, but {_none(pool.resource, nearly)}{_as_count(pool)}"
    if not pool.units:
        there = f"there {'is' if len(units) == 1 else 'are'} {_both([_described(unit) for unit in units])}"
        this = "this one" if len(units) == 1 else "one of these"
        return f"{_asked(pool)}, but no unit has that name, {there}{nearly}; name {this}{_as_count(pool)}"
    if pool.count <= len(pool.units):
        return f"{_asked(pool, pool.units)}, but this container's other requests take the same devices; ask for fewer"
    found = _both([_with_trouble(situation, pool, unit) for unit in pool.units])
    return f"{_asked(pool)}, but only {_exist(len(pool.units))}: {found}{nearly}; ask for fewer or plug in more"


def _none(resource: Resource, nearly: str) -> str:
    """That nothing is of RESOURCE, and what to do: to plug it in, or to mend the definition if a file has one."""
    if not resource.source.startswith("/"):
        return f"none exists on this host{nearly}; plug it in and try again"
    there = "`udevadm info --attribute-walk /dev/NODE`" if resource.rules else "what is below /dev"
    nothing = f"nothing on this host matches its definition in {resource.source}{nearly}"
    return f"{nothing}; plug it in, or compare the definition with {there}"


def _as_count(pool: Pool) -> str:
    """How to ask for a number of units, for who has written one behind the `=`, where a unit's name stands."""
    name = pool.request.unit or ""
    return f'; for a count write "{pool.resource.name}: {name}"' if name.isascii() and name.isdecimal() else ""


def _refused_sentence(situation: Situation, pool: Pool) -> str:
    """The sentence for a POOL of which enough exist, but too few may be opened by this user."""
    parts = _barred(situation, pool)
    if not parts:
        parts = list(dict.fromkeys([_TAKEN, *[part for other in situation.pools for part in _barred(situation, other)]]))
    way_out = "" if all(map(_way_out, situation.unusable.values())) else "; give this user the right to open it"
    fewer = ", or ask for fewer" if pool.count > 1 else ""
    return f"{_asked(pool, pool.units)}, but {_both(parts)}{way_out}{fewer}"


def _held_sentence(situation: Situation, pool: Pool) -> str:
    """The sentence for a POOL of which enough exist, but others hold them."""
    held = _held_units(situation, pool)
    parts = _held_parts(situation, pool, held) + _barred(situation, pool)
    if not held:
        held = [unit for other in situation.pools for unit in _held_units(situation, other)]
        parts = [_TAKEN, *[part for other in situation.pools for part in _held_parts(situation, other, _held_units(situation, other))]]
        parts = list(dict.fromkeys(parts))
    needed = pool.count - sum(situation.free(pool.resource, unit) and unit.identity not in situation.unusable for unit in pool.units)
    stop = "it" if len({name for unit in held for name in _holders(situation, unit)}) == 1 else "one of them" if needed <= 1 else "some"
    way_out = "ask for another" if pool.request.unit is not None else "ask for fewer" if pool.count > 1 else "wait until it ends"
    return f"{_asked(pool, pool.units)}, but {_both(parts)}; stop {stop}, or {way_out}"


def _held_units(situation: Situation, pool: Pool) -> list[Unit]:
    """The units of POOL that this user might open, but that no more containers may have."""
    return [unit for unit in pool.units if unit.identity not in situation.unusable and not situation.free(pool.resource, unit)]


def _held_parts(situation: Situation, pool: Pool, held: list[Unit]) -> list[str]:
    """Who holds HELD, one clause for those who hold the same."""
    by_holders: dict[tuple[str, ...], list[Unit]] = {}
    for unit in held:
        by_holders.setdefault(_holders(situation, unit), []).append(unit)
    parts = []
    for labels, units in by_holders.items():
        note = f" ({pool.resource.sharing} containers at most)" if len(labels) > 1 else " alone" if pool.resource.sharing > 1 else ""
        parts.append(f"{_both([_node(unit) for unit in units])} {'is' if len(units) == 1 else 'are'} held by {_both(labels)}{note}")
    return parts


def _barred(situation: Situation, pool: Pool) -> list[str]:
    """The units of POOL that this user may not open, with the reasons, one clause for those that one way out is for."""
    by_way_out: dict[str, list[str]] = {}
    for unit in pool.units:
        reason = situation.unusable.get(unit.identity)
        if reason is not None:
            why = _cause(reason)
            said = why if why.startswith(f"{_node(unit)} is ") else f"{_node(unit)} cannot be used: {why}"
            by_way_out.setdefault(_way_out(reason), []).append(said)
    return [", ".join(_shortened(said)) + (f": {way_out}" if way_out else "") for way_out, said in by_way_out.items()]


def _cause(reason: str) -> str:
    """REASON, why a unit cannot be used, without the way out."""
    return reason.rpartition(": ")[0] or reason


def _way_out(reason: str) -> str:
    """What stands behind the last colon of REASON, empty if it has none."""
    return reason.rpartition(": ")[2] if ": " in reason else ""


def _asked(pool: Pool, units: Sequence[Unit] = ()) -> str:
    """`2 of hardware-vendor.example/foo were asked for`, and how many exist where UNITS are given and it is a matter of number."""
    sentence = f"{pool.request} {'was' if pool.count == 1 else 'were'} asked for"
    return f"{sentence} and {_exist(len(units))}" if units and pool.request.unit is None else sentence


def _exist(count: int) -> str:
    """`2 exist`."""
    return f"{count} {'exists' if count == 1 else 'exist'}"


def _node(unit: Unit) -> str:
    """What people know UNIT by: its first node."""
    return next((device.devnode for device in unit.devices if device.devnode), unit.identity)


def _described(unit: Unit) -> str:
    """UNIT by its names and node."""
    name = unit.names[0] if unit.names else unit.identity
    return f"{name} ({_node(unit)})"


def _with_trouble(situation: Situation, pool: Pool, unit: Unit) -> str:
    """UNIT by its node, with why it could not be had anyway."""
    if unit.identity in situation.unusable:
        return f"{_node(unit)} (cannot be used: {_cause(situation.unusable[unit.identity])})"
    if not situation.free(pool.resource, unit):
        return f"{_node(unit)} (held by {_both(_holders(situation, unit))})"
    return _node(unit)


def _holders(situation: Situation, unit: Unit) -> tuple[str, ...]:
    """The labels of UNIT's holders."""
    return tuple([_label(situation, lease) for lease in situation.held_by(unit)])


def _label(situation: Situation, lease: Lease) -> str:
    """What people call LEASE's holder, and whose it is if not theirs: their own podman does not list it."""
    if lease.holder.uid == situation.uid:
        return lease.holder.label
    return f"{'root' if lease.holder.uid == 0 else f'uid {lease.holder.uid}'}'s {lease.holder.label}"


def _both(parts: Sequence[str]) -> str:
    """PARTS in a row with an `and`, a long row cut."""
    *first, last = _shortened(parts)
    return f"{', '.join(first)} and {last}" if first else last


def _shortened(parts: Sequence[str]) -> list[str]:
    """PARTS, at most as many as a sentence can bear."""
    return list(parts) if len(parts) <= _MOST else [*parts[: _MOST - 1], f"{len(parts) - _MOST + 1} more"]
