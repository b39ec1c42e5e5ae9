"""Which slot gets which thing: bipartite matching by augmenting paths (Kuhn's, also known as the Hungarian tree method).

Pure, and about numbers only: `allocate` says what slots and things are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def match(choices: Sequence[Sequence[int]], limit: int | None = None) -> dict[int, int]:
    """For each slot the thing that it gets, as many slots as can be, at most LIMIT.

    CHOICES has for each slot the things that it may take, best first. Earlier slots come first: one that got a thing keeps
    getting one, though not always the same, and a later slot stays out only if no change of the earlier ones lets it in.
    """
    held: dict[int, int] = {}
    owner: dict[int, int] = {}
    for slot in range(len(choices)):
        if limit is not None and len(held) >= limit:
            break
        _augment(slot, choices, held, owner)
    return held


def _augment(start: int, choices: Sequence[Sequence[int]], held: dict[int, int], owner: dict[int, int]) -> bool:
    """Get the slot START a thing, by moving others to other things where need be. HELD and OWNER are each other's inverse.

    Breadth first, so that nothing moves while something of START's own choices is free.
    """
    reached_from: dict[int, int] = {}
    slots = [start]
    for slot in slots:
        for thing in choices[slot]:
            if thing in reached_from:
                continue
            reached_from[thing] = slot
            if thing not in owner:
                _hand_over(thing, reached_from, held, owner)
                return True
            slots.append(owner[thing])
    return False


def _hand_over(thing: int, reached_from: dict[int, int], held: dict[int, int], owner: dict[int, int]) -> None:
    """Give the free THING to the slot that reached it, that slot's thing to the one that reached that, and so on."""
    current: int | None = thing
    while current is not None:
        slot = reached_from[current]
        given, current = current, held.get(slot)
        held[slot], owner[given] = given, slot
