"""What must hold for any request, value and count."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oci_udev_hook.errors import UsageError
from oci_udev_hook.model import Request
from oci_udev_hook.requests import annotations, numbered, quantities, values
from oci_udev_hook.requests.annotations import LIMITS

pytestmark = pytest.mark.property

LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
KIND = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,40}[A-Za-z0-9])?", fullmatch=True)
NAMES = st.builds("{}.{}/{}".format, LABEL, LABEL.filter(lambda label: label != "io"), KIND)
UNITS = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters=","), min_size=1, max_size=20)
REQUESTS = st.lists(
    st.one_of(st.builds(Request, NAMES, st.integers(1, quantities._MAX)), st.builds(Request, NAMES, st.just(1), UNITS)),
    unique_by=lambda request: (request.resource, request.unit),
    max_size=8,
).map(tuple)


def name_of(request: Request) -> str:
    return request.resource if request.unit is None else f"{request.resource}={request.unit}"


@given(REQUESTS, st.sampled_from([", ", ",", "\n", " ,\r\n"]))
def test_requests_are_read_as_they_were_written(requests: tuple[Request, ...], separator: str) -> None:
    """Through numbered keys as well, and with their ends stripped as `podman kube generate` does."""
    text = separator.join(f"{name_of(request)}: {request.count}" for request in requests)
    parts = numbered.split(text)
    keys = {f"{LIMITS}/a.{number}": part for number, part in enumerate(parts, 1)}

    assert annotations.read({f"{LIMITS}/a": text}, "a") == requests
    assert annotations.read(keys, "a") == requests
    assert annotations.read({key: part.strip() for key, part in keys.items()}, "a") == requests


@given(st.dictionaries(NAMES, st.integers(0, quantities._MAX), max_size=8))
def test_counts_are_read_as_they_were_written(counts: dict[str, int]) -> None:
    requests, faults = values.parse(values.write(counts))

    assert not faults
    assert {request.resource: request.count for request in requests} == counts


@given(st.text(max_size=400))
def test_any_text_comes_together_again(text: str) -> None:
    parts = numbered.split(text)

    assert numbered.join(dict(enumerate(parts, 1))) == text
    assert all(len(part.encode()) <= numbered._WIDTH for part in parts)


KEYS = st.text(max_size=30).map(LIMITS.__add__) | st.text(max_size=20).map("io.oci-udev-hook.".__add__)


@given(st.dictionaries(KEYS, st.text(max_size=60)), st.text(max_size=3))
def test_any_annotations_are_read_or_refused(given_: dict[str, str], container: str) -> None:
    for name in (container, None, *annotations.containers(given_)):
        requests: tuple[Request, ...] = ()
        with suppress(UsageError):
            requests = annotations.read(given_, name)
        assert all(request.count > 0 for request in requests)


SUFFIXES = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)}
SUFFIXES |= {suffix: Fraction(1000 ** (power + 1)) for power, suffix in enumerate("kMGTPE")}
SUFFIXES |= {f"{suffix}i": Fraction(1024 ** (power + 1)) for power, suffix in enumerate("KMGTPE")}


@given(
    st.sampled_from(["", "+", "-"]),
    st.from_regex(r"[0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12}", fullmatch=True),
    st.sampled_from(sorted(SUFFIXES)) | st.from_regex(r"[eE][+-]?[0-9]{1,2}", fullmatch=True),
)
def test_counts_are_exact(sign: str, number: str, suffix: str) -> None:
    """Against fractions, which lose nothing."""
    scale = SUFFIXES[suffix] if suffix in SUFFIXES else Fraction(10) ** int(suffix[1:])
    exact = Fraction(number if number[-1] != "." else number[:-1]) * scale * (-1 if sign == "-" else 1)
    try:
        count = quantities.count(sign + number + suffix)
    except quantities.QuantityError:
        assert exact.denominator != 1 or not 0 <= exact <= quantities._MAX
    else:
        assert count == exact


@given(st.text(st.sampled_from("0123456789.+-eEinumkKMGTPx "), max_size=12) | st.text(max_size=12))
def test_any_text_is_a_count_or_refused(text: str) -> None:
    count = 0
    with suppress(quantities.QuantityError):
        count = quantities.count(text)
    assert 0 <= count <= quantities._MAX
