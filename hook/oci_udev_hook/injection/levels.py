"""Which cgroups are a container's own, where devices are decided on: cgroups(7).

A container owns its cgroup and all below, nothing above: its pod's slice is the pod's, and where it has no cgroup of its own
(`podman run --cgroups=disabled`) it sits in its engine's.
"""

from __future__ import annotations

import os

from ..errors import ConfigurationError
from ..frozen import frozen

_RUNTIMES = ("crun", "runc", "runsc", "youki")  #: they name a container's cgroup by themselves where the config does not
_LONG = 32  #: letters of an id that an engine made: no cgroup of another has it in its name by chance


@frozen
class Level:
    """One cgroup that a container owns."""

    version: int  #: 1 (the devices hierarchy) or 2
    path: str  #: as /proc/PID/cgroup has it
    folder: str  #: where this host shows it


def levels(cgroup: str, mountinfo: str, cgroups_path: str, container: str) -> tuple[Level, ...]:
    """The cgroups of a container's own that decide on devices: those of v1's devices hierarchy, then those of v2, each top-down.

    CGROUP is the text of /proc/PID/cgroup of its process, MOUNTINFO that of the hook's own /proc/self/mountinfo; both show paths as seen
    from the hook's cgroup namespace. CGROUPS_PATH is `linux.cgroupsPath` of the config, CONTAINER its id.
    Raises ConfigurationError where no mount shows a cgroup that it owns.
    """
    found: list[Level] = []
    for version, path in _memberships(cgroup):
        shown = [(point, inside) for point, root in _mounts(mountinfo, version) if (inside := _inside(path, root)) is not None]
        for point, inside in shown or [("", path)]:
            parts = [part for part in inside.split("/") if part]
            above = path[: len(path) - len(inside)]
            own = ["/" + "/".join(parts[: end + 1]) for end in range(_top(parts, cgroups_path, container), len(parts))]
            if own and not shown:
                raise ConfigurationError(
                    f"the container is in the cgroup {path}, and no mount here shows cgroup v{version} as far as that; "
                    "its engine must run where the cgroup file system is mounted"
                )
            found += [Level(version, above + below, point.rstrip("/") + below) for below in own]
            if own:
                break
    return tuple(found)


def seats(cgroup: str, mountinfo: str) -> tuple[Level, ...]:
    """The cgroup of each hierarchy that the process sits in, whosever it is, as far as a mount here shows it. Texts as in `levels`."""
    found = []
    for version, path in _memberships(cgroup):
        for point, root in _mounts(mountinfo, version):
            inside = _inside(path, root)
            if inside is not None:
                found.append(Level(version, path, point.rstrip("/") + inside))
                break
    return tuple(found)


def scope(found: tuple[Level, ...]) -> str:
    """The systemd unit (`libpod-….scope`) that the top of the levels FOUND is; empty if it is none, or another manager's than the host's.

    systemd has scopes in slices only (systemd.slice(5)); those below `user@UID.service` are of a user's own manager.
    """
    paths = [level.path for level in found]
    for path in paths:
        above, _, name = path.rpartition("/")
        in_slice = above == "" or above.endswith(".slice")
        users = [part for part in above.split("/") if part.startswith("user@") and part.endswith(".service")]
        if name.endswith(".scope") and in_slice and not users and above not in paths:
            return name.removeprefix("_")  # systemd escapes a name that is also a cgroup file's: `_memory.scope`
    return ""


def _memberships(cgroup: str) -> list[tuple[int, str]]:
    """The version and path of the hierarchies that can decide on devices; a path may have ":" in it (case 32)."""
    lines = [line for line in [line.split(":", 2) for line in cgroup.split("\n")] if len(line) == 3]
    first = [(1, path) for _, controllers, path in lines if "devices" in controllers.split(",")]
    return first + [(2, path) for number, controllers, path in lines if (number, controllers) == ("0", "")]


