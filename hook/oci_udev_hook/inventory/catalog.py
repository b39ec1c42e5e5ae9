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
    unmarked: str = ""  #: why it is not known which devices udev rules have marked, a clause; empty if it is

    def why_not(self, name: str) -> str:
        """Why NAME cannot be given, which is not among the resources; a sentence."""
        if name in self.broken:
            return f"{name} is not given out, because its definition is faulty: {self.broken[name]}"
        if self.unreadable:
            return f"{name} is not defined on this host, unless it is in a file that cannot be read: {'; '.join(self.unreadable)}"
        unmarked = f", and {self.unmarked}" if self.unmarked else ""
        return f"{name} is not defined on this host{unmarked}; `oci-udev-hook resources` lists those that are"
