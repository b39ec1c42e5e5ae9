"""Who gets which unit, and the sentences for who does not."""

from __future__ import annotations

import re

import pytest

from oci_udev_hook.allocation import allocate, leases
from oci_udev_hook.errors import HeldError, HookError, RefusedError, UnavailableError, UsageError
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
    Rule,
    Unit,
)

FOO = "hardware-vendor.example/foo"
BAR = "hardware-vendor.example/bar"
SERIAL = DeviceType.CHAR


def unit(name: str, minor: int, *, resource: str = FOO, names: tuple[str, ...] = (), identity: str = "") -> Unit:
    """A serial adapter with the node /dev/NAME."""
    device = Device(syspath=f"/sys/{name}", devnode=f"/dev/{name}", number=DeviceNumber(SERIAL, 188, minor))
    return Unit(resource=resource, identity=identity or f"serial:{name}", names=names, devices=(device,))


def camera(resource: str = FOO) -> Unit:
    """One unit of two nodes."""
    devices = tuple([Device(f"/sys/v{minor}", devnode=f"/dev/video{minor}", number=DeviceNumber(SERIAL, 81, minor)) for minor in (0, 1)])
    return Unit(resource=resource, identity="serial:camera", names=(), devices=devices)


A, B, C = (unit(f"ttyUSB{minor}", minor, names=(f"SERIAL{minor}", f"usb-1-{minor}")) for minor in range(3))


def held(what: Unit, by: str = "demo-a", *, uid: int = 0, sharing: int = 1, resource: str = FOO) -> Lease:
    """WHAT in the hands of the container BY."""
    holder = Holder(container=f"id of {by}", name=by, state=LeaseState.CONFIRMED, process=Process(7, 7), boot="boot", since=0.0, uid=uid)
    return Lease(resource=resource, unit=what.identity, numbers=what.numbers, nodes=("/dev/x",), holder=holder, sharing=sharing)


def allot(
    *asked: Request | tuple[Request, Resource],
    units: dict[str, tuple[Unit, ...]] | None = None,
    held_now: tuple[Lease, ...] = (),
    previous: tuple[str, ...] = (),
    unusable: dict[str, str] | None = None,
    near: dict[str, tuple[str, ...]] | None = None,
    uid: int = 0,
    sharing: int = 1,
    missing: Missing = Missing.FAIL,
) -> tuple[Allotment, ...]:
    """Allocate on a host with the adapters A and B of foo, unless said otherwise."""
    wanted = tuple(
        [
            (request, Resource(request.resource, sharing=sharing, missing=missing)) if isinstance(request, Request) else request
            for request in asked
        ]
    )
    there = {FOO: (A, B)} if units is None else units
    return allocate(wanted, there, held_now, previous, unusable or {}, near or {}, uid=uid)


def given(allotments: tuple[Allotment, ...]) -> list[list[str]]:
    """The nodes of each allotment."""
    return [[str(own.devices[0].devnode) for own in allotment.units] for allotment in allotments]


