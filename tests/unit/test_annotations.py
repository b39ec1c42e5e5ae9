"""Annotations say what a container asks for."""

from __future__ import annotations

import pytest

from oci_udev_hook.errors import ExitCode, UsageError
from oci_udev_hook.model import Request
from oci_udev_hook.requests import annotations
from oci_udev_hook.requests.annotations import _CLAIMS, _DEVICES, INIT, INJECTED, LIMITS

FOO = "hardware-vendor.example/foo"
BAR = "hardware-vendor.example/bar"
OTHERS = {"io.container.manager": "libpod", "io.kubernetes.cri-o.SandboxID": "0" * 64, "io.oci-udev-hook": "x"}
NO_SUCH_KEY = f"there is no such key, there are {LIMITS} for all containers of a pod and {LIMITS}/CONTAINER for one"
GENERATED = "`podman kube generate` made this key: pass the file through `oci-udev-hook kube` before it is played"


@pytest.mark.parametrize(
    ("value", "requests"),
    [
        pytest.param(f"{FOO}: 2", (Request(FOO, 2),), id="pair"),
        pytest.param(FOO, (Request(FOO),), id="count left out"),
        pytest.param(f"{FOO}: 2, {BAR}: 1k", (Request(FOO, 2), Request(BAR, 1000)), id="comma"),
        pytest.param(f"{FOO}: 2,{BAR}", (Request(FOO, 2), Request(BAR)), id="comma without space"),
        pytest.param(f"\n  {BAR}: 2\r\n\n  {FOO}: 2.0,\n", (Request(BAR, 2), Request(FOO, 2)), id="lines"),
        pytest.param(f"{FOO}: 0, {BAR}", (Request(BAR),), id="nothing of one"),
        pytest.param(f" {FOO} : 2 ", (Request(FOO, 2),), id="space before the colon"),
        pytest.param(f"{FOO}:   2", (Request(FOO, 2),), id="spaces behind the colon"),
        pytest.param("", (), id="nothing"),
        pytest.param(" ,\n", (), id="nothing but separators"),
        pytest.param(f"{FOO}=A1", (Request(FOO, 1, "A1"),), id="unit"),
        pytest.param(
            f"{FOO}=A1: 1, {FOO}=A2, {FOO}: 3", (Request(FOO, 1, "A1"), Request(FOO, 1, "A2"), Request(FOO, 3)), id="units and count"
        ),
        pytest.param(f"{FOO}=usb-1:1.0: 1", (Request(FOO, 1, "usb-1:1.0"),), id="colon in a unit"),
        pytest.param(f"{FOO}=a=b/c.d#e_f@g", (Request(FOO, 1, "a=b/c.d#e_f@g"),), id="odd unit"),
        pytest.param(f"{FOO}=two words", (Request(FOO, 1, "two words"),), id="space in a unit"),
        pytest.param("nvidia.com/gpu=all", (Request("nvidia.com/gpu", 1, "all"),), id="as CDI has it"),
        pytest.param(f'{{"{FOO}": 2}}', (Request(FOO, 2),), id="JSON"),
        pytest.param(
            f'\n {{"{FOO}": "2k", "{BAR}": 2.0, "x.y/z": 1e1}}\n',
            (Request(FOO, 2000), Request(BAR, 2), Request("x.y/z", 10)),
            id="JSON numbers",
        ),
        pytest.param(f'{{"{FOO}=AB: CD": 1, "{BAR}": 0}}', (Request(FOO, 1, "AB: CD"),), id="JSON unit"),
        pytest.param("{}", (), id="empty JSON"),
    ],
)
def test_a_value_holds_requests_in_the_order_of_writing(value: str, requests: tuple[Request, ...]) -> None:
    assert annotations.read({**OTHERS, LIMITS: value}, None) == requests


