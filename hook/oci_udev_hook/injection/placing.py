"""Where each allotted node appears in the container: its own path and udev's other names of it.

Templates of a path are filled in only where a definition has one; the default is the host's path.
"""

from __future__ import annotations

from ..errors import ConfigurationError, UnavailableError, UsageError
from ..frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Allotment, Container, Device, DeviceNumber, HostNode, Resource

#: What the runtime puts into each container (OCI runtime spec, config-linux.md, Default Devices), by cgroup number.
_DEFAULT_DEVICES = {
    "/dev/null": "c 1:3",
    "/dev/zero": "c 1:5",
    "/dev/full": "c 1:7",
    "/dev/random": "c 1:8",
    "/dev/urandom": "c 1:9",
    "/dev/tty": "c 5:0",
    "/dev/console": "c 5:1",
    "/dev/ptmx": "c 5:2",
}
#: Links and file systems that it makes below /dev and beside it; nothing may appear there or below.
_KEPT = ("/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/core", "/dev/pts", "/dev/shm", "/dev/mqueue", "/proc", "/sys")  # noqa: S108 — a place in containers
_PATH_MAX = 4096  #: limits.h of the kernel, the closing zero counts
_NAME_MAX = 255


@frozen
class Placement:
    """A node of a unit, and where the container finds it."""

    resource: Resource
    index: int  #: of its unit among the container's units of the resource, from 0
    device: Device
    devnode: str
    number: DeviceNumber
    node: HostNode
    path: str  #: in the container
    links: tuple[str, ...]  #: further paths of it there
    visible: frozenset[str]  #: those of its paths that a bind mount of the container's own shows already


def place(container: Container, allotments: tuple[Allotment, ...]) -> tuple[Placement, ...]:
    """Where the nodes of ALLOTMENTS appear in CONTAINER, in the order of allotment.

    Raises ConfigurationError for a path that a definition should not give, two nodes at one path among them, UsageError where the
    container's own mounts are in the way, and UnavailableError for a node that has gone meanwhile.
    """
    nodes = list(_nodes(allotments))
    paths = [_path(resource, index, device) for resource, index, device in nodes]
    _no_two_at_one(nodes, paths)
    taken = set(paths)
    placements = []
    for (resource, index, device), path in zip(nodes, paths, strict=True):
        if device.node is None or device.devnode is None or device.number is None:
            gone = f"{device.devnode} of {resource.name} has gone since udev told of it"
            raise UnavailableError(f"{gone}; plug it in again and start the container")
        links = tuple([link for link in _links(resource, device) if _free(link, taken)])
        taken.update(links)
        visible = frozenset([name for name in (path, *links) if _shown(container, name, device, resource)])
        placements.append(Placement(resource, index, device, device.devnode, device.number, device.node, path, links, visible))
    return tuple(placements)


def _nodes(allotments: tuple[Allotment, ...]) -> Iterator[tuple[Resource, int, Device]]:
    """Each node once, with the number of its unit among all units of its resource: two requests can speak of one resource."""
    units: dict[str, int] = {}
    seen = set()
    for allotment in allotments:
        for unit in allotment.units:
            index = units[unit.resource] = units.get(unit.resource, -1) + 1
            for device in unit.devices:
                if device.number is not None and (allotment.resource.name, device.number) not in seen:
                    seen.add((allotment.resource.name, device.number))
                    yield allotment.resource, index, device


def _path(resource: Resource, index: int, device: Device) -> str:
    """Where DEVICE appears in the container. Raises ConfigurationError."""
    path = device.devnode or ""
    if resource.path is not None:
        from . import templates

        try:
            path = templates.node_path(resource.path, device, index)
        except templates.TemplateError as error:
            raise ConfigurationError(f'{defined(resource)}: path "{resource.path}" {error}') from None
    wrong = _why_not(path, str(device.number))
    if wrong is None:
        return path
    gives = f'path "{resource.path}" gives "{path}" for {device.devnode}' if resource.path is not None else f"its node {path}"
    raise ConfigurationError(f"{defined(resource)}: {gives}, {wrong}")


def _why_not(path: str, number: str) -> str | None:
    """Why no node with NUMBER may appear at PATH, a clause; None if it may."""
    parts = path.split("/")
    if parts[0] or len(parts) < 2 or not {"", ".", ".."}.isdisjoint(parts[1:]):
        return 'which is no absolute path of a file without "//", "." and ".."'
    if not path.isprintable():
        return "which holds characters that cannot be printed"
    if len(path.encode()) >= _PATH_MAX or max([len(part.encode()) for part in parts]) > _NAME_MAX:
        return "which is too long for a path"
    if _DEFAULT_DEVICES.get(path, number) != number:
        return f"where each container has a device of the runtime's, {_DEFAULT_DEVICES[path]}"
    if path == "/dev" or path.startswith(tuple([f"{kept}/" for kept in _KEPT])) or path in _KEPT:
        return "which belongs to the container's runtime"
    return None


def _links(resource: Resource, device: Device) -> list[str]:
    """Udev's other names of DEVICE, where the definition wants them."""
    if not resource.links:
        return []
    return [link for link in device.links if link.startswith("/dev/") and _why_not(link, str(device.number)) is None]


def _free(link: str, taken: set[str]) -> bool:
    """Whether nothing appears at LINK yet, nor at one of its folders, nor below it."""
    return not any(link == path or link.startswith(f"{path}/") or path.startswith(f"{link}/") for path in taken)


def _no_two_at_one(nodes: list[tuple[Resource, int, Device]], paths: list[str]) -> None:
    """Raise ConfigurationError where two nodes would appear at one path, or one below the other."""
    at: dict[str, tuple[Resource, int, Device]] = {}
    for (resource, index, device), path in zip(nodes, paths, strict=True):
        first, _, other = at.setdefault(path, (resource, index, device))
        if other.number != device.number:
            both = f"{other.devnode} of {first.name} and {device.devnode} of {resource.name} would both appear at {path}"
            raise ConfigurationError(f"{defined(resource)}: {both}; {{index}} or {{serial}} in the path tells them apart")
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder:
            if folder in at:
                resource, _, device = at[folder]
                there = f"{device.devnode} would appear at {folder}, where {path} needs a folder"
                raise ConfigurationError(f"{defined(resource)}: {there}; change one path")
            folder = folder.rpartition("/")[0]


def _shown(container: Container, path: str, device: Device, resource: Resource) -> bool:
    """Whether a bind mount of the container's own shows DEVICE at PATH already.

    Making a node below a mount of the host's files would make it on the host, or change the owner of the host's. Raises UsageError.
    """
    covering = [bind for bind in container.binds if path == bind[0] or path.startswith(bind[0].rstrip("/") + "/")]
    if not covering:
        return False
    destination, source = max(covering, key=lambda bind: len(bind[0]))
    if source.rstrip("/") + path[len(destination.rstrip("/")) :] in (device.devnode, *device.links):
        return True
    raise UsageError(
        f"{container.label} mounts the host's {source} at {destination}, so {path}, where {device.devnode} of {resource.name} "
        "is to appear, would be made on the host; take that mount out or mount less"
    )


def defined(resource: Resource) -> str:
    """What a definition is called in an error."""
    return f"{resource.name} ({resource.source})" if resource.source else resource.name
