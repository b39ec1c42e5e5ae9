"""The ledger: who holds which unit, in one file under one lock. It is read once, and written whole."""

from __future__ import annotations

import os

from .. import files, places, typed
from ..errors import ConfigurationError, UsageError
from ..model import LeaseState
from . import history, liveness, lock
from .view import View, rebuilt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from ..model import Lease, Process
    from .view import Rebuild

_LOCK = "lock"
_DAMAGED_LIMIT = 8  #: damaged ledgers that are kept; further ones are not set aside any more
_WAIT = 5.0  #: seconds for the lock; the timeout in the hook JSON is 10 (precreate), and the host must be looked at before


class Ledger(View):
    """The ledger under its lock, as a context manager. WAIT is how long to wait for the lock, in seconds.

    Entering makes the folder, locks, and reads; a ledger that is missing or damaged is rebuilt and written first, and nothing is
    given out before that. Raises ConfigurationError where the folder cannot be used, HookError where another run keeps the lock.
    """

    def __init__(
        self,
        folder: str,
        *,
        uid: int = 0,
        boot: str | None = None,
        history_path: str | None = None,
        rebuild: Rebuild = rebuilt,
        wait: float = _WAIT,
    ) -> None:
        super().__init__(folder, uid=uid, boot=boot, history_path=history_path, rebuild=rebuild)
        self._owner = os.geteuid()
        self._wait = wait
        self._descriptor = -1

    @classmethod
    def read_only(cls, folder: str, *, uid: int = 0, boot: str | None = None, missing_is_lost: bool = False) -> View:
        """A look at the ledger in FOLDER that needs neither the lock nor a right.

        A missing one is empty, or if MISSING_IS_LOST what the next start would make of the living containers. Raises ConfigurationError.
        """
        return View(folder, uid=uid, boot=boot).load(missing_is_lost=missing_is_lost)

    def __enter__(self) -> Self:
        places.make_state_dir(self.folder)
        self._descriptor = lock.acquire(f"{self.folder}/{_LOCK}", self._wait)
        try:
            self._load_to_write()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        self._descriptor = -1

    def _load_to_write(self) -> None:
        """Read the file; one that is damaged or missing (after a boot, but also after `rm`) is made anew from the living containers.

        Raises ConfigurationError.
        """
        try:
            found = self._read()
        except typed.TypedError:
            self._set_aside()
            found = None
        if found is None:
            self._restore()
            self._write()
        else:
            self._records = found

    def _set_aside(self) -> None:
        """Keep the damaged file under another name, too.

        Until the new one takes its place it also stays there: were it gone and we killed, the next run would find no ledger.
        """
        for number in range(1, _DAMAGED_LIMIT + 1):
            aside = f"{self.path}.damaged-{number}"
            try:
                os.link(self.path, aside, follow_symlinks=False)
            except FileExistsError:
                if os.path.samestat(os.lstat(aside), os.lstat(self.path)):
                    return
            except OSError:
                return
            else:
                return

    def commit(self, leases: Iterable[Lease], container: str | None = None) -> None:
        """Write down LEASES, which are all that their holder holds from now on; without any, that CONTAINER holds nothing.

        Only after this may a config be printed or an edit applied. Raises ConfigurationError, and then nothing is given out.
        """
        by_container: dict[str, list[Lease]] = {container: []} if container else {}
        for lease in leases:
            by_container.setdefault(lease.holder.container, []).append(lease)
        if "" in by_container:
            raise UsageError("a container without an id cannot hold devices, since nothing could release them; let the engine start it")
        for gone in (*self._dead, *by_container):
            self._records.drop(gone)
        for held in filter(None, by_container.values()):
            self._records.put(held[-1].holder, held)
        self._write()
        for held in filter(None, by_container.values()):
            holder = held[-1].holder
            history.remember(self._history_path, holder.name or holder.container, tuple([lease.unit for lease in held]))

    def confirm(self, container: str, process: Process) -> tuple[Lease, ...]:
        """From now on the leases of CONTAINER live as long as its PROCESS; gives them, none where it has none (any more) in this boot.

        Those that another process of CONTAINER holds or held are not its own: its config is from an earlier run. Raises ConfigurationError.
        """
        held = self.held(container)
        if not held or held[0].holder.boot != self.boot:
            return ()
        if held[0].holder.state is LeaseState.CONFIRMED and held[0].holder.process != process:
            return ()
        self._records.put(liveness.confirmed(held[0].holder, process), held)
        self._write()
        return self.held(container)

    def release(self, container: str) -> tuple[Lease, ...]:
        """Strike out what CONTAINER holds; gives what is struck out. Raises ConfigurationError."""
        held = self.held(container)
        if held:
            self._records.drop(container)
            self._write()
        return held

    def _write(self) -> None:
        """Write the file. Raises ConfigurationError."""
        try:
            files.replace(self.path, self._records.dump(), sync=True)
        except OSError as error:
            mend = "see that its folder has room and may be written, then try again"
            raise ConfigurationError(f"the ledger {self.path} cannot be written: {error.strerror}; {mend}") from None
