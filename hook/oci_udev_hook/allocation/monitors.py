"""conmon processes: each watches over one container, and its command line says which, whatever podman's own state says.

A conmon starts before its container, and ends after it, so one that lives means a container that runs or is about to.
"""

from __future__ import annotations

import os

from ..frozen import frozen
from .liveness import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Process


@frozen
class Monitor:
    """One conmon and what its command line names, see conmon(8)."""

    process: Process
    container: str  #: -c
    bundle: str  #: -b
    pidfile: str  #: -p


def monitors(owner: int | None, proc: str = "/proc") -> Iterator[Monitor]:
    """The monitors that run now. With an OWNER only that user's, and only outside of containers.

    Anyone can start a process that calls itself conmon, and root in a container has root's uid: its root folder is another than ours.
    """
    for name in os.listdir(proc):
        if not name.isdigit():
            continue
        try:
            with open(f"{proc}/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if os.path.basename(words[0]) != b"conmon" or (owner is not None and not _trusted(f"{proc}/{name}", owner)):
                continue
        except OSError:
            continue  # it has ended in between
        own = process(int(name), proc)
        found = own and _monitor(own, [os.fsdecode(word) for word in words])
        if found:
            yield found


def _trusted(folder: str, owner: int) -> bool:
    """Whether the process of FOLDER in /proc is OWNER's and sees the same file system as this one. Raises OSError."""
    return os.stat(folder).st_uid == owner and os.path.samestat(os.stat(f"{folder}/root"), os.stat("/"))


def _monitor(own: Process, words: list[str]) -> Monitor | None:
    """The monitor OWN from its command line as podman and CRI-O write it; None for an exec session's, which names the same container."""
    if "--exit-command" in words:
        words = words[: words.index("--exit-command")]  # what follows are another program's options
    if "-e" in words or "--exec" in words:
        return None
    return Monitor(own, container=_option(words, "-c"), bundle=_option(words, "-b"), pidfile=_option(words, "-p"))


def _option(words: list[str], name: str) -> str:
    """The word behind NAME."""
    return words[words.index(name) + 1] if name in words[:-1] else ""


def find(container: str, owner: int | None, proc: str = "/proc") -> Monitor | None:
    """The monitor of CONTAINER."""
    return next((found for found in monitors(owner, proc) if found.container == container), None)


def of_process(pid: int, owner: int | None, proc: str = "/proc") -> Monitor | None:
    """The monitor whose container's first process is PID."""
    processes = ((found, container_process(found, proc)) for found in monitors(owner, proc))
    return next((found for found, own in processes if own is not None and own.pid == pid), None)


def container_process(found: Monitor, proc: str = "/proc") -> Process | None:
    """The container's process as FOUND's pidfile names it; None before there is one."""
    try:
        with open(found.pidfile, encoding="ascii") as file:
            return process(int(file.read(32)), proc)
    except (OSError, ValueError):
        return None
