"""What dry-run says is what precreate does, edit by edit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bed.cells import Mode, diagonal
from bed.engine import RESOURCE, Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

HOOKS = "/usr/share/oci-udev-hook/hooks.d"
BEFORE, AFTER = "/tmp/seen/before.json", "/tmp/seen/after.json"
pytestmark = pytest.mark.parametrize("engine", diagonal(*Mode), indirect=True)


@pytest.fixture
def watched(clean: Engine) -> Iterator[Engine]:
    """Two more precreate hooks, before and after ours, that keep what goes by."""
    clean.view.path("/tmp/seen").mkdir(exist_ok=True)
    clean.view.path("/tmp/seen").chmod(0o1777)
    for name, file in (("10-before", BEFORE), ("95-after", AFTER)):
        hook = {"path": "/usr/bin/tee", "args": ["tee", file]}
        when = {"annotations": {"^io\\.oci-udev-hook\\.": ".*"}}
        clean.view.write(f"{HOOKS}/{name}.json", json.dumps({"version": "1.0.0", "hook": hook, "when": when, "stages": ["precreate"]}))
    yield clean
    for path in (f"{HOOKS}/10-before.json", f"{HOOKS}/95-after.json", BEFORE, AFTER):
        clean.view.path(path).unlink(missing_ok=True)


def test_the_plan_is_what_precreate_does(watched: Engine) -> None:
    watched.output(f"{RESOURCE}: 2", "true", options=("--user", "1000:1000"))
    before, after = (json.loads(watched.view.path(path).read_text()) for path in (BEFORE, AFTER))

    plan = json.loads(watched.hook("dry-run", "--json", "--config", BEFORE).out)

    assert carried_out(before, after) == planned(plan["edits"])


def planned(edits: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The plan's edits by kind."""
    found: dict[str, list[Any]] = {}
    for edit in edits:
        found.setdefault(edit.pop("type"), []).append(edit)
    return found


def carried_out(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[Any]]:
    """What stands in AFTER and not in BEFORE, by kind."""
    raise NotImplementedError
