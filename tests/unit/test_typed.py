"""The typed getters: what each takes, and the sentence on what it does not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from oci_udev_hook import typed
from oci_udev_hook.typed import Fields, TypedError

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = 10**400


def refusal(get: Callable[[Fields], object], value: object) -> str:
    """The sentence on VALUE at the key `k` of an object at `at`."""
    with pytest.raises(TypedError) as caught:
        get(Fields({"k": value}, "at"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("get", "empty"),
    [
        (lambda fields: fields.strings("k"), ()),
        (lambda fields: fields.paths("k"), ()),
        (lambda fields: fields.numbers("k"), ()),
        (lambda fields: fields.seconds("k"), None),
    ],
    ids=["strings", "paths", "numbers", "seconds"],
)
def test_what_is_absent_or_null_is_empty(get: Callable[[Fields], object], empty: object) -> None:
    """As Go's encoding/json has it."""
    assert get(Fields({})) == empty
    assert get(Fields({"k": None})) == empty


def test_lists_are_taken_whole() -> None:
    """In their order."""
    fields = Fields({"strings": ["b", "", "a"], "numbers": [3, -1, 0], "paths": ["/dev/ü", "/dev/\udcff"]})

    assert fields.strings("strings") == ("b", "", "a")
    assert fields.numbers("numbers") == (3, -1, 0)
    assert fields.paths("paths") == ("/dev/ü", "/dev/\udcff")


@pytest.mark.parametrize("value", [[1], ["a", None], [["a"]], [True]])
def test_a_list_of_strings_has_no_other(value: object) -> None:
    """Nothing is dropped, nothing is made a string."""
    assert refusal(lambda fields: fields.strings("k"), value) == f"at.k is {typed.shown(value)}, not a list of strings"


@pytest.mark.parametrize("value", [["1"], [1, None], [1.0], [True], [5, False]])
def test_a_list_of_numbers_has_no_other(value: object) -> None:
    """True is an int of Python's, but no number of JSON's."""
    assert refusal(lambda fields: fields.numbers("k"), value) == f"at.k is {typed.shown(value)}, not a list of whole numbers"


@pytest.mark.parametrize("value", ["abc", {}, 1, True])
def test_no_list_is_refused_as_such(value: object) -> None:
    """A string has letters, but is no list of them."""
    for get in (Fields.strings, Fields.paths, Fields.numbers):
        assert refusal(lambda fields, get=get: get(fields, "k"), value) == f"at.k is {typed.shown(value)}, not a list"


@pytest.mark.parametrize("value", ["/a\0b", "\ud800", "/dev/\udfff"])
def test_what_no_system_call_takes_is_no_path(value: str) -> None:
    """NUL ends a string in C; half a character has no bytes, but for those that stand for a byte (PEP 383)."""
    assert refusal(lambda fields: fields.path("k"), value) == f"at.k is {typed.shown(value)}, not a path"
    assert refusal(lambda fields: fields.paths("k"), ["/", value]) == f"at.k is {typed.shown(['/', value])}, not a list of paths"


def test_a_path_is_a_string_first() -> None:
    """And may have a default."""
    assert Fields({}).path("k", "") == ""
    assert Fields({"k": "/dev/ü"}).path("k") == "/dev/ü"
    assert refusal(lambda fields: fields.path("k"), 1) == "at.k is 1, not a string"


@pytest.mark.parametrize(("value", "expected"), [(0, 0.0), (1.5, 1.5), (2**40, 2.0**40)])
def test_seconds_are_a_number(value: float, expected: float) -> None:
    """Whole or not."""
    assert Fields({"k": value}).seconds("k") == expected


@pytest.mark.parametrize("value", [-1, -0.5, 2**40 + 1, 1e18, HUGE, -HUGE, float("inf"), float("nan"), True, "1", []])
def test_seconds_are_such_as_clocks_have(value: object) -> None:
    """What localtime(3) cannot show and float() cannot hold is none."""
    assert refusal(lambda fields: fields.seconds("k"), value) == f"at.k is {typed.shown(value)}, not a number of seconds"


@pytest.mark.parametrize("value", [0, 11, -1, HUGE])
def test_a_number_may_have_bounds(value: int) -> None:
    """Which the sentence names."""
    assert Fields({"k": 10}).number("k", within=range(1, 11)) == 10
    assert (
        refusal(lambda fields: fields.number("k", within=range(1, 11)), value)
        == f"at.k is {typed.shown(value)}, not a whole number from 1 to 10"
    )


def test_a_long_key_is_cut_in_a_sentence() -> None:
    """It comes from outside as the value does."""
    with pytest.raises(TypedError) as caught:
        Fields({"k" * 100000: 1}, "at").text("k" * 100000)

    assert str(caught.value) == f"at.{'k' * 79}… is 1, not a string"
