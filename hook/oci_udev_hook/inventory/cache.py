"""The definitions in the form that they have once they are checked and their match lines read, kept in the state folder.

Reading and checking the files themselves takes longer than all else that a container's start needs: jsonschema and the TOML reader would
have to be loaded. What is kept holds for files that nobody has touched since, and for this version of the hook only.
"""

from __future__ import annotations

import binascii
import json
import os

from .. import files
from ..model import Missing, Resource, Rule, Term
from .catalog import Catalog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1  #: to be raised when the shape of what is kept changes within one version of the hook
_SIZE_MAX = 64 * 1024 * 1024  #: bytes, more than any good one has


def fetch(path: str, key: list[object]) -> Catalog | None:
    """What is kept in the file PATH for KEY; None if that is nothing, something else, damaged, or not this user's own."""
    try:
        checksum, _, content = _read(path).partition(b"\n")
        if checksum != _checksum(content):
            return None
        kept = json.loads(content)
        if kept["key"] != key:
            return None
        return Catalog(
            resources={values[0]: _resource(values) for values in kept["resources"]},
            broken=kept["broken"],
            faults=tuple(kept["faults"]),
            unreadable=tuple(kept["unreadable"]),
        )
    except (OSError, ValueError, TypeError, LookupError):
        return None


def store(path: str, key: list[object], catalog: Catalog) -> None:
    """Keep CATALOG for KEY in the file PATH. Where that cannot be, nothing is kept and nothing is said: the next start reads the files."""
    kept = {
        "key": key,
        "resources": [_values(resource) for resource in catalog.resources.values()],
        "broken": dict(catalog.broken),
        "faults": catalog.faults,
        "unreadable": catalog.unreadable,
    }
    content = json.dumps(kept, separators=(",", ":")).encode()
    try:
        files.replace(path, _checksum(content) + b"\n" + content, sync=False, locked=False, mode=0o600)
    except OSError:
        return


def _checksum(content: bytes) -> bytes:
    """What tells CONTENT from a damaged one. It guards against accidents only: `_read` refuses files that others can write."""
    return b"%08x" % binascii.crc32(content)


def _read(path: str) -> bytes:
    """The content of PATH. Raises OSError, also if another user could have written it."""
    content = files.read(path, _SIZE_MAX)
    if content.owner != os.geteuid() or content.mode & 0o022:
        raise PermissionError(path)
    return content.data


def _values(resource: Resource) -> list[object]:
    """RESOURCE as JSON has it, for `_resource` to read."""
    rules = [
        (rule.text, [(term.key, term.name, term.negated, term.patterns, term.column, term.text) for term in rule.terms])
        for rule in resource.rules
    ]
    use = (resource.sharing, resource.permissions, resource.path, resource.links)
    rest = (resource.uid, resource.gid, resource.mode, resource.env, resource.missing, resource.source)
    return [resource.name, rules, resource.paths, *use, *rest]


def _resource(values: Any) -> Resource:
    """The resource of which `_values` has made VALUES."""
    name, rules, paths, sharing, permissions, path, links, uid, gid, mode, env, missing, source = values
    return Resource(
        name=name,
        rules=tuple([_rule(rule) for rule in rules]),
        paths=tuple(paths),
        sharing=sharing,
        permissions=permissions,
        path=path,
        links=links,
        uid=uid,
        gid=gid,
        mode=mode,
        env=None if env is None else tuple([(variable, template) for variable, template in env]),
        missing=Missing(missing),
        source=source,
    )


def _rule(values: Any) -> Rule:
    """The rule of one entry of `_values`."""
    text, terms = values
    return Rule(text, tuple([Term(key, name, negated, tuple(patterns), *place) for key, name, negated, patterns, *place in terms]))