@pytest.mark.parametrize(
    ("value", "clauses"),
    [
        pytest.param(f"{FOO}: 500m", [f'{FOO} is "500m", not a whole number: devices are given whole'], id="500m"),
        pytest.param(f"{FOO}: -1", [f'{FOO} is "-1", a negative number: write 0 for none'], id="negative"),
        pytest.param(f"{FOO}: two", [f'{FOO} is "two", not a number: write a whole number such as 2'], id="no number"),
        pytest.param(f"{FOO}: 2, {FOO}", [f'"{FOO}" is asked for twice, write it once with the sum'], id="twice"),
        pytest.param(f"{FOO}=A, {FOO}=A", [f'"{FOO}=A" is asked for twice, write it once with the sum'], id="unit twice"),
        pytest.param(f'{{"{FOO}": 2, "{FOO}": 2}}', [f'"{FOO}" is asked for twice, write it once with the sum'], id="twice in JSON"),
        pytest.param(f"{FOO}=A: 2", [f'{FOO}=A is "2", but it names one unit, so its count can only be 1'], id="two of one unit"),
        pytest.param(f"{FOO}=A: 0", [f'{FOO}=A is "0", but it names one unit, so its count can only be 1'], id="none of one unit"),
        pytest.param(
            f"{FOO}=",
            [f'"{FOO}=" cannot be asked for: behind the "=" must stand the serial or the port of one unit, without a comma'],
            id="unit without a name",
        ),
        pytest.param(
            f'{{"{FOO}=A,B": 1, "{FOO}=A\\n": 1}}',
            [
                f'"{FOO}=A,B" cannot be asked for: behind the "=" must stand the serial or the port of one unit, without a comma',
                f'"{FOO}=A\\n" cannot be asked for: behind the "=" must stand the serial or the port of one unit, without a comma',
            ],
            id="comma and line end in a unit",
        ),
        pytest.param(
            "cpu: 2",
            ['"cpu" cannot be asked for: it has no domain, a resource\'s name is DOMAIN/KIND as in hardware-vendor.example/foo'],
            id="no domain",
        ),
        pytest.param(
            "kubernetes.io/x: 2",
            ['"kubernetes.io/x" cannot be asked for: kubernetes.io belongs to Kubernetes itself, take a domain of your own'],
            id="kubernetes.io",
        ),
        pytest.param(
            f"{FOO}:2",
            [
                (
                    f'"{FOO}:2" cannot be asked for: the kind "foo:2" may hold only letters, digits, "-", "_" and "."; '
                    "between a name and its count stand a colon and a space"
                )
            ],
            id="no space behind the colon",
        ),
        pytest.param(
            f"{FOO} 2",
            [
                (
                    f'"{FOO} 2" cannot be asked for: the kind "foo 2" may hold only letters, digits, "-", "_" and "."; '
                    "between a name and its count stand a colon and a space"
                )
            ],
            id="no colon",
        ),
        pytest.param(
            "podman.io/device=/dev/fuse: 1, io.podman.device/fuse",
            [
                (
                    '"podman.io/device=/dev/fuse" cannot be asked for: raw devices are not served by this version, '
                    "name a resource that is defined on this host"
                ),
                (
                    '"io.podman.device/fuse" cannot be asked for: raw devices are not served by this version, '
                    "name a resource that is defined on this host"
                ),
            ],
            id="raw devices",
        ),
        pytest.param(
            "a/b/c, A.b/c: x",
            [
                '"a/b/c" cannot be asked for: it has more than one slash, a resource\'s name is DOMAIN/KIND',
                '"A.b/c" cannot be asked for: the domain "A.b" may hold only lower-case letters, digits, "-" and "."',
            ],
            id="all faults at once",
        ),
        pytest.param(
            f'{{"{FOO}": true, "{BAR}": null, "x.y/a": [1], "x.y/b": {{"count": 1}}, "x.y/c": NaN}}',
            [
                f"{FOO} is true, not a number: write a whole number such as 2",
                f"{BAR} is null, not a number: write a whole number such as 2",
                'x.y/a is ["1"], not a number: write a whole number such as 2',
                "x.y/b is an object, not a number: write a whole number such as 2",
                'x.y/c is "NaN", not a number: write a whole number such as 2',
            ],
            id="JSON shapes",
        ),
        pytest.param(
            "{",
            ['"{" starts as JSON does but is none: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)'],
            id="no JSON",
        ),
        pytest.param('{"a":' + "[" * 10_000, ['"{\\"a\\":' + "[" * 49 + "… is nested too deeply to be read"], id="deep JSON"),
    ],
)
def test_a_faulty_value_is_refused_with_every_reason(value: str, clauses: list[str]) -> None:
    """Case 35: each refused with its reason."""
    with pytest.raises(UsageError) as caught:
        annotations.read({LIMITS + "/a": value}, "a")

    assert str(caught.value).split(f"annotation {LIMITS}/a: ")[1:] == [clause + "; " for clause in clauses[:-1]] + clauses[-1:]
    assert caught.value.code is ExitCode.USAGE


