"""What engines run, and dry-run beside it: each stage is a table of contents of its work.

One truth: `planning` makes the plan that dry-run shows, precreate writes into config.json and createRuntime confirms.
"""

from __future__ import annotations

import os

from .findings import Outcome
from .places import make_state_dir
from .requests import annotations as requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Findings
    from .ociconfig import Config, State
    from .planning import Created, Plan
    from .run import Run


def precreate(run: Run, data: bytes, findings: Findings) -> bytes:
    """Allot what the OCI config in DATA asks for; give the config with the devices in it (podman's precreate, oci-hooks(5))."""
    from . import ociconfig

    config = ociconfig.read(data)
    if not requests.asks(config.annotations) and requests.INJECTED not in config.annotations:
        return data

    from . import allocation, planning
    from .injection import config as injection

    make_state_dir(run.state_dir)
    proposal = planning.propose(run, config, os.getcwd(), findings)
    if not proposal.wanted:
        return data
    with allocation.Ledger(run.state_dir, uid=run.who.uid) as ledger:
        plan = planning.decide(proposal, ledger, findings)
        answer = ociconfig.render(injection.patch(config.value, plan.mark))
        ledger.commit(plan.leases, plan.container.id)
    findings.allotted(plan.allotments)
    findings.outcome = Outcome.ALLOTTED
    return answer


def dry_run(
    run: Run, config: Config, folder: str, findings: Findings, container: str | None = None, created: Created | None = None
) -> Plan:
    """The plan that precreate would carry out now for CONFIG, run in FOLDER, or createRuntime for a CREATED container.

    No lease is taken, nothing is written.
    """
    from . import allocation, planning

    proposal = planning.propose(run, config, folder, findings, container, created)
    ledger = allocation.Ledger.read_only(run.state_dir, uid=run.who.uid, missing_is_lost=True)
    return planning.decide(proposal, ledger, findings)


def create_runtime(run: Run, data: bytes, findings: Findings) -> bytes:
    """Confirm what precreate allotted, or else give the live container what it asks for.

    The state JSON in DATA tells its process and its bundle (OCI runtime spec: runtime.md, State; config.md, createRuntime hooks).
    """
    from . import bundles, confirming, ociconfig

    state = ociconfig.read_state(data)
    findings.container = state.id
    config = bundles.config(run, state)
    mark = confirming.mark(run, config, state, findings)
    if mark is not None:
        confirming.confirm(run, config, mark, state, findings)
        confirming.check(mark, config)
        confirming.check_container(run, mark, config, state)
        findings.outcome = Outcome.CONFIRMED
    elif requests.asks(config.annotations):
        _inject(run, config, state, findings)
    return b""


def _inject(run: Run, config: Config, state: State, findings: Findings) -> None:
    """The work of createRuntime for a container that precreate has not seen: the lease first, then its devices, then its bundle."""
    from . import allocation, confirming, injecting, planning

    make_state_dir(run.state_dir)
    proposal = injecting.propose(run, config, state, findings)
    if not proposal.wanted or proposal.process is None:
        return
    with allocation.Ledger(run.state_dir, uid=run.who.uid) as ledger:
        confirming.refuse_namesake(ledger, state.id, proposal.process)
        plan = planning.decide(proposal, ledger, findings)
        ledger.commit(plan.leases, plan.container.id)
    injecting.inject(run, config, proposal.process, plan, findings)
    findings.allotted(plan.allotments)
    findings.outcome = Outcome.ALLOTTED


def poststop(run: Run, data: bytes, findings: Findings) -> bytes:
    """Release what the container in the state JSON held, and take the hook's edits out of its bundle."""
    from . import bundles, confirming, ociconfig

    state = ociconfig.read_state(data)
    findings.container = state.id
    places = bundles.folders(run, state)
    confirming.release(run, state, findings)
    bundles.clean(state, places)
    findings.outcome = Outcome.RELEASED if findings.units else Outcome.NOTHING
    return b""


STAGES = {"precreate": precreate, "createRuntime": create_runtime, "poststop": poststop}
