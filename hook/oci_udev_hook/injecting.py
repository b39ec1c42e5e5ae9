"""createRuntime without precreate: the live container gets what it asks for, or nothing of it and an error."""

from __future__ import annotations

import os

from . import allocation, bundles, confirming, planning
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
    """Carry PLAN out in the live container of PROCESS and in its bundle's CONFIG. Raises HookError, and then nothing of it is left."""
    undo = UndoLog()
    try:
        patched = injection.patch(config.value, plan.mark)
        with Opened(process, config.value, os.path.dirname(config.source), rootless=run.who.rootless) as target:
            try:
                steps = live.look(target, plan.edits, config.value, plan.container.id)
                findings.warnings += steps.denied
                live.apply(target, steps, undo, replace_pin=_replaces_pin(run, steps))
                bundles.patch(config, patched)
            except BaseException:
                findings.notes += undo.take_back()
                raise
    except BaseException:
        with allocation.Ledger(run.state_dir, uid=run.who.uid) as ledger:
            ledger.release(plan.container.id)
        raise


def _replaces_pin(run: Run, steps: Steps) -> bool:
    """Whether there is a pinned program among STEPS and policy lets it be replaced. Raises ConfigurationError for a faulty policy."""
    if steps.scope is None or not steps.scope.pin:
        return False
    from . import policy

    return policy.load(run.config_dirs).pinned is policy.Pinned.REPLACE