def test_the_containers_own_key_wins() -> None:
    """Over the pod-wide one, also where it is empty; containers without a key have the pod-wide one."""
    given = {LIMITS: FOO, f"{LIMITS}/a": f"{BAR}: 2", f"{LIMITS}/b": ""}

    assert annotations.read(given, "a") == (Request(BAR, 2),)
    assert annotations.read(given, "b") == ()
    assert annotations.read(given, "c") == (Request(FOO),)
    assert annotations.read(given, None) == (Request(FOO),)


def test_a_fault_in_another_containers_value_does_not_stop_this_one() -> None:
    given = {LIMITS: "x", f"{LIMITS}/a": FOO, f"{LIMITS}/b": "x", f"{LIMITS}/c.2": "x"}

    assert annotations.read(given, "a") == (Request(FOO),)


def test_numbered_keys_are_joined_in_the_order_of_numbers() -> None:
    """Case 19: as they are, so a name may go on in the next part."""
    parts = [f"{FOO}: 1"[at : at + 3] for at in range(0, 30, 3)] + [f", {BAR}: 2"]
    given = {f"{LIMITS}/a.{number}": part for number, part in reversed(list(enumerate(parts, 1)))}

    assert len(given) > 10
    assert annotations.read(given, "a") == (Request(FOO), Request(BAR, 2))
    assert annotations.read({key.replace("/a", ""): value for key, value in given.items()}, "x") == (Request(FOO), Request(BAR, 2))


