"""Who is asking: what the OCI config, the folder that an engine runs its hooks in, and the engine's storage tell of a container.

No engine says it all. podman's config holds no name and, rootless, not even an id; all containers of a pod carry the same annotations;
before podman 4.7 the hook runs in whatever folder podman was called in. CRI-O and containerd write names into annotations.
"""

from __future__ import annotations

import os

from . import typed
from .edit import KEEP_GROUPS
from .errors import UsageError
from .frozen import frozen, replace
from .model import Container
from .storage import Storage, is_id, layer, userdata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .places import User

#: Files that podman binds into a container. In a pod /dev/shm is the infra container's.
_OWN_FILES = ("/run/.containerenv", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf")
_SHARED_FILES = ("/dev/shm",)  # noqa: S108 — a place in containers
_MANAGER = "io.container.manager"
#: (container, pod) as CRI-O and containerd write them.
_CRI = (
    ("io.kubernetes.container.name", "io.kubernetes.pod.name"),
    ("io.kubernetes.cri.container-name", "io.kubernetes.cri.sandbox-name"),
)


@frozen
class _Names:
    """A container's name and its name in the pod."""

    name: str
    kube: str | None


def identify(
    config: Mapping[str, object],
    *,
    cwd: str,
    who: User,
    container_names: frozenset[str] = frozenset(),
    name: str | None = None,
    created: str | None = None,
) -> Container:
    """The container of CONFIG, whose hook WHO runs in the folder CWD.

    CONTAINER_NAMES are the kube containers that annotation keys name; NAME is which of them it is where a person says so (dry-run);
    CREATED is its id where its runtime has created it, and so has told it.
    Raises UsageError where the config is not of OCI's shape, and where keys name containers and nothing tells which this one is.
    """
    try:
        fields = typed.Fields(dict(config))
        annotations = fields.texts("annotations")
        binds = _binds(fields)
        root, root_layer = layer(fields.object("root").path("path", ""))
        identity = created or _identity(fields.object("linux").text("cgroupsPath", ""), binds, cwd)
        storage = Storage([root, userdata(cwd)[0], *_folders(binds)])
        folder, found = storage.find(identity, root_layer)
        names = _cri_names(annotations) or _names(found, container_names, _hosts(fields), storage)
        if name is not None:
            names = _Names(names.name, name)
        if container_names and names.kube is None and not names.name:
            raise UsageError(_unknown(container_names, storage))
        bundle = cwd if created else _bundle(cwd, identity, folder, storage.folders)
        return replace(_container(fields, annotations, names, identity, bundle, binds, who), created=created is not None)
    except typed.TypedError as error:
        raise UsageError(typed.about("the container's config", error)) from None


def _container(
    fields: typed.Fields,
    annotations: Mapping[str, str],
    names: _Names,
    identity: str,
    bundle: str,
    binds: tuple[tuple[str, str], ...],
    who: User,
) -> Container:
    """The container, with what its config says of its process and its user namespace."""
    linux, user = fields.object("linux"), fields.object("process").object("user")
    return Container(
        id=identity,
        name=names.name,
        kube=names.kube,
        rootless=who.rootless,
        user_namespace=any(namespace.text("type", "") == "user" for namespace in linux.objects("namespaces")),
        uid=user.number("uid", 0),
        gid=user.number("gid", 0),
        groups=user.numbers("additionalGids"),
        bundle=bundle,
        uid_map=_mapping(linux, "uidMappings"),
        gid_map=_mapping(linux, "gidMappings"),
        keeps_groups=annotations.get(KEEP_GROUPS.key) == KEEP_GROUPS.value,
        binds=binds,
    )


def with_live_maps(asker: Container, pid: int, proc: str = "/proc") -> Container:
    """ASKER with the maps that the user namespace of its process PID has, where its config tells none: it joins one by its path.

    See user_namespaces(7). A process that has gone has none, which whoever looks into it next will tell.
    """
    if not asker.user_namespace or asker.uid_map:
        return asker
    return replace(asker, uid_map=_live_map(f"{proc}/{pid}/uid_map"), gid_map=_live_map(f"{proc}/{pid}/gid_map"))


def _live_map(path: str) -> tuple[tuple[int, int, int], ...]:
    """The file PATH, a uid_map or gid_map: inside, outside, size."""
    try:
        with open(path, "rb") as file:
            lines = [line.split() for line in file.read().splitlines()]
    except OSError:
        return ()
    return tuple([(int(inside), int(outside), int(size)) for inside, outside, size in lines])


def _mapping(linux: typed.Fields, key: str) -> tuple[tuple[int, int, int], ...]:
    """`linux.uidMappings` or `linux.gidMappings`: inside, outside, size."""
    return tuple([(line.number("containerID"), line.number("hostID"), line.number("size")) for line in linux.objects(key)])


def _binds(fields: typed.Fields) -> tuple[tuple[str, str], ...]:
    """Destination and source of each bind mount."""
    found = []
    for mount in fields.objects("mounts"):
        if mount.text("type", "") == "bind" or not {"bind", "rbind"}.isdisjoint(mount.strings("options")):
            destination = "/" + "/".join([part for part in mount.path("destination").split("/") if part not in ("", ".")])
            found.append((destination, mount.path("source", "")))
    return tuple(found)


def _identity(cgroup: str, binds: tuple[tuple[str, str], ...], cwd: str) -> str:
    """The engine's id of the container, empty if nothing tells it.

    `/libpod_parent/libpod-ID`, `slice:libpod:ID`, `…/libpod-payload-ID`, `slice:crio:ID`; rootless or with cgroups=disabled there is none.
    """
    last = cgroup.rpartition("/")[2].rpartition(":")[2].removesuffix(".scope").rpartition("-")[2]
    if is_id(last):
        return last
    own = [userdata(source)[1] for file in _OWN_FILES for destination, source in binds if destination == file]
    return next((found for found in (*own[:1], userdata(cwd)[1], *own) if found), "")


def _folders(binds: tuple[tuple[str, str], ...]) -> list[str]:
    """Folders of containers that podman's own bind mounts come from, the graphroot's first: the runroot's list nothing, as a rule."""
    return [userdata(source)[0] for file in (*_SHARED_FILES, *_OWN_FILES) for destination, source in binds if destination == file]


def _bundle(cwd: str, identity: str, folder: str, folders: tuple[str, ...]) -> str:
    """The folder that holds the container's config.json, empty if nothing tells it."""
    if identity and userdata(cwd)[1] == identity:
        return cwd
    if identity:
        places = [f"{each}/{identity}/userdata" for each in ((folder,) if folder else folders)]
        return next((place for place in places if os.path.isdir(place)), "")
    return cwd if os.path.isfile(f"{cwd}/config.json") else ""


def _cri_names(annotations: Mapping[str, str]) -> _Names | None:
    """The names that CRI-O or containerd has written; in podman anyone may write them."""
    if annotations.get(_MANAGER) == "libpod":
        return None
    for container, pod in _CRI:
        if annotations.get(container):
            return _Names(f"{annotations.get(pod, '')}-{annotations[container]}".removeprefix("-"), annotations[container])
    return None


def _hosts(fields: typed.Fields) -> frozenset[str]:
    """The container's host names: in a pod they are the pod's name, unless it has the host's network."""
    environment = fields.object("process").strings("env")
    return frozenset([fields.text("hostname", ""), *[entry[9:] for entry in environment if entry.startswith("HOSTNAME=")]])


def _names(name: str, container_names: frozenset[str], hosts: frozenset[str], storage: Storage) -> _Names:
    """NAME, and which of CONTAINER_NAMES it is: `CONTAINER` itself or `POD-CONTAINER`.

    Both parts may hold a `-`. Where two readings are possible, the pod's other containers decide, which podman has made by now; then the
    host name; then the longest container name.
    """
    readings = {kube: name[: -len(kube)] for kube in container_names if name == kube or name.endswith(f"-{kube}")}
    if len(readings) > 1:
        known = storage.names()
        whole = {kube: pod for kube, pod in readings.items() if all(pod + other in known for other in container_names)}
        readings = whole or readings
    if len(readings) > 1:
        readings = {kube: pod for kube, pod in readings.items() if pod and pod[:-1] in hosts} or readings
    return _Names(name, max(readings, key=len) if readings else None)


def _unknown(container_names: frozenset[str], storage: Storage) -> str:
    """The sentence for a container that cannot be told from others of its pod."""
    looked = f"no list in {' or '.join(storage.folders)} has it" if storage.folders else "its config names no storage of podman's"
    return (
        f"the annotations ask for the containers {', '.join(sorted(container_names))}, and which of them this one is "
        f"cannot be told: {looked}; ask with a key that names no container, or say the name with --container where a verb is asked"
    )
