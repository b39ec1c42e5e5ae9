"""What verbs print: tables and plans for the eye, JSON for programs. Pure: text from data."""

from __future__ import annotations

import difflib
import json
import time

from .allocation import held_by
from .edit import Annotation, CgroupRule, Group, Mount, Node, Variable
from .findings import Outcome
from .frozen import frozen
from .log import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .decisions import Decision
    from .edit import Edit
    from .model import Allotment, Lease, Unit
    from .planning import Plan


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """ROWS below HEAD in columns two blanks apart; control characters of device strings are shown, not sent to the terminal."""
    cells = [[visible(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)


def as_json(value: object) -> str:
    """VALUE as JSON to read and to parse."""
    return json.dumps(value, indent=2)


def plan_text(plan: Plan, notes: Iterable[str]) -> str:
    """PLAN for the eye: who gets what, then each edit."""
    lines = [f"{plan.container.label} would get"]
    for allotment in plan.allotments:
        lines += _allotment_lines(allotment)
    lines += ["by these changes", _table(("  what", "where", "how"), [_edit_row(edit) for edit in plan.edits])]
    lines += [f"note: {note}" for note in notes]
    return "\n".join(lines)


def _allotment_lines(allotment: Allotment) -> list[str]:
    """What one request gets."""
    given = [
        f"    {visible(unit.identity)}: {', '.join(f'{device.devnode} ({device.number})' for device in unit.devices)}"
        for unit in allotment.units
    ]
    return [
        f"  {allotment.request}, as {allotment.resource.source} defines it:",
        *(given or ["    nothing: none is there, and missing is skip"]),
    ]


def _edit_row(edit: Edit) -> tuple[str, str, str]:
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


@frozen
class ResourceRow:
    """A resource as `resources` lists it."""

    name: str
    units: int
    free: int
    sharing: int
    source: str


def resource_fields(row: ResourceRow) -> dict[str, object]:
    """ROW for programs."""
    return {"name": row.name, "units": row.units, "free": row.free, "sharing": row.sharing, "source": row.source}


def resource_table(rows: Iterable[ResourceRow]) -> str:
    """ROWS for the eye."""
    cells = [(row.name, str(row.units), str(row.free), str(row.sharing), row.source) for row in rows]
    return _table(("RESOURCE", "UNITS", "FREE", "SHARING", "DEFINED IN"), cells)


def _holders(unit: Unit, living: Iterable[Lease]) -> tuple[str, ...]:
    """What the containers are called that hold UNIT by one of the LIVING leases."""
    return tuple([lease.holder.label for lease in held_by(unit, living)])


def unit_fields(unit: Unit, living: Iterable[Lease]) -> dict[str, object]:
    """UNIT for programs."""
    return {
        "resource": unit.resource,
        "unit": unit.identity,
        "names": unit.names,
        "nodes": [device.devnode for device in unit.devices],
        "numbers": sorted(str(number) for number in unit.numbers),
        "held_by": _holders(unit, living),
    }


def unit_table(units: Iterable[Unit], living: Sequence[Lease]) -> str:
    """UNITS for the eye."""
    cells = [
        (
            unit.resource,
            ", ".join(device.devnode or "" for device in unit.devices),
            unit.identity,
            ", ".join(unit.names),
            ", ".join(_holders(unit, living)) or "-",
        )
        for unit in units
    ]
    return _table(("RESOURCE", "NODES", "UNIT", "NAMES", "HELD BY"), cells)


def lease_fields(lease: Lease) -> dict[str, object]:
    """LEASE for programs."""
    holder = lease.holder
    return {
        "resource": lease.resource,
        "unit": lease.unit,
        "nodes": lease.nodes,
        "numbers": sorted(str(number) for number in lease.numbers),
        "container": holder.container,
        "name": holder.name,
        "state": holder.state.value,
        "pid": holder.process.pid,
        "since": holder.since,
        "uid": holder.uid,
    }


def lease_table(leases: Iterable[Lease]) -> str:
    """LEASES for the eye."""
    cells = [
        (
            lease.resource,
            ", ".join(lease.nodes),
            lease.unit,
            lease.holder.label,
            lease.holder.state.value,
            _local_time(lease.holder.since),
            str(lease.holder.uid),
        )
        for lease in leases
    ]
    return _table(("RESOURCE", "NODES", "UNIT", "CONTAINER", "STATE", "SINCE", "UID"), cells)


def decision_fields(decision: Decision) -> dict[str, object]:
    """DECISION for programs."""
    return {field: getattr(decision, field) for field in type(decision).__annotations__}


def decision_text(decision: Decision) -> str:
    """DECISION for the eye."""
    outcome = "asked for nothing" if decision.outcome == Outcome.NOTHING else decision.outcome
    lines = [f"{visible(_called(decision))}: {outcome} at {decision.stage}, {_local_time(decision.time)}"]
    lines += [f"  asked for {visible(request)}" for request in decision.requests]
    lines += [f"  got {visible(unit)}" for unit in decision.units]
    if decision.reason:
        lines.append(f"  exit status {decision.code}: {visible(decision.reason)}")
    lines += [f"  note: {visible(note)}" for note in decision.notes]
    return "\n".join(lines)


def decision_table(found: Iterable[Decision]) -> str:
    """The decisions FOUND for the eye, a line each."""
    cells = [(_called(decision), decision.outcome, str(decision.code), _local_time(decision.time)) for decision in found]
    return _table(("CONTAINER", "DECISION", "EXIT STATUS", "TIME"), cells) if cells else "no decision is kept"


def _called(decision: Decision) -> str:
    """What people call the container of DECISION."""
    return decision.name or decision.container[:12]


def _local_time(seconds: float) -> str:
    """SECONDS since the epoch as the host's clock shows them."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
