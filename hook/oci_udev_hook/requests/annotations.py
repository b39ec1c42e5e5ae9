"""The annotations of a running container: who asks for what. Runs at each start of a container, so it stays small."""

from __future__ import annotations

from ..errors import UsageError
from ..places import MARK
from ..typed import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..model import Request

PREFIX = "io.oci-udev-hook."
LIMITS = PREFIX + "limits"  #: of every container of the pod, `LIMITS/CONTAINER` of one
_CLAIMS = PREFIX + "claims"
_DEVICES = PREFIX + "devices"
INIT = PREFIX + "init"
INJECTED = MARK

POD = ""  #: stands for all containers of the pod where a container's name can stand


def asks(annotations: Iterable[str]) -> bool:
    """Whether a key of ANNOTATIONS asks for something, if only by mistake: `read` says then what is wrong with it."""
    return any(key.startswith(PREFIX) and key not in (INJECTED, INIT) for key in annotations)


def refuse_mark(annotations: Mapping[str, str]) -> None:
    """Raise UsageError if ANNOTATIONS carry the hook's mark where it has not put it yet: who sets it could claim devices."""
    if INJECTED in annotations:
        raise UsageError(f"annotation {INJECTED} is this hook's own mark and nothing to ask with: take it away and start again")


def containers(annotations: Iterable[str]) -> frozenset[str]:
    """The kube containers that keys of ANNOTATIONS name. Keys that `read` refuses name none."""
    names = set()
    for key in annotations:
        if key.startswith(LIMITS):
            try:
                names.add(place(key)[0])
            except UsageError:
                continue
    return frozenset(names - {POD})


def read(annotations: Mapping[str, str], container: str | None) -> tuple[Request, ...]:
    """What the kube container of that name asks for, or one whose name is not known, in the order of writing.

    Its own key wins over the pod-wide one, also where it is empty: then it asks for nothing.
    Raises UsageError with a sentence on each fault of these keys, and on each key of ours that has no meaning.
    """
    parts, faults = gather(annotations)
    own = container if container is not None and container in parts else POD
    requests: tuple[Request, ...] = ()
    if own in parts:
        requests, more = interpret(own, parts[own])
        faults += more
    if faults:
        raise UsageError("; ".join(faults))
    return tuple([request for request in requests if request.count])


def gather(annotations: Mapping[str, str]) -> tuple[dict[str, dict[int, str]], list[str]]:
    """The parts of each container's value by number (see `numbered.join`), the pod's under POD, and a sentence for each faulty key."""
    parts: dict[str, dict[int, str]] = {}
    faults = []
    for key, value in annotations.items():
        if not key.startswith(PREFIX) or key == INIT:
            continue
        try:
            container, number = place(key)
            parts.setdefault(container, {})[number] = value
        except UsageError as error:
            faults.append(f"annotation {key} is {shown(value)}, but {error}")
    return parts, faults


def interpret(container: str, parts: Mapping[int, str]) -> tuple[tuple[Request, ...], list[str]]:
    """The requests in the joined PARTS of CONTAINER's value, those for 0 among them, and a sentence for each fault."""
    from . import numbered, values  # not needed where nothing is asked

    whole = key_of(container)
    try:
        text = numbered.join(parts)
    except ValueError as error:
        return (), [f"annotation {whole} stands in numbered keys, but {error}"]
    requests, faults = values.parse(text)
    label = whole if 0 in parts else f"{whole}.1 to .{len(parts)}"
    return tuple(requests), [f"annotation {label}: {fault}" for fault in faults]


def key_of(container: str, number: int = 0) -> str:
    """The key of CONTAINER's requests, or of part NUMBER of them."""
    whole = f"{LIMITS}/{container}" if container else LIMITS
    return f"{whole}.{number}" if number else whole


def place(key: str) -> tuple[str, int]:
    """The container that KEY of our prefix names and the part's number, 0 without one. Raises UsageError with a clause."""
    if key.startswith((_CLAIMS, _DEVICES)):
        raise UsageError(f"this version does not serve it, what it serves is {LIMITS}")
    if key == INJECTED:
        raise UsageError("that is this hook's own mark and nothing to ask with: take it away")
    kind, slash, container = key.partition("/")
    if "/" in container or (slash and kind.removeprefix(LIMITS + ".").isdecimal()):
        raise UsageError("`podman kube generate` made this key: pass the file through `oci-udev-hook kube` before it is played")
    whole, dot, number = key.rpartition(".")
    if dot and number.isdecimal() and whole.startswith(LIMITS):
        if number[0] == "0" or len(number) > 4 or not number.isascii():
            raise UsageError("numbered keys count from 1, without zeros in front")
        kind, slash, container = whole.partition("/")
    else:
        number = "0"
    if kind != LIMITS or (slash and not container):
        raise UsageError(f"there is no such key, there are {LIMITS} for all containers of a pod and {LIMITS}/CONTAINER for one")
    return container, int(number)
