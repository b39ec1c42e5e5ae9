"""dry-run: where its config comes from, and its plan as JSON or for the eye. What it plans is `stages`' and so the truth."""

from __future__ import annotations

import os
import sys

from . import allocation, livetext, ociconfig, printing, texts, typed
from .errors import UsageError
from .frozen import frozen, replace
from .injection import config as injection
from .injection import mark as marks
from .planning import Created
from .requests import annotations as requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .errors import HookError
    from .findings import Findings
    from .injection.live import Steps
    from .model import Process
    from .ociconfig import Config
    from .planning import Plan
    from .run import Run

#: What is asked for on the command line alone is asked for by a container like this.
_SMALLEST = b'{"ociVersion": "1.0.2", "process": {"user": {"uid": 0, "gid": 0}}, "linux": {}}'


@frozen
class Trial:
    """What dry-run tries."""

    config: Config
    folder: str  #: that the hook would run in
    created: Created | None  #: the container that runs, where --pid names one


def trial(run: Run, options: Namespace) -> Trial:
    """What OPTIONS name. Raises UsageError."""
    if options.pid is None:
        return Trial(_config(options, options.bundle), _folder(options), None)
    process = allocation.process(options.pid) if options.pid > 0 else None
    if process is None:
        raise UsageError(f"there is no process {options.pid}; --pid takes the first process of a container that runs")
    identity, known = _known(run, process)
    bundle = None if options.config else options.bundle or known
    if bundle == "":
        raise UsageError(f"nothing tells where the bundle of process {options.pid} is; say so with --bundle DIR")
    found = _config(options, bundle)
    return Trial(found, os.path.dirname(os.path.abspath(found.source)), Created(identity, process))


def _known(run: Run, process: Process) -> tuple[str, str]:
    """The id and the bundle of the container whose first process is PROCESS, as far as the ledger or a conmon knows them."""
    ledger = allocation.Ledger.read_only(run.state_dir, uid=run.who.uid)
    for lease in ledger.leases():
        if lease.holder.process == process:
            return lease.holder.container, lease.holder.bundle
    from .allocation import monitors

    found = monitors.of_process(process.pid, None)
    return (found.container, found.bundle) if found is not None else ("", "")


def _config(options: Namespace, bundle: str | None) -> Config:
    """The config of BUNDLE or of OPTIONS as the hook would get it: without its own edits of an earlier run, with the annotations added.

    Raises UsageError.
    """
    added = _added_annotations(options)
    found = ociconfig.read(*_read(options, bundle, bool(added)))
    value = injection.unpatch(found.value)
    if added:
        value = {**value, "annotations": {**typed.Fields(value).texts("annotations"), **added}}
    return replace(found, value=value, annotations=typed.Fields(value).texts("annotations"))


def _folder(options: Namespace) -> str:
    """The folder that the hook would run in: the bundle's, as far as OPTIONS tell."""
    if options.config in (None, "-"):
        return os.path.abspath(str(options.bundle or "."))
    return os.path.dirname(os.path.abspath(str(options.config)))


def _added_annotations(options: Namespace) -> dict[str, str]:
    """The annotations that the command line adds."""
    added = {}
    for pair in options.annotation:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--annotation is {pair!r}; it must be KEY=VALUE")
        added[key] = value
    if options.limits is not None:
        key = f"{requests.LIMITS}/{options.container}" if options.container else requests.LIMITS
        added[key] = options.limits
    return added


def _read(options: Namespace, bundle: str | None, asked: bool) -> tuple[bytes, str]:
    """The config and its name. On a terminal, or with nothing on standard input, what is ASKED on the command line is enough."""
    path = f"{bundle}/config.json" if bundle else options.config
    if path is not None and path != "-":
        return texts.read_bytes(path), path
    if path is None and (sys.stdin is None or sys.stdin.isatty()):
        if not asked:
            raise UsageError("dry-run needs a config: --bundle DIR, --config FILE or standard input; or only --limits 'NAME: COUNT'")
        return _SMALLEST, ociconfig.STANDARD_INPUT
    data = texts.read_bytes("-")
    if path is None and asked and not data.strip():
        return _SMALLEST, ociconfig.STANDARD_INPUT
    return data, ociconfig.STANDARD_INPUT


def as_fields(plan: Plan, findings: Findings, steps: Steps | None) -> dict[str, object]:
    """PLAN for programs, and its STEPS in a live container; its edits are in the form that the mark on a patched config has."""
    live = {} if steps is None else {"steps": livetext.as_fields(steps)}
    return {
        **live,
        "container": findings.name or findings.container,
        "requests": findings.requests,
        "units": [
            {
                "resource": allotment.resource.name,
                "unit": unit.identity,
                "nodes": [device.devnode for device in unit.devices],
                "numbers": sorted(str(number) for number in unit.numbers),
            }
            for allotment in plan.allotments
            for unit in allotment.units
        ],
        "edits": [marks.edit_as_json(edit) for edit in plan.edits],
        "notes": findings.notes,
        "warnings": findings.warnings,
        "exit_code": 0,
    }


def refusal(findings: Findings, error: HookError) -> dict[str, object]:
    """The same where the start would be refused."""
    return {
        "container": findings.name or findings.container,
        "requests": findings.requests,
        "units": [],
        "edits": [],
        "notes": findings.notes,
        "warnings": findings.warnings,
        "exit_code": int(error.code),
        "reason": str(error),
    }


def text(plan: Plan, config: Config, findings: Findings, steps: Steps | None) -> str:
    """PLAN for the eye, its STEPS in a live container, and the diff of CONFIG."""
    if not plan.allotments:
        return f"{plan.container.label} asks for no devices: it starts as it is"
    after = _shown(injection.patch(config.value, plan.mark))
    live = [] if steps is None else [livetext.text(steps)]
    return "\n\n".join([printing.plan_text(plan, findings.notes), *live, printing.config_diff(config.value, after)])


def _shown(config: dict[str, object]) -> dict[str, object]:
    """CONFIG with the mark cut short: it says once more what stands around it."""
    annotations = typed.Fields(config).texts("annotations")
    return {
        **config,
        "annotations": {key: "(the mark of the hook)" if key == requests.INJECTED else value for key, value in annotations.items()},
    }
