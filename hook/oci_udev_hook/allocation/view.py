"""What a ledger says: a look at one, without its lock and without a right to write. `ledger.Ledger` writes."""

from __future__ import annotations

import os

from .. import files, places, typed
from ..errors import ConfigurationError
from ..frozen import replace
from . import history, liveness, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model import Holder, Lease, Unit

    Rebuild = Callable[[str, int], tuple[Lease, ...]]

FILE = "ledger.json"


def rebuilt(boot: str, uid: int) -> tuple[Lease, ...]:
    """The leases of the living containers, from their configs. Loaded only where it is needed."""
    from . import rebuild

    return rebuild.leases(boot, uid)


class View:
    """What the ledger in FOLDER says, at this moment and without its lock.

    UID is the user whose ledger it is, BOOT this boot's id, HISTORY_PATH the file that tells what containers held last. REBUILD gives
    the leases of living containers where the ledger is lost or damaged.
    """

    def __init__(
        self, folder: str, *, uid: int = 0, boot: str | None = None, history_path: str | None = None, rebuild: Rebuild = rebuilt
    ) -> None:
        self.folder = folder
        self.path = f"{folder}/{FILE}"
        self.uid = uid
        self.boot = places.boot_id() if boot is None else boot
        self._history_path = history_path or history.path(folder)
        self._rebuild = rebuild
        self._owner: int | None = None  #: whose conmon may stand for a container; None: anyone's
        self._file_owner = -1
        self._records = records.Records({}, uid)
        self._dead: set[str] = set()

    def load(self, *, missing_is_lost: bool = False) -> View:
        """Read the file. A missing one is empty, or if MISSING_IS_LOST made anew from the living containers. Raises ConfigurationError."""
        try:
            found = self._read()
        except typed.TypedError as error:
            self._refuse_anothers(error)
            self._restore()
            return self
        if found is not None:
            self._records = found
        elif missing_is_lost:
            self._restore()
        return self

    def _read(self) -> records.Records | None:
        """The records in the file, None where there is none.

        Raises TypedError where it is damaged, ConfigurationError where it cannot be read.
        """
        try:
            content = files.read(self.path, records.MAX_SIZE)
            self._file_owner = content.owner
            return records.parse(content.data, self.uid, self.path)
        except FileNotFoundError:
            return None
        except files.NotRegularError as error:
            raise typed.TypedError(f"is no ledger: {error.strerror}") from None
        except OSError as error:
            mend = "see its owner and mode, or name another folder with --state-dir"
            raise ConfigurationError(f"the ledger {self.path} cannot be read: {error.strerror}; {mend}") from None

    def _refuse_anothers(self, error: typed.TypedError) -> None:
        """Raise ConfigurationError if the damaged file is another user's, whose containers' configs are not ours to read."""
        if self._file_owner != os.geteuid():
            mend = "the next container with devices that its owner starts mends it"
            raise ConfigurationError(f"{typed.about(f'the ledger {self.path}', error)}; {mend}")

    def _restore(self) -> None:
        """Make the records anew from the living containers."""
        self._dead = set()
        self._records = records.Records({}, self.uid)
        by_container: dict[str, list[Lease]] = {}
        for lease in self._rebuild(self.boot, self.uid):
            by_container.setdefault(lease.holder.container, []).append(lease)
        for leases in by_container.values():
            self._records.put(leases[0].holder, leases)

    def leases(self) -> tuple[Lease, ...]:
        """All leases that are written down, of the living and the dead; `alive` tells them apart."""
        return tuple([lease for container in self._records.rows for lease in self.held(container)])

    def held(self, container: str) -> tuple[Lease, ...]:
        """What CONTAINER holds as it is written down, whether it lives or not."""
        return self._records.leases(container)

    def living(self, units: Iterable[Unit], container: str = "", now: float | None = None) -> tuple[Lease, ...]:
        """The leases of living containers other than CONTAINER that hold one of UNITS, by identity or by device number.

        Only their holders are looked up. Who is found dead is struck out at the next commit. NOW is CLOCK_BOOTTIME, in seconds.
        """
        wanted = tuple(units)
        identities = frozenset([unit.identity for unit in wanted])
        numbers = frozenset([str(number) for unit in wanted for number in unit.numbers])
        found: list[Lease] = []
        for other in self._records.touching(identities, numbers):
            if other != container:
                held = [lease for lease in self._records.leases(other) if lease.unit in identities or numbers & {*map(str, lease.numbers)}]
                found += self._survivors(held, now)
        return tuple(found)

    def _survivors(self, held: list[Lease], now: float | None) -> list[Lease]:
        """HELD, which are all of one holder, with that holder as it is now; nothing if it is dead."""
        if not held:
            return []
        holder = held[0].holder
        current = self._current_holder(holder, now)
        if current is None:
            self._dead.add(holder.container)
            return []
        if current is holder:
            return held
        self._records.put(current, self._records.leases(holder.container))
        return [replace(lease, holder=current) for lease in held]

    def _current_holder(self, holder: Holder, now: float | None = None) -> Holder | None:
        """HOLDER as it is now: the same while it lives, confirmed if its container runs though no hook has said so; None if it is dead."""
        if liveness.alive(holder, self.boot, liveness.clock() if now is None else now):
            return holder
        return liveness.adopted(holder, self.boot, self._owner)

    def alive(self, holder: Holder) -> bool:
        """Whether HOLDER lives now."""
        return self._current_holder(holder) is not None

    def previous(self, name: str) -> tuple[str, ...]:
        """The identities of the units that the container of that NAME (its id, if it has none) held last, in order."""
        return history.read(self._history_path).get(name, ()) if name else ()
