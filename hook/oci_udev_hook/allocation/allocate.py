"""Who gets which unit: pure, from requests, what is there, and who holds what.

Exact: resources may overlap, and if there is a way to serve all requests it is found. Two units are one thing where they share an
identity or a device number, whatever resource they are of; a container never gets one thing twice. (Units of several nodes that
overlap only in part count as one thing as well, which can refuse what a search would find, but never gives a device twice.)
"""

from __future__ import annotations

from ..frozen import frozen
from ..model import Allotment, Lease, Missing
from .matching import match

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..model import Holder, Request, Resource, Unit


@frozen
class Pool:
    """A request and the units that it could take if nobody held any."""

    request: Request
    resource: Resource
    units: tuple[Unit, ...]

    @property
    def count(self) -> int:
        """How many units are wanted."""
        return self.request.count if self.request.unit is None else 1


@frozen
class Situation:
    """All that decides: the requests' pools, and per unit's thing who holds it and why it cannot be used."""

    pools: tuple[Pool, ...]
    things: Mapping[str, int]  #: a key of a unit (see `_keys`) to its thing's number
    leases: Mapping[str, tuple[Lease, ...]]  #: a key of a unit to the leases that hold it
    unusable: Mapping[str, str]  #: identity to reason
    previous: tuple[str, ...]
    near: Mapping[str, tuple[str, ...]]
    uid: int

    def thing(self, unit: Unit) -> int:
        """The number of UNIT's thing; units of one thing never go to one container."""
        return self.things[f"={unit.identity}"]

    def leases_on(self, unit: Unit) -> list[Lease]:
        """The leases that hold UNIT, under whatever resource."""
        return [lease for key in _keys(unit.identity, unit.numbers) for lease in self.leases.get(key, ())]

    def held_by(self, unit: Unit) -> tuple[Lease, ...]:
        """One lease of each container that holds UNIT."""
        return tuple({lease.holder.container: lease for lease in self.leases_on(unit)}.values())

    def free(self, resource: Resource, unit: Unit) -> bool:
        """Whether RESOURCE may give UNIT to one more container: what each holder was promised counts as well."""
        return len(self.held_by(unit)) < min([resource.sharing, *[lease.sharing for lease in self.leases_on(unit)]])


def allocate(
    wanted: tuple[tuple[Request, Resource], ...],
    units: Mapping[str, tuple[Unit, ...]],
    leases: tuple[Lease, ...],
    previous: tuple[str, ...],
    unusable: Mapping[str, str],
    near: Mapping[str, tuple[str, ...]],
    *,
    uid: int = 0,
) -> tuple[Allotment, ...]:
    """The units that each request of one container gets.

    UNITS are a resource's, in their stable order. LEASES are others' that live. PREVIOUS are the identities that the container held
    last time, which come first again; then come those that fewest hold. UNUSABLE has a reason for each identity that this user may
    not open, with the way out behind its last colon if it has one; NEAR for each resource the sentences on devices that nearly
    matched. UID is the asker's, to tell whose ledger a lease is in.

    Raises UsageError for a unit's name that fits several; and for all shortages at once UnavailableError where fewer exist than
    asked, else RefusedError where only rights are lacking, else HeldError.
    """
    pools = tuple([Pool(request, resource, _takeable(request, units.get(resource.name, ()))) for request, resource in wanted])
    ambiguous = [pool for pool in pools if len(pool.units) > 1 and pool.request.unit is not None]
    if ambiguous:
        from . import shortage

        raise shortage.ambiguity(ambiguous)
    situation = Situation(pools, _things_of(pools), _by_key(leases), unusable, previous, near, uid)
    choices = [[unit for unit in pool.units if unit.identity not in unusable and situation.free(pool.resource, unit)] for pool in pools]
    slots = slots_of(pools)
    served = matched(situation, slots, choices)
    short = unserved(situation, slots, served)
    if short:
        from . import shortage

        raise shortage.error(situation, short, units)
    return _assign(situation, [slots[slot] for slot in sorted(served)], choices)


def exist(wanted: tuple[tuple[Request, Resource], ...], units: Mapping[str, tuple[Unit, ...]]) -> bool:
    """Whether as many of UNITS are there as each request of WANTED must get, whoever holds them."""
    pools = [Pool(request, resource, _takeable(request, units.get(resource.name, ()))) for request, resource in wanted]
    return all(len(pool.units) >= pool.count for pool in pools if pool.resource.missing is Missing.FAIL)


def held_by(unit: Unit, leases: Iterable[Lease]) -> tuple[Lease, ...]:
    """One of LEASES for each container that holds UNIT, by identity or by device number."""
    held = [lease for lease in leases if lease.unit == unit.identity or not unit.numbers.isdisjoint(lease.numbers)]
    return tuple({lease.holder.container: lease for lease in held}.values())


def has_room(resource: Resource, held: tuple[Lease, ...]) -> bool:
    """Whether RESOURCE may give a unit to one more container than HELD it: what each holder was promised counts as well."""
    return all(len(held) < sharing for sharing in (resource.sharing, *[lease.sharing for lease in held]))


