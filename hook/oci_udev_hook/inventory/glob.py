"""Globs as udev compares them: fnmatch(3) without flags, in the C locale, where a character is a byte.

Python's own `fnmatch` knows neither `[^…]` nor backslashes nor `[[:digit:]]`, and compiles a regular expression for each pattern.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGIT = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PUNCT = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_GRAPH = _DIGIT + _LOWER + _UPPER + _PUNCT
_CLASSES = {
    "alnum": _DIGIT + _LOWER + _UPPER,
    "alpha": _LOWER + _UPPER,
    "blank": " \t",
    "cntrl": "".join(map(chr, range(32))) + "\x7f",
    "digit": _DIGIT,
    "graph": _GRAPH,
    "lower": _LOWER,
    "print": _GRAPH + " ",
    "punct": _PUNCT,
    "space": " \t\n\r\f\v",
    "upper": _UPPER,
    "xdigit": _DIGIT + "abcdefABCDEF",
}

_NO = -1  #: the character does not match here, or the pattern is ill-formed, which fnmatch(3) treats alike
_UNCLOSED = -2  #: a `[` without its `]`, which stands for itself


def has_glob(pattern: str) -> bool:
    """Whether udev takes PATTERN for a glob; if not, it compares it as it is, backslashes too (string_is_glob of systemd)."""
    return "*" in pattern or "?" in pattern or "[" in pattern


def any_matches(patterns: Iterable[str], text: str) -> bool:
    """Whether TEXT is one of PATTERNS, the alternatives of one value; all are globs as soon as one is (rule_line_add_token of systemd)."""
    patterns = tuple(patterns)
    if any(map(has_glob, patterns)):
        return any(matches(pattern, text) for pattern in patterns)
    return text in patterns


def matches(pattern: str, text: str) -> bool:
    """Whether the whole TEXT matches PATTERN. Takes steps in the product of both lengths at worst, whatever the pattern."""
    if not (pattern.isascii() and text.isascii()):
        pattern, text = _bytes(pattern), _bytes(text)
    here = at = 0  # in the pattern and in the text
    star = mark = _NO  # behind the last `*`, and where the text goes on that it has not eaten
    while at < len(text):
        if pattern.startswith("*", here):
            here += 1
            star, mark = here, at
            continue
        here = _step(pattern, here, text[at])
        at += 1
        if here == _NO:
            if star == _NO:
                return False
            mark += 1
            here, at = star, mark
    return not pattern[here:].strip("*")


def _bytes(text: str) -> str:
    """TEXT with one character for each of its bytes."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def _step(pattern: str, here: int, char: str) -> int:
    """Where PATTERN goes on behind what stands at HERE for the one CHAR, or _NO."""
    if here == len(pattern):
        return _NO
    wanted = pattern[here]
    here += 1
    if wanted == "?":
        return here
    if wanted == "\\":
        # A backslash at the end matches nothing at all.
        return here + 1 if pattern.startswith(char, here) else _NO
    if wanted == "[":
        behind = _bracket(pattern, here, char)
        if behind != _UNCLOSED:
            return behind
    return here if wanted == char else _NO


def _bracket(pattern: str, here: int, char: str) -> int:
    """Where PATTERN goes on behind the bracket expression that starts at HERE, if CHAR is of it; else _NO or _UNCLOSED."""
    negated = pattern.startswith(("!", "^"), here)
    here += negated
    first = here
    found = False
    while here < len(pattern):
        if pattern[here] == "]" and here != first:
            return _NO if found == negated else here + 1
        low, high, behind = _item(pattern, here, found)
        if behind == _NO or not (found or low):
            return _NO
        found = found or (char in low if high is None else low <= char <= high)
        here = behind
    return _UNCLOSED


def _item(pattern: str, here: int, found: bool) -> tuple[str, str | None, int]:
    """What stands at HERE of a bracket expression: a range's two ends, or a class's characters and None; and where it ends.

    The characters are empty if it is ill-formed. Once FOUND, fnmatch(3) only looks for the bracket's end: it reads no ranges, and
    takes no `[=` for a plain bracket.
    """
    low, behind = _class(pattern, here)
    if behind:
        return low, None, behind
    if found and pattern.startswith("[=", here):
        return "", "", _NO
    low, behind = _member(pattern, here)
    if found or behind == _NO or not pattern.startswith("-", behind) or pattern.startswith("]", behind + 1):
        return low, low, behind
    high, behind = _member(pattern, behind + 1)
    return low if high else "", high, behind


def _class(pattern: str, here: int) -> tuple[str, int]:
    """The characters of the `[:name:]` or `[=x=]` at HERE, none for an unknown name, and where it ends; 0 if there is none."""
    if pattern.startswith("[:", here):
        end = pattern.find(":]", here + 2)
        if end >= 0:
            name = pattern[here + 2 : end]
            if not name.strip(_LOWER):
                return _CLASSES.get(name, ""), end + 2
    elif pattern.startswith("[=", here) and pattern.startswith("=]", here + 3):
        return pattern[here + 2], here + 5
    return "", 0


def _member(pattern: str, here: int) -> tuple[str, int]:
    """The character at HERE of a bracket expression, none if it is ill-formed, and where it ends; _NO if it does not."""
    if pattern.startswith("[.", here):
        end = pattern.find(".]", here + 2)
        return ("", _NO) if end < 0 else (pattern[here + 2 : end] if end == here + 3 else "", end + 2)
    if pattern.startswith("\\", here):
        here += 1
    return pattern[here : here + 1], here + 1
