"""Match lines, whatever is written in them and whatever devices there are."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oci_udev_hook.frozen import replace
from oci_udev_hook.inventory import rules
from oci_udev_hook.inventory.grammar import _KEYS, _NAMED, _REFUSED
from oci_udev_hook.model import Device, Rule

pytestmark = pytest.mark.property

words = st.sampled_from(["a", "b", "ab", "", "a ", "é"])
patterns = st.lists(st.sampled_from(["a", "b", "", "*", "a*", "?", "[!a]*", "b ", "\\a*"]), min_size=1, max_size=3).map("|".join)
names = st.sampled_from(["x", "y"])
mappings = st.dictionaries(names, words, max_size=2)


@st.composite
def devices(draw: st.DrawFn, *, parents: bool = True) -> Device:
    """A device of a small world, in which lines and devices often meet."""
    return Device(
        "/sys/devices/" + draw(words),
        subsystem=draw(words),
        sysname=draw(words),
        driver=draw(words),
        properties=draw(mappings),
        attributes=draw(mappings),
        tags=frozenset(draw(st.sets(words, max_size=2))),
        links=tuple(f"/dev/{name}" for name in sorted(draw(st.sets(words, max_size=2)))),
        parents=tuple(draw(st.lists(devices(parents=False), max_size=3))) if parents else (),
    )


@st.composite
def terms(draw: st.DrawFn, keys: Collection[str] = _KEYS) -> str:
    """A term that udev reads, with one of KEYS."""
    key = draw(st.sampled_from(sorted(keys)))
    name = f"{{{draw(names)}}}" if key in _NAMED else ""
    return f'{key}{name}{draw(st.sampled_from(["==", "!=", " == "]))}"{draw(patterns)}"'


pieces = st.sampled_from([*_KEYS, *_REFUSED, "{x}", "==", "!=", "=", "+=", '"', '"a"', 'e"', "\\", ","])
separators = st.sampled_from([", ", " ", ",", "", "\t,,\n"])


@settings(max_examples=200)
@given(st.lists(st.tuples(terms(), separators), min_size=1, max_size=5))
def test_terms_are_read_back_as_they_were_written(written: list[tuple[str, str]]) -> None:
    line = "".join([term + separator for term, separator in written])
    rule = rules.parse(line)
    assert [term.text for term in rule.terms] == [term for term, _ in written]
    assert all(line.startswith(term.text, term.column - 1) for term in rule.terms)


@settings(max_examples=200)
@given(st.lists(st.one_of(st.text(max_size=4), pieces)).map("".join))
def test_any_text_is_a_rule_or_is_refused_within_its_columns(line: str) -> None:
    try:
        found = [term.column for term in rules.parse(line).terms]
    except rules.RuleError as error:
        found = [column for column, _ in error.faults]
    assert found
    assert all(1 <= column <= len(line) + 1 for column in found)


@settings(max_examples=200)
@given(st.lists(terms(), min_size=1, max_size=4), devices())
def test_what_fails_is_what_keeps_a_rule_from_matching(written: list[str], device: Device) -> None:
    rule = rules.parse(", ".join(written))
    failed = rules.failures(rule, device)
    assert rules.matches(rule, device) is (not failed)
    assert rules.matches(Rule(rule.text, tuple(term for term in rule.terms if term not in failed)), device)


@settings(max_examples=200)
@given(st.sampled_from(_KEYS), names, patterns, devices(parents=False))
def test_a_term_or_its_negation_holds_unless_the_attribute_is_not_there(key: str, name: str, pattern: str, device: Device) -> None:
    subject = f"{key}{{{name}}}" if key in _NAMED else key
    held = [rules.matches(rules.parse(f'{subject}{operator}"{pattern}"'), device) for operator in ("==", "!=")]
    if key.startswith("ATTR") and name not in device.attributes:
        assert held == [False, False]
    else:
        assert sorted(held) == [False, True]


@settings(max_examples=200)
@given(st.lists(terms(rules.PARENT_KEYS), min_size=1, max_size=3), devices())
def test_parents_terms_hold_at_one_device_or_not_at_all(written: list[str], device: Device) -> None:
    rule = rules.parse(", ".join(written))
    alone = [replace(device, parents=()), *device.parents]
    assert rules.matches(rule, device) is any(rules.matches(rule, candidate) for candidate in alone)
