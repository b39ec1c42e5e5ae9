"""The words of the house as frozen data: what the rooms hand to each other.

Pure: nothing here reads the host. `stages.py` joins the rooms; they know this module, not each other.
"""

from __future__ import annotations

import os
import stat
from enum import StrEnum

from .frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class DeviceType(StrEnum):
    """`type` of a device in the OCI runtime spec (config-linux.md, Devices) and of a cgroup device rule."""

    CHAR = "c"
    BLOCK = "b"


@frozen
class DeviceNumber:
    """What the kernel knows a device node by; `str()` gives the form of cgroup v1's devices.list: `c 188:0`."""

    type: DeviceType
    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.type} {self.major}:{self.minor}"


def number_of(status: os.stat_result) -> DeviceNumber | None:
    """The device number of a node with STATUS, as stat(2) gives it; None for other files."""
    kind = {stat.S_IFCHR: DeviceType.CHAR, stat.S_IFBLK: DeviceType.BLOCK}.get(stat.S_IFMT(status.st_mode))
    return None if kind is None else DeviceNumber(kind, os.major(status.st_rdev), os.minor(status.st_rdev))


@frozen
class HostNode:
    """A device's node as stat(2) and access(2) show it to this process."""

    mode: int  #: permission bits only, no file type
    uid: int
    gid: int
    readable: bool = True
    writable: bool = True


@frozen
class Device:
    """One device of sysfs with its udev record. Parents come nearest first and have no parents of their own."""

    syspath: str  #: with links resolved: `/sys/devices/…`
    subsystem: str = ""
    sysname: str = ""
    devtype: str = ""
    driver: str = ""
    devnode: str | None = None  #: `/dev/…`
    number: DeviceNumber | None = None
    properties: Mapping[str, str] = {}
    attributes: Mapping[str, str] = {}  #: only those that the query named; trailing white space kept
    tags: frozenset[str] = frozenset()  #: current tags only, see udev(7)
    links: tuple[str, ...] = ()  #: udev's other names of the node, absolute, sorted
    initialized: bool = False
    parents: tuple[Device, ...] = ()
    node: HostNode | None = None

    @property
    def devpath(self) -> str:
        """`DEVPATH` of udev: the syspath without `/sys`."""
        return self.syspath.removeprefix("/sys")

    @property
    def label(self) -> str:
        """What people call it: its node, else the DEVPATH."""
        return self.devnode or self.devpath


@frozen
class Term:
    """One `KEY{name}=="value"` of a match line, alternatives split at `|`."""

    key: str
    name: str  #: what stands in braces, else empty
    negated: bool  #: `!=`
    patterns: tuple[str, ...]
    column: int  #: of the term in its line, from 1
    text: str  #: as written


@frozen
class Rule:
    """One match line: its terms must all hold."""

    text: str
    terms: tuple[Term, ...]


class Missing(StrEnum):
    """What happens when fewer units exist than asked."""

    FAIL = "fail"
    SKIP = "skip"


@frozen
class Resource:
    """What the admin defines: a name `domain/kind` and which devices belong to it. Defaults: design, section 6."""

    name: str
    rules: tuple[Rule, ...] = ()
    paths: tuple[str, ...] = ()  #: globs below /dev
    sharing: int = 1
    permissions: str = "rw"
    path: str | None = None  #: template of the node's path in the container; None: the host's
    links: bool = True
    uid: int | None = None
    gid: int | None = None
    mode: int | None = None
    env: tuple[tuple[str, str], ...] | None = None  #: name and template; None: the default variable
    missing: Missing = Missing.FAIL
    source: str = ""  #: the definition's file, or `udev` for devices marked by a rule


@frozen
class Unit:
    """What is allotted as one. `identity` survives renumbering; `names` are what `NAME=UNIT` may say."""

    resource: str
    identity: str
    names: tuple[str, ...]  #: serial and port, where the unit has them
    devices: tuple[Device, ...]

    @property
    def numbers(self) -> frozenset[DeviceNumber]:
        """The numbers of all the unit's nodes."""
        return frozenset([device.number for device in self.devices if device.number is not None])


@frozen
class Request:
    """What a container asks for: COUNT units of a resource, or the one unit of that name."""

    resource: str
    count: int = 1
    unit: str | None = None

    def __str__(self) -> str:
        return f"{self.count} of {self.resource}" if self.unit is None else f"{self.resource}={self.unit}"


@frozen
class Allotment:
    """A request and the units that it gets, in the order of allotment."""

    request: Request
    resource: Resource
    units: tuple[Unit, ...]


@frozen
class Container:
    """Who is asking, as far as the OCI config and the engine's storage tell."""

    id: str  #: the engine's id, empty where there is none (plain dry-run)
    name: str = ""  #: the engine's name of it (`pod-container` in a podman pod), empty if unknown
    kube: str | None = None  #: the container's own name in the pod, where an annotation key names it
    rootless: bool = False  #: the hook runs in a user namespace of the engine's
    user_namespace: bool = False  #: the container has a user namespace of its own
    uid: int = 0  #: process.user
    gid: int = 0
    groups: tuple[int, ...] = ()
    bundle: str = ""
    uid_map: tuple[tuple[int, int, int], ...] = ()  #: linux.uidMappings: inside, outside, size; empty without a user namespace of its own
    gid_map: tuple[tuple[int, int, int], ...] = ()
    keeps_groups: bool = False  #: the asker has crun keep the user's groups, `--group-add keep-groups`
    binds: tuple[tuple[str, str], ...] = ()  #: destination and source of its bind mounts, in the config's order
    created: bool = False  #: its runtime has created it: neither its process's groups nor its environment can change any more

    @property
    def label(self) -> str:
        """What people call it: the name, else the short id."""
        return self.name or self.id[:12] or "this container"


@frozen
class Process:
    """A process that cannot be mistaken for a later one with its pid."""

    pid: int
    start: int  #: field 22 of /proc/PID/stat, clock ticks after boot


class LeaseState(StrEnum):
    """How far a lease has come."""

    RESERVED = "reserved"  #: given out by precreate, the container does not run yet
    CONFIRMED = "confirmed"  #: the container's process holds it


@frozen
class Holder:
    """The container in whose hands leases are, and the process whose life is theirs."""

    container: str  #: its id
    name: str
    state: LeaseState
    process: Process
    boot: str  #: /proc/sys/kernel/random/boot_id
    since: float  #: seconds since the epoch
    until: float | None = None  #: CLOCK_BOOTTIME seconds at which a service's reservation ends
    bundle: str = ""
    uid: int = 0  #: the user whose ledger it is

    @property
    def label(self) -> str:
        """What people call it."""
        return self.name or self.container[:12]


@frozen
class Lease:
    """A unit in a container's hands, as the ledger keeps it."""

    resource: str
    unit: str  #: the unit's identity
    numbers: frozenset[DeviceNumber]
    nodes: tuple[str, ...]  #: on the host
    holder: Holder
    sharing: int = 1  #: how many containers may hold it with this one, as its resource said when it was given
