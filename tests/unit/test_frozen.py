"""`@frozen` is a frozen dataclass to its users."""

from __future__ import annotations

import pytest

from oci_udev_hook.frozen import frozen, replace


@frozen
class Pair:
    """Two fields, one with a default."""

    left: int
    right: str = "r"


@frozen
class Other:
    """The same fields under another name."""

    left: int
    right: str = "r"


def test_fields_are_given_by_position_or_name() -> None:
    """Both spell the same record, and a default fills what is left out."""
    assert Pair(1) == Pair(left=1, right="r") == Pair(1, "r")


def test_records_of_two_classes_differ_though_their_fields_agree() -> None:
    """This is where tuples would be equal."""
    assert Pair(1) != Other(1)
    assert hash(Pair(1)) != hash(Other(1))


def test_a_record_is_a_key() -> None:
    """Equal records have equal hashes."""
    assert {Pair(1): "x"}[Pair(1, "r")] == "x"


def test_repr_shows_each_field() -> None:
    """As a dataclass's does."""
    assert repr(Pair(1)) == "Pair(left=1, right='r')"


def test_match_takes_a_record_apart() -> None:
    """By position, in the order of the fields."""
    match Pair(1, "x"):
        case Pair(left, right):
            assert (left, right) == (1, "x")


def test_a_field_cannot_be_set_or_deleted() -> None:
    """Nor can a new one be made."""
    pair = Pair(1)
    with pytest.raises(AttributeError, match=r"^Pair is frozen: cannot set 'left'$"):
        pair.left = 2  # type: ignore[misc]  # what is tested is that this fails
    with pytest.raises(AttributeError, match=r"^Pair is frozen: cannot set 'middle'$"):
        pair.middle = 2  # type: ignore[attr-defined]  # what is tested is that this fails
    with pytest.raises((AttributeError, TypeError)):
        del pair.left


def test_replace_leaves_the_first_record_alone() -> None:
    """It makes a second one."""
    pair = Pair(1)
    assert replace(pair, right="x") == Pair(1, "x")
    assert pair == Pair(1)


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        pytest.param((), {}, "Pair: missing or unknown fields: left", id="missing"),
        pytest.param((1,), {"middle": 2}, "Pair: missing or unknown fields: middle", id="unknown"),
        pytest.param((1,), {"left": 2}, "Pair: a field is given twice, or there are too many values", id="twice"),
        pytest.param((1, "x", 3), {}, "Pair: a field is given twice, or there are too many values", id="too many"),
    ],
)
def test_wrong_fields_are_refused(values: tuple[object, ...], named: dict[str, object], message: str) -> None:
    """By name."""
    with pytest.raises(TypeError, match=f"^{message}$"):
        Pair(*values, **named)  # type: ignore[arg-type]  # what is tested is that this fails
