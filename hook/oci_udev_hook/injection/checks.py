"""What createRuntime looks at before it confirms a lease: whether the nodes that the config and the host have are still the leased ones."""

from __future__ import annotations

import os

from .. import typed
from ..edit import CgroupRule, Mount, Node
from ..errors import UsageError
from ..model import number_of
from .config import number_at, same_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..leases import Leased
    from .mark import Mark

    Stat = Callable[[str], os.stat_result]

_AGAIN = "start the container again"


def changed(mark: Mark, config: Mapping[str, object]) -> str | None:
    """The sentence on an edit of MARK that CONFIG has no more, or with another device; None if all are there.

    What a mark does not lease, no edit of it may give: this is looked at too. Raises UsageError for a config that is not of OCI's shape.
    """
    try:
        fields = typed.Fields(dict(config))
        devices = [entry.value for entry in fields.object("linux").objects("devices")]
        mounts = [entry.value for entry in fields.objects("mounts")]
    except typed.TypedError as error:
        raise UsageError(typed.about("the container's config", error)) from None
    return _changed(mark, devices, mounts)


def _changed(mark: Mark, devices: list[dict[str, object]], mounts: list[dict[str, object]]) -> str | None:
    """The same for the config's DEVICES and MOUNTS."""
    leased = {number for lease in mark.leases for number in lease.numbers}
    hosts = {path for lease in mark.leases for path in lease.nodes}
    for edit in mark.edits:
        if isinstance(edit, (Node, CgroupRule)) and edit.number not in leased:
            return f"the config's mark gives {edit.number}, which is not among its leases; make the container anew"
        if isinstance(edit, Mount) and edit.source not in hosts:
            return f"the config's mark binds {edit.source}, which is not among its leases; make the container anew"
        if isinstance(edit, Node):
            there = [number_at(entry) for entry in devices if same_path(entry.get("path"), edit.path)]
            if there[-1:] != [str(edit.number)]:
                return (
                    f"the container's config has {there[-1] if there else 'nothing'} at {edit.path}, not the leased {edit.number}; {_AGAIN}"
                )
        if isinstance(edit, Mount):
            bound = [entry.get("source") for entry in mounts if same_path(entry.get("destination"), edit.destination)]
            if bound[-1:] != [edit.source]:
                return f"the container's config has {bound[-1] if bound else 'nothing'} at {edit.destination}, not {edit.source}; {_AGAIN}"
    return None


def moved(mark: Mark, status: Stat = os.stat) -> str | None:
    """The sentence on a leased node that the host has no more, or that is another device now; None if all are the leased ones."""
    for lease in mark.leases:
        for path in lease.nodes:
            sentence = _moved(lease, path, status)
            if sentence is not None:
                return sentence
    return None


def _moved(lease: Leased, path: str, status: Stat) -> str | None:
    """The sentence on one node of a lease."""
    unit = f"unit {lease.unit} of {lease.resource}"
    try:
        found = status(path)
    except OSError as error:
        return f"{path}, {unit}, has gone since it was allotted ({error.strerror}); plug it in again and start the container"
    number = number_of(found)
    if number in lease.numbers:
        return None
    leased = " or ".join(sorted([str(each) for each in lease.numbers]))
    return f"{path}, {unit}, was {leased} when it was allotted and is {number or 'no device'} now; {_AGAIN}"
