"""createRuntime and poststop of what was allotted before: the lease passes to the container's process, and ends with it."""

from __future__ import annotations

import json
import os

from . import allocation
from .errors import UnavailableError, UsageError
from .injection import checks, looking
from .injection import config as injection
from .injection.opening import Opened
from .leases import leased
from .model import LeaseState
from .places import NAME, boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Findings
    from .injection.mark import Mark
    from .leases import Leased
    from .model import DeviceNumber, Holder, Process
    from .ociconfig import Config, State
    from .run import Run


def mark(run: Run, config: Config, state: State, findings: Findings) -> Mark | None:
    """The mark on CONFIG, None where there is none: precreate has put it there, or createRuntime in this run or an earlier one.

    Raises UsageError for a mark of another container or boot, whose devices may be another's by now.
    """
    found = injection.mark_of(config.value)
    if found is None:
        return None
    findings.name = found.name
    if found.container != state.id:
        _refuse_shared(run, config, found)
        raise _stale(config, found, f"they are container {found.container[:12]}'s")
    if found.boot != boot_id():
        raise _stale(config, found, "they are from before the last boot")
    return found


def _refuse_shared(run: Run, config: Config, mark: Mark) -> None:
    """Raise UsageError if the container of MARK runs now from the very bundle of CONFIG, which must stay as it is then."""
    seen = allocation.Ledger.read_only(run.state_dir, uid=run.who.uid)
    for lease in seen.held(mark.container)[:1]:
        holder = lease.holder
        here = not _elsewhere(holder.bundle, os.path.dirname(config.source))
        if here and _runs(holder):
            raise UsageError(
                f"{config.source} is of the container {mark.container[:12]}, which runs now (process {holder.process.pid}) and has "
                "devices; stop it first, or run another bundle"
            )


def _stale(config: Config, mark: Mark, why: str) -> UsageError:
    """The error for a mark that says nothing any more, with the command that takes it and its edits away."""
    from shlex import quote

    state = {"id": mark.container, "status": "stopped", "bundle": os.path.dirname(config.source)}
    return UsageError(
        f"{config.source} carries devices that an earlier run of the hook put in, and {why}; take them out, then start it again: "
        f"echo {quote(json.dumps(state))} | {NAME} poststop"
    )


def check(mark: Mark, config: Config) -> None:
    """See that the nodes in CONFIG and on the host are still the leased devices. Raises UnavailableError."""
    wrong = checks.changed(mark, config.value) or checks.moved(mark)
    if wrong:
        raise UnavailableError(wrong)


def check_container(run: Run, mark: Mark, config: Config, state: State) -> None:
    """See that the nodes in the container itself, which its runtime has made, are the leased devices. Raises UnavailableError."""
    with Opened(of_state(state), config.value, os.path.dirname(config.source), rootless=run.who.rootless) as container:
        wrong = looking.wrong_node(container, mark.edits)
    if wrong:
        raise UnavailableError(wrong)


def of_state(state: State) -> Process:
    """The process of the container of STATE. Raises UsageError where STATE names none that lives."""
    if not state.pid:
        raise UsageError(f"the state of container {state.id[:12]} on standard input has no pid; a created container has one")
    process = allocation.process(state.pid)
    if process is None:
        raise UsageError(f"container {state.id[:12]} has no process {state.pid}; the state on standard input must name a living one")
    return process


def confirm(run: Run, config: Config, mark: Mark, state: State, findings: Findings) -> None:
    """From now on the lease lives as long as the container's process. Raises UsageError for a lease that has ended."""
    process = of_state(state)
    with allocation.Ledger(run.state_dir, uid=run.who.uid) as ledger:
        leases = ledger.confirm(state.id, process)
    findings.leased(leases)
    if mark.leases and not leases:
        raise _stale(config, mark, "their lease has ended")
    if {_written(lease) for lease in mark.leases} != {_written(leased(lease)) for lease in leases}:
        label = mark.name or state.id[:12]
        raise UnavailableError(f"{label} does not hold what its config gives it: the lease changed before it ran; start it again")


def _written(lease: Leased) -> tuple[str, str, frozenset[DeviceNumber], tuple[str, ...]]:
    """What a mark and the ledger must agree on."""
    return lease.resource, lease.unit, lease.numbers, lease.nodes


def refuse_namesake(ledger: allocation.View, identity: str, process: Process) -> None:
    """See that no other PROCESS lives under the id IDENTITY: another runtime, or another state folder of this one, can have given it, too.

    Raises UsageError.
    """
    for lease in ledger.held(identity)[:1]:
        holder = lease.holder
        if holder.process != process and _runs(holder):
            raise UsageError(
                f"a container of the id {identity[:12]} runs already (process {holder.process.pid}, bundle {holder.bundle}) and holds "
                "devices, which are told apart by the ids; give this one another id"
            )


def release(run: Run, state: State, findings: Findings) -> None:
    """End the leases of the container of STATE, unless its process lives: another one has its id then, or it has not been stopped."""
    seen = allocation.Ledger.read_only(run.state_dir, uid=run.who.uid)
    held = seen.held(state.id)
    if not held or _runs(held[0].holder):
        return
    with allocation.Ledger(run.state_dir, uid=run.who.uid) as ledger:
        findings.leased(ledger.release(state.id))


def _runs(holder: Holder) -> bool:
    """Whether the process of HOLDER's container lives."""
    return holder.state is LeaseState.CONFIRMED and allocation.process(holder.process.pid) == holder.process


def _elsewhere(held: str, told: str) -> bool:
    """Whether the bundle that a holder has, HELD, is another than the one TOLD by a state; `/` (see `bundles.folders`) tells nothing."""
    return "" not in (held, told.rstrip("/")) and os.path.realpath(held) != os.path.realpath(told)
