"""Whether a holder lives, and whose life a reservation's is.

A reservation (given out by precreate, not confirmed yet) lives while the engine process that ran the hook does, two minutes at most
where that process is a service; a confirmed lease lives while the container's process does. Another boot id ends all.
A pid alone says nothing, it can be given anew: the start time goes with it, see proc(5).
"""

from __future__ import annotations

import os
import time

from ..frozen import frozen
from ..model import Holder, LeaseState, Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Container

_SERVICE_SECONDS = 120.0  #: how long a reservation lasts at most where the engine does not end with the start

# Fields of /proc/PID/stat behind the name, from 0: the manual page counts from 1 and has two before.
_STATE, _THREADS, _START = 0, 17, 19


@frozen
class Engine:
    """The process that ran the hook."""

    process: Process
    service: bool  #: it outlives the start of a container


def process(pid: int, proc: str = "/proc") -> Process | None:
    """The process PID; None where there is none or where it has ended and only waits for its parent (a zombie).

    A container whose init is a zombie has no device open any more: the kernel ends a pid namespace before its init is reaped.
    """
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name stands in parentheses and may hold anything, parentheses and blanks too.
    fields = text[text.rindex(b")") + 2 :].split()
    # A process whose first thread has ended while others work shows as a zombie as well; one that has ended has no other thread.
    if fields[_STATE] in (b"Z", b"X", b"x") and int(fields[_THREADS]) < 2:
        return None
    return Process(pid, int(fields[_START]))


def _lives(known: Process, proc: str = "/proc") -> bool:
    """Whether the process KNOWN still lives."""
    now = process(known.pid, proc)
    if now is not None:
        return now.start == known.start
    return proc == "/proc" and _hidden(known.pid)


def _hidden(pid: int) -> bool:
    """Whether PID is there, but /proc does not show it to this user (mount option hidepid, see proc(5)): it counts as living."""
    try:
        if pid > 0:
            os.kill(pid, 0)
    except PermissionError:
        return not os.access(f"/proc/{pid}/stat", os.R_OK)
    except (ProcessLookupError, OverflowError):
        pass
    return False


def alive(holder: Holder, boot: str, now: float, proc: str = "/proc") -> bool:
    """Whether HOLDER's own process lives in this BOOT. NOW is CLOCK_BOOTTIME, in seconds.

    For a reservation whose engine has ended this is not the whole answer: its container may run without having been confirmed,
    which `adopted` tells.
    """
    if holder.boot != boot or (holder.until is not None and now >= holder.until):
        return False
    return _lives(holder.process, proc)


def adopted(holder: Holder, boot: str, owner: int | None, proc: str = "/proc") -> Holder | None:
    """HOLDER as a confirmed one where its reservation has ended but its container lives: no createRuntime hook ran for it.

    The container's conmon tells; OWNER is whose conmon counts. None where the container does not live either.
    """
    if holder.state is not LeaseState.RESERVED or holder.boot != boot:
        return None
    from . import monitors

    found = monitors.find(holder.container, owner, proc)
    if found is None:
        return None
    return confirmed(holder, monitors.container_process(found, proc) or found.process)


def confirmed(holder: Holder, own: Process) -> Holder:
    """HOLDER with the process OWN of its container."""
    return Holder(
        container=holder.container,
        name=holder.name,
        state=LeaseState.CONFIRMED,
        process=own,
        boot=holder.boot,
        since=holder.since,
        bundle=holder.bundle,
        uid=holder.uid,
    )


def engine(pid: int, proc: str = "/proc") -> Engine:
    """The engine that ran this hook, its parent PID.

    podman's commands end soon after the start of a container, `podman system service` does not; any other parent is taken for a
    service, too. So is init, which stands in for a parent that has ended or is in another pid namespace: nobody waits for the hook
    then, and what it reserves is free again two minutes later.
    """
    own = process(pid, proc) if pid > 0 else None
    if own is None:
        return Engine(process(1, proc) or Process(1, 0), service=True)
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        words = [b""]
    return Engine(own, service=os.path.basename(words[0]) != b"podman" or (b"system", b"service") in zip(words, words[1:], strict=False))


def reservation(container: Container, run_by: Engine, boot: str, uid: int) -> Holder:
    """CONTAINER as the holder of what precreate gives out. UID is the user whose ledger it is."""
    return Holder(
        container=container.id,
        name=container.name,
        state=LeaseState.RESERVED,
        process=run_by.process,
        boot=boot,
        since=time.time(),
        until=clock() + _SERVICE_SECONDS if run_by.service else None,
        bundle=container.bundle,
        uid=uid,
    )


def clock() -> float:
    """Seconds since the boot, sleep included (CLOCK_BOOTTIME): what nobody can set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
