"""A container's bundle at createRuntime and poststop: finding its config.json, and taking the hook's edits out of it."""

from __future__ import annotations

import os

from . import allocation, ociconfig, typed
from .errors import UsageError
from .injection import config as injection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .ociconfig import Config, State
    from .run import Run

FILE = "config.json"


def config(run: Run, state: State) -> Config:
    """The config of the container of STATE. Raises UsageError where no bundle has one."""
    tried = []
    for folder in folders(run, state):
        try:
            return read(f"{folder}/{FILE}")
        except FileNotFoundError:
            tried.append(f"{folder}/{FILE}")
        except OSError as error:
            raise UsageError(f"{folder}/{FILE} cannot be read: {error.strerror}; it is the config of container {state.id[:12]}") from None
    raise UsageError(
        f"container {state.id[:12]} has no config: {' and '.join(tried)} not found; the state on standard input must name its bundle"
    )


def folders(run: Run, state: State) -> Iterator[str]:
    """Where the bundle can be: as the state has it, else as the lease has it.

    crun up to 1.21 names `/` where podman gives the container a user namespace (containers/crun#2025).
    """
    if state.bundle.startswith("/"):
        yield state.bundle.rstrip("/")
    leased = {lease.holder.bundle for lease in allocation.Ledger.read_only(run.state_dir, uid=run.who.uid).held(state.id)}
    yield from leased - {"", state.bundle}


def read(path: str) -> Config:
    """The config in the file PATH. Raises OSError and UsageError."""
    with open(path, "rb") as file:
        return ociconfig.read(file.read(typed.MAX_INPUT + 1), path)


def clean(run: Run, state: State) -> None:
    """Take the hook's edits and its mark out of the bundle of STATE, so that a bundle run again asks again. Raises HookError."""
    for folder in folders(run, state):
        path = f"{folder}/{FILE}"
        try:
            found = read(path)
            mark = injection.mark_of(found.value)
            if mark is not None and mark.container == state.id:
                rewrite(path, ociconfig.render(injection.unpatch(found.value)))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UsageError(
                f"the hook's edits cannot be taken out of {path}: {error.strerror}; before this bundle runs again, do so by hand"
            ) from None


def rewrite(path: str, data: bytes) -> None:
    """Put DATA in the place of the file PATH, whole or not at all, with the same owner and mode. Raises OSError."""
    status = os.stat(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, status.st_mode & 0o7777)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
