"""The documents that engines hand to hooks: the OCI config in, the same with edits out, and the state JSON of a container.

Only what the hook itself needs is checked; the rest of a config passes as it came. OCI runtime spec: config.md, runtime.md (State).
"""

from __future__ import annotations

import json

from . import typed
from .errors import UsageError
from .frozen import frozen

STANDARD_INPUT = "standard input"


@frozen
class Config:
    """An OCI config."""

    value: dict[str, object]  #: as it came; nobody changes it
    annotations: dict[str, str]
    source: str = STANDARD_INPUT


@frozen
class State:
    """A container's state as a runtime or podman tells it to a hook."""

    id: str
    pid: int | None  #: in the hook's pid namespace; poststop gives none
    bundle: str  #: absolute; crun before 1.22 gives `/` in a user namespace (containers/crun#2025)


def read(data: bytes, source: str = STANDARD_INPUT) -> Config:
    """The OCI config in DATA. Raises UsageError where it is none; SOURCE is its file's name, for the sentence."""
    try:
        fields = _document(data)
        if "ociVersion" not in fields.value:
            raise typed.TypedError("has no ociVersion")
        fields.text("ociVersion")
        return Config(fields.value, fields.texts("annotations"), source)
    except typed.TypedError as error:
        raise _wrong("an OCI config (config.json)", "the config", source, error) from None


def read_state(data: bytes, source: str = STANDARD_INPUT) -> State:
    """The container's state in DATA. Raises UsageError where it is none."""
    try:
        fields = _document(data)
        fields.text("status", "")
        fields.texts("annotations")  # neither is of use here, but what has them otherwise is no state
        state = State(
            id=fields.text("id"),
            pid=fields.number("pid") if fields.value.get("pid") is not None else None,
            bundle=fields.path("bundle", ""),
        )
        if not state.id or "/" in state.id or "\0" in state.id:
            raise fields.wrong("id", "a container's id")
        return state
    except typed.TypedError as error:
        raise _wrong("a container's state as the OCI runtime spec has it", "the state", source, error) from None


def render(config: dict[str, object]) -> bytes:
    """CONFIG as an engine reads it from standard output: compact JSON, keys in their order. Raises UsageError for what JSON cannot hold."""
    try:
        return json.dumps(config, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (ValueError, RecursionError):
        raise UsageError(
            "the config holds a number too large for JSON or is nested too deeply, so that it cannot be given back to the engine"
        ) from None


def _document(data: bytes) -> typed.Fields:
    """The JSON object in DATA."""
    if len(data) > typed.MAX_INPUT:
        raise typed.TypedError(f"has more than {typed.MAX_INPUT >> 20} MiB")
    if not data.strip():
        raise typed.TypedError("is empty")
    return typed.parse(data)


def _wrong(expected: str, what: str, source: str, error: typed.TypedError) -> UsageError:
    """The error for a document that is not EXPECTED."""
    place = f"{what} on {source}" if source == STANDARD_INPUT else f"{what} in {source}"
    return UsageError(f"{typed.about(place, error)}; it must be {expected}")
