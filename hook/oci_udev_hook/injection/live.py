"""Devices into a container that its runtime has created: what is to do, and doing it so that it lasts, all or nothing.

The order is one that leaves no gap and loses nothing: systemd first, which then attaches a program of its own; cgroup v1 lists from the
top down, since a child may not have what its parent lacks; then every cgroup v2 program, since all of them are asked; nodes at last.
"""

from __future__ import annotations

import time

from .. import typed
from ..edit import CgroupRule
from ..errors import ConfigurationError, UsageError
from ..frozen import frozen
from . import cgroup, filters, nodes, systemd, verdict
from . import levels as cgroups
from .attached import programs_on
from .rules import of_config
from .target import read_proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..edit import Edit
    from .filters import FilterStep
    from .levels import Level
    from .nodes import NodeStep
    from .rules import DeviceRule
    from .systemd import ScopeStep
    from .target import Target
    from .undo import UndoLog

_SYSTEMD_SECONDS = 3.0  #: how long systemd may take for what it has been told; it answers before it has done it
_TICK = 0.01


@frozen
class ListStep:
    """Rules that a cgroup v1 device list lacks."""

    level: Level
    rules: tuple[CgroupRule, ...]


@frozen
class Steps:
    """All that is to do, in its order."""

    rules: tuple[CgroupRule, ...]  #: that the container is to have
    config_rules: tuple[DeviceRule, ...]  #: that its config has
    levels: tuple[Level, ...]  #: its own cgroups, from the top down
    scope: ScopeStep | None
    lists: tuple[ListStep, ...]
    programs: tuple[FilterStep, ...]
    nodes: tuple[NodeStep, ...]
    denied: tuple[str, ...] = ()  #: sentences on cgroups above the container's own, which are not changed, but forbid what it is to have


def look(live: Target, edits: tuple[Edit, ...], config: Mapping[str, object], container: str) -> Steps:
    """What is to do for EDITS in LIVE, whose CONFIG and id CONTAINER are known. Only reads. Raises HookError where it cannot be done."""
    rules = tuple([edit for edit in edits if isinstance(edit, CgroupRule)])
    levels = _levels(live, config, container) if rules else ()
    scope = cgroups.scope(levels)
    return Steps(
        rules=rules,
        config_rules=of_config(config),
        levels=levels,
        scope=systemd.look(scope, rules) if scope else None,
        lists=tuple([ListStep(level, lacking) for level in levels if level.version == 1 and (lacking := cgroup.missing(level, rules))]),
        programs=_programs(levels, rules),
        nodes=nodes.look(live, edits),
        denied=_denied(levels, rules),
    )


def _denied(levels: tuple[Level, ...], rules: tuple[CgroupRule, ...]) -> tuple[str, ...]:
    """Sentences on device programs above LEVELS that deny one of RULES: all up to the root are asked, and they are others' to change."""
    top = next((level for level in levels if level.version == 2), None)
    if top is None or not top.folder.endswith(top.path):
        return ()
    found = []
    hierarchy, folder = top.folder.removesuffix(top.path), top.folder
    while folder != hierarchy:
        folder = folder.rpartition("/")[0]
        for program in programs_on(folder):
            denied = [f"{rule.number} {rule.access}" for rule in rules if verdict.allows(program.code, rule.number, rule.access) is False]
            if denied:
                found.append(
                    f"the device program {program.id} of {folder}, above the container's own cgroup, denies {', '.join(denied)}, "
                    "so the container cannot open it; see whose it is: bpftool cgroup tree"
                )
    return tuple(found)


def _levels(live: Target, config: Mapping[str, object], container: str) -> tuple[Level, ...]:
    """The cgroups that are LIVE's own. Raises UsageError for a config that is not of OCI's shape."""
    try:
        named = typed.Fields(dict(config)).object("linux").text("cgroupsPath", "")
    except typed.TypedError as error:
        raise UsageError(typed.about("the container's config", error)) from None
    with open("/proc/self/mountinfo", "rb") as file:
        mountinfo = file.read().decode("utf-8", "surrogateescape")
    return cgroups.levels(read_proc(live, "cgroup"), mountinfo, named, container)


def _programs(levels: tuple[Level, ...], rules: tuple[CgroupRule, ...]) -> tuple[FilterStep, ...]:
    """What is to do with each program of LEVELS."""
    return tuple([step for level in levels if level.version == 2 for step in filters.look(level.folder, rules)])


def apply(live: Target, steps: Steps, undo: UndoLog, *, replace_pin: bool) -> tuple[str, ...]:
    """Do STEPS in LIVE; sentences on what came out otherwise than they say. UNDO gets the way back.

    REPLACE_PIN: also the program that systemd would attach anew. Raises HookError.
    """
    programs = steps.programs
    if steps.scope is not None and steps.scope.allow:
        systemd.add(steps.scope)
        _settle(steps)
        programs = _programs(steps.levels, steps.rules)
    if steps.scope is not None and steps.scope.pin and replace_pin:
        filters.repin(steps.scope.pin, steps.rules, steps.config_rules, undo)
    for level in steps.levels:
        if level.version == 1 and (lacking := cgroup.missing(level, steps.rules)):
            cgroup.allow(level, lacking, undo)
    filters.swap(programs, steps.rules, steps.config_rules, undo)
    return nodes.make(live, steps.nodes, undo)


def _settle(steps: Steps) -> None:
    """Wait until systemd has done what it was told: it answers first. Raises ConfigurationError if its program still denies."""
    top: dict[int, Level] = {}
    for level in reversed(steps.levels):
        top[level.version] = level
    if 2 in top:
        filters.wait_for_systemd(top[2].folder, steps.rules, _SYSTEMD_SECONDS)
    if 1 in top:
        end = time.monotonic() + _SYSTEMD_SECONDS
        while cgroup.missing(top[1], steps.rules):
            if time.monotonic() >= end:
                raise ConfigurationError(
                    f"systemd was told to allow the devices in {top[1].folder}, but after {_SYSTEMD_SECONDS:g} seconds its devices.list "
                    "does not have them; `journalctl -b _PID=1` may tell why"
                )
            time.sleep(_TICK)
