"""A created container, opened by what its config says of it: where its root is, and the label that its files have."""

from __future__ import annotations

from .. import typed
from ..errors import UsageError
from . import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model import Process
    from .target import Target


class Opened:
    """The container of PROCESS, as a context manager: its `Target` while it is open. BUNDLE is the folder of its CONFIG.

    Entering raises UsageError where the config does not tell its root, and what `target.open_target` raises.
    """

    def __init__(self, process: Process, config: Mapping[str, object], bundle: str, *, rootless: bool) -> None:
        self._process, self._bundle, self._rootless = process, bundle, rootless
        try:
            fields = typed.Fields(dict(config))
            self._root = fields.object("root").path("path")
            self._label = fields.object("linux").text("mountLabel", "")
        except typed.TypedError as error:
            raise UsageError(typed.about("the container's config", error)) from None

    def __enter__(self) -> Target:
        self._target = target.open_target(self._process, self._root, self._bundle, self._label, rootless=self._rootless)
        return self._target

    def __exit__(self, *_: object) -> None:
        target.close(self._target)
