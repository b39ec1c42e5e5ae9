"""What dry-run says is what precreate does, edit by edit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bed.cells import MODES, Mode, diagonal
from bed.engine import RESOURCE, Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.devices import Loop

HOOKS = "/usr/share/oci-udev-hook/hooks.d"
MARK = "io.oci-udev-hook.injected"
DISK = 6  #: a group of every Debian
BEFORE, AFTER = "/tmp/seen/before.json", "/tmp/seen/after.json"
pytestmark = pytest.mark.parametrize("engine", diagonal(*MODES), indirect=True)


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


def test_the_plan_is_what_precreate_does(watched: Engine, loops: tuple[Loop, ...]) -> None:
    for loop in loops:
        loop.appear(watched.view, 0o666 if watched.binds_nodes else 0o660, gid=DISK)
    watched.output(f"{RESOURCE}: 2", "true", options=("--user", "1000:1000"))
    before, after = (json.loads(watched.view.path(path).read_text()) for path in (BEFORE, AFTER))

    plan = json.loads(watched.hook("dry-run", "--json", "--config", BEFORE).out)

    assert carried_out(before, after) == sorted(plan["edits"], key=str)
    assert len(plan["edits"]) == {Mode.ROOTLESS: 3}.get(watched.cell.mode, 6)


def carried_out(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """What stands in AFTER and not in BEFORE, but for the hook's mark, in the words of a plan."""
    annotations = set(after["annotations"].items()) - set(before["annotations"].items())
    found = [
        {"node": node["path"], "number": number(node), "mode": node["fileMode"], "uid": node["uid"], "gid": node["gid"]}
        for node in new(before, after, "linux", "devices")
    ]
    found += [{"rule": number(rule), "access": rule["access"]} for rule in new(before, after, "linux", "resources", "devices")]
    found += [{"mount": m["destination"], "source": m["source"], "options": m["options"]} for m in new(before, after, "mounts")]
    found += [dict(zip(("variable", "value"), item.split("=", 1), strict=True)) for item in new(before, after, "process", "env")]
    found += [{"group": group} for group in new(before, after, "process", "user", "additionalGids")]
    found += [{"annotation": key, "value": value} for key, value in annotations if key != MARK]
    return sorted(found, key=str)


def number(entry: dict[str, Any]) -> str:
    """The device number of an entry of the config as a plan has it."""
    return f"{entry['type']} {entry['major']}:{entry['minor']}"


def new(before: dict[str, Any], after: dict[str, Any], *path: str) -> list[Any]:
    """The items of the list at PATH that are only in AFTER."""
    old, items = (listing(config, path) for config in (before, after))
    return [item for item in items if item not in old]


def listing(config: dict[str, Any], path: tuple[str, ...]) -> list[Any]:
    """The list at PATH; an absent one is empty."""
    value: Any = config
    for key in path:
        value = (value or {}).get(key)
    return value or []
