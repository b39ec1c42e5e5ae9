"""Mends keys that `podman kube generate` made of ours: it puts `/CONTAINER` behind every key of every container.

All containers of a pod carry all its annotations, so `limits/a` of a pod "pod" with the containers a and b comes out as
`limits/a/pod-a` and `limits/a/pod-b`, and the containers are then called pod-a and pod-b. The pod-wide `limits` comes out as
`limits/pod-a` and `limits/pod-b`, which needs no mending, but must not win over what was the container's own key.
"""

from __future__ import annotations

from ..errors import UsageError
from ..typed import shown
from .annotations import INIT, POD, key_of, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def mend(annotations: Mapping[str, str], pod: str, containers: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """ANNOTATIONS of ours with such keys put right for CONTAINERS of POD, as they are called in this file; and a clause for each fault."""
    sound: dict[str, str] = {}
    owned: dict[str, dict[int, dict[str, str]]] = {}  # by container as it was called, part and copy
    shared: dict[str, str] = {}
    for key, value in annotations.items():
        whole, slash, copy = key.rpartition("/")
        origin = _place(whole) if slash else None
        if origin is not None and origin[0]:
            owned.setdefault(origin[0], {}).setdefault(origin[1], {})[copy] = value
        elif origin is not None and origin[1]:
            shared[key_of(copy, origin[1])] = value
        else:
            sound[INIT if whole == INIT else key] = value
    mended: dict[str, str] = {}
    faults = []
    owners = _owners(owned, pod, containers)
    for was, parts in owned.items():
        for number, copies in parts.items():
            if len(set(copies.values())) > 1:
                found = ", ".join([f"{copy} {shown(value)}" for copy, value in copies.items()])
                faults.append(f"the copies of annotation {key_of(was, number)} differ ({found}), write one {key_of(owners.get(was, was))}")
            if was in owners:
                mended[key_of(owners[was], number)] = next(iter(copies.values()))
            else:
                faults.append(f"annotation {key_of(was, number)}/{next(iter(copies))} names no container of this pod")
    taken = set(owners.values())
    rest = {key: value for key, value in {**sound, **shared}.items() if (_place(key) or (POD, 0))[0] not in taken}
    return {**rest, **mended}, faults


def _owners(names: Mapping[str, object], pod: str, containers: Sequence[str]) -> dict[str, str]:
    """Which of CONTAINERS each of NAMES was, where that is plain: `POD-NAME`, or the only one left that ends in `-NAME`."""
    owners: dict[str, str] = {}
    left = list(containers)
    for name in sorted(names, key=len, reverse=True):
        exact = [container for container in left if container in (name, f"{pod}-{name}")]
        found = exact or [container for container in left if container.endswith(f"-{name}")]
        if len(found) == 1:
            owners[name] = found[0]
            left.remove(found[0])
    return owners


def _place(key: str) -> tuple[str, int] | None:
    """The container that KEY names and the part's number; None if it is not sound, of which others tell."""
    try:
        return place(key)
    except UsageError:
        return None
