"""Kube YAML for podman, whose `kube play` drops a limit such as `hardware-vendor.example/foo: 2` without a word.

What the limits say is written as annotations, which do reach the hook: where podman reads them (the object's own metadata) and where
Kubernetes does (the pod template's). The text is changed in these places only, so the same file still goes to Kubernetes.
"""

from __future__ import annotations

from ..errors import HookError, UsageError
from ..frozen import frozen
from ..typed import MAX_INPUT, shown
from . import annotations as keys
from . import generated, lookup, numbered, pods, values
from .comparison import Delta, same, shares
from .insertion import Change, apply, change
from .yamltext import Mapping, Scalar, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .yamltext import Node

_BOM = "\ufeff"
_MAX_KEY = 63  #: characters behind a key's slash


@frozen
class _Edited:
    """A document with what is to be done to its annotations, by the path to them."""

    label: str
    deltas: dict[tuple[str, ...], Delta]


def annotate(text: str, source: str) -> str:
    """The kube YAML TEXT with the devices in limits as annotations; TEXT itself where there is nothing to do.

    Raises UsageError with a line for each fault, that starts with SOURCE, the file's name.
    """
    if len(text) > MAX_INPUT:
        raise UsageError(f"{source} is larger than {MAX_INPUT >> 20} MiB; no kube YAML is")
    bom = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(bom)
    documents = parse(body, source)
    edited: list[_Edited] = []
    changes: list[Change] = []
    faults: list[str] = []
    for number, document in enumerate(documents, 1):
        pod = pods.read(document)
        label = f"{source}: document {number}" + (f" ({f'{pod.kind} {pod.name}'.rstrip()})" if pod else "")
        deltas: dict[tuple[str, ...], Delta] = {}
        if pod is not None and isinstance(document, Mapping):
            deltas, clauses = _deltas(document, pod)
            for path, delta in deltas.items():
                try:
                    changes += change(body, document, path, delta.removed, delta.added)
                except UsageError as error:
                    clauses.append(str(error))
            faults += [f"{label}, {clause}" for clause in dict.fromkeys(clauses)]
        edited.append(_Edited(label, deltas))
    if faults:
        raise UsageError(*faults)
    if not changes:
        return text
    result = apply(body, list(dict.fromkeys(changes)))
    _prove(documents, result, edited, source)
    return bom + result


def join(texts: Sequence[str]) -> str:
    """The YAML files TEXTS as one file of all their documents; a single one stays as it is."""
    joined = ""
    for text in texts:
        if not joined:
            joined = text
            continue
        follower = text.removeprefix(_BOM)
        lines = [line for line in follower.splitlines() if line.strip() and not line.startswith("#")]
        first = lines[0] if lines else ""
        between = "...\n" if first.startswith("%") else "" if first.startswith("---") else "---\n"
        joined += ("" if joined.endswith("\n") else "\n") + between + follower
    return joined


def _deltas(document: Mapping, pod: pods.Pod) -> tuple[dict[tuple[str, ...], Delta], list[str]]:
    """What is to be done to the annotations of DOCUMENT, by the path to them, and a clause for each fault."""
    clauses = list(pod.faults)
    names = [container.name for container in pod.containers]
    current: dict[tuple[str, ...], dict[str, str]] = {}
    wanted: dict[str, str] = {}
    for holder in dict.fromkeys(((), pods.TEMPLATES[pod.kind])):
        path = (*holder, "metadata", "annotations")
        try:
            current[path] = _ours(lookup.walk(document, path))
        except UsageError as error:
            clauses.append(str(error))
            continue
        mended, more = generated.mend(current[path], pod.name, names)
        clauses += more
        for key, value in mended.items():
            if wanted.setdefault(key, value) != value:
                clauses.append(f"annotation {key} is {shown(wanted[key])}, but {shown(value)} in the template: make them equal")
    if not pod.faults:
        clauses += _complete(wanted, pod)
    deltas = {}
    for path, found in current.items():
        removed = frozenset([key for key, value in found.items() if wanted.get(key) != value])
        added = {key: value for key, value in wanted.items() if found.get(key) != value}
        if removed or added:
            deltas[path] = Delta(removed, added)
    return deltas, clauses


def _ours(annotations: Mapping | None) -> dict[str, str]:
    """Those of ANNOTATIONS that are this hook's. Raises UsageError with a clause where one has no text."""
    found = {}
    for key, entry in ({} if annotations is None else annotations.all()).items():
        if key.startswith(keys.PREFIX):
            if not isinstance(entry.value, Scalar):
                raise UsageError(f"annotation {key} is {lookup.shown(entry.value)}, not a text")
            found[key] = lookup.text(entry.value)
    return found


def _complete(wanted: dict[str, str], pod: pods.Pod) -> list[str]:
    """Add to WANTED, the annotations that are there, what the limits in POD say. Gives a clause for each fault of what is there."""
    parts, clauses = keys.gather(wanted)
    devices = {container.name: container.devices for container in pod.containers}
    for name, own in parts.items():
        if name != keys.POD and name not in devices:
            clauses.append(f"annotation {keys.key_of(name)} names no container of this pod, there is {', '.join(devices) or 'none'}")
        requests, more = keys.interpret(name, own)
        clauses += more
        limits = {resource: count for resource, count in devices.get(name, {}).items() if count}
        asked: dict[str, int] = {}
        for request in requests:
            if request.count:
                asked[request.resource] = asked.get(request.resource, 0) + request.count
        if not more and devices.get(name) and asked != limits:
            said = f"says {values.write(asked) or 'nothing'}, but the limits of {name} say {values.write(limits) or 'nothing'}"
            clauses.append(f"annotation {keys.key_of(name)} {said}: make them equal or take the annotation away")
        too_long = any(numbered.too_long(part) or (number and len(f"{name}.{number}") > _MAX_KEY) for number, part in own.items())
        if too_long and not more:
            for number in own:
                del wanted[keys.key_of(name, number)]
            wanted |= _written(name, numbered.join(own))
    for name, limits in devices.items():
        if limits and name not in parts:
            text = values.write(limits)
            wanted |= _written(name, values.write(limits, ",") if numbered.too_long(text) else text)
    return clauses


def _written(container: str, value: str) -> dict[str, str]:
    """The annotations that give CONTAINER that VALUE: in numbered keys if podman before 5.0 would refuse one for its length.

    Where a number behind the container's name would make a key that podman from 5.0 on and Kubernetes refuse, it is one key all the same.
    """
    parts = numbered.split(value)
    if len(parts) == 1 or len(f"{container}.{len(parts)}") > _MAX_KEY:
        return {keys.key_of(container): value}
    return {keys.key_of(container, number): part for number, part in enumerate(parts, 1)}


def _prove(before: tuple[Node | None, ...], result: str, edited: Sequence[_Edited], source: str) -> None:
    """Raise an error unless the YAML in RESULT says what BEFORE did with what was to be done to it."""
    try:
        after = parse(result, source)
    except UsageError:
        after = ()
    found = after if len(after) == len(before) else (None,) * len(before)
    harmed = [number for number, edit in enumerate(edited) if not same(before[number], found[number], edit.deltas)]
    for number in harmed:
        if edited[number].deltas and shares(before[number]):
            used = "its annotations stand in a part that is used more than once (& and *)"
            raise UsageError(f"{edited[number].label}, {used}, write them out where they belong")
    if harmed or not after:
        raise HookError(f"{source}: annotations cannot be added without harm to the rest, a fault of oci-udev-hook: please report it")
