"""createRuntime without precreate: the live container gets what it asks for, or nothing of it and an error."""

from __future__ import annotations

import os

from . import allocation, bundles, confirming, planning
from .errors import HookError
from .injection import config as injection
from .injection import live
from .injection.opening import Opened
from .injection.undo import UndoLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Findings
    from .injection.live import Steps
    from .model import Process
    from .ociconfig import Config, State
    from .planning import Plan, Proposal
    from .run import Run


def propose(run: Run, config: Config, state: State, findings: Findings) -> Proposal:
    """What the created container of STATE asks for, and what the host has of it. Raises HookError."""
    created = planning.Created(state.id, confirming.of_state(state))
    return planning.propose(run, config, os.path.dirname(config.source), findings, created=created)


def look(run: Run, config: Config, process: Process, plan: Plan) -> Steps:
    """What PLAN takes in the live container of PROCESS; only reads (dry-run --pid). Raises HookError."""
    with Opened(process, config.value, os.path.dirname(config.source), rootless=run.who.rootless) as target:
        return live.look(target, plan.edits, config.value, plan.container.id)


def inject(run: Run, config: Config, process: Process, plan: Plan, findings: Findings) -> None:
    """Carry PLAN out in the live container of PROCESS and in its bundle's CONFIG. Raises HookError, and then all of it is taken back.

    But for what systemd was told of the container's scope, which ends with it. What cannot be taken back is noted, and stays leased as long
    as the process lives, which the runtime ends now.
    """
    undo, left = UndoLog(), False
    try:
        patched = injection.patch(config.value, plan.mark)
        with Opened(process, config.value, os.path.dirname(config.source), rootless=run.who.rootless) as target:
            try:
                steps = live.look(target, plan.edits, config.value, plan.container.id)
                findings.warnings += steps.denied
                findings.notes += live.apply(target, steps, undo, replace_pin=_replaces_pin(run, steps))
                bundles.patch(config, patched)
            except BaseException:
                faults = undo.take_back()
                left = bool(faults)
                findings.notes += faults
                raise
    except BaseException:
        if not left:
            _release(run, plan, findings)
        raise


def _release(run: Run, plan: Plan, findings: Findings) -> None:
    """End the leases of PLAN's container. If that cannot be done it is noted, and they end with its process."""
    try:
        with allocation.Ledger(run.state_dir, uid=run.who.uid) as ledger:
            ledger.release(plan.container.id)
    except HookError as error:
        findings.notes += (f"not released: {error}",)


def _replaces_pin(run: Run, steps: Steps) -> bool:
    """Whether there is a pinned program among STEPS and policy lets it be replaced. Raises ConfigurationError for a faulty policy."""
    if steps.scope is None or not steps.scope.pin:
        return False
    from . import policy

    return policy.load(run.config_dirs).pinned is policy.Pinned.REPLACE
