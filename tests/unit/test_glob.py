"""Globs mean what they mean to udev."""

from __future__ import annotations

import pytest

from oci_udev_hook.inventory import glob


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("ttyUSB*", "ttyUSB0", id="star"),
        pytest.param("*", "", id="star of nothing"),
        pytest.param("/dev/*", "/dev/bus/usb/001/002", id="star goes over slashes"),
        pytest.param("*", ".hidden", id="star takes a leading dot"),
        pytest.param("*a*b", "xxabab", id="stars give back"),
        pytest.param("?", "x", id="question mark"),
        pytest.param("[a-c]x", "bx", id="range"),
        pytest.param("[!a-c]", "d", id="negated with !"),
        pytest.param("[^a-c]", "d", id="negated with ^"),
        pytest.param("[]a]", "]", id="bracket first is itself"),
        pytest.param("[a-]", "-", id="hyphen last is itself"),
        pytest.param("[[:digit:][:upper:]]", "X", id="classes"),
        pytest.param("[[=a=][.-.]]", "-", id="equivalence and collating symbols of one character"),
        pytest.param(r"[\]-a]", "^", id="range from an escaped bracket"),
        pytest.param(r"\*\a", "*a", id="backslash escapes"),
        pytest.param("[a", "[a", id="unclosed bracket is itself"),
        pytest.param("a]", "a]", id="closing bracket alone is itself"),
        pytest.param("??", "é", id="a character beyond ASCII is two bytes"),
        pytest.param("*é", "aé", id="beyond ASCII as it is"),
    ],
)
def test_matches(pattern: str, text: str) -> None:
    assert glob.matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param("a", "ab", id="the whole text must match"),
        pytest.param("?", "", id="question mark needs a character"),
        pytest.param("?", "é", id="question mark is one byte"),
        pytest.param("[!a]", "", id="bracket needs a character"),
        pytest.param("[c-a]", "b", id="range upside down"),
        pytest.param("[[:digits:]]", "1", id="unknown class"),
        pytest.param("[![:digits:]]", "x", id="unknown class negated"),
        pytest.param("[[.ab.]]", "a", id="collating symbol of two characters"),
        pytest.param("[[.a]", "a", id="collating symbol unclosed"),
        pytest.param("a\\", "a\\", id="backslash last"),
        pytest.param("A", "a", id="case counts"),
    ],
)
def test_does_not_match(pattern: str, text: str) -> None:
    assert not glob.matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        pytest.param("*a*a*a*a*a*a*b", 2, id="stars between letters"),
        pytest.param("*a" * 40 + "b", 3, id="many stars"),
        pytest.param("*?a*?a*?a[b]", 4, id="stars before one character"),
        pytest.param("*[ab]*[ab]*[!a]", 2, id="brackets"),
        pytest.param("*aaaaaaaab", 10, id="nearly there at each place"),
    ],
)
def test_a_pattern_of_many_stars_looks_at_each_character_a_few_times_only(
    pattern: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A star gives back only what the last one ate: at worst as many STEPS for each character as the pattern behind that star is long."""
    text = "a" * 3000
    taken: list[int] = []
    real = glob._step
    monkeypatch.setattr(glob, "_step", lambda *arguments: (taken.append(1), real(*arguments))[1])

    assert not glob.matches(pattern, text)
    assert len(text) <= len(taken) <= steps * len(text)


@pytest.mark.parametrize(
    ("patterns", "text", "expected"),
    [
        pytest.param((r"a\b",), r"a\b", True, id="without a glob a backslash is itself"),
        pytest.param((r"a\b", "c*"), "ab", True, id="beside a glob it escapes"),
        pytest.param((r"a\b", "c*"), r"a\b", False, id="and is not itself"),
        pytest.param(("", "x"), "", True, id="empty alternative"),
        pytest.param((), "x", False, id="no alternative"),
    ],
)
def test_alternatives_are_globs_if_one_of_them_is(patterns: tuple[str, ...], text: str, expected: bool) -> None:
    assert glob.any_matches(patterns, text) is expected
