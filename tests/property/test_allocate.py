"""The allocator against a search through all assignments."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oci_udev_hook.allocation import allocate
from oci_udev_hook.errors import HeldError, RefusedError, UnavailableError
from oci_udev_hook.model import (
    Allotment,
    Device,
    DeviceNumber,
    DeviceType,
    Holder,
    Lease,
    LeaseState,
    Missing,
    Process,
    Request,
    Resource,
    Unit,
)

pytestmark = pytest.mark.property

NAMES = ("a.example/x", "a.example/y", "a.example/z")


def unit(resource: str, minor: int) -> Unit:
    """The device of that MINOR as a unit of RESOURCE."""
    device = Device(f"/sys/{minor}", devnode=f"/dev/ttyUSB{minor}", number=DeviceNumber(DeviceType.CHAR, 188, minor))
    return Unit(resource, f"serial:{minor}", (f"S{minor}",), (device,))


def lease(minor: int, container: str, sharing: int) -> Lease:
    """That device in the hands of CONTAINER."""
    holder = Holder(container, container, LeaseState.CONFIRMED, Process(1, 1), "now", 0.0)
    return Lease(NAMES[0], f"serial:{minor}", unit("", minor).numbers, (), holder, sharing)


class Case:
    """A host and a container that asks; resources overlap freely."""

    def __init__(self, draw: st.DrawFn) -> None:
        minors = st.integers(0, 4)
        self.units = {name: tuple([unit(name, minor) for minor in sorted(draw(st.sets(minors)))]) for name in NAMES}
        self.resources = {
            name: Resource(name, sharing=draw(st.integers(1, 3)), missing=draw(st.sampled_from([Missing.FAIL, Missing.FAIL, Missing.SKIP])))
            for name in NAMES
        }
        requests = st.builds(Request, st.sampled_from(NAMES), st.integers(1, 3), st.sampled_from([None, None, "S0", "S1", "S9"]))
        self.wanted = tuple([(request, self.resources[request.resource]) for request in draw(st.lists(requests, max_size=3))])
        holders = st.tuples(minors, st.sampled_from("pqr"), st.integers(1, 3))
        self.leases = tuple([lease(*held) for held in draw(st.lists(holders, max_size=5))])
        self.unusable = {f"serial:{minor}": "no right" for minor in draw(st.sets(minors, max_size=2))}
        self.previous = tuple(draw(st.lists(st.sampled_from([f"serial:{minor}" for minor in range(5)]), unique=True, max_size=3)))

    def allocate(self) -> tuple[Allotment, ...]:
        """What the allocator says."""
        return allocate(self.wanted, self.units, self.leases, self.previous, self.unusable, {})

    def takes(self, request: Request, resource: Resource, own: Unit, *, held: bool = True, barred: bool = True) -> bool:
        """Whether REQUEST could have OWN; HELD and BARRED say what counts against it."""
        if request.unit is not None and request.unit not in own.names:
            return False
        on_it = {found.holder.container: found.sharing for found in self.leases if found.unit == own.identity}
        free = len(on_it) < min([resource.sharing, *[found.sharing for found in self.leases if found.unit == own.identity]])
        return (free or not held) and (own.identity not in self.unusable or not barred)

    def feasible(self, *, held: bool = True, barred: bool = True) -> bool:
        """Whether some assignment serves all that must be served."""
        slots = [
            {own.identity for own in self.units[resource.name] if self.takes(request, resource, own, held=held, barred=barred)}
            for request, resource in self.wanted
            if resource.missing is Missing.FAIL
            for _ in range(request.count if request.unit is None else 1)
        ]
        things = [f"serial:{minor}" for minor in range(5)]
        if len(slots) > len(things):
            return False
        return any(all(thing in slot for thing, slot in zip(chosen, slots, strict=True)) for chosen in permutations(things, len(slots)))


cases = st.composite(Case)()


@given(cases)
def test_an_assignment_is_found_exactly_if_there_is_one(case: Case) -> None:
    """And the class of the error is that of the cause."""
    try:
        case.allocate()
    except UnavailableError:
        assert not case.feasible(held=False, barred=False)
    except RefusedError:
        assert case.feasible(held=False, barred=False)
        assert not case.feasible(held=False)
    except HeldError:
        assert case.feasible(held=False)
        assert not case.feasible()
    else:
        assert case.feasible()


@given(cases)
def test_what_is_given_may_be_given(case: Case) -> None:
    """Free, of the resource, as many as asked, and nothing twice."""
    try:
        found = case.allocate()
    except (UnavailableError, HeldError, RefusedError):
        return
    identities = [own.identity for allotment in found for own in allotment.units]
    assert len(identities) == len(set(identities))
    assert [(allotment.request, allotment.resource) for allotment in found] == list(case.wanted)
    for allotment in found:
        wanted = allotment.request.count if allotment.request.unit is None else 1
        assert len(allotment.units) == wanted or (allotment.resource.missing is Missing.SKIP and len(allotment.units) < wanted)
        for own in allotment.units:
            assert own in case.units[allotment.resource.name]
            assert case.takes(allotment.request, allotment.resource, own)


@given(cases)
def test_the_same_container_on_the_same_host_gets_the_same_again(case: Case) -> None:
    """What it held last time is an assignment, so none of it is replaced."""
    try:
        first = case.allocate()
        case.previous = tuple([own.identity for allotment in first for own in allotment.units])
        again = case.allocate()
    except (UnavailableError, HeldError, RefusedError):
        return
    assert {own.identity for allotment in again for own in allotment.units} == set(case.previous)


@given(cases)
def test_the_answer_depends_on_nothing_but_the_question(case: Case) -> None:
    """Twice the same, whatever the order of leases."""

    def answer() -> object:
        try:
            return case.allocate()
        except (UnavailableError, HeldError, RefusedError) as error:
            return type(error)

    first = answer()
    case.leases = tuple(reversed(case.leases))
    assert answer() == first
