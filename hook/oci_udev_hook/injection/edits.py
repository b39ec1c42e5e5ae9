"""From allotments to edits: what changes in a container so that it has its devices.

The same edits are what dry-run shows, precreate patches and createRuntime confirms. Three modes (each proved with runc and crun):
rootful, a node and its cgroup rule always as a pair; rootful with a user namespace, the same; rootless, where the kernel lets nobody make
nodes and no device cgroup is there, a bind mount of the host's node.
"""

from __future__ import annotations

from ..edit import KEEP_GROUPS, CgroupRule, Group, Mount, Node, Variable
from ..errors import ConfigurationError
from .placing import defined
from .rights import keeps_groups, outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..edit import Edit
    from ..model import Allotment, Container, Resource
    from .placing import Placement


def edits(container: Container, allotments: tuple[Allotment, ...], placements: tuple[Placement, ...]) -> tuple[Edit, ...]:
    """The edits that give CONTAINER what ALLOTMENTS name, whose nodes appear at PLACEMENTS.

    Raises ConfigurationError for a variable's template that does not fit the devices, and for two resources that set one variable.
    """
    found: list[Edit] = []
    for placement in placements:
        found += _bound(placement) if container.rootless else _made(container, placement)
    if container.rootless and keeps_groups(container, placements):
        found.append(KEEP_GROUPS)
    found += _variables(allotments, placements)
    once: dict[object, Edit] = {}
    for edit in found:
        once.setdefault(_identity(edit), edit)
    return tuple(once.values())


def in_time(container: Container, edits: tuple[Edit, ...]) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
    """Those of EDITS that CONTAINER can still be given, and those that come too late.

    A process that is there already has its variables and groups.
    """
    if not container.created:
        return edits, ()
    possible = tuple([edit for edit in edits if isinstance(edit, (Node, CgroupRule, Mount))])
    return possible, tuple([edit for edit in edits if edit not in possible])


def _identity(edit: Edit) -> object:
    """What an edit is about: two definitions that hold one device would put it at one path twice, where the first counts."""
    if isinstance(edit, Node):
        return edit.path
    return edit.destination if isinstance(edit, Mount) else edit


def _made(container: Container, placement: Placement) -> Iterator[Edit]:
    """A node of the container's own at each path, and the rule that opens it (cases 5, 8, 40)."""
    uid, gid, mode = _ownership(container, placement)
    for path in (placement.path, *placement.links):
        if path not in placement.visible:
            yield Node(path, placement.number, mode, uid, gid)
    yield CgroupRule(placement.number, placement.resource.permissions)
    if container.uid != 0 and gid not in (0, container.gid) and gid not in container.groups:
        yield Group(gid)


def _ownership(container: Container, placement: Placement) -> tuple[int, int, int]:
    """Owner, group and mode in the container: the process's own user, the host's group and mode, where the definition says nothing.

    A user or group that the container's user namespace does not have would stop its start: the process's own takes its place.
    """
    resource, node = placement.resource, placement.node
    uid = container.uid if resource.uid is None or outside(container.uid_map, resource.uid) is None else resource.uid
    gid = node.gid if resource.gid is None else resource.gid
    gid = container.gid if outside(container.gid_map, gid) is None else gid
    return uid, gid, node.mode if resource.mode is None else resource.mode


def _bound(placement: Placement) -> Iterator[Edit]:
    """The host's node at each path, with the options that podman's own --device gives a rootless container (podman-run(1))."""
    access = "rw" if "w" in placement.resource.permissions else "ro"
    for path in (placement.path, *placement.links):
        if path not in placement.visible:
            yield Mount(placement.devnode, path, ("slave", "nosuid", "noexec", access, "rbind"))


def _variables(allotments: tuple[Allotment, ...], placements: tuple[Placement, ...]) -> list[Variable]:
    """The variables of each resource. Raises ConfigurationError where two resources set one to different values."""
    found: dict[str, tuple[Resource, Variable]] = {}
    for resource in {allotment.resource.name: allotment.resource for allotment in allotments}.values():
        own = [placement for placement in placements if placement.resource.name == resource.name]
        for variable in _of(resource, own):
            first, other = found.setdefault(variable.name, (resource, variable))
            if other.value != variable.value:
                raise ConfigurationError(
                    f"{defined(first)} and {defined(resource)} both set {variable.name}, to different values; "
                    "give one of them an env of its own"
                )
    return [variable for _, variable in found.values()]


def _of(resource: Resource, placements: list[Placement]) -> list[Variable]:
    """The variables of one resource, whose nodes are at PLACEMENTS. Raises ConfigurationError."""
    if resource.env is None:
        return [Variable(_default_variable(resource.name), ",".join([placement.path for placement in placements]))]
    from . import templates

    nodes = tuple([templates.Given(placement.device, placement.index, placement.path) for placement in placements])
    found = []
    for name, template in resource.env:
        try:
            found.append(Variable(name, templates.variable(template, nodes)))
        except templates.TemplateError as error:
            raise ConfigurationError(f'{defined(resource)}: env {name} = "{template}" {error}') from None
    return found


def _default_variable(resource: str) -> str:
    """The variable that a resource without `env` sets: `OCI_UDEV_HARDWARE_VENDOR_EXAMPLE_FOO`."""
    return "OCI_UDEV_" + "".join([letter if letter.isascii() and letter.isalnum() else "_" for letter in resource.upper()])
