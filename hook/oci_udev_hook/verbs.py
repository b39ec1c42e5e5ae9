"""The verbs for people, one function each: what they do. Options stand in `cli`, the form of what is printed in `printing`."""

from __future__ import annotations

import sys

from . import allocation, decisions, inventory, log, places, planning, printing, stages
from .allocation import others
from .errors import ExitCode, HeldError, HookError, RefusedError, UnavailableError, UsageError
from .findings import Findings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .run import Run

_UNCOUNTED = "not counted: devices given by plain --device or --privileged"


def _say(text: str) -> None:
    """A line or more to standard output."""
    print(text)


def _warn(*sentences: str) -> None:
    """What a person should know beside the answer."""
    for sentence in sentences:
        log.tell(log.Level.WARNING, sentence)


def resources(run: Run, options: Namespace) -> int:
    """What is defined, how much of it is there and free; faulty definition files are named."""
    catalog = inventory.load(run.config_dirs, None)
    survey = inventory.survey(catalog.resources.values())
    living = planning.living_leases(run, _own_ledger(run), survey)
    rows = [
        printing.ResourceRow(
            name=resource.name,
            units=len(survey.units[resource.name]),
            free=sum(allocation.has_room(resource, allocation.held_by(unit, living)) for unit in survey.units[resource.name]),
            sharing=resource.sharing,
            source=resource.source,
        )
        for resource in sorted(catalog.resources.values(), key=lambda resource: resource.name)
    ]
    if options.json:
        _say(
            printing.as_json(
                {
                    "resources": [printing.resource_fields(row) for row in rows],
                    "faults": catalog.faults,
                    "warnings": (*catalog.ignored, *survey.warnings),
                }
            )
        )
    elif rows:
        _say(printing.resource_table(rows))
    else:
        _say(f"no resource is defined in {' or '.join(f'{folder}/resources.d' for folder in run.config_dirs)}")
    _warn(*catalog.faults, *catalog.ignored, *survey.warnings)
    return ExitCode.CONFIGURATION if catalog.faults else ExitCode.DONE


def devices(run: Run, options: Namespace) -> int:
    """The units of each resource, their nodes, and who holds them."""
    catalog = inventory.load(run.config_dirs, None)
    unknown = [name for name in options.resource if name not in catalog.resources]
    if unknown:
        raise UnavailableError("; ".join([catalog.why_not(name) for name in unknown]))
    names = options.resource or sorted(catalog.resources)
    survey = inventory.survey([catalog.resources[name] for name in names])
    living = planning.living_leases(run, _own_ledger(run), survey)
    units = [unit for name in names for unit in survey.units[name]]
    if options.json:
        _say(printing.as_json({"devices": [printing.unit_fields(unit, living) for unit in units], "warnings": survey.warnings}))
    elif units:
        _say(printing.unit_table(units, living))
    else:
        _say("no device of these resources is there" if options.resource else "no device of a defined resource is there")
    _warn(*catalog.faults, *catalog.ignored, *survey.warnings)
    return ExitCode.DONE


def _own_ledger(run: Run) -> allocation.View:
    """A look at the ledger of this run's state folder."""
    return allocation.Ledger.read_only(run.state_dir, uid=run.who.uid, missing_is_lost=True)


def leases(run: Run, options: Namespace) -> int:
    """Who holds what now: the own ledger's living leases; for root also what users' ledgers say, for a user what root's does."""
    ledger = _own_ledger(run)
    found = [lease for lease in ledger.leases() if ledger.alive(lease.holder)]
    faults: tuple[str, ...] = ()
    if run.who.rootless:
        root = others.root()
        found += [lease for lease in root.leases() if root.alive(lease.holder)]
    elif run.state_dir == places.ROOT_STATE_DIR:
        users = others.users()
        faults = users.faults
        found += [lease for lease in users.leases if ledger.alive(lease.holder)]
    if options.json:
        _say(printing.as_json({"leases": [printing.lease_fields(lease) for lease in found], "faults": faults}))
    else:
        _say(printing.lease_table(found) if found else "no device is leased")
        _say(_UNCOUNTED)
    _warn(*faults)
    return ExitCode.DONE


