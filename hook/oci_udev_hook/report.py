"""What verbs print: tables and plans for the eye, JSON for programs. Pure: text from data."""

from __future__ import annotations

import difflib
import json

from .model import Annotation, CgroupRule, Group, Mount, Node, Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .model import Allotment, Edit
    from .planning import Plan


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """ROWS below HEAD in columns two blanks apart; control characters of device strings are shown, not sent to the terminal."""
    cells = [[visible(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)


def visible(text: str) -> str:
    """TEXT with what is not printable as escapes: a device's strings are its maker's words."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode() for letter in text)


def as_json(value: object) -> str:
    """VALUE as JSON to read and to parse."""
    return json.dumps(value, indent=2)


def plan_text(plan: Plan) -> str:
    """PLAN for the eye: who gets what, then each edit."""
    lines = [f"{plan.container.label} would get"]
    for allotment in plan.allotments:
        lines += allotment_lines(allotment)
    lines += ["by these changes", table(("  what", "where", "how"), [edit_row(edit) for edit in plan.edits])]
    lines += [f"note: {note}" for note in plan.notes]
    return "\n".join(lines)


def allotment_lines(allotment: Allotment) -> list[str]:
    """What one request gets."""
    given = [
        f"    {visible(unit.identity)}: {', '.join(f'{device.devnode} ({device.number})' for device in unit.devices)}" for unit in allotment.units
    ]
    return [f"  {allotment.request}, as {allotment.resource.source} defines it:", *(given or ["    nothing: none is there, and missing is skip"])]


def edit_row(edit: Edit) -> tuple[str, str, str]:
    """One edit: what it is, where it lands, how."""
    if isinstance(edit, Node):
        return "  node", edit.path, f"{edit.number}, mode {edit.mode:04o}, owner {edit.uid}:{edit.gid}"
    if isinstance(edit, CgroupRule):
        return "  cgroup rule", str(edit.number), f"allow {edit.access}"
    if isinstance(edit, Mount):
        return "  bind mount", edit.destination, f"of {edit.source}, {','.join(edit.options)}"
    if isinstance(edit, Variable):
        return "  variable", edit.name, edit.value
    if isinstance(edit, Group):
        return "  group", str(edit.gid), "added to the process"
    assert isinstance(edit, Annotation)
    return "  annotation", edit.key, edit.value


def config_diff(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """The change of config.json as a unified diff."""
    old, new = (json.dumps(config, indent=2).splitlines() for config in (before, after))
    return "\n".join(difflib.unified_diff(old, new, "config.json", "config.json with its devices", lineterm=""))
