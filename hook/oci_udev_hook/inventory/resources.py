"""Definition files: which of them count on this host, and what they say.

    /etc/oci-udev-hook/resources.d/50-foo.toml

Which files count goes as in systemd's drop-in folders: a file masks one of the same name in an earlier folder, and an empty file or a link
to /dev/null switches one off. This module only looks at the folders; a file is opened only if the cache does not know it (`definitions`).
"""

from __future__ import annotations

import os
import stat

from .. import __version__
from ..frozen import frozen, replace
from . import cache as kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .catalog import Catalog

_FOLDER = "resources.d"
_SUFFIXES = (".toml", ".json")
#: What definition files are called by mistake. Editors and package managers leave others (`x.toml~`, `x.toml.dpkg-old`) on purpose.
_MISTAKEN = ("", ".conf", ".json", ".tml", ".toml", ".txt", ".yaml", ".yml")
SIZE_MAX = 1024 * 1024  #: bytes of a definition file
SCHEMA = os.path.join(os.path.dirname(os.path.dirname(__file__)), "schema", "resource-1.json")
_DEV_NULL = os.makedev(1, 3)  # Documentation/admin-guide/devices.txt of the kernel


@frozen
class Source:
    """A definition file, or a folder that cannot be listed."""

    path: str
    identity: tuple[int, ...] = ()  #: changes when the file does
    trouble: str = ""  #: why it cannot be read: a sentence's predicate


def load(config_dirs: tuple[str, ...], cache: str | None = None) -> Catalog:
    """What the definition files below CONFIG_DIRS say, where later folders mask earlier ones; CACHE is a file that may keep it.

    Raises nothing for a bad file: the catalog tells of it, and other files count. Raises ConfigurationError if jsonschema is not there.
    """
    found, ignored = _sources(config_dirs)
    key = _key(found)
    catalog = kept.fetch(cache, key) if cache else None
    if catalog is None:
        from . import definitions

        catalog, settled = definitions.read(found)
        if cache and settled:
            kept.store(cache, key, catalog)
    # Not in the cache, since each start lists the folders anyway.
    return replace(catalog, ignored=ignored) if ignored else catalog


def _sources(config_dirs: tuple[str, ...]) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """The definition files that count, sorted by name, and what is in the way of finding more; a sentence for each ignored one."""
    troubles = []
    ignored = []
    paths: dict[str, str] = {}
    for folder in [f"{directory}/{_FOLDER}" for directory in config_dirs]:
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            troubles.append(Source(folder, trouble=f"cannot be listed: {error.strerror}"))
            continue
        ignored += [f"{folder}/{name}" for name in sorted(names) if _mistaken(name) and os.path.isfile(f"{folder}/{name}")]
        names = [name for name in names if name.endswith(_SUFFIXES) and name[0] != "."]
        paths.update({name: f"{folder}/{name}" for name in names if name.isprintable()})
        troubles += [Source(f"{folder}/{name!a}", trouble="has a name that cannot be printed") for name in names if not name.isprintable()]
    sources = (*troubles, *filter(None, [_source(paths[name]) for name in sorted(paths)]))
    return sources, tuple([f"{path} is not read: definition files end in {' or '.join(_SUFFIXES)}" for path in ignored])


def _mistaken(name: str) -> bool:
    """Whether NAME looks like that of a definition file without being one."""
    if name.endswith((*_SUFFIXES, "~", "#")) or name.startswith((".", "README")) or not name.isprintable():
        return False
    return os.path.splitext(name)[1].lower() in _MISTAKEN


def _source(path: str) -> Source | None:
    """The file PATH, None if it is switched off or has gone meanwhile."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return Source(path, trouble="is a link to nothing") if os.path.islink(path) else None
    except OSError as error:
        return Source(path, trouble=f"cannot be read: {error.strerror}")
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == _DEV_NULL:
        return None
    if not stat.S_ISREG(status.st_mode):
        return Source(path, trouble="is no file")
    if status.st_size == 0:
        return None
    if status.st_size > SIZE_MAX:
        return Source(path, trouble=f"has {status.st_size} bytes, a definition file has at most {SIZE_MAX}")
    return Source(path, identity(status))


def identity(status: os.stat_result) -> tuple[int, ...]:
    """What tells a file from any other and from itself after a change."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _key(found: tuple[Source, ...]) -> list[object]:
    """What the catalog of the files FOUND depends on, as JSON has it."""
    schema = os.stat(SCHEMA)
    files = [[source.path, *source.identity, source.trouble] for source in found]
    return [kept.FORMAT, __version__, schema.st_size, schema.st_mtime_ns, files]