class TestWhoGetsWhat:
    def test_a_count_gets_that_many_in_the_stable_order(self) -> None:
        """Case 1: two of foo are two units."""
        assert given(allot(Request(FOO, 2))) == [["/dev/ttyUSB0", "/dev/ttyUSB1"]]

    def test_an_allotment_tells_what_it_is_for(self) -> None:
        """The request and the resource go along."""
        (allotment,) = allot(Request(FOO, 1))
        assert (allotment.request, allotment.resource.name, allotment.units) == (Request(FOO, 1), FOO, (A,))

    def test_what_others_hold_is_passed_over(self) -> None:
        """By identity."""
        assert given(allot(Request(FOO), held_now=(held(A),))) == [["/dev/ttyUSB1"]]

    def test_a_number_given_anew_is_still_held(self) -> None:
        """The old holder's cgroup rule still opens it, whatever sits behind the number now."""
        successor = unit("ttyUSB0", 0, identity="serial:other")
        assert given(allot(Request(FOO), units={FOO: (successor, B)}, held_now=(held(A),))) == [["/dev/ttyUSB1"]]

    def test_a_renumbered_device_is_still_held(self) -> None:
        """Its identity counts."""
        renumbered = unit("ttyUSB7", 7, identity=A.identity)
        assert given(allot(Request(FOO), units={FOO: (renumbered, B)}, held_now=(held(A),))) == [["/dev/ttyUSB1"]]

    def test_one_node_of_a_unit_in_other_hands_holds_the_whole_unit(self) -> None:
        """A camera's second node, held under another resource."""
        node = Unit(BAR, "serial:node", (), (camera().devices[1],))
        with pytest.raises(HeldError):
            allot(Request(FOO), units={FOO: (camera(),)}, held_now=(held(node, resource=BAR),))

    @pytest.mark.parametrize("name", ["SERIAL1", "usb-1-1", "serial:ttyUSB1"], ids=["serial", "port", "identity"])
    def test_a_unit_is_picked_by_name(self, name: str) -> None:
        """Case 12: two sticks alike but for the serial, one is picked by it."""
        assert given(allot(Request(FOO, unit=name))) == [["/dev/ttyUSB1"]]

    def test_an_identity_is_always_the_name_of_one(self) -> None:
        """Though another unit has a name that is spelled like it."""
        other = unit("ttyUSB9", 9, names=(B.identity,))
        assert given(allot(Request(FOO, unit=B.identity), units={FOO: (A, B, other)})) == [["/dev/ttyUSB1"]]

    def test_a_count_leaves_the_named_unit_to_the_later_request(self) -> None:
        """Order does not matter where all can be served."""
        assert given(allot(Request(FOO, 1), Request(FOO, unit="SERIAL0"))) == [["/dev/ttyUSB1"], ["/dev/ttyUSB0"]]

    def test_two_resources_over_the_same_devices_never_give_one_twice(self) -> None:
        """bar is what foo is, under another name and identity."""
        bars = tuple([unit(f"ttyUSB{minor}", minor, resource=BAR, identity=f"port:{minor}") for minor in (0, 1)])
        assert given(allot(Request(FOO), Request(BAR), units={FOO: (A, B), BAR: bars})) == [["/dev/ttyUSB0"], ["/dev/ttyUSB1"]]

    def test_an_earlier_request_moves_so_that_a_later_one_is_served(self) -> None:
        """foo could have either, bar only the first: an assignment exists, so it is found."""
        bar = unit("ttyUSB0", 0, resource=BAR, identity=A.identity)
        assert given(allot(Request(FOO), Request(BAR), units={FOO: (A, B), BAR: (bar,)})) == [["/dev/ttyUSB1"], ["/dev/ttyUSB0"]]

    def test_a_unit_that_bridges_two_others_is_one_thing_with_both(self) -> None:
        """The whole camera and its second node, found in whatever order."""
        first, second = (Unit(BAR, f"node:{minor}", (), (camera().devices[minor],)) for minor in (0, 1))
        with pytest.raises(UnavailableError):
            allot(Request(BAR, 2), Request(FOO), units={BAR: (first, second), FOO: (camera(),)})

    def test_no_request_gets_nothing(self) -> None:
        """Nothing is an answer."""
        assert allot() == ()


