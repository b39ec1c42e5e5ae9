"""Our globs agree with the C library's, which udev asks."""

from __future__ import annotations

import ctypes
import locale
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oci_udev_hook.inventory import glob

pytestmark = pytest.mark.property

PIECES = [*"abcz-]*?![^\\:.=1 /", "[[:alpha:]]", "[:digit:]", "[:foo:]", "[!", "[^", "[a-c]", "[:", "[=a=]", "[=", "[.b.]", "[.", "[]"]
patterns = st.lists(st.one_of(st.sampled_from(PIECES), st.characters(min_codepoint=1, max_codepoint=126)), max_size=9).map("".join)
texts = st.one_of(st.text("abcz-]*?![^\\:.=1 /", max_size=5), st.text(st.characters(min_codepoint=1, max_codepoint=126), max_size=5))


@pytest.fixture(scope="module", autouse=True)
def c_locale() -> Iterator[None]:
    """Udev runs in the C locale, where a character is a byte."""
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, "C")
    yield
    locale.setlocale(locale.LC_ALL, before)


LIBC = ctypes.CDLL(None)


def fnmatch(pattern: str, text: str) -> bool:
    return LIBC.fnmatch(pattern.encode(), text.encode(), 0) == 0


@settings(max_examples=1000, deadline=None)
@given(patterns, texts)
def test_any_pattern_matches_what_fnmatch_says(pattern: str, text: str) -> None:
    assert glob.matches(pattern, text) is fnmatch(pattern, text)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(["*", "?", "a", "[ab]", "[!a]", "é", "ÿ", "€"]), max_size=8).map("".join), st.text("abéÿ€", max_size=6))
def test_characters_beyond_ascii_are_bytes(pattern: str, text: str) -> None:
    assert glob.matches(pattern, text) is fnmatch(pattern, text)


@settings(max_examples=300, deadline=None)
@given(st.lists(texts, max_size=4).map(tuple), texts)
def test_what_no_glob_is_in_matches_itself_only(patterns: tuple[str, ...], text: str) -> None:
    if not any(map(glob.has_glob, patterns)):
        assert glob.any_matches(patterns, text) is (text in patterns)
