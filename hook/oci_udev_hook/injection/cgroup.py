"""What cgroup v1 lets a container do with devices: cgroup-v1/devices.rst of the kernel's admin guide, security/device_cgroup.c."""

from __future__ import annotations

import errno
import os
import time

from ..errors import ConfigurationError, UnavailableError
from . import linux
from .levels import Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..edit import CgroupRule
    from ..errors import HookError
    from .undo import UndoLog

    _Entry = tuple[str, str, str, str]  # of devices.list: type, major, minor, access

_LIST_SIZE = 1 << 20  #: bytes of devices.list, more than fifty thousand entries
_TRIES, _PAUSE = 100, 0.01  #: seconds


def missing(level: Level, rules: tuple[CgroupRule, ...]) -> tuple[CgroupRule, ...]:
    """Those of RULES that the cgroup v1 LEVEL does not allow yet, by its devices.list; none at a level of cgroup v2.

    Raises UnavailableError where it has gone, ConfigurationError where it cannot be read. A list that allows all (`a *:* rwm`) says
    nothing of what was denied after that, see devcgroup_seq_show() in the kernel's security/device_cgroup.c.
    """
    if level.version != 1:
        return ()
    folder = _open(level)
    try:
        entries = _entries(folder)
    except OSError as error:
        raise _failed(level, error) from None
    finally:
        os.close(folder)
    return tuple([rule for rule in rules if not _covered(rule, entries)])


def allow(level: Level, rules: tuple[CgroupRule, ...], undo: UndoLog) -> None:
    """Let the cgroup v1 LEVEL do what RULES say, and see in its devices.list that it may. Levels above it come first: none can do more.

    UNDO takes the way back. Raises UnavailableError where the cgroup has gone, ConfigurationError where it cannot be given a rule.
    """
    folder = _open(level)
    try:
        for rule in rules:
            try:
                _allow(level, folder, rule, undo)
            except OSError as error:
                raise _failed(level, error, rule) from None
    finally:
        os.close(folder)


def _allow(level: Level, folder: int, rule: CgroupRule, undo: UndoLog, tries: int = _TRIES) -> None:
    """The same for one RULE, in the open FOLDER of LEVEL. Raises OSError, ConfigurationError.

    systemd writes the whole list of its units anew when one of their properties is set, and takes a moment for that: one more try is due.
    """
    entries = _entries(folder)
    if _covered(rule, entries):
        return
    had = "".join([access for *key, access in entries if key == _key(rule)])
    added = "".join([letter for letter in rule.access if letter not in had])
    for attempt in range(tries):
        if attempt:
            time.sleep(_PAUSE)
        _write(folder, "devices.allow", f"{rule.number} {rule.access}")
        if not attempt:
            undo.add(f"{rule.number} {added}, allowed in {level.folder}", lambda: _withdraw(level, f"{rule.number} {added}"))
        if _covered(rule, _entries(folder)):
            return
    raise ConfigurationError(
        f"{level.folder}/devices.list does not show {rule.number} {rule.access} after it was allowed there; "
        "something else keeps rewriting it: see the log of systemd and of the engine"
    )


def _withdraw(level: Level, entry: str) -> None:
    """Take ENTRY out of LEVEL's list again. Raises OSError, HookError."""
    folder = _open(level)
    try:
        _write(folder, "devices.deny", entry)
    finally:
        os.close(folder)


def _open(level: Level) -> int:
    """LEVEL's folder. Raises UnavailableError, ConfigurationError for one that is not of cgroup v1's file system."""
    try:
        folder = os.open(level.folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _failed(level, error) from None
    if linux.file_system(folder) != linux.CGROUP_SUPER_MAGIC:
        os.close(folder)
        raise ConfigurationError(f"{level.folder} is to be a cgroup of version 1 and is another file system; see what is mounted on it")
    return folder


def _entries(folder: int) -> list[_Entry]:
    """What devices.list of the cgroup FOLDER has. Raises OSError."""
    descriptor = os.open("devices.list", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        text = ""
        while part := os.read(descriptor, _LIST_SIZE):
            text += part.decode("ascii")
    finally:
        os.close(descriptor)
    found = []
    for line in text.splitlines():
        kind, number, access = line.split(" ")
        major, _, minor = number.partition(":")
        found.append((kind, major, minor, access))
    return found


def _key(rule: CgroupRule) -> list[str]:
    """RULE's device as an entry has it: the kernel joins entries that are alike in this."""
    return [str(rule.number.type), str(rule.number.major), str(rule.number.minor)]


def _covered(rule: CgroupRule, entries: list[_Entry]) -> bool:
    """Whether one of ENTRIES allows all that RULE says; the kernel does not add up what several allow."""
    return any(
        [
            set(rule.access) <= set(access) and all([given in (wanted, "*", "a") for given, wanted in zip(key, _key(rule), strict=True)])
            for *key, access in entries
        ]
    )


def _write(folder: int, name: str, entry: str) -> None:
    """Write ENTRY, one at a time as the kernel takes them, to the file NAME in the cgroup FOLDER. Raises OSError."""
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.write(descriptor, entry.encode("ascii"))
    finally:
        os.close(descriptor)


def _failed(level: Level, error: OSError, rule: CgroupRule | None = None) -> HookError:
    """What to say where LEVEL cannot be read, or cannot be given RULE."""
    if error.errno in (errno.ENOENT, errno.ENODEV):
        return UnavailableError(f"the container's cgroup {level.folder} has gone meanwhile; start the container again")
    if rule is None:
        return ConfigurationError(f"the container's cgroup {level.folder} cannot be read: {error.strerror}; the hook must run as root")
    asked = f"{rule.number} {rule.access}"
    above = os.path.dirname(level.folder)
    if error.errno == errno.EPERM and missing(Level(1, os.path.dirname(level.path), above), (rule,)):
        return ConfigurationError(
            f"the container's cgroup {level.folder} cannot be allowed {asked}, since {above} above it is not; allow it there first, "
            f"by DeviceAllow= of its systemd unit or with: echo '{asked}' > {above}/devices.allow"
        )
    return ConfigurationError(
        f"the container's cgroup {level.folder} cannot be allowed {asked}: {error.strerror}; the hook must run as root with CAP_SYS_ADMIN, "
        "where that file system can be written"
    )
