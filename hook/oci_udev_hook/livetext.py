"""The steps of live injection for people and programs: what dry-run --pid shows."""

from __future__ import annotations

from .injection.filters import Way
from .injection.nodes import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .injection.filters import FilterStep
    from .injection.live import Steps
    from .injection.nodes import NodeStep

_WAYS = {
    Way.LEAVE: "stays as it is",
    Way.PREPEND: "is replaced by itself with the rules in front",
    Way.REGENERATE: "is replaced by one made anew from the config",
}
_HOWS = {
    How.THERE: "is there already",
    How.MAKE: "is made",
    How.MOUNT: "is made in a file system of its own and mounted there",
    How.BIND: "is bound from the host",
}


def text(steps: Steps) -> str:
    """STEPS in their order, a line each."""
    lines = ["in the live container createRuntime would go these steps:"]
    lines += [f"  {line}" for line in [*_scope(steps), *_lists(steps), *_programs(steps), *map(_node, steps.nodes), *steps.denied]]
    return "\n".join(lines)


def _scope(steps: Steps) -> list[str]:
    """On systemd's unit."""
    step = steps.scope
    if step is None:
        return []
    unit = f"systemd {step.scope} (DevicePolicy={step.policy})"
    lines = [f"{unit}: gets DeviceAllow={node} {access}" for node, access in step.allow]
    if step.pin:
        lines.append(f"{unit}: its program pinned at {step.pin} is replaced, if policy.toml does not say otherwise")
    return lines or [f"{unit}: gets nothing: {step.reason}"]


def _lists(steps: Steps) -> list[str]:
    """On cgroup v1."""
    lacking = {step.level: step.rules for step in steps.lists}
    lines = []
    for level in steps.levels:
        if level.version == 1 and level in lacking:
            rules = ", ".join([f"{rule.number} {rule.access}" for rule in lacking[level]])
            lines.append(f"cgroup v1 {level.folder}: devices.allow gets {rules}")
        elif level.version == 1:
            lines.append(f"cgroup v1 {level.folder}: its devices.list allows it already")
    return lines


def _programs(steps: Steps) -> list[str]:
    """On cgroup v2."""
    lines = []
    for level in steps.levels:
        if level.version == 2:
            found = [step for step in steps.programs if step.folder == level.folder]
            lines += [f"cgroup v2 {level.folder}: {_program(step)}" for step in found]
            if not found:
                lines.append(f"cgroup v2 {level.folder}: no program, nothing to do")
    return lines


def _program(step: FilterStep) -> str:
    """On one program."""
    name = f" {step.name}" if step.name else ""
    reason = f": {step.reason}" if step.reason else ""
    return f"program {step.program}{name} ({step.instructions} instructions) {_WAYS[step.way]}{reason}"


def _node(step: NodeStep) -> str:
    """On one node."""
    made = "" if step.how in (How.THERE, How.BIND) else f", mode {step.mode:04o}, owner {step.uid}:{step.gid}"
    return f"node {step.path} ({step.number}) {_HOWS[step.how]}{made}"


def as_fields(steps: Steps) -> dict[str, object]:
    """STEPS for programs."""
    scope = steps.scope
    return {
        "scope": None if scope is None else {"scope": scope.scope, "policy": scope.policy, "allow": scope.allow, "pin": scope.pin},
        "levels": [{"version": level.version, "folder": level.folder} for level in steps.levels],
        "lists": [{"folder": step.level.folder, "rules": [f"{rule.number} {rule.access}" for rule in step.rules]} for step in steps.lists],
        "programs": [
            {"folder": step.folder, "program": step.program, "name": step.name, "instructions": step.instructions, "way": step.way}
            for step in steps.programs
        ],
        "denied": steps.denied,
        "nodes": [
            {"path": step.path, "number": str(step.number), "how": step.how, "mode": step.mode, "uid": step.uid, "gid": step.gid}
            for step in steps.nodes
        ],
    }
