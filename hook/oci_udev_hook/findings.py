"""What a stage has found out so far: kept apart from its answer, so that a refusal can say who was refused what."""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import Allotment, Container, Lease, Request


class Outcome(StrEnum):
    """How a stage ended."""

    NOTHING = "nothing"  #: there was nothing to do
    ALLOTTED = "allotted"
    CONFIRMED = "confirmed"
    RELEASED = "released"
    REFUSED = "refused"
    FAILED = "failed"  #: by a fault of the hook


class Findings:
    """Filled in as a stage goes along; read by the log and `why` at its end."""

    def __init__(self) -> None:
        self.container = ""
        self.name = ""
        self.requests: tuple[str, ...] = ()
        self.units: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self.outcome = Outcome.NOTHING

    def asker(self, container: Container) -> None:
        """Who asks."""
        self.container, self.name = container.id, container.name

    def asked(self, requests: tuple[Request, ...]) -> None:
        """What was asked for."""
        self.requests = tuple([str(request) for request in requests])

    def allotted(self, allotments: tuple[Allotment, ...]) -> None:
        """What was given."""
        self.units = tuple([unit.identity for allotment in allotments for unit in allotment.units])

    def leased(self, leases: tuple[Lease, ...]) -> None:
        """What a container holds or held."""
        self.units = tuple([lease.unit for lease in leases])
        self.name = leases[0].holder.name if leases else self.name
