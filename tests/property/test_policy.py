"""policy.toml: what is taken and what the schema allows are the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from oci_udev_hook import policy

pytestmark = pytest.mark.property
SCHEMA = Draft7Validator(json.loads(Path(policy._SCHEMA).read_text(encoding="utf-8")))
VALUES = st.sampled_from(["replace", "leave", "", 1, 1.5, True, None, [], {}])
TABLES = st.dictionaries(st.sampled_from(["pinned", "x"]), VALUES)


@given(st.dictionaries(st.sampled_from(["systemd", "other"]), VALUES | TABLES))
def test_the_schema_takes_what_is_taken(data: dict[str, object]) -> None:
    assert (policy._policy(data) is not None) == SCHEMA.is_valid(data)


@given(st.dictionaries(st.sampled_from(["systemd", "other"]), VALUES | TABLES))
def test_what_is_not_taken_has_a_fault(data: dict[str, object]) -> None:
    assert (policy._policy(data) is None) == bool(list(policy._faults(data)))
