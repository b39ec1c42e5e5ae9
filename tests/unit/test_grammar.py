"""Match lines are read as udev reads them, and refused where they would do more than match."""

from __future__ import annotations

import pytest

from oci_udev_hook.inventory import rules
from oci_udev_hook.model import Term

KEYS = "KERNEL, SUBSYSTEM, DRIVER, ATTR, ENV, TAG, SYMLINK, DEVPATH, KERNELS, SUBSYSTEMS, DRIVERS, ATTRS, TAGS"
UNKNOWN_ESCAPE = 'column 1: KERNEL\'s value has a backslash that e"…" does not know, see udev(7)'


@pytest.mark.parametrize(
    ("line", "terms"),
    [
        pytest.param('KERNEL=="a"', [("KERNEL", "", False, ("a",), 1)], id="one term"),
        pytest.param(
            'SUBSYSTEM=="tty", ATTRS{idVendor}!="0403"',
            [("SUBSYSTEM", "", False, ("tty",), 1), ("ATTRS", "idVendor", True, ("0403",), 19)],
            id="comma and blank",
        ),
        pytest.param('KERNEL=="a" TAG=="b"', [("KERNEL", "", False, ("a",), 1), ("TAG", "", False, ("b",), 13)], id="blank only"),
        pytest.param('KERNEL=="a"TAG=="b"', [("KERNEL", "", False, ("a",), 1), ("TAG", "", False, ("b",), 12)], id="nothing between"),
        pytest.param(
            ',, \tKERNEL  ==\n"a" ,,TAG=="b",', [("KERNEL", "", False, ("a",), 5), ("TAG", "", False, ("b",), 22)], id="commas and blanks"
        ),
        pytest.param('ENV{a b} == "x"', [("ENV", "a b", False, ("x",), 1)], id="any name in braces"),
        pytest.param('KERNEL=="a|b*|"', [("KERNEL", "", False, ("a", "b*", ""), 1)], id="alternatives, one of them empty"),
        pytest.param('KERNEL==""', [("KERNEL", "", False, ("",), 1)], id="empty value"),
        pytest.param('KERNEL=="||a||a"', [("KERNEL", "", False, ("", "a"), 1)], id="each alternative once"),
        pytest.param('KERNEL=="[a|b]"', [("KERNEL", "", False, ("[a", "b]"), 1)], id="alternatives end inside brackets too"),
        pytest.param(r'KERNEL=="a\"b\n\\c"', [("KERNEL", "", False, (r'a"b\n\\c',), 1)], id="only a quote can be escaped"),
        pytest.param('KERNEL=="a,b=={}"', [("KERNEL", "", False, ("a,b=={}",), 1)], id="anything in quotes"),
        pytest.param(
            r'KERNEL==e"\a\b\f\n\r\t\v\\\"\s\x41\101\u00e9\U0001f50c"',
            [("KERNEL", "", False, ('\a\b\f\n\r\t\v\\" AA\u00e9\U0001f50c',), 1)],
            id="C escapes",
        ),
        pytest.param(r'KERNEL==e"\'\xc3\xa9"', [("KERNEL", "", False, ("'é",), 1)], id="escaped bytes make a character"),
        pytest.param('SUBSYSTEM=="class"', [("SUBSYSTEM", "", False, ("subsystem", "class", "bus"), 1)], id="old name of subsystem"),
        pytest.param('SUBSYSTEM=="class|x"', [("SUBSYSTEM", "", False, ("class", "x"), 1)], id="not among alternatives"),
    ],
)
def test_a_line_is_read(line: str, terms: list[tuple[str, str, bool, tuple[str, ...], int]]) -> None:
    rule = rules.parse(line)
    assert rule.text == line
    assert [(term.key, term.name, term.negated, term.patterns, term.column) for term in rule.terms] == terms


