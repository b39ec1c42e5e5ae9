"""What to know about a plan that its edits do not show: where crun and runc differ, and what cannot be done rootless.

No config names its runtime, so both are spoken of. For the log and `why`; nothing here stops a container.
"""

from __future__ import annotations

from ..edit import KEEP_GROUPS, Group, Variable
from .placing import defined
from .rights import needs_group, shown, wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..edit import Edit
    from ..model import Container
    from .placing import Placement


def notes(container: Container, placements: tuple[Placement, ...], edits: tuple[Edit, ...], late: tuple[Edit, ...] = ()) -> tuple[str, ...]:
    """The sentences on what CONTAINER gets at PLACEMENTS by EDITS, and on those that come too LATE for it."""
    if container.rootless:
        found = [*_rootless(container, placements, edits)]
    elif container.user_namespace and not container.created:
        found = [*_mapped(placements)]
    else:
        found = []
    return tuple(dict.fromkeys([*found, *_late(container, placements, late)]))


def _late(container: Container, placements: tuple[Placement, ...], late: tuple[Edit, ...]) -> Iterator[str]:
    """On what a container that is created already cannot be given any more."""
    variables = [edit.name for edit in late if isinstance(edit, Variable)]
    if variables and placements:
        yield (
            f"{', '.join(variables)} cannot be set for a container that is created already, so it must know where its devices are; "
            "podman's precreate hook, where it is installed, sets variables too"
        )
    for edit in late:
        if isinstance(edit, Group):
            yield (
                f"the container's process, user {container.uid}, cannot be given the group {edit.gid} of its devices any more; "
                "podman's precreate hook, where it is installed, adds groups too"
            )


def _rootless(container: Container, placements: tuple[Placement, ...], edits: tuple[Edit, ...]) -> Iterator[str]:
    """On groups (case 9), on what a bound node keeps, and on what nothing enforces."""
    if KEEP_GROUPS in edits:
        yield from _groups(container, placements)
    for placement in placements:
        resource = placement.resource
        fixed = [name for name, value in (("uid", resource.uid), ("gid", resource.gid), ("mode", resource.mode)) if value is not None]
        if fixed:
            yield (
                f"{defined(resource)} sets {', '.join(fixed)}, which a rootless container cannot have: "
                "its node is the host's, with the host's owner and mode"
            )
        if "w" not in resource.permissions and placement.node.writable:
            yield (
                f"{defined(resource)} gives {resource.permissions} only, which nothing enforces rootless: "
                "there is no device cgroup, so your own rights count"
            )


def _groups(container: Container, placements: tuple[Placement, ...]) -> Iterator[str]:
    """On the user's groups, which the container keeps."""
    for placement in placements:
        if needs_group(container, placement):
            node = f"{placement.devnode} is {shown(placement.device, placement.node)}"
            yield (
                f"{node}, which you may use by a group of yours or an access list: crun keeps your groups for the container, "
                "runc does not; start it with --runtime crun, or let a udev rule give you the node itself "
                '(OWNER=, MODE=, or TAG+="uaccess")'
            )
    lost = [str(group) for group in container.groups if group != container.gid]
    if lost:
        yield f"the container keeps your groups for its devices, so crun leaves out its image's own ({', '.join(lost)})"


def _mapped(placements: tuple[Placement, ...]) -> Iterator[str]:
    """On rootful user namespaces, where runc binds the host's file of the same path and crun makes a node of the container's own."""
    for placement in placements:
        if placement.path in placement.visible:
            continue
        if placement.path not in (placement.devnode, *placement.device.links):
            yield (
                f"crun makes {placement.path} in the container's user namespace, but runc binds the host's file of that path, "
                f"and there is none: use crun, or leave path out of {defined(placement.resource)}"
            )
        elif not _open_to_all(placement):
            yield (
                f"crun gives the container a {placement.path} of its own in its user namespace, but runc binds the host's, "
                f"{shown(placement.device, placement.node)}, whose owner and group are nobody there, so that its process may not open it: "
                f'use crun, or let a udev rule give the node MODE="0{placement.node.mode | (placement.node.mode >> 6 & 6):03o}"'
            )


def _open_to_all(placement: Placement) -> bool:
    """Whether the host's mode lets anyone do what the definition gives."""
    return wanted(placement.resource) & ~(placement.node.mode & 6) == 0
