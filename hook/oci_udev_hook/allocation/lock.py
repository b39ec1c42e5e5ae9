"""The one lock around the ledger: an exclusive flock(2) on a file of its own, which ends with the process whatever happens to it."""

from __future__ import annotations

import fcntl
import os
import time

from ..errors import ConfigurationError, HookError

_FIRST_PAUSE = 0.001  #: seconds; a run holds the lock for some milliseconds
_LONGEST_PAUSE = 0.02


def acquire(path: str, wait: float) -> int:
    """The descriptor of the locked file PATH; closing it unlocks. Waits for WAIT seconds at most, which must be less than the
    timeout in the hook JSON: an engine kills the hook without a word when that is over.

    Raises HookError when another run keeps the lock, ConfigurationError where there can be no lock file.
    """
    deadline = time.monotonic() + wait
    pause = _FIRST_PAUSE
    while True:
        descriptor = _open_lock(path)
        try:
            while not _attempt(descriptor):
                if time.monotonic() >= deadline:
                    raise HookError(_overdue(path, os.fstat(descriptor), wait))
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            if _is_current(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _open_lock(path: str) -> int:
    """Open the lock file, made where it is not there yet.

    Mode 0600: flock(2) needs no more than an open file, so any user who could read this one could stop all containers.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        mend = "see its owner and mode, or name another folder with --state-dir"
        raise ConfigurationError(f"the lock {path} cannot be opened: {error.strerror}; {mend}") from None


def _attempt(descriptor: int) -> bool:
    """Try to lock without waiting."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_current(path: str, descriptor: int) -> bool:
    """Whether PATH still is the file that was locked: someone may have removed the folder while we waited."""
    own = os.fstat(descriptor)
    try:
        now = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (own.st_dev, own.st_ino) == (now.st_dev, now.st_ino)


def _overdue(path: str, status: os.stat_result, wait: float) -> str:
    """The sentence for a lock that stays held."""
    try:
        with open("/proc/locks", encoding="ascii") as file:
            pid = _holder(file.read(), status.st_dev, status.st_ino)
    except OSError:
        pid = None
    who, mend = (f"process {pid}", f"if that process hangs, end it (kill {pid})") if pid else ("another run of the hook", "try again")
    return f"the ledger's lock {path} is held by {who} and was not given up for {wait:g} s; {mend}"


def _holder(locks: str, device: int, inode: int) -> int | None:
    """The pid that holds the flock on the file of that DEVICE and INODE. LOCKS is the text of /proc/locks, see proc(5)."""
    file = f"{os.major(device):02x}:{os.minor(device):02x}:{inode}"
    for line in locks.splitlines():
        words = line.split()
        if words[1:2] == ["FLOCK"] and words[3:4] == ["WRITE"] and words[5:6] == [file] and int(words[4]) > 0:
            return int(words[4])
    return None
