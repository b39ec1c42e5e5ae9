"""Long values stand in numbered keys."""

from __future__ import annotations

import pytest

from oci_udev_hook.requests import numbered


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("", ("",), id="empty"),
        pytest.param("x" * 63, ("x" * 63,), id="just fits"),
        pytest.param("x" * 64, ("x" * 63, "x"), id="one too long"),
        pytest.param("a.b/c: 1," * 8, ("a.b/c: 1," * 7, "a.b/c: 1,"), id="behind a comma"),
        pytest.param("x" * 40 + "," + "y" * 30, ("x" * 40 + ",", "y" * 30), id="behind an early comma"),
        pytest.param("x" * 62 + ": 1", ("x" * 62, ": 1"), id="not beside a space"),
        pytest.param(" " * 64, (" " * 63, " "), id="nothing but spaces"),
        pytest.param("ü" * 32, ("ü" * 31, "ü"), id="counted in bytes"),
    ],
)
def test_a_long_value_is_split_where_it_does_no_harm(text: str, parts: tuple[str, ...]) -> None:
    """Case 19: no part has more than 63 bytes."""
    assert numbered.split(text) == parts
    assert numbered.join(dict(enumerate(parts, 1))) == text
