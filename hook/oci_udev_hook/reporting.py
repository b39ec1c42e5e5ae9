"""The end of a stage: one event to the log and the decision that `why` shows."""

from __future__ import annotations

import time

from . import log
from .errors import ExitCode
from .findings import Outcome
from .log import Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Findings
    from .run import Run


def report(run: Run, stage: str, findings: Findings, code: int, reason: str, traceback: str, duration: float) -> None:
    """Keep what STAGE decided and log its run, which took DURATION seconds. REASON is empty where CODE is 0."""
    outcome = Outcome.FAILED if code == ExitCode.SOFTWARE else Outcome.REFUSED if code else findings.outcome
    if code or outcome is Outcome.ALLOTTED or (stage == "precreate" and findings.container):
        _keep(run, stage, findings, code, outcome, reason)
    level = Level.ERROR if code else Level.WARNING if findings.warnings else Level.INFO
    fields: dict[str, object] = {
        "container": findings.name or findings.container,
        "requests": findings.requests,
        "units": findings.units,
        "duration_ms": round(duration * 1000, 1),
        "outcome": outcome,
    }
    extra = {"notes": findings.notes, "warnings": findings.warnings, "code": int(code), "reason": reason, "traceback": traceback}
    fields.update({name: value for name, value in extra.items() if value})
    log.event(stage, level, fields, debug=run.debug)


def _keep(run: Run, stage: str, findings: Findings, code: int, outcome: Outcome, reason: str) -> None:
    """Write the decision down for `why`."""
    from . import decisions

    decision = decisions.Decision(
        stage=stage,
        container=findings.container,
        name=findings.name,
        time=time.time(),
        code=int(code),
        outcome=outcome.value,
        reason=reason,
        requests=findings.requests,
        units=findings.units,
        notes=findings.notes + findings.warnings,
    )
    decisions.keep(run.state_dir, decision)