def release(run: Run, options: Namespace) -> int:
    """End the leases of a container that is gone, or with --force of one that lives."""
    if not _own_ledger(run).leases():
        roots = others.root().leases() if run.who.rootless else ()
        if any(decisions.is_called(options.name, lease.holder.container, lease.holder.name) for lease in roots):
            raise RefusedError(f"the leases of {options.name} are root's; release them as root")
        raise UnavailableError(f"{options.name} holds nothing: no device is leased in {run.state_dir}")
    with allocation.Ledger(run.state_dir, uid=run.who.uid) as ledger:
        holders = {
            lease.holder for lease in ledger.leases() if decisions.is_called(options.name, lease.holder.container, lease.holder.name)
        }
        if not holders:
            raise UnavailableError(f"{options.name} holds nothing; `{places.NAME} leases` names who does")
        if len(holders) > 1:
            ids = ", ".join(sorted([holder.container for holder in holders]))
            raise UsageError(f"{options.name} is the beginning of several ids: {ids}; give more of it")
        holder = holders.pop()
        if ledger.alive(holder) and not options.force:
            raise HeldError(
                f"{holder.label} lives (process {holder.process.pid}) and has its devices open to it; stop it, or release it with --force, "
                "after which its devices can be in two containers"
            )
        for lease in ledger.release(holder.container):
            _say(log.visible(f"{holder.label} no longer holds {lease.unit} of {lease.resource} ({', '.join(lease.nodes)})"))
    return ExitCode.DONE


def why(run: Run, options: Namespace) -> int:
    """The hook's last decision for a container, or a list of the last for all."""
    if options.container is None:
        found = decisions.latest(run.state_dir)
        fields = [printing.decision_fields(decision) for decision in found]
        _say(printing.as_json({"decisions": fields}) if options.json else printing.decision_table(found))
        return ExitCode.DONE
    found = decisions.find(run.state_dir, options.container)
    if not found:
        similar = [decision.name for decision in decisions.latest(run.state_dir) if options.container in decision.name]
        offer = f"; there are decisions for {', '.join(sorted(similar))}" if similar else ""
        raise UnavailableError(
            f"no decision for {options.container} is kept in {run.state_dir}/decisions: either it asked for no devices (did its limits go "
            f"through `{places.NAME} kube`?), or it is another user's, or the hook last ran for it before the last boot or more than "
            f"{decisions.LIMIT} containers ago{offer}"
        )
    decision = found[0]
    _say(printing.as_json(printing.decision_fields(decision)) if options.json else printing.decision_text(decision))
    return ExitCode.DONE


def kube(run: Run, options: Namespace) -> int:
    """Kube YAML with its limits as annotations; several files become one of several documents."""
    from . import texts
    from .requests import kube as kube_yaml

    annotated: list[str] = []
    faults: list[str] = []
    for name in options.file:
        try:
            source = "standard input" if name == "-" else name
            annotated.append(kube_yaml.annotate(texts.read_text(name), source))
        except UsageError as error:
            faults += error.sentences
    if faults:
        raise UsageError(*faults)
    text = kube_yaml.join(annotated)
    if options.output is None:
        sys.stdout.write(text)
    else:
        texts.write_text(options.output, text)
    return ExitCode.DONE


def dry_run(run: Run, options: Namespace) -> int:
    """The plan that a start would carry out now, with the exit code that it would have."""
    from . import injecting, trial

    tried = trial.trial(run, options)
    findings = Findings()
    try:
        plan = stages.dry_run(run, tried.config, tried.folder, findings, options.container, tried.created)
        steps = injecting.look(run, tried.config, tried.created.process, plan) if tried.created and plan.allotments else None
    except HookError as error:
        if not options.json:
            _warn(*findings.warnings)
            raise
        _say(printing.as_json(trial.refusal(findings, error)))
        return error.code
    if options.json:
        _say(printing.as_json(trial.as_fields(plan, findings, steps)))
    else:
        _say(trial.text(plan, tried.config, findings, steps))
        _warn(*findings.warnings)
    return ExitCode.DONE


VERBS = {
    "dry-run": dry_run,
    "resources": resources,
    "devices": devices,
    "leases": leases,
    "release": release,
    "why": why,
    "kube": kube,
}
