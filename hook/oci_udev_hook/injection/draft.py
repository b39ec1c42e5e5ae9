"""A config while it is changed: what a change touches is copied once, so that the config given stays as it is."""

from __future__ import annotations

from .. import typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Path = tuple[str, ...]

#: Where edits land.
ANNOTATIONS = ("annotations",)
DEVICES = ("linux", "devices")
RULES = ("linux", "resources", "devices")
MOUNTS = ("mounts",)
ENVIRONMENT = ("process", "env")
GROUPS = ("process", "user", "additionalGids")
#: What has to be made for that where a config does not have it: these and what is above them.
MADE = frozenset(
    [".".join(path[:depth]) for path in (ANNOTATIONS, DEVICES, RULES, MOUNTS, ENVIRONMENT, GROUPS) for depth in range(1, len(path) + 1)]
)


class Draft:
    """A copy of CONFIG to write to. `made` tells which objects and lists were not there: `absent`, or `null` as Go writes it."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self.config = dict(config)
        self.made: dict[str, str] = {}
        self._own: dict[Path, object] = {(): self.config}

    def mapping(self, path: Path) -> dict[str, object]:
        """The object at PATH, made if need be. Raises TypedError where something else stands."""
        found = self._open(path, {}, "an object")
        assert isinstance(found, dict)
        return found

    def listing(self, path: Path) -> list[object]:
        """The list at PATH, made if need be. Raises TypedError where something else stands."""
        found = self._open(path, [], "a list")
        assert isinstance(found, list)
        return found

    def _open(self, path: Path, empty: dict[str, object] | list[object], expected: str) -> object:
        """The draft's own copy of what stands at PATH, which must be of EMPTY's type; EMPTY where nothing stands."""
        if path not in self._own:
            parent, key = self.mapping(path[:-1]), path[-1]
            value = parent.get(key)
            if value is None:
                self.made[".".join(path)] = "null" if key in parent else "absent"
                value = empty
            if not isinstance(value, type(empty)):
                raise typed.Fields(parent, ".".join(path[:-1])).wrong(key, expected)
            self._own[path] = parent[key] = value.copy()
        return self._own[path]

    def has(self, path: Path) -> bool:
        """Whether something stands at PATH."""
        value: object = self.config
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value is not None

    def unmake(self, path: Path, before: str) -> None:
        """Take away the object or list at PATH, if it is empty, and leave what was there BEFORE."""
        if path and self.has(path[:-1]):
            parent, key = self.mapping(path[:-1]), path[-1]
            if not parent.get(key) and before == "null":
                parent[key] = None
            elif not parent.get(key):
                parent.pop(key, None)