def _takeable(request: Request, units: tuple[Unit, ...]) -> tuple[Unit, ...]:
    """The units that REQUEST could take: all, or those of the name that it gives; an identity is always the name of one."""
    if request.unit is None:
        return units
    exact = tuple([unit for unit in units if request.unit == unit.identity])
    return exact or tuple([unit for unit in units if request.unit in unit.names])


def _keys(identity: str, numbers: Iterable[object]) -> list[str]:
    """What a unit or lease is told by: its identity and each of its device numbers."""
    return [f"={identity}", *[str(number) for number in numbers]]


def _things_of(pools: tuple[Pool, ...]) -> dict[str, int]:
    """The number of the thing behind each key: units that share a key are one thing, and so on along chains of them."""
    things: dict[str, int] = {}
    members: dict[int, list[str]] = {}
    for pool in pools:
        for unit in pool.units:
            own = _keys(unit.identity, unit.numbers)
            touched = sorted({things[key] for key in own if key in things})
            thing = touched[0] if touched else len(things)
            joined = members.setdefault(thing, [])
            joined += own
            for other in touched[1:]:
                joined += members.pop(other)
            things.update(dict.fromkeys(joined if len(touched) > 1 else own, thing))
    return things


def _by_key(leases: tuple[Lease, ...]) -> dict[str, tuple[Lease, ...]]:
    """LEASES by the keys of what they hold."""
    found: dict[str, tuple[Lease, ...]] = {}
    for lease in leases:
        for key in _keys(lease.unit, lease.numbers):
            found[key] = (*found.get(key, ()), lease)
    return found


def slots_of(pools: tuple[Pool, ...]) -> list[int]:
    """The pool of each single unit that is wanted; those that may go without come last, so that they take nothing from the others."""
    order = sorted(range(len(pools)), key=lambda index: pools[index].resource.missing is Missing.SKIP)
    # A slot over the number of units can never be served, one over is enough to know that: counts may be huge ("2k").
    return [index for index in order for _ in range(min(pools[index].count, len(pools[index].units) + 1))]


def matched(situation: Situation, slots: list[int], choices: list[list[Unit]]) -> dict[int, int]:
    """The thing of each of SLOTS that can be served."""
    things = [[situation.thing(unit) for unit in units] for units in choices]
    return match([things[pool] for pool in slots])


def unserved(situation: Situation, slots: list[int], served: Mapping[int, int]) -> frozenset[int]:
    """The pools that must be served and have a slot among SLOTS that is not."""
    return frozenset(
        [pool for slot, pool in enumerate(slots) if slot not in served and situation.pools[pool].resource.missing is Missing.FAIL]
    )


def _assign(situation: Situation, slots: list[int], choices: list[list[Unit]]) -> tuple[Allotment, ...]:
    """The allotments where SLOTS, which can all be served, get the best things.

    Matched from the things' side: the things go in order of preference, each stays in once it is in, so that the set of things is
    the best of all that serve every slot (the matroid greedy algorithm on a transversal matroid).
    """
    rank = _ranks(situation, choices)
    takers: dict[int, list[int]] = {}
    fits: list[dict[int, Unit]] = [{} for _ in choices]
    for pool, units in enumerate(choices):
        for unit in units:
            takers.setdefault(situation.thing(unit), [])
            fits[pool].setdefault(situation.thing(unit), unit)
    for slot, pool in enumerate(slots):
        for thing in fits[pool]:
            takers[thing].append(slot)
    order = sorted(takers, key=rank.__getitem__)
    given = match([takers[thing] for thing in order], limit=len(slots))
    chosen: list[list[Unit]] = [[] for _ in choices]
    for index in sorted(given):
        pool = slots[given[index]]
        chosen[pool].append(fits[pool][order[index]])
    return tuple([Allotment(pool.request, pool.resource, tuple(units)) for pool, units in zip(situation.pools, chosen, strict=True)])


def _ranks(situation: Situation, choices: list[list[Unit]]) -> dict[int, tuple[int, int, int]]:
    """How much each thing is preferred, least first: held last time, in that order; then by holders; then the stable order."""
    before = {identity: index for index, identity in enumerate(situation.previous)}
    rank: dict[int, tuple[int, int, int]] = {}
    for units in choices:
        for unit in units:
            own = (before.get(unit.identity, len(before)), len(situation.held_by(unit)), len(rank))
            thing = situation.thing(unit)
            rank[thing] = min(own, rank.get(thing, own))
    return rank


def leases(allotments: tuple[Allotment, ...], holder: Holder) -> tuple[Lease, ...]:
    """What HOLDER holds once it has ALLOTMENTS, in their order."""
    return tuple(
        [
            Lease(
                resource=allotment.resource.name,
                unit=unit.identity,
                numbers=unit.numbers,
                nodes=tuple([device.devnode for device in unit.devices if device.devnode]),
                holder=holder,
                sharing=allotment.resource.sharing,
            )
            for allotment in allotments
            for unit in allotment.units
        ]
    )