@pytest.mark.parametrize(
    ("given", "sentences"),
    [
        pytest.param(
            {f"{LIMITS}/a.1": FOO, f"{LIMITS}/a.3": ": 1"},
            [f"annotation {LIMITS}/a stands in numbered keys, but number 2 is missing, they count from 1 without a gap"],
            id="gap",
        ),
        pytest.param(
            {f"{LIMITS}.2": FOO},
            [f"annotation {LIMITS} stands in numbered keys, but number 1 is missing, they count from 1 without a gap"],
            id="no first",
        ),
        pytest.param(
            {f"{LIMITS}/a": FOO, f"{LIMITS}/a.1": FOO},
            [f"annotation {LIMITS}/a stands in numbered keys, but there is a key without a number as well, only one of the two can hold"],
            id="whole and parts",
        ),
        pytest.param(
            {f"{LIMITS}/a.1": "cpu", f"{LIMITS}/a.2": ": 1"},
            [
                (
                    f'annotation {LIMITS}/a.1 to .2: "cpu" cannot be asked for: '
                    "it has no domain, a resource's name is DOMAIN/KIND as in hardware-vendor.example/foo"
                )
            ],
            id="fault in parts",
        ),
        pytest.param(
            {f"{LIMITS}/a.01": FOO, f"{LIMITS}/a.0": "", f"{LIMITS}.٢": "", f"{LIMITS}/a.12345": ""},
            [
                f'annotation {LIMITS}/a.01 is "{FOO}", but numbered keys count from 1, without zeros in front',
                f'annotation {LIMITS}/a.0 is "", but numbered keys count from 1, without zeros in front',
                f'annotation {LIMITS}.٢ is "", but numbered keys count from 1, without zeros in front',
                f'annotation {LIMITS}/a.12345 is "", but numbered keys count from 1, without zeros in front',
            ],
            id="odd numbers",
        ),
        pytest.param(
            {"io.oci-udev-hook.limit/a": FOO, f"{LIMITS}/": "", f"{LIMITS}/.1": "", f"{LIMITS}.x": "", "io.oci-udev-hook.": ""},
            [
                f'annotation io.oci-udev-hook.limit/a is "{FOO}", but {NO_SUCH_KEY}',
                f'annotation {LIMITS}/ is "", but {NO_SUCH_KEY}',
                f'annotation {LIMITS}/.1 is "", but {NO_SUCH_KEY}',
                f'annotation {LIMITS}.x is "", but {NO_SUCH_KEY}',
                f'annotation io.oci-udev-hook. is "", but {NO_SUCH_KEY}',
            ],
            id="no such key",
        ),
        pytest.param(
            {f"{_CLAIMS}/a": "{}", _DEVICES: "/dev/fuse"},
            [
                f'annotation {_CLAIMS}/a is "{{}}", but this version does not serve it, what it serves is {LIMITS}',
                f'annotation {_DEVICES} is "/dev/fuse", but this version does not serve it, what it serves is {LIMITS}',
            ],
            id="not served yet",
        ),
        pytest.param(
            {f"{LIMITS}/a/pod-a": FOO, f"{LIMITS}/a.1/pod-a": FOO, f"{LIMITS}.1/pod-a": FOO},
            [
                f'annotation {LIMITS}/a/pod-a is "{FOO}", but {GENERATED}',
                f'annotation {LIMITS}/a.1/pod-a is "{FOO}", but {GENERATED}',
                f'annotation {LIMITS}.1/pod-a is "{FOO}", but {GENERATED}',
            ],
            id="made by kube generate",
        ),
        pytest.param(
            {INJECTED: "{}"},
            [f'annotation {INJECTED} is "{{}}", but that is this hook\'s own mark and nothing to ask with: take it away'],
            id="mark",
        ),
    ],
)
def test_faulty_keys_are_refused_with_every_reason(given: dict[str, str], sentences: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        annotations.read(given, "a")

    assert str(caught.value) == "; ".join(sentences)


def test_a_key_that_asks_is_found_without_reading_values() -> None:
    """A mistyped key asks as well, so that it does not pass for nothing."""
    assert not annotations.asks({})
    assert not annotations.asks({**OTHERS, INIT: "a", INJECTED: "{}"})
    for key in (LIMITS, f"{LIMITS}/a", f"{LIMITS}/a.1", _CLAIMS, _DEVICES, "io.oci-udev-hook.limit"):
        assert annotations.asks({**OTHERS, key: ""})


def test_the_init_key_has_no_meaning_yet() -> None:
    assert annotations.read({INIT: "a,b", LIMITS: FOO}, None) == (Request(FOO),)


def test_kube_containers_are_those_that_keys_name() -> None:
    given = [
        LIMITS,
        f"{LIMITS}.1",
        f"{LIMITS}/a",
        f"{LIMITS}/b.1",
        f"{LIMITS}/b.2",
        f"{LIMITS}/my.app",
        f"{LIMITS}/c/pod-c",
        f"{_CLAIMS}/d",
        *OTHERS,
    ]

    assert annotations.containers(dict.fromkeys(given, "")) == {"a", "b", "my.app"}


def test_the_mark_is_refused_in_what_is_asked() -> None:
    annotations.refuse_mark({**OTHERS, LIMITS: FOO})

    with pytest.raises(UsageError) as caught:
        annotations.refuse_mark({**OTHERS, INJECTED: "{}"})
    assert str(caught.value) == f"annotation {INJECTED} is this hook's own mark and nothing to ask with: take it away and start again"


@pytest.mark.parametrize("key", [(LIMITS, "", 0), (f"{LIMITS}.2", "", 2), (f"{LIMITS}/a", "a", 0), (f"{LIMITS}/a.b.12", "a.b", 12)])
def test_keys_are_written_as_they_are_read(key: tuple[str, str, int]) -> None:
    text, container, number = key

    assert annotations.key_of(container, number) == text
    assert annotations.place(text) == (container, number)
