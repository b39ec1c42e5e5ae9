"""What the definition files of this host say, the good and the bad."""

from __future__ import annotations

from ..frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model import Resource


@frozen
class Catalog:
    """The resources that can be asked for, and what keeps others from being among them."""

    resources: Mapping[str, Resource]
    broken: Mapping[str, str] = {}  #: by a resource's name, what is wrong with the file that defines it, the file's path in front
    faults: tuple[str, ...] = ()  #: all that is wrong in the files, a sentence each, the file's path in front
    unreadable: tuple[str, ...] = ()  #: those of the faults that hide which names their file defines
    ignored: tuple[str, ...] = ()  #: a sentence for each file that looks like a definition, but has a name that none can have
    unmarked: str = ""  #: why it is not known which devices udev rules have marked, a clause; empty if it is

    def why_not(self, name: str) -> str:
        """Why NAME cannot be given, which is not among the resources; a sentence."""
        if name in self.broken:
            return f"{name} is not given out, because its definition is faulty: {self.broken[name]}"
        if self.unreadable:
            return f"{name} is not defined on this host, unless it is in a file that cannot be read: {'; '.join(self.unreadable)}"
        meant = _meant(name, (*self.resources, *self.broken))
        if meant:
            return f"{name} is not defined on this host, did you mean {meant}? `oci-udev-hook resources` lists those that are"
        unmarked = f", and {self.unmarked}" if self.unmarked else ""
        return f"{name} is not defined on this host{unmarked}; `oci-udev-hook resources` lists those that are"


def _meant(name: str, known: tuple[str, ...]) -> str:
    """That of the names KNOWN which the writer of NAME may have meant, empty if none is close: domain and kind must each be."""
    from difflib import get_close_matches

    kinds: dict[str, list[str]] = {}
    for one in known:
        kinds.setdefault(one.partition("/")[0], []).append(one.partition("/")[2])
    domain, _, kind = name.partition("/")
    for near in get_close_matches(domain, kinds):
        for close in get_close_matches(kind, kinds[near], 1):
            return f"{near}/{close}"
    return ""
