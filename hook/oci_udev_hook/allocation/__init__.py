"""Who gets which device: the pure allocator, and the ledger of who holds what.

`others` (root's and users' ledgers) and `rebuild` are loaded only where they are needed.
"""

from __future__ import annotations

from .allocate import allocate, exist, has_room, held_by, leases
from .ledger import Ledger
from .liveness import Engine, engine, process, reservation
from .view import View

__all__ = [
    "Engine",
    "Ledger",
    "View",
    "allocate",
    "engine",
    "exist",
    "has_room",
    "held_by",
    "leases",
    "process",
    "reservation",
    "users_state_dirs",
]


def users_state_dirs() -> list[tuple[int, str]]:
    """Where users' state folders could be, with the uids; what is in them is their word."""
    from . import others

    return list(others.folders("/run/user", "/tmp"))  # noqa: S108 — who reads them checks their owner
