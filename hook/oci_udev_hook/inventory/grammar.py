"""How a match line is written: the part of udev(7)'s language that looks at a device and changes nothing.

Reads a line as parse_line and udev_rule_parse_value of src/udev/udev-rules.c in systemd do, but where udev skips a term with a warning
this refuses the line: a term left out would take more devices than was meant.
"""

from __future__ import annotations

from ..frozen import frozen
from ..model import Rule, Term
from .rules import BLANKS, RuleError

_NAMED = frozenset(("ATTR", "ATTRS", "ENV"))  #: keys with a name in braces
_KEYS = ("KERNEL", "SUBSYSTEM", "DRIVER", "ATTR", "ENV", "TAG", "SYMLINK", "DEVPATH", "KERNELS", "SUBSYSTEMS", "DRIVERS", "ATTRS", "TAGS")
_REFUSED = {
    "ACTION": "belongs to an event, and a match line looks at devices that are there",
    "CONST": "is not supported by this version",
    "GOTO": "belongs to a file of rules",
    "GROUP": "sets the node's group; in the container the field gid does",
    "IMPORT": "runs a program or reads a file",
    "LABEL": "belongs to a file of rules",
    "MODE": "sets the node's mode; in the container the field mode does",
    "NAME": "is the name of a network interface, which is no device node",
    "OPTIONS": "sets options of a rule",
    "OWNER": "sets the node's owner; in the container the field uid does",
    "PROGRAM": "runs a program",
    "RESULT": "is what a program printed, and none is run",
    "RUN": "runs a program",
    "SECLABEL": "sets a label of the node",
    "SYSCTL": "looks at the kernel and not at a device",
    "TEST": "is not supported by this version",
    "WAIT_FOR": "waits",
}
_OPERATORS = ("==", "!=", "+=", "-=", ":=", "=")


@frozen
class _Written:
    """A term as it stands in its line. Offsets count characters from 0."""

    start: int
    key: str
    name: str | None  #: None without braces
    operator: str
    prefix: str  #: of the value: `e`, `i` or both
    value: str  #: between the quotes, with its backslashes
    end: int


class _UnreadableError(Exception):
    """The rest of the line makes no sense from `offset` on."""

    def __init__(self, offset: int, sentence: str) -> None:
        super().__init__(sentence)
        self.offset = offset


def parse(text: str) -> Rule:
    """The match line TEXT. Raises RuleError with all that is wrong with it."""
    terms, faults = [], []
    here = _skip(text, 0, BLANKS + ",")
    try:
        while here < len(text):
            written = _read(text, here)
            sentence = _why_not(written)
            if sentence:
                faults.append((here + 1, sentence))
            else:
                terms.append(_term(written, text[here : written.end]))
            here = _skip(text, written.end, BLANKS + ",")
    except _UnreadableError as error:
        faults.append((error.offset + 1, str(error)))
    if not terms and not faults:
        faults.append((1, "the line is empty and would take every device of the host"))
    if faults:
        raise RuleError(tuple(faults))
    return Rule(text, tuple(terms))


def _skip(text: str, here: int, characters: str) -> int:
    while here < len(text) and text[here] in characters:
        here += 1
    return here


def _read(text: str, start: int) -> _Written:
    """The term that starts at START."""
    here, name = start, None
    while here < len(text) and text[here] not in BLANKS + '={"' and not text.startswith(_OPERATORS, here):
        here += 1
    key = text[start:here]
    if not key:
        raise _UnreadableError(start, f"here a key is missing, such as KERNEL, in front of {_shown(text[start])}")
    if text.startswith("{", here):
        end = text.find("}", here)
        if end < 0:
            raise _UnreadableError(here, f"the brace behind {key} is not closed")
        name, here = text[here + 1 : end], end + 1
    here = _skip(text, here, BLANKS)
    operator = next((operator for operator in _OPERATORS if text.startswith(operator, here)), "")
    if not operator:
        raise _UnreadableError(here, f"behind {key} must come == or !=, not {_shown(text[here : here + 1])}")
    here = _skip(text, here + len(operator), BLANKS)
    prefix, quote = _quote(text, here)
    if quote < 0:
        found = _unquoted(text, here)
        named = f"{key}{{{name}}}" if name else key
        # What stands there is worth quoting if it can be compared at all.
        quoted = f'write {named}{operator if operator == "!=" else "=="}"{found}"' if found and key not in _REFUSED else ""
        instead = quoted or f"not {_shown(text[here : here + 1])}"
        raise _UnreadableError(here, f"behind {key}{operator} must come a value in double quotes, {instead}")
    end = _closing(text, quote, escaped="e" in prefix)
    if end < 0:
        raise _UnreadableError(quote, f"the value of {key} has no closing quote")
    return _Written(start, key, name, operator, prefix, text[quote + 1 : end], end + 1)