def _mounts(mountinfo: str, version: int) -> list[tuple[str, str]]:
    """Mount point and root of the mounts of a hierarchy that can be reached: another may lie on top of one (proc_pid_mountinfo(5))."""
    table: dict[tuple[str, str], str] = {}
    candidates = []
    lines = [line.split(" ") for line in mountinfo.split("\n") if " - " in line]
    ids = {fields[0] for fields in lines}
    for fields in lines:
        mount, parent, _, root, point = fields[:5]
        kind, *_, options = fields[fields.index("-") + 1 :]
        point = _plain(point)
        # The topmost mount shown has a parent that is not, or is its own.
        table[parent if parent in ids and parent != mount else "", point] = mount
        if (kind == "cgroup2") if version == 2 else (kind == "cgroup" and "devices" in options.split(",")):
            candidates.append((mount, point, _plain(root)))
    return [(point, root) for mount, point, root in candidates if _reached(point, table) == mount]


def _reached(path: str, table: dict[tuple[str, str], str]) -> str:
    """The id of the mount that a walk down to PATH ends in. TABLE has what is mounted on which mount and where."""
    current = ""
    walked = ""
    for part in ["", *path.strip("/").split("/")]:
        walked = f"{walked.rstrip('/')}/{part}"
        while (current, walked) in table:
            current = table[current, walked]
    return current


def _plain(text: str) -> str:
    r"""TEXT of mountinfo without its escapes: a space is `\040`."""
    first, *others = text.split("\\")
    return first + "".join([chr(int(other[:3], 8)) + other[3:] for other in others])


def _inside(path: str, root: str) -> str | None:
    """PATH as seen from the ROOT of a mount, None if it is not below that. Either begins with `/..` outside of the cgroup namespace."""
    inside = path if root == "/" else path[len(root) :] if f"{path}/".startswith(f"{root}/") else None
    return None if inside is None or f"{inside}/".startswith("/../") else inside


def _top(parts: list[str], cgroups_path: str, container: str) -> int:
    """The index in PARTS, a path's components, of the topmost cgroup that CONTAINER owns; their number if it owns none.

    Runtimes take `linux.cgroupsPath` for a path from the mount's root (cgroupfs), for one from their own cgroup, or for the name of a
    systemd unit, `slice:prefix:name`; without one the cgroup is called after the container (runc, docs/systemd.md; crun(1)).
    """
    wanted = [part for part in os.path.normpath(f"/{cgroups_path}").split("/") if part]  # `../x` stays below the root, too
    if cgroups_path.startswith("/"):
        return len(wanted) - 1 if wanted and parts[: len(wanted)] == wanted else len(parts)
    if not cgroups_path:
        tops = [index for index, name in enumerate(parts) if _called_after(container, name)]
    else:
        units = _units(cgroups_path)
        tops = [index for index, name in enumerate(parts) if name.removeprefix("_") in units]
        tops += [index for index in range(len(parts)) if parts[index + 1 - len(wanted) : index + 1] == wanted]
    return max(tops, default=len(parts))


def _units(cgroups_path: str) -> tuple[str, ...]:
    """What runc and crun may call the systemd unit for `slice:prefix:name`; they differ where parts of that are empty or missing."""
    _, colon, rest = cgroups_path.partition(":")
    name = rest.partition(":")[2]
    if not colon:
        return (f"{cgroups_path}.scope",)
    return (name,) if name.endswith(".slice") else (f"{rest.replace(':', '-', 1)}.scope", f"{rest.removeprefix(':')}.scope")


def _called_after(container: str, name: str) -> bool:
    """Whether a cgroup called NAME is CONTAINER's own. A short id can be part of another's by chance, and a monitor has it in its name."""
    if name == container or name in [form for runtime in _RUNTIMES for form in (f"{runtime}-{container}.scope", f":{runtime}:{container}")]:
        return True
    return len(container) >= _LONG and container in name and "conmon" not in name
