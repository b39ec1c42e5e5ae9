"""Edits: each is one change to a container.

The same list of them is shown by dry-run, patched in by precreate, and confirmed at createRuntime.
"""

from __future__ import annotations

from .frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import DeviceNumber


@frozen
class Node:
    """Edit: a device node. `linux.devices` of the OCI runtime spec."""

    path: str
    number: DeviceNumber
    mode: int
    uid: int
    gid: int


@frozen
class CgroupRule:
    """Edit: an allow rule. `linux.resources.devices` of the OCI runtime spec."""

    number: DeviceNumber
    access: str


@frozen
class Mount:
    """Edit: a bind mount."""

    source: str
    destination: str
    options: tuple[str, ...]


@frozen
class Variable:
    """Edit: an environment variable of the container's process."""

    name: str
    value: str


@frozen
class Group:
    """Edit: a supplementary group of the container's process."""

    gid: int


@frozen
class Annotation:
    """Edit: an annotation that the runtime reads."""

    key: str
    value: str


#: crun(1): the container's process keeps the groups of the user who starts it, as podman's `--group-add keep-groups` has it.
KEEP_GROUPS = Annotation("run.oci.keep_original_groups", "1")

Edit = Node | CgroupRule | Mount | Variable | Group | Annotation