def _quote(text: str, here: int) -> tuple[str, int]:
    """The prefix of the value at HERE and where its quote is, -1 if there is none."""
    for prefix in ("", "e", "i", "ei", "ie"):
        if text.startswith(prefix + '"', here):
            return prefix, here + len(prefix)
    return "", -1


def _unquoted(text: str, here: int) -> str:
    """The value at HERE that has single quotes, or none, in place of double ones."""
    start = here + text.startswith("'", here)
    if start > here and "'" in text[start:]:
        return text[start : text.index("'", start)].replace('"', "")
    end = start
    while end < len(text) and text[end] not in BLANKS + ",\"'":
        end += 1
    return text[start:end]


def _closing(text: str, quote: int, *, escaped: bool) -> int:
    """Where the value that opens at QUOTE closes, or -1. Only in an ESCAPED one a backslash itself can be escaped."""
    here = quote + 1
    while here < len(text) and text[here] != '"':
        here += 2 if text[here] == "\\" and (escaped or text.startswith('"', here + 1)) else 1
    return here if here < len(text) else -1


def _why_not(written: _Written) -> str | None:
    """What is wrong with the term WRITTEN, None if a match line can have it."""
    key, name = written.key, written.name
    if key in _REFUSED:
        return f"{key} cannot stand in a match line: it {_REFUSED[key]}"
    if key not in _KEYS:
        return f"{_shown(key)} is no key of udev's match language, {_meant(key)}"
    if written.operator not in {"==", "!="}:
        return f"{key}{written.operator} sets something, a match line only compares: write {key}== or {key}!="
    if key in _NAMED and not name:
        return f"{key} needs a name in braces, as in {key}{{{'ID_VENDOR_ID' if key == 'ENV' else 'idVendor'}}}"
    if key not in _NAMED and name is not None:
        return f"{key} takes no name in braces"
    if key.startswith("ATTR") and name and (name[0] == "[" or "%" in name or "$" in name):
        return f"{key}{{{name}}} names another device or has % or $ in it, which this version does not support"
    if "i" in written.prefix:
        return f"the prefix i of {key}'s value, for any case, is not supported by this version: write the letters as [Aa]"
    if "e" in written.prefix and _unescaped(written.value) is None:
        return f'{key}\'s value has a backslash that e"…" does not know, see udev(7)'
    return None


def _term(written: _Written, text: str) -> Term:
    """The good term WRITTEN as TEXT."""
    value = _unescaped(written.value) if "e" in written.prefix else written.value.replace('\\"', '"')
    # udev splits at each |, in brackets too, and nothing escapes it.
    patterns = tuple(dict.fromkeys((value or "").split("|")))
    if written.key == "SUBSYSTEM" and value in {"subsystem", "bus", "class"}:
        patterns = ("subsystem", "class", "bus")  # MATCH_TYPE_SUBSYSTEM: three names of one thing
    return Term(written.key, written.name or "", written.operator == "!=", patterns, written.start + 1, text)


def _unescaped(value: str) -> str | None:
    """VALUE with its C escapes replaced, None if one is unknown (cunescape_one of systemd's escape.c)."""
    simple = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, '"': 34, "'": 39, "s": 32}
    lengths = {"x": 2, "u": 4, "U": 8}
    data, here = b"", 0
    while here < len(value):
        if value[here] != "\\":
            data += value[here].encode()
            here += 1
            continue
        letter = value[here + 1 : here + 2]
        if letter in simple:
            data += bytes([simple[letter]])
            here += 2
            continue
        start, length, base = (here + 2, lengths[letter], 16) if letter in lengths else (here + 1, 3, 8)
        here = start + length
        digits = value[start:here]
        if len(digits) < length or digits.strip("0123456789abcdefABCDEF"[: 8 if base == 8 else 22]):
            return None
        number = int(digits, base)
        if number == 0 or number > (0x10FFFF if length > 3 else 0xFF) or 0xD800 <= number < 0xE000:
            return None
        data += chr(number).encode() if length > 3 else bytes([number])
    return data.decode("utf-8", "backslashreplace")


def _meant(key: str) -> str:
    """What the writer of the unknown KEY may have meant."""
    from difflib import get_close_matches

    close = get_close_matches(key.upper(), _KEYS, 1)
    return f"write {close[0]}" if close else f"which has {', '.join(_KEYS)}"


def _shown(text: str) -> str:
    return f'"{text}"' if text else "the end of the line"
