"""Any config survives the way in and out, and nothing in it is changed that an edit does not speak of."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oci_udev_hook import ociconfig
from oci_udev_hook.edit import Annotation, CgroupRule, Edit, Group, Mount, Node, Variable
from oci_udev_hook.errors import UsageError
from oci_udev_hook.injection import config, mark
from oci_udev_hook.model import DeviceNumber, DeviceType
from oci_udev_hook.places import MARK

pytestmark = pytest.mark.property

PATHS = st.sampled_from(["/dev/a", "/dev/b", "/dev/x/c"])
NUMBERS = st.builds(DeviceNumber, st.sampled_from(DeviceType), st.integers(0, 2), st.integers(0, 1))
IDS = st.integers(0, 3)
NAMES = st.sampled_from(["A", "B"])
VALUES = st.sampled_from(["", "x"]) | st.text(max_size=3)
ACCESS = st.sampled_from(["r", "rw", "rwm"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=8
)

EDITS: st.SearchStrategy[tuple[Edit, ...]] = st.lists(
    st.one_of(
        st.builds(Node, PATHS, NUMBERS, st.integers(0, 0o777), IDS, IDS),
        st.builds(CgroupRule, NUMBERS, ACCESS),
        st.builds(Mount, PATHS, PATHS, st.lists(st.sampled_from(["rw", "rbind"]), max_size=2).map(tuple)),
        st.builds(Variable, NAMES, VALUES),
        st.builds(Group, IDS),
        st.builds(Annotation, NAMES, VALUES),
    ),
    max_size=6,
).map(tuple)

DEVICES = st.fixed_dictionaries(
    {"path": PATHS, "type": st.sampled_from("bcu"), "major": st.integers(0, 2), "minor": st.integers(0, 1)},
    optional={"fileMode": st.integers(0, 0o777), "uid": IDS, "gid": IDS},
)
RULES = st.fixed_dictionaries(
    {"allow": st.booleans(), "access": ACCESS},
    optional={"type": st.sampled_from(["a", "b", "c", ""]), "major": st.integers(-1, 2) | st.none(), "minor": st.integers(-1, 1)},
)


def optional(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | inner


def fields(**named: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object of which each key may be absent, null or there, with one that nobody knows."""
    return st.fixed_dictionaries({}, optional={"x-unknown": JSON, **{name: optional(inner) for name, inner in named.items()}})


CONFIGS = fields(
    ociVersion=st.just("1.0.2"),
    annotations=st.dictionaries(NAMES | st.text(max_size=5), VALUES, max_size=3),
    mounts=st.lists(fields(destination=PATHS, source=PATHS, options=st.lists(st.text(max_size=3), max_size=2)), max_size=3),
    process=fields(
        env=st.lists(st.builds("{}={}".format, NAMES, VALUES) | st.text(max_size=3), max_size=4),
        user=fields(uid=IDS, gid=IDS, additionalGids=st.lists(IDS, max_size=3)),
    ),
    linux=fields(devices=st.lists(DEVICES, max_size=3), resources=fields(devices=st.lists(RULES, max_size=3), pids=JSON)),
)


def patched(before: dict[str, Any], edits: tuple[Edit, ...]) -> dict[str, Any]:
    """BEFORE with EDITS and their mark."""
    return config.patch(before, mark.Mark("c", "b", "n", (), edits))


@given(CONFIGS, EDITS)
def test_edits_go_in_once_and_come_out_whole(before: dict[str, Any], edits: tuple[Edit, ...]) -> None:
    """The config given stays as it was; in twice is in once; out gives back the same document, byte for byte but for its keys' order."""
    kept = copy.deepcopy(before)
    try:
        after = patched(before, edits)
    except UsageError:
        assert before == kept
        return

    again = json.loads(ociconfig.render(after))

    assert before == kept
    assert again == after
    assert patched(again, edits) == after
    assert json.dumps(config.unpatch(again), sort_keys=True) == json.dumps(kept, sort_keys=True)


@given(CONFIGS, EDITS, EDITS)
def test_other_edits_take_the_place_of_the_first(before: dict[str, Any], first: tuple[Edit, ...], second: tuple[Edit, ...]) -> None:
    """Patching anew leaves nothing of the first."""
    try:
        straight = patched(before, second)
        after = patched(before, first)
    except UsageError:
        return

    assert patched(after, second) == straight


@given(JSON, EDITS)
def test_any_document_is_patched_or_refused(document: object, edits: tuple[Edit, ...]) -> None:
    """Never a traceback."""
    before = {"linux": document, "process": document, "mounts": document, "annotations": document}
    try:
        patched(before, edits)
    except UsageError:
        return


@given(st.text() | JSON.map(json.dumps))
def test_any_mark_is_read_or_refused(text: str) -> None:
    """Never a traceback."""
    try:
        config.unpatch({"annotations": {MARK: text}})
    except UsageError:
        return


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_input_is_read_or_refused(data: bytes) -> None:
    """Never a traceback."""
    for read in (ociconfig.read, ociconfig.read_state):
        try:
            read(data)
        except UsageError:
            continue
