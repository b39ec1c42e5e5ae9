"""policy.toml: what the admin decides for all containers of this host.

    [systemd]
    pinned = "leave"

It stands in the folders of resources.d, and one in a later folder masks it.
"""

from __future__ import annotations

import os
from enum import StrEnum

from . import files
from .errors import ConfigurationError
from .frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FILE = "policy.toml"
_SCHEMA = os.path.join(os.path.dirname(__file__), "schema", "policy-1.json")
_SIZE_MAX = 1024 * 1024  #: bytes


class Pinned(StrEnum):
    """What happens to the pinned device program of a systemd unit (BPFProgram), which systemd attaches anew at each daemon-reload."""

    REPLACE = "replace"  #: by one that also allows the container's devices; crun then refuses `podman update` of that container
    LEAVE = "leave"  #: the container loses its devices at the next daemon-reload


@frozen
class Policy:
    """What policy.toml says; without one, this."""

    pinned: Pinned = Pinned.REPLACE


def load(config_dirs: tuple[str, ...]) -> Policy:
    """The policy of the last of CONFIG_DIRS that has one; an empty file says nothing, a link to /dev/null neither.

    Raises ConfigurationError for a file that cannot be read or says what it cannot, with all its faults.
    """
    for path in [f"{directory}/{_FILE}" for directory in reversed(config_dirs)]:
        try:
            content = b"" if os.path.realpath(path) == os.devnull else files.read(path, _SIZE_MAX, follow=True).data
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
        data = _parse(path, content)
        policy = _policy(data)
        if policy is None:
            raise ConfigurationError(*[f"{path}: {fault}" for fault in _faults(data)])
        return policy
    return Policy()


def _parse(path: str, content: bytes) -> dict[str, object]:
    """What CONTENT says as TOML. Raises ConfigurationError."""
    import tomllib

    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{path}: is no UTF-8 text (at line {line})") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: is nested too deeply") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: is no TOML: {error}") from None


def _policy(data: dict[str, object]) -> Policy | None:
    """The policy that DATA is, None if there is a fault in it. The schema says the same; this needs no jsonschema."""
    systemd = data.get("systemd", {})
    if data.keys() - {"systemd"} or not isinstance(systemd, dict) or systemd.keys() - {"pinned"}:
        return None
    pinned = systemd.get("pinned", Pinned.REPLACE)
    return Policy(Pinned(pinned)) if pinned in tuple(Pinned) else None


def _faults(data: dict[str, object]) -> Iterable[str]:
    """All that the schema has against DATA, each with its place in the file."""
    from .inventory.complaints import complaints

    for path, _, predicate in complaints(data, _SCHEMA):
        yield f"{'.'.join([str(part) for part in path]) or 'the file'} {predicate}"
