"""Devices into a container that its runtime has created: what is to do, and doing it so that it lasts, all or nothing.

The order is one that leaves no gap and loses nothing: systemd first, which then attaches a program of its own; cgroup v1 lists from the
top down, since a child may not have what its parent lacks; then every cgroup v2 program, since all of them are asked; nodes at last.
"""

from __future__ import annotations

import os
import time

from .. import typed
from ..edit import CgroupRule
from ..errors import ConfigurationError, UsageError
from ..frozen import frozen
from . import cgroup, filters, nodes, pins, systemd, verdict
from . import levels as cgroups
from .attached import programs_on
from .rules import of_config
from .target import read_proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    levels = _levels(live, config, container, rules) if rules else ()
    scope = cgroups.scope(levels)
    return Steps(
        rules=rules,
        config_rules=of_config(config),
        levels=levels,
        scope=systemd.look(scope, rules) if scope else None,
        lists=tuple([ListStep(level, lacking) for level in levels if level.version == 1 and (lacking := cgroup.missing(level, rules))]),
        programs=_programs(levels, rules),
        nodes=nodes.look(live, edits),
        denied=_denied([level for level in levels if level.version == 2][:1], rules),
    )


def _levels(live: Target, config: Mapping[str, object], container: str, rules: tuple[CgroupRule, ...]) -> tuple[Level, ...]:
    """The cgroups that are LIVE's own.

    Raises UsageError for a config that is not of OCI's shape, ConfigurationError where another's cgroup, which LIVE sits in, denies RULES.
    """
    try:
        named = typed.Fields(dict(config)).object("linux").text("cgroupsPath", "")
    except typed.TypedError as error:
        raise UsageError(typed.about("the container's config", error)) from None
    own, mountinfo = read_proc(live, "cgroup"), _mountinfo()
    levels = cgroups.levels(own, mountinfo, named, container)
    versions = {level.version for level in levels}
    for seat in cgroups.seats(own, mountinfo):
        denies = cgroup.missing(seat, rules) if seat.version == 1 else _denied([seat], rules, itself=True)
        if denies and seat.version not in versions:
            wanted = ", ".join([f"{rule.number} {rule.access}" for rule in rules])
            raise ConfigurationError(
                f"the container sits in the cgroup {seat.folder}, which is not its own, and something there or above denies {wanted}; "
                f'let its engine give it a cgroup of its own (cgroupsPath of its config is "{named}")'
            )
    return levels


def _mountinfo() -> str:
    """The mounts that the hook sees."""
    with open("/proc/self/mountinfo", "rb") as file:
        return os.fsdecode(file.read())


def _denied(tops: list[Level], rules: tuple[CgroupRule, ...], *, itself: bool = False) -> tuple[str, ...]:
    """Sentences on device programs above TOPS, or with ITSELF on them too, that deny one of RULES.

    All up to the root are asked by the kernel; above the container's own they are others' to change.
    """
    found = []
    for top in tops:
        if not top.folder.endswith(top.path.rstrip("/")):
            continue
        hierarchy, folder = top.folder.removesuffix(top.path.rstrip("/")), top.folder.rstrip("/")
        folders = [folder] if itself else []
        while folder != hierarchy.rstrip("/"):
            folder = folder.rpartition("/")[0]
            folders.append(folder)
        found += [sentence for each in folders for sentence in _denying(each, rules)]
    return tuple(found)


def _denying(folder: str, rules: tuple[CgroupRule, ...]) -> Iterator[str]:
    """Sentences on the programs of the cgroup FOLDER that deny one of RULES."""
    for program in programs_on(folder):
        denied = [f"{rule.number} {rule.access}" for rule in rules if verdict.allows(program.code, rule.number, rule.access) is False]
        if denied:
            yield (
                f"the device program {program.id} of {folder}, above the container's own cgroup, denies {', '.join(denied)}, "
                "so the container cannot open it; see whose it is: bpftool cgroup tree"
            )


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
        pins.repin(steps.scope.pin, steps.rules, steps.config_rules, undo)
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
