"""What a rootless container may do with a host's node: the user's own rights are the limit, and nothing the hook writes can widen them.

The hook sees the host through podman's user namespace: the user is 0 there, other owners and groups show as 65534, and access(2), which the
survey has asked, is the word of the kernel. What is left to find out is which of the user's rights the container's process has.
"""

from __future__ import annotations

import stat

from ..model import DeviceType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Container, Device, HostNode, Resource, Unit
    from .placing import Placement

_OVERFLOW = 65534  #: /proc/sys/kernel/overflowuid: an owner that the user namespace does not have
_WORDS = {4: "read", 2: "write", 6: "read and write"}


def unusable(container: Container, unit: Unit, resource: Resource) -> str | None:
    """Why UNIT would be of no use in a rootless CONTAINER; None if it is of use or the container is not rootless.

    Behind the reason's colon stands the way out, the same words for each node that it is the same for.
    """
    if not container.rootless:
        return None
    for device in unit.devices:
        if device.node is not None:
            reason = _denied(container, device, device.node, wanted(resource))
            if reason is not None:
                return reason
    return None


def keeps_groups(container: Container, placements: tuple[Placement, ...]) -> bool:
    """Whether the container is to keep the user's groups: a node needs one, and no group of the container's own is lost that matters.

    crun 1.8.1 and 1.21 leave out the container's own groups when they keep the user's. Root in the container has no use for them.
    """
    return any(needs_group(container, placement) for placement in placements) and _loses_nothing(container)


def _loses_nothing(container: Container) -> bool:
    """Whether the process can do without the groups of its own, as far as they are not its main one, or has none of them anyway."""
    return container.keeps_groups or container.uid == 0 or set(container.groups) <= {container.gid}


def needs_group(container: Container, placement: Placement) -> bool:
    """Whether the container's process has its rights to the node only from a group of the user's (or from an access list, acl(5))."""
    return wanted(placement.resource) & ~_own_rights(container, placement.node) != 0


def _denied(container: Container, device: Device, node: HostNode, asked: int) -> str | None:
    """Why the process may not do what is ASKED with NODE, None if it may."""
    name = f"{device.devnode} is {shown(device, node)}"
    user = (4 if node.readable else 0) | (2 if node.writable else 0)
    if asked & ~user:
        # Group 0 is root's, or in podman's user namespace the user's own; 65534 may be root's as well, `ls -l` on the host tells.
        by_group = "join its group (`ls -l` names it) and log in anew, or " if node.gid != 0 and asked & ~(node.mode >> 3) == 0 else ""
        way_out = f'{by_group}let a udev rule give it to you (MODE=, GROUP=, or TAG+="uaccess")'
        return f"{name} and you may not {_WORDS[asked & ~user]} it: {way_out}"
    lacking = asked & ~_own_rights(container, node)
    if lacking and node.uid == 0:
        return (
            f"{name}, whose owner you are, but the container's process is user {container.uid} and may not {_WORDS[lacking]} it: "
            "start the container with --userns=keep-id or as root inside, or let a udev rule give the node to a group of yours"
        )
    if lacking and container.created and not container.keeps_groups:
        return (
            f"{name} and your right to {_WORDS[lacking]} it comes from a group of yours, which a container that is created already "
            "cannot be given: start it with --group-add keep-groups and crun, or let podman run the precreate hook, which asks crun for it"
        )
    if lacking and not _loses_nothing(container):
        own = ", ".join([str(group) for group in container.groups if group != container.gid])
        return (
            f"{name} and your right to {_WORDS[lacking]} it comes from a group of yours, but the container's process, "
            f"user {container.uid}, has groups of its own ({own}) that it would lose with yours: "
            "leave those out (--group-add) or run it as root inside"
        )
    return None


def _own_rights(container: Container, node: HostNode) -> int:
    """Which of r (4) and w (2) the process has without the user's groups: those of the first class that it is in, path_resolution(7)."""
    uid, gid = outside(container.uid_map, container.uid), outside(container.gid_map, container.gid)
    groups = {gid, *[outside(container.gid_map, group) for group in container.groups]} - {None, _OVERFLOW}
    if container.uid == 0 and not container.uid_map and _OVERFLOW not in (node.uid, node.gid):
        return 6
    if node.uid == uid != _OVERFLOW:
        return node.mode >> 6 & 6
    return (node.mode >> 3 & 6) if node.gid in groups else node.mode & 6


def outside(mapping: tuple[tuple[int, int, int], ...], number: int) -> int | None:
    """The id NUMBER of a user namespace with MAPPING as its parent, podman's, sees it; None where the namespace does not have it.

    An empty mapping stands for no namespace of the container's own, which has all (user_namespaces(7)).
    """
    if not mapping:
        return number
    return next((start + number - inside for inside, start, size in mapping if inside <= number < inside + size), None)


def shown(device: Device, node: HostNode) -> str:
    """NODE as `ls -l` shows it: `crw-rw---- 65534:65534`."""
    kind = stat.S_IFBLK if device.number is not None and device.number.type == DeviceType.BLOCK else stat.S_IFCHR
    return f"{stat.filemode(kind | node.mode)} {node.uid}:{node.gid}"


def wanted(resource: Resource) -> int:
    """Which of r (4) and w (2) the definition gives; nobody makes nodes rootless."""
    return (4 if "r" in resource.permissions else 0) | (2 if "w" in resource.permissions else 0)
