"""From a config to a plan: who asks for what, what the host has, who gets which, and how it gets in.

`propose` looks at the host without the ledger's lock; `decide` is the part that must not be interrupted by another container's start.
"""

from __future__ import annotations

import os

from . import allocation, container, inventory
from .errors import ConfigurationError, UnavailableError
from .frozen import frozen
from .injection import edits as injection
from .injection import mark as marks
from .injection import notes, placing, rights
from .requests import annotations as requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .edit import Edit
    from .findings import Findings
    from .model import Allotment, Container, Lease, Process, Request, Resource
    from .ociconfig import Config
    from .run import Run


@frozen
class Created:
    """A container that its runtime has created already."""

    id: str
    process: Process


@frozen
class Proposal:
    """What a container asks for and what the host has of it."""

    run: Run
    container: Container
    wanted: tuple[tuple[Request, Resource], ...]
    survey: inventory.Survey
    process: Process | None = None  #: of the container, where it is created already


@frozen
class Plan:
    """Who gets what, and how."""

    container: Container
    allotments: tuple[Allotment, ...]
    edits: tuple[Edit, ...]
    leases: tuple[Lease, ...]
    mark: marks.Mark


def propose(run: Run, config: Config, folder: str, findings: Findings, name: str | None = None, created: Created | None = None) -> Proposal:
    """What the container of CONFIG asks for, and what the host has of it.

    FOLDER is where the hook runs, which some engines make the bundle, and a CREATED container's bundle itself; NAME is the container's,
    where the caller knows better.

    Raises HookError: for a bad annotation, an unknown resource, or one whose definition is faulty.
    """
    asker = container.identify(
        config.value,
        cwd=folder,
        who=run.who,
        container_names=requests.containers(config.annotations),
        name=name,
        created=created.id if created else None,
    )
    if created is not None:
        asker = container.with_live_maps(asker, created.process.pid)
    findings.asker(asker)
    requests.refuse_mark(config.annotations)
    asked = requests.read(config.annotations, asker.kube)
    findings.asked(asked)
    wanted = _defined(inventory.load(run.config_dirs, run.cache), asked) if asked else ()
    resources = [resource for _, resource in wanted]
    survey = inventory.survey(resources)
    if not allocation.exist(wanted, survey.units):
        survey = inventory.survey(resources, near=True)
    findings.warnings = survey.warnings
    return Proposal(run, asker, wanted, survey, created.process if created else None)


def _defined(catalog: inventory.Catalog, asked: tuple[Request, ...]) -> tuple[tuple[Request, Resource], ...]:
    """Each request with its resource.

    Raises for all that the catalog has not: ConfigurationError if one of them is in a faulty file, else UnavailableError.
    """
    unknown = [request.resource for request in asked if request.resource not in catalog.resources]
    if not unknown:
        return tuple([(request, catalog.resources[request.resource]) for request in asked])
    broken = bool(catalog.unreadable) or any(name in catalog.broken for name in unknown)
    raise (ConfigurationError if broken else UnavailableError)("; ".join([catalog.why_not(name) for name in unknown]))


def decide(proposal: Proposal, ledger: allocation.View, findings: Findings) -> Plan:
    """Who gets which unit, and the edits that put them in. Raises HookError for a shortage, with all that a person needs to end it."""
    run, asker = proposal.run, proposal.container
    living = living_leases(run, ledger, proposal.survey, asker.id)
    allotments = _allot(proposal, living, ledger.previous(asker.name or asker.id))
    placements = placing.place(asker, allotments)
    edits, late = injection.in_time(asker, injection.edits(asker, allotments, placements))
    findings.notes = notes.notes(asker, placements, edits, late)
    holder = allocation.reservation(asker, allocation.engine(os.getppid()), ledger.boot, run.who.uid)
    if proposal.process is not None:
        holder = allocation.confirmed(holder, proposal.process)
    leases = allocation.leases(allotments, holder)
    return Plan(asker, allotments, edits, leases, marks.make(asker.id, ledger.boot, asker.name, leases, edits))


def living_leases(run: Run, ledger: allocation.View, survey: inventory.Survey, container: str = "") -> tuple[Lease, ...]:
    """The living leases of others than CONTAINER on what SURVEY found; for a user root's as well (design: root and users)."""
    units = [unit for found in survey.units.values() for unit in found]
    living = ledger.living(units, container)
    if not run.who.rootless:
        return living
    from .allocation import others

    return living + others.root().living(units)


def _allot(proposal: Proposal, living: tuple[Lease, ...], previous: tuple[str, ...]) -> tuple[Allotment, ...]:
    """The units that each request gets. Raises HookError for a shortage."""
    units, near = proposal.survey.units, proposal.survey.near
    reasons = {
        unit.identity: reason
        for resource in dict.fromkeys([resource for _, resource in proposal.wanted])
        for unit in units[resource.name]
        if (reason := rights.unusable(proposal.container, unit, resource))
    }
    return allocation.allocate(proposal.wanted, units, living, previous, reasons, near, uid=proposal.run.who.uid)
