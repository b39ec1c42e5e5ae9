"""The leases of living containers, read from their own marked configs: what a ledger that is lost or damaged is made of again.

Reservations whose container does not exist yet are lost with the ledger; their createRuntime finds no lease and refuses the start.
"""

from __future__ import annotations

import os

from .. import files, typed
from ..errors import ConfigurationError
from ..frozen import frozen
from ..leases import read_leases
from ..model import Holder, LeaseState, Process
from ..places import MARK
from . import monitors
from .liveness import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Lease

_RUNTIME_FOLDERS = (
    "/run/crun",
    "/run/runc",
    "/run/containerd/runc/k8s.io",
    "/run/containerd/runc/default",
    "/run/docker/runtime-runc/moby",
)


@frozen
class _Living:
    """A container that lives."""

    container: str
    bundle: str
    process: Process
    state: LeaseState = LeaseState.CONFIRMED


def _runtime_folders(uid: int) -> tuple[str, ...]:
    """Where runc and crun keep the state of the containers of the user UID."""
    return _RUNTIME_FOLDERS if uid == 0 else (f"/run/user/{uid}/crun", f"/run/user/{uid}/runc")


def leases(boot: str, uid: int, folders: tuple[str, ...] | None = None, proc: str = "/proc") -> tuple[Lease, ...]:
    """What the living containers of this user hold in this BOOT, as their configs say.

    Raises ConfigurationError for a marked config that cannot be understood: nothing may be given out until its container is gone.
    """
    living: dict[str, _Living] = {}
    for found in (*_watched(proc), *_known_to_runtimes(_runtime_folders(uid) if folders is None else folders, proc)):
        living[found.container] = found  # what a runtime itself says comes last and counts
    return tuple([lease for found in living.values() for lease in _marked(found, boot, uid)])


def _watched(proc: str) -> Iterator[_Living]:
    """The containers of all conmon processes of this user."""
    for monitor in monitors.monitors(os.geteuid(), proc):
        if not monitor.bundle.endswith(f"/{monitor.container}/userdata"):
            continue  # engines keep a container's bundle in a folder of its id, images cannot write there
        own = monitors.container_process(monitor, proc)
        # Without a process of its own yet, the container is about to be made: it lives as long as its conmon.
        state = LeaseState.RESERVED if own is None else LeaseState.CONFIRMED
        yield _Living(monitor.container, monitor.bundle, own or monitor.process, state)


def _known_to_runtimes(folders: tuple[str, ...], proc: str) -> Iterator[_Living]:
    """The containers in the state FOLDERS of crun (ID/status) and runc (ID/state.json) whose process lives."""
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            found = _crun_state(folder, name) or _runc_state(folder, name)
            if found is not None and process(found.process.pid, proc) == found.process:
                yield found


def _crun_state(folder: str, name: str) -> _Living | None:
    """The container NAME from crun's `status` (crun, src/libcrun/status.c)."""
    try:
        fields = typed.parse(files.read(f"{folder}/{name}/status", typed.MAX_INPUT).data)
        return _Living(name, fields.path("bundle"), Process(fields.number("pid"), fields.number("process-start-time")))
    except (OSError, typed.TypedError):
        return None


def _runc_state(folder: str, name: str) -> _Living | None:
    """The container NAME from runc's `state.json` (runc, libcontainer/container_linux.go); the bundle is one of its labels."""
    try:
        fields = typed.parse(files.read(f"{folder}/{name}/state.json", typed.MAX_INPUT).data)
        labels = fields.object("config").paths("labels")
        bundle = next((label.removeprefix("bundle=") for label in labels if label.startswith("bundle=")), "")
        return _Living(name, bundle, Process(fields.number("init_process_pid"), fields.number("init_process_start")))
    except (OSError, typed.TypedError):
        return None


def _marked(living: _Living, boot: str, uid: int) -> tuple[Lease, ...]:
    """The leases in the mark of LIVING's config: none where it has no mark, or one of another container or boot."""
    path = f"{living.bundle}/config.json"
    try:
        content = files.read(path, typed.MAX_INPUT)
    except OSError:
        return ()
    if content.owner != os.geteuid() or MARK.encode() not in content.data:
        return ()
    try:
        annotations = typed.parse(content.data).object("annotations")
        if MARK not in annotations.value:
            return ()
        mark = typed.parse(annotations.text(MARK).encode())
        if mark.text("container") != living.container or mark.text("boot") != boot:
            return ()
        holder = Holder(
            container=living.container,
            name=mark.text("name", ""),
            state=living.state,
            process=living.process,
            boot=boot,
            since=max(0.0, min(content.status.st_mtime, typed.MOST_SECONDS)),
            bundle=living.bundle,
            uid=uid,
        )
        return tuple([leased.held_by(holder) for leased in read_leases(mark)])
    except typed.TypedError as error:
        mend = f"stop the container {living.container[:12]} and try again"
        says = typed.about(f"the hook's mark in {path}", error)
        raise ConfigurationError(f"the ledger must be rebuilt from the living containers' configs, but {says}; {mend}") from None
