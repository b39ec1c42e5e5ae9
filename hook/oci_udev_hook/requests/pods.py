"""The pod in a document of kube YAML: its containers, and the devices in their limits under Kubernetes' rules.

Rules: ValidateContainerResourceRequirements of kubernetes/pkg/apis/core/validation/validation.go. Extended resources cannot be
overcommitted, so a request must equal its limit and cannot stand without one.
"""

from __future__ import annotations

from ..errors import UsageError
from ..frozen import frozen
from ..names import is_extended
from ..typed import shown
from . import lookup, quantities, values
from .yamltext import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .yamltext import Node

#: Where the pod's template stands in each kind that `podman kube play` plays (podman-kube-play(1)); it looks at the kind only.
TEMPLATES: dict[str, tuple[str, ...]] = {
    "Pod": (),
    "Deployment": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
}


@frozen
class KubeContainer:
    """A container of a pod and the devices that its limits ask for, by resource."""

    name: str
    devices: dict[str, int]


@frozen
class Pod:
    """What a document says of devices. `faults`: a clause for each error, led by its place in the document."""

    kind: str
    name: str
    containers: tuple[KubeContainer, ...]
    faults: tuple[str, ...]


def read(document: Node | None) -> Pod | None:
    """The pod in DOCUMENT; None if podman does not play that kind."""
    if not isinstance(document, Mapping):
        return None
    kind = lookup.text(lookup.value(document, "kind"))
    if kind not in TEMPLATES:
        return None
    faults = _bad_keys(document)
    name = ""
    try:
        name = lookup.text(lookup.value(lookup.walk(document, ("metadata",)), "name"))
        spec = lookup.walk(document, (*TEMPLATES[kind], "spec"))
        containers = [*_containers(spec, "initContainers", faults), *_containers(spec, "containers", faults)]
    except UsageError as error:
        return Pod(kind, name, (), (*faults, str(error)))
    called = [container.name for container in containers]
    twice = {container.name for container in containers if container.devices and container.name and called.count(container.name) > 1}
    faults += [f"two containers have the name {same}, each needs its own" for same in sorted(twice)]
    return Pod(kind, name, tuple(containers), tuple(faults))


def _containers(spec: Mapping | None, field: str, faults: list[str]) -> list[KubeContainer]:
    """The containers in the list FIELD of SPEC. Adds a clause for each fault to FAULTS; raises UsageError with one for no list."""
    value = lookup.value(spec, field)
    if value is None:
        return []
    if not isinstance(value, Sequence):
        raise UsageError(f"{field} is {lookup.shown(value)}, not a list")
    containers = []
    for index, item in enumerate(value.items):
        label = f"{field}[{index}]"
        name = ""
        devices: dict[str, int] = {}
        try:
            container = lookup.mapping(item, "it")
            name = lookup.text(lookup.value(container, "name"))
            label += f" ({name})" if name else ""
            devices, more = _devices(lookup.mapping(lookup.value(container, "resources"), "resources"))
            more += _unfit(name) if devices else []
        except UsageError as error:
            more = [str(error)]
        faults += [f"{label}: {fault}" for fault in more]
        containers.append(KubeContainer(name, devices))
    return containers


def _unfit(name: str) -> list[str]:
    """Why NAME cannot stand in an annotation's key, as a list of no or one clause; podman takes names that Kubernetes refuses."""
    if not name:
        return ["it asks for devices, but has no name"]
    _, dot, number = name.rpartition(".")
    # What stands behind the slash of a key follows the rule of a resource's kind; a number behind a dot counts the parts of a value.
    if not is_extended(f"x/{name}") or (dot and number.isdecimal()):
        return ['it asks for devices, so its name must be one that Kubernetes takes: at most 63 lower-case letters, digits and "-"']
    return []


def _devices(resources: Mapping | None) -> tuple[dict[str, int], list[str]]:
    """The devices in the limits of RESOURCES, and a clause for each fault. Raises UsageError with one where these are no mappings."""
    asked, faults = _counts(lookup.mapping(lookup.value(resources, "limits"), "limits"), "limits")
    requested, more = _counts(lookup.mapping(lookup.value(resources, "requests"), "requests"), "requests")
    faults += more
    for name, count in requested.items():
        if name not in asked:
            faults.append(f"requests {name} has no limit, devices need one: write it under limits as well")
        elif count is not None and asked[name] is not None and count != asked[name]:
            faults.append(f"requests {name} is {count}, but its limit is {asked[name]}: for devices both must be equal")
    return {name: count for name, count in asked.items() if count is not None}, faults


def _counts(resources: Mapping | None, field: str) -> tuple[dict[str, int | None], list[str]]:
    """The extended resources in limits or requests, None for one whose count has a fault; and a clause for each fault."""
    counts: dict[str, int | None] = {}
    faults = []
    for name, entry in ({} if resources is None else resources.all()).items():
        # kubernetes.io and what has no domain is Kubernetes' own (IsNativeResource); a name with "=" is one of podman's, CDI or a path.
        if "/" not in name or "kubernetes.io/" in name or "=" in name:
            continue
        counts[name] = None
        try:
            values.split(name)
        except UsageError as error:
            faults.append(f"{field} {shown(name)} cannot be asked for: {error}")
            continue
        try:
            counts[name] = _count(entry.value)
        except quantities.QuantityError as error:
            faults.append(f"{field} {name} is {lookup.shown(entry.value)}, {error.reason}")
    return counts, faults


def _count(value: Node) -> int:
    """The count in VALUE. Raises QuantityError."""
    if not isinstance(value, Scalar) or value.null:
        return quantities.count("")
    digits = value.text.lstrip("+-")
    if value.plain and len(digits) > 1 and digits[0] == "0" and digits.isdecimal():
        raise quantities.QuantityError(value.text, "which YAML reads as an octal number: write it without the zero in front")
    return quantities.count(value.text)


def _bad_keys(document: Mapping) -> list[str]:
    """A clause for each key of DOCUMENT that Kubernetes and podman refuse: it stands twice in its mapping, or is no text."""
    faults: list[tuple[int, str]] = []
    pending: list[Node] = [document]
    seen = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Sequence):
            pending += node.items
        elif isinstance(node, Mapping):
            pending += [entry.value for entry in node.entries]
            faults += _bad_keys_in(node)
    return [f"line {line + 1}: {clause}" for line, clause in sorted(faults)]


def _bad_keys_in(mapping: Mapping) -> list[tuple[int, str]]:
    """Line and clause for each such key of MAPPING itself."""
    before: set[str] = set()
    faults = []
    for key in [entry.key for entry in mapping.entries]:
        if not isinstance(key, Scalar):
            faults.append((key.place.line, f"{lookup.shown(key)} stands as a key, which must be a text"))
            continue
        if key.text in before:
            faults.append((key.place.line, f"the key {shown(key.text)} stands twice in one mapping, keep one of them"))
        before.add(key.text)
    return faults
