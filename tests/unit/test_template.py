"""How templates are written."""

from __future__ import annotations

import pytest

from oci_udev_hook.inventory import fields
from oci_udev_hook.template import IN_PATHS, IN_VARIABLES, TemplateError, split

BRACE = "has a brace without its partner or with nothing in it; a plain brace is written twice"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("", (("", ""),), id="nothing"),
        pytest.param("x", (("x", ""),), id="plain text"),
        pytest.param("{index}", (("", "index"), ("", "")), id="a name"),
        pytest.param("/dev/{name}-{ID_X}.", (("/dev/", "name"), ("-", "ID_X"), (".", "")), id="names and text in turn"),
        pytest.param("{{", (("{", ""),), id="a plain brace that opens"),
        pytest.param("}}", (("}", ""),), id="a plain brace that closes"),
        pytest.param("a{{b}}c{serial}", (("a{b}c", "serial"), ("", "")), id="plain braces before a name"),
        pytest.param("{{{index}}}", (("{", "index"), ("}", "")), id="plain braces around a name"),
        pytest.param("{a b}", (("", "a b"), ("", "")), id="any name"),
    ],
)
def test_a_template_is_text_and_names(text: str, parts: tuple[tuple[str, str], ...]) -> None:
    assert split(text) == parts
    assert fields._wrong_template(text, ("index", *[name for _, name in parts])) is None


@pytest.mark.parametrize("text", ["{", "}", "{}", "/dev/{index", "{{index}", "{index}}", "{a{b}"])
def test_a_brace_that_means_nothing_is_refused_when_a_definition_is_read_as_when_it_is_filled_in(text: str) -> None:
    with pytest.raises(TemplateError) as caught:
        split(text)

    assert str(caught.value) == BRACE
    assert fields._wrong_template(text, IN_VARIABLES) == f"but it {BRACE}"


@pytest.mark.parametrize(
    ("text", "known", "clause"),
    [
        pytest.param("{serail}", IN_PATHS, "but {serail} is none of {name}, {index}, {serial} and no property of udev's", id="misspelt"),
        pytest.param("{paths}", IN_PATHS, "but {paths} is none of {name}, {index}, {serial} and no property of udev's", id="in a path"),
        pytest.param("{paths}", IN_VARIABLES, None, id="in a variable"),
        pytest.param("{adb_user}", IN_PATHS, None, id="a property in lower case"),
        pytest.param("{ID2}", IN_PATHS, None, id="a property"),
        pytest.param("{gr\u00fc\u00df}", IN_PATHS, None, id="a word of other letters"),
    ],
)
def test_one_lower_case_word_that_is_none_of_ours_is_a_slip_of_the_pen(text: str, known: tuple[str, ...], clause: str | None) -> None:
    assert fields._wrong_template(text, known) == clause
