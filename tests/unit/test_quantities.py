"""Counts are Kubernetes' quantities, whole and not negative."""

from __future__ import annotations

import pytest

from oci_udev_hook.errors import ExitCode, UsageError
from oci_udev_hook.requests import quantities


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("2", 2),
        ("0", 0),
        ("007", 7),
        ("2.0", 2),
        ("2.", 2),
        ("0.0", 0),
        ("+2", 2),
        ("-0", 0),
        ("-0.0k", 0),
        (" 2 ", 2),
        ("2k", 2000),
        ("1.5k", 1500),
        ("2e0", 2),
        ("2E3", 2000),
        ("1e+3", 1000),
        ("1000e-3", 1),
        ("1000m", 1),
        ("1000000u", 1),
        ("1000000000n", 1),
        ("1M", 1_000_000),
        ("1G", 1_000_000_000),
        ("0.000000001E", 1_000_000_000),
        ("1Ki", 1024),
        ("0.5Ki", 512),
        ("1.5Ki", 1536),
        ("1Mi", 1 << 20),
        ("1Gi", 1 << 30),
        (".0009765625Ki", 1),
        ("0e999999", 0),
        ("0E", 0),
        ("2147483647", 2**31 - 1),
    ],
)
def test_whole_quantities_are_counts(text: str, count: int) -> None:
    assert quantities.count(text) == count


REFUSED = {
    "not a whole number: devices are given whole": "0.5 500m 1.5 .5 1e-3 1u 0.1Ki 1m 1e-999999999999999999999999 1.0000000000000000001",
    "a negative number: write 0 for none": "-1 -0.5 -1Gi -1e99999999999",
    "more than 2147483647: no host has as many devices": "2147483648 2Gi 3G 1T 1P 1E 1Ti 1Pi 1Ei 1e10 1e99999999999999999999",
    "not a number: write a whole number such as 2": (
        ". + - k Ki e3 2x 2K 2ki 2e 2e+ 2ee3 2e1.5 2e3k 1.2.3 ++1 0x10 1_000 1:30 two ٢ 2² NaN inf true"
    ),
}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *[pytest.param(text, reason, id=text) for reason, texts in REFUSED.items() for text in texts.split(" ")],
        pytest.param("", "not a number: write a whole number such as 2", id="empty"),
        pytest.param("1 2", "not a number: write a whole number such as 2", id="space"),
        pytest.param("2 k", "not a number: write a whole number such as 2", id="space before the suffix"),
    ],
)
def test_other_texts_are_refused_with_the_reason(text: str, reason: str) -> None:
    """Case 35: `500m`, negative."""
    with pytest.raises(quantities.QuantityError) as caught:
        quantities.count(text)

    assert str(caught.value) == f'the count is "{text}", {reason}'
    assert caught.value.reason == reason
    assert isinstance(caught.value, UsageError)
    assert caught.value.code is ExitCode.USAGE


def test_a_text_without_end_is_not_worked_on() -> None:
    with pytest.raises(quantities.QuantityError, match=r"^the count is \"9{56}…, which is too long for a count$"):
        quantities.count("9" * 1_000_000)
