"""Who gets which device: the pure allocator, and the ledger of who holds what.

`others` (root's and users' ledgers) and `rebuild` are loaded only where they are needed.
"""

from __future__ import annotations

from .allocate import allocate, exist, has_room, held_by, leases
from .ledger import Ledger
from .liveness import confirmed, engine, process, reservation
from .view import View

__all__ = [
    "Ledger",
    "View",
    "allocate",
    "confirmed",
    "engine",
    "exist",
    "has_room",
    "held_by",
    "leases",
    "process",
    "reservation",
]
