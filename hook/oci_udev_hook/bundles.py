"""A container's bundle at createRuntime and poststop: finding its config.json, and taking the hook's edits out of it."""

from __future__ import annotations

import os

from . import allocation, files, ociconfig, typed
from .errors import ConfigurationError, UsageError
from .injection import config as injection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ociconfig import Config, State
    from .run import Run

_FILE = "config.json"


def config(run: Run, state: State) -> Config:
    """The config of the container of STATE. Raises UsageError where no bundle has one."""
    places = folders(run, state)
    for folder in places:
        found = _read(f"{folder}/{_FILE}")
        if found is not None:
            return found
    where = " or ".join(places) or repr(state.bundle)
    raise UsageError(f"container {state.id[:12]} has no {_FILE} in {where}; the state on standard input must name its bundle")


def folders(run: Run, state: State) -> tuple[str, ...]:
    """Where the bundle can be: as the state has it, else as the lease or the runtime's own command line has it.

    crun up to 1.21 names `/` where podman gives the container a user namespace (containers/crun#2025).
    """
    leased = {lease.holder.bundle for lease in allocation.Ledger.read_only(run.state_dir, uid=run.who.uid).held(state.id)}
    named = [state.bundle.rstrip("/"), *sorted(leased), _of_runtime(os.getppid())]
    return tuple(dict.fromkeys([folder for folder in named if folder.startswith("/")]))


def _of_runtime(pid: int, proc: str = "/proc") -> str:
    """The bundle that the runtime, the hook's parent PID, was started with: `--bundle DIR` of runc(8) and crun(1).

    Empty if it tells none.
    """
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as file:
            words = os.fsdecode(file.read()).split("\0")
    except OSError:
        return ""
    for word, following in zip(words, words[1:], strict=False):
        if word in ("--bundle", "-b"):
            return following.rstrip("/")
        if word.startswith("--bundle="):
            return word.partition("=")[2].rstrip("/")
    return ""


def _read(path: str, *, follow: bool = True) -> Config | None:
    """The config in the file PATH, None where there is none. Raises UsageError where it cannot be read or is no config.

    A link is followed as runtimes do, unless FOLLOW says not to.
    """
    try:
        return ociconfig.read(files.read(path, typed.MAX_INPUT, follow=follow).data, path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; it must be the plain file of a container's config") from None


def clean(state: State, places: tuple[str, ...]) -> None:
    """Take the hook's edits and its mark out of the bundle of STATE, so that a bundle run again asks again. Raises HookError.

    PLACES are the folders where it can be.
    """
    for folder in places:
        path = f"{folder}/{_FILE}"
        found = _read(path, follow=False)
        mark = injection.mark_of(found.value) if found is not None else None
        if found is not None and mark is not None and mark.container == state.id:
            try:
                files.replace(path, ociconfig.render(injection.unpatch(found.value)), sync=True, locked=False, alike=True)
            except OSError as error:
                mend = "before this bundle runs again, do so by hand"
                raise UsageError(f"the hook's edits cannot be taken out of {path}: {error.strerror}; {mend}") from None


def patch(config: Config, value: dict[str, object]) -> None:
    """Put VALUE in the place of CONFIG in its bundle. Raises ConfigurationError.

    By the spec it changes nothing for the container that is there; it tells whoever reads the bundle, this hook above all.
    """
    try:
        files.replace(config.source, ociconfig.render(value), sync=True, locked=False, alike=True)
    except OSError as error:
        raise ConfigurationError(
            f"{config.source} cannot be patched: {error.strerror}; it must be a plain file in a folder that may be written to "
            "and has room, since what the hook gives a container stands there"
        ) from None