def test_a_term_keeps_its_text() -> None:
    assert rules.parse('KERNEL=="a", ENV{B} != "c"').terms[1] == Term("ENV", "B", True, ("c",), 14, 'ENV{B} != "c"')


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        pytest.param("", ["column 1: the line is empty and would take every device of the host"], id="empty"),
        pytest.param(" , ", ["column 1: the line is empty and would take every device of the host"], id="blanks and commas"),
        pytest.param(
            'KERNEL="a"', ["column 1: KERNEL= sets something, a match line only compares: write KERNEL== or KERNEL!="], id="assigns"
        ),
        pytest.param('TAG+="a"', ["column 1: TAG+= sets something, a match line only compares: write TAG== or TAG!="], id="adds"),
        pytest.param('TAG-="a"', ["column 1: TAG-= sets something, a match line only compares: write TAG== or TAG!="], id="removes"),
        pytest.param(
            'ENV{A}:="a"', ["column 1: ENV:= sets something, a match line only compares: write ENV== or ENV!="], id="assigns for good"
        ),
        pytest.param('RUN+="/bin/x"', ["column 1: RUN cannot stand in a match line: it runs a program"], id="runs"),
        pytest.param('PROGRAM=="x"', ["column 1: PROGRAM cannot stand in a match line: it runs a program"], id="program"),
        pytest.param('IMPORT{db}=="x"', ["column 1: IMPORT cannot stand in a match line: it runs a program or reads a file"], id="imports"),
        pytest.param(
            'ACTION=="add"',
            ["column 1: ACTION cannot stand in a match line: it belongs to an event, and a match line looks at devices that are there"],
            id="action",
        ),
        pytest.param('TEST=="x"', ["column 1: TEST cannot stand in a match line: it is not supported by this version"], id="test"),
        pytest.param('CONST{virt}=="x"', ["column 1: CONST cannot stand in a match line: it is not supported by this version"], id="const"),
        pytest.param('KERNAL=="a"', ['column 1: "KERNAL" is no key of udev\'s match language, write KERNEL'], id="misspelt"),
        pytest.param('attrs{a}=="a"', ['column 1: "attrs" is no key of udev\'s match language, write ATTRS'], id="lower case"),
        pytest.param('ZZZ=="a"', [f'column 1: "ZZZ" is no key of udev\'s match language, which has {KEYS}'], id="unknown"),
        pytest.param('ENV=="a"', ["column 1: ENV needs a name in braces, as in ENV{ID_VENDOR_ID}"], id="no braces"),
        pytest.param('ATTRS{}=="a"', ["column 1: ATTRS needs a name in braces, as in ATTRS{idVendor}"], id="empty braces"),
        pytest.param('KERNEL{a}=="a"', ["column 1: KERNEL takes no name in braces"], id="braces"),
        pytest.param(
            'ATTR{[net/lo]x}=="a"',
            ["column 1: ATTR{[net/lo]x} names another device or has % or $ in it, which this version does not support"],
            id="another device's attribute",
        ),
        pytest.param(
            'ATTRS{$kernel}=="a"',
            ["column 1: ATTRS{$kernel} names another device or has % or $ in it, which this version does not support"],
            id="substitution",
        ),
        pytest.param(
            'KERNEL==i"a"',
            ["column 1: the prefix i of KERNEL's value, for any case, is not supported by this version: write the letters as [Aa]"],
            id="any case",
        ),
        pytest.param(r'KERNEL==e"\q"', [UNKNOWN_ESCAPE], id="unknown escape"),
        pytest.param(r'KERNEL==e"\x0"', [UNKNOWN_ESCAPE], id="half escape"),
        pytest.param(r'KERNEL==e"\000"', [UNKNOWN_ESCAPE], id="zero"),
        pytest.param(r'KERNEL==e"\777"', [UNKNOWN_ESCAPE], id="over a byte"),
        pytest.param(r'KERNEL==e"\ud800"', [UNKNOWN_ESCAPE], id="surrogate"),
        pytest.param('KERNEL=="a', ["column 9: the value of KERNEL has no closing quote"], id="open quote"),
        pytest.param('KERNEL=="a\\"', ["column 9: the value of KERNEL has no closing quote"], id="escaped quote"),
        pytest.param('KERNEL==a"', ['column 9: behind KERNEL== must come a value in double quotes, write KERNEL=="a"'], id="no quote"),
        *[
            pytest.param(line, [f"column {column}: behind {key} must come a value in double quotes, {hint}"], id=line)
            for line, column, key, hint in (
                ("KERNEL==tty42", 9, "KERNEL==", 'write KERNEL=="tty42"'),
                ("KERNEL=='tty42'", 9, "KERNEL==", 'write KERNEL=="tty42"'),
                ("KERNEL=='tty 42', TAG==\"a\"", 9, "KERNEL==", 'write KERNEL=="tty 42"'),
                ('KERNEL==\'tty42, TAG=="a"', 9, "KERNEL==", 'write KERNEL=="tty42"'),
                ('ATTRS{idVendor} != 0403 TAG=="a"', 20, "ATTRS!=", 'write ATTRS{idVendor}!="0403"'),
                ("KERNEL=tty42,TAG==a", 8, "KERNEL=", 'write KERNEL=="tty42"'),
                ("KERNEL==''", 9, "KERNEL==", 'not "\'"'),
                ("KERNEL==,", 9, "KERNEL==", 'not ","'),
                ("RUN+=x", 6, "RUN+=", 'not "x"'),
            )
        ],
        pytest.param("KERNEL==", ["column 9: behind KERNEL== must come a value in double quotes, not the end of the line"], id="no value"),
        pytest.param("KERNEL", ["column 7: behind KERNEL must come == or !=, not the end of the line"], id="no operator"),
        pytest.param('KERNEL "a"', ['column 8: behind KERNEL must come == or !=, not """'], id="no operator but a value"),
        pytest.param('KERNEL{a=="a"', ["column 7: the brace behind KERNEL is not closed"], id="open brace"),
        pytest.param('=="a"', ['column 1: here a key is missing, such as KERNEL, in front of "="'], id="no key"),
        pytest.param(
            'KERNEL=="a", RUN+="b", TAG="c", x',
            [
                "column 14: RUN cannot stand in a match line: it runs a program",
                "column 24: TAG= sets something, a match line only compares: write TAG== or TAG!=",
                "column 34: behind x must come == or !=, not the end of the line",
            ],
            id="all errors of a line",
        ),
    ],
)
def test_other_lines_are_refused_with_the_column_and_all_reasons(line: str, faults: list[str]) -> None:
    with pytest.raises(rules.RuleError) as caught:
        rules.parse(line)
    assert [f"column {column}: {sentence}" for column, sentence in caught.value.faults] == faults
    assert str(caught.value) == "; ".join(faults)


@pytest.mark.parametrize(
    "key", ["GOTO", "GROUP", "LABEL", "MODE", "NAME", "OPTIONS", "OWNER", "RESULT", "SECLABEL{x}", "SYSCTL{x}", "WAIT_FOR"]
)
@pytest.mark.parametrize("operator", ["=", "=="])
def test_no_key_that_acts_can_stand_in_a_line(key: str, operator: str) -> None:
    with pytest.raises(rules.RuleError, match=f"^column 1: {key.partition('{')[0]} cannot stand in a match line: it "):
        rules.parse(f'{key}{operator}"x"')