class TestPreference:
    def test_the_same_again(self) -> None:
        """In the order of last time, since {index} counts in it."""
        assert given(allot(Request(FOO, 2), units={FOO: (A, B, C)}, previous=(C.identity, A.identity))) == [
            ["/dev/ttyUSB2", "/dev/ttyUSB0"]
        ]

    def test_what_was_held_before_and_is_held_by_another_now_is_replaced(self) -> None:
        """The rest stays the same."""
        found = allot(Request(FOO, 2), units={FOO: (A, B, C)}, previous=(C.identity, A.identity), held_now=(held(A),))
        assert given(found) == [["/dev/ttyUSB2", "/dev/ttyUSB1"]]

    def test_each_request_gets_its_own_again(self) -> None:
        """Though the resources overlap."""
        bars = tuple([unit(f"ttyUSB{minor}", minor, resource=BAR, identity=f"serial:ttyUSB{minor}") for minor in (0, 1)])
        found = allot(Request(FOO), Request(BAR), units={FOO: (A, B), BAR: bars}, previous=(B.identity, A.identity))
        assert given(found) == [["/dev/ttyUSB1"], ["/dev/ttyUSB0"]]

    def test_shared_units_are_spread(self) -> None:
        """The one that fewest hold comes first."""
        assert given(allot(Request(FOO), held_now=(held(A, sharing=2),), sharing=2)) == [["/dev/ttyUSB1"]]


class TestSharing:
    def test_two_may_hold_a_unit_that_two_may_share(self) -> None:
        """Case 17: one GPU for two services."""
        assert given(allot(Request(FOO), units={FOO: (A,)}, held_now=(held(A, sharing=2),), sharing=2)) == [["/dev/ttyUSB0"]]

    def test_a_third_is_told_who_holds_it(self) -> None:
        """Case 17: both are named."""
        both = (held(A, "one", sharing=2), held(A, "two", sharing=2))
        with pytest.raises(
            HeldError,
            match=whole(
                f"1 of {FOO} was asked for and 1 exists, but /dev/ttyUSB0 is held by one and two (2 "
                f"containers at most); stop one of them, or wait until it ends"
            ),
        ):
            allot(Request(FOO), units={FOO: (A,)}, held_now=both, sharing=2)

    def test_one_container_gets_two_different_units(self) -> None:
        """Case 16: never two shares of one."""
        assert given(allot(Request(FOO, 2), sharing=4)) == [["/dev/ttyUSB0", "/dev/ttyUSB1"]]
        with pytest.raises(UnavailableError):
            allot(Request(FOO, 2), units={FOO: (A,)}, sharing=4)

    def test_a_holder_that_was_promised_to_be_alone_stays_alone(self) -> None:
        """Though the other resource over the same device may be shared."""
        with pytest.raises(
            HeldError,
            match=whole(f"1 of {FOO} was asked for and 1 exists, but /dev/ttyUSB0 is held by demo-a alone; stop it, or wait until it ends"),
        ):
            allot(Request(FOO), units={FOO: (A,)}, held_now=(held(A, resource=BAR),), sharing=2)

    def test_a_container_counts_once_however_many_leases_it_has(self) -> None:
        """It holds the camera by its identity and by each number."""
        shares = (held(camera(), sharing=2), held(camera(), sharing=2, resource=BAR))
        assert len(allot(Request(FOO), units={FOO: (camera(),)}, held_now=shares, sharing=2)) == 1


class TestSkip:
    def test_it_gets_what_there_is(self) -> None:
        """One of three."""
        assert given(allot(Request(FOO, 3), held_now=(held(A),), missing=Missing.SKIP)) == [["/dev/ttyUSB1"]]

    @pytest.mark.parametrize(
        "request_",
        [pytest.param(Request(FOO, 2000), id="count"), pytest.param(Request(FOO, unit="gone"), id="name")],
    )
    def test_nothing_is_enough(self, request_: Request) -> None:
        """The allotment is empty."""
        assert given(allot(request_, units={}, missing=Missing.SKIP)) == [[]]

    def test_it_takes_nothing_from_what_must_be_served(self) -> None:
        """Though it was asked for first."""
        bar = unit("ttyUSB0", 0, resource=BAR, identity=A.identity)
        found = allot((Request(FOO), Resource(FOO, missing=Missing.SKIP)), Request(BAR), units={FOO: (A,), BAR: (bar,)})
        assert given(found) == [[], ["/dev/ttyUSB0"]]

    def test_what_may_not_be_opened_is_skipped(self) -> None:
        """Rootless, a device of another group."""
        assert given(allot(Request(FOO, 2), unusable={A.identity: "no"}, missing=Missing.SKIP)) == [["/dev/ttyUSB1"]]


def whole(message: str) -> str:
    """The pattern of MESSAGE and nothing else."""
    return f"^{re.escape(message)}$"


class TestShortage:
    @pytest.mark.parametrize(
        ("asked", "there", "held_now", "message"),
        [
            pytest.param(
                Request(FOO, 2),
                (A, B),
                (held(A),),
                f"2 of {FOO} were asked for and 2 exist, but /dev/ttyUSB0 is held by demo-a; stop it, or ask for fewer",
                id="one of two",
            ),
            pytest.param(
                Request(FOO, 1),
                (A, B),
                (held(A), held(B)),
                f"1 of {FOO} was asked for and 2 exist, but /dev/ttyUSB0 and /dev/ttyUSB1 are held by demo-a; "
                f"stop it, or wait until it ends",
                id="both by one",
            ),
            pytest.param(
                Request(FOO, 1),
                (A, B),
                (held(A), held(B, "demo-b")),
                f"1 of {FOO} was asked for and 2 exist, but /dev/ttyUSB0 is held by demo-a and /dev/ttyUSB1 is held by demo-b; "
                "stop one of them, or wait until it ends",
                id="one each, one is wanted",
            ),
            pytest.param(
                Request(FOO, 2),
                (A, B),
                (held(A), held(B, "demo-b")),
                f"2 of {FOO} were asked for and 2 exist, but /dev/ttyUSB0 is held by demo-a and /dev/ttyUSB1 is held by demo-b; "
                "stop some, or ask for fewer",
                id="one each, both are wanted",
            ),
            pytest.param(
                Request(FOO, unit="SERIAL0"),
                (A, B),
                (held(A),),
                f"{FOO}=SERIAL0 was asked for, but /dev/ttyUSB0 is held by demo-a; stop it, or ask for another",
                id="by name",
            ),
        ],
    )
    def test_enough_exist_but_are_held(self, asked: Request, there: tuple[Unit, ...], held_now: tuple[Lease, ...], message: str) -> None:
        """Exit code 75, with each holder and node."""
        with pytest.raises(HeldError, match=whole(message)):
            allot(asked, units={FOO: there}, held_now=held_now)

    @pytest.mark.parametrize(
        ("asked", "there", "held_now", "message"),
        [
            pytest.param(
                Request(FOO, 2), (), (), f"2 of {FOO} were asked for, but none exists on this host; plug it in and try again", id="none"
            ),
            pytest.param(
                Request(FOO, 2),
                (A,),
                (),
                f"2 of {FOO} were asked for, but only 1 exists: /dev/ttyUSB0; ask for fewer or plug in more",
                id="too few",
            ),
            pytest.param(
                Request(FOO, 3),
                (A, B),
                (held(A),),
                f"3 of {FOO} were asked for, but only 2 exist: /dev/ttyUSB0 (held by demo-a) and /dev/ttyUSB1; "
                f"ask for fewer or plug in more",
                id="too few, and one is held",
            ),
            pytest.param(
                Request(FOO, unit="A50285"),
                (A, B),
                (),
                f"{FOO}=A50285 was asked for, but no unit has that name, there are SERIAL0 (/dev/ttyUSB0) "
                f"and SERIAL1 (/dev/ttyUSB1); "
                "name one of these",
                id="unknown name",
            ),
            pytest.param(
                Request(FOO, unit="A50285"),
                (camera(),),
                (),
                f"{FOO}=A50285 was asked for, but no unit has that name, there is serial:camera (/dev/video0); name this one",
                id="unknown name, one unit without any",
            ),
            pytest.param(
                Request(FOO, unit="A50285"),
                (),
                (),
                f"{FOO}=A50285 was asked for, but none exists on this host; plug it in and try again",
                id="name where there is none",
            ),
        ],
    )
    def test_fewer_exist(self, asked: Request, there: tuple[Unit, ...], held_now: tuple[Lease, ...], message: str) -> None:
        """Exit code 69: waiting would not help."""
        with pytest.raises(UnavailableError, match=whole(message)):
            allot(asked, units={FOO: there}, held_now=held_now)

    def test_near_misses_are_told(self) -> None:
        """With the term that failed."""
        near = {FOO: ('/dev/ttyUSB3 would match but for ENV{ID_MODEL_ID}=="6001"', "/dev/ttyUSB4 would match but for TAG")}
        with pytest.raises(
            UnavailableError,
            match=whole(
                f"1 of {FOO} was asked for, but none exists on this host "
                '(/dev/ttyUSB3 would match but for ENV{ID_MODEL_ID}=="6001"; /dev/ttyUSB4 would match but for TAG); '
                "plug it in and try again"
            ),
        ):
            allot(Request(FOO), units={}, near=near)

    def test_a_name_that_fits_several_is_the_askers_fault(self) -> None:
        """The candidates are named by what tells them apart."""
        twins = (unit("ttyUSB0", 0, names=("0001",)), unit("ttyUSB1", 1, names=("0001",)))
        with pytest.raises(
            UsageError,
            match=whole(
                f"{FOO}=0001 was asked for, but 2 units have that name: serial:ttyUSB0 (/dev/ttyUSB0) and "
                f"serial:ttyUSB1 (/dev/ttyUSB1); name one of these"
            ),
        ):
            allot(Request(FOO, unit="0001"), units={FOO: twins})

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            pytest.param(
                Request(FOO, 2),
                f"2 of {FOO} were asked for and 2 exist, but /dev/ttyUSB0 cannot be used: user tb is not in group dialout; "
                "give this user the right to open it, or ask for fewer",
                id="count",
            ),
            pytest.param(
                Request(FOO, unit="SERIAL0"),
                f"{FOO}=SERIAL0 was asked for, but /dev/ttyUSB0 cannot be used: user tb is not in group dialout; "
                f"give this user the right to open it",
                id="name",
            ),
        ],
    )
    def test_only_rights_are_lacking(self, asked: Request, message: str) -> None:
        """Exit code 77."""
        with pytest.raises(RefusedError, match=whole(message)):
            allot(asked, unusable={A.identity: "user tb is not in group dialout"})

    @pytest.mark.parametrize(
        ("asked", "ways_out", "message"),
        [
            pytest.param(
                Request(FOO, 1),
                ("join its group", "join its group"),
                f"1 of {FOO} was asked for and 2 exist, but /dev/ttyUSB0 is c 0:20 and you may not read it, "
                "/dev/ttyUSB1 is c 0:20 and you may not read it: join its group",
                id="one way out for both",
            ),
            pytest.param(
                Request(FOO, 2),
                ("join its group", "let a udev rule give it to you"),
                f"2 of {FOO} were asked for and 2 exist, but /dev/ttyUSB0 is c 0:20 and you may not read it: join its group and "
                "/dev/ttyUSB1 is c 0:20 and you may not read it: let a udev rule give it to you, or ask for fewer",
                id="two ways out",
            ),
        ],
    )
    def test_a_way_out_is_told_once(self, asked: Request, ways_out: tuple[str, str], message: str) -> None:
        """Behind the devices that it is for, and not again at the end."""
        reasons = {
            own.identity: f"/dev/ttyUSB{index} is c 0:20 and you may not read it: {ways_out[index]}" for index, own in enumerate((A, B))
        }
        with pytest.raises(RefusedError, match=whole(message)):
            allot(asked, unusable=reasons)

    def test_a_way_out_is_left_out_where_it_is_not_enough(self) -> None:
        """More have to be plugged in."""
        message = (
            f"2 of {FOO} were asked for, but only 1 exists: /dev/ttyUSB0 (cannot be used: /dev/ttyUSB0 is c 0:20); "
            "ask for fewer or plug in more"
        )
        with pytest.raises(UnavailableError, match=whole(message)):
            allot(Request(FOO, 2), units={FOO: (A,)}, unusable={A.identity: "/dev/ttyUSB0 is c 0:20: join its group"})

    @pytest.mark.parametrize(
        ("resource", "near", "message"),
        [
            pytest.param(
                Resource(FOO, rules=(Rule("", ()),), source="/etc/60-t.toml"),
                (),
                "nothing on this host matches its definition in /etc/60-t.toml; "
                "plug it in, or compare the definition with `udevadm info --attribute-walk /dev/NODE`",
                id="match lines",
            ),
            pytest.param(
                Resource(FOO, rules=(Rule("", ()),), source="/etc/60-t.toml"),
                ("/dev/ttyUSB3 nearly matches", "/dev/ttyUSB4 nearly matches"),
                "nothing on this host matches its definition in /etc/60-t.toml (/dev/ttyUSB3 nearly matches; /dev/ttyUSB4 nearly matches); "
                "plug it in, or compare the definition with `udevadm info --attribute-walk /dev/NODE`",
                id="near misses",
            ),
            pytest.param(
                Resource(FOO, paths=("/dev/x*",), source="/etc/60-t.toml"),
                (),
                "nothing on this host matches its definition in /etc/60-t.toml; "
                "plug it in, or compare the definition with what is below /dev",
                id="paths only",
            ),
            pytest.param(
                Resource(FOO, source="udev"), (), "none exists on this host; plug it in and try again", id="marked by a udev rule"
            ),
        ],
    )
    def test_a_definition_that_nothing_matches_is_named(self, resource: Resource, near: tuple[str, ...], message: str) -> None:
        """The device may be there, and the definition wrong."""
        with pytest.raises(UnavailableError, match=whole(f"1 of {FOO} was asked for, but {message}")):
            allot((Request(FOO), resource), units={}, near={FOO: near})

    @pytest.mark.parametrize(
        ("there", "message"),
        [
            pytest.param((B,), "no unit has that name, there is SERIAL1 (/dev/ttyUSB1); name this one", id="another is there"),
            pytest.param((), "none exists on this host; plug it in and try again", id="none is there"),
        ],
    )
    def test_a_number_as_a_units_name_may_be_meant_as_a_count(self, there: tuple[Unit, ...], message: str) -> None:
        """`foo=2` in place of `foo: 2`."""
        with pytest.raises(UnavailableError, match=whole(f'{FOO}=2 was asked for, but {message}; for a count write "{FOO}: 2"')):
            allot(Request(FOO, unit="2"), units={FOO: there})

    def test_rights_are_told_along_with_holders(self) -> None:
        """Three exist, one is held, one may not be opened: stopping the holder is enough."""
        with pytest.raises(
            HeldError,
            match=whole(
                f"2 of {FOO} were asked for and 3 exist, but /dev/ttyUSB0 is held by demo-a and "
                f"/dev/ttyUSB1 cannot be used: no group; stop it, or ask for fewer"
            ),
        ):
            allot(Request(FOO, 2), units={FOO: (A, B, C)}, held_now=(held(A),), unusable={B.identity: "no group"})

    def test_others_leases_are_told_as_theirs(self) -> None:
        """A user's podman does not list root's containers."""
        with pytest.raises(
            HeldError,
            match=whole(
                f"1 of {FOO} was asked for and 1 exists, but /dev/ttyUSB0 is held by root's demo-a; stop it, or wait until it ends"
            ),
        ):
            allot(Request(FOO), units={FOO: (A,)}, held_now=(held(A),), uid=1000)

    def test_all_shortages_are_told_at_once(self) -> None:
        """The worst decides the exit code: what does not exist no waiting brings."""
        with pytest.raises(
            UnavailableError,
            match=whole(
                f"1 of {FOO} was asked for and 1 exists, but /dev/ttyUSB0 is held by demo-a; stop it, or wait until it ends. "
                f"1 of {BAR} was asked for, but none exists on this host; plug it in and try again"
            ),
        ):
            allot(Request(FOO), Request(BAR), units={FOO: (A,)}, held_now=(held(A),))

    def test_a_container_that_asks_twice_for_one_device(self) -> None:
        """No other container is to blame."""
        with pytest.raises(
            UnavailableError,
            match=whole(f"{FOO}=SERIAL0 was asked for, but this container's other requests take the same devices; ask for fewer"),
        ):
            allot(Request(FOO, 2), Request(FOO, unit="SERIAL0"))

    def test_what_others_hold_pushes_a_request_out_of_its_free_units(self) -> None:
        """bar could only have ttyUSB0, which foo takes since ttyUSB1 is held."""
        bar = unit("ttyUSB0", 0, resource=BAR, identity=A.identity)
        with pytest.raises(
            HeldError,
            match=whole(
                f"1 of {BAR} was asked for and 1 exists, but the free ones go to this container's other requests "
                "and /dev/ttyUSB1 is held by demo-a; stop it, or wait until it ends"
            ),
        ):
            allot(Request(FOO), Request(BAR), units={FOO: (A, B), BAR: (bar,)}, held_now=(held(B),))

    def test_what_may_not_be_opened_pushes_a_request_out_of_its_free_units(self) -> None:
        """bar could only have ttyUSB0, which foo takes since it may not open ttyUSB1."""
        bar = unit("ttyUSB0", 0, resource=BAR, identity=A.identity)
        message = (
            f"1 of {BAR} was asked for and 1 exists, but the free ones go to this container's other requests "
            "and /dev/ttyUSB1 cannot be used: no group; give this user the right to open it"
        )
        with pytest.raises(RefusedError, match=whole(message)):
            allot(Request(FOO), Request(BAR), units={FOO: (A, B), BAR: (bar,)}, unusable={B.identity: "no group"})

    def test_a_right_that_will_be_lacking_once_all_is_free_is_told_now(self) -> None:
        """bar's only unit is held; when it is free, foo, which shares it now, still cannot have the other."""
        bar = unit("ttyUSB0", 0, resource=BAR, identity=A.identity)
        message = (
            f"1 of {BAR} was asked for and 1 exists, but /dev/ttyUSB0 is held by demo-a; stop it, or wait until it ends. "
            f"1 of {FOO} was asked for and 2 exist, but /dev/ttyUSB1 cannot be used: no group; give this user the right to open it"
        )
        with pytest.raises(RefusedError, match=whole(message)):
            allot(
                Request(BAR),
                (Request(FOO), Resource(FOO, sharing=2)),
                units={FOO: (A, B), BAR: (bar,)},
                held_now=(held(A, sharing=2),),
                unusable={B.identity: "no group"},
            )

    def test_a_long_row_is_cut(self) -> None:
        """A hundred holders fit in no sentence."""
        many = tuple([unit(f"ttyUSB{minor}", minor) for minor in range(100)])
        with pytest.raises(HeldError) as caught:
            allot(Request(FOO), units={FOO: many}, held_now=tuple([held(own, f"c{index}") for index, own in enumerate(many)]))
        assert str(caught.value).endswith("/dev/ttyUSB6 is held by c6 and 93 more; stop one of them, or wait until it ends")

    def test_every_class_of_shortage_is_an_expected_error(self) -> None:
        """So that stages turn it into an exit code."""
        assert all(issubclass(kind, HookError) for kind in (UnavailableError, HeldError, RefusedError))


def test_leases_are_what_the_ledger_keeps_of_allotments() -> None:
    """In the order of allotment, with what the holder was promised."""
    holder = held(A).holder
    allotment = Allotment(Request(FOO, 2), Resource(FOO, sharing=3), (B, camera()))
    assert leases((allotment,), holder) == (
        Lease(FOO, B.identity, B.numbers, ("/dev/ttyUSB1",), holder, 3),
        Lease(FOO, "serial:camera", camera().numbers, ("/dev/video0", "/dev/video1"), holder, 3),
    )
