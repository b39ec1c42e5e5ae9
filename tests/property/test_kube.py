"""What must hold for any kube YAML: only annotations change, however it is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oci_udev_hook.errors import UsageError
from oci_udev_hook.model import Request
from oci_udev_hook.requests import annotations, kube

pytestmark = pytest.mark.property

Value = Any  # what YAML and JSON hold

RESOURCES = [f"vendor-{n}.example/{'kind-' * n}x" for n in range(1, 8)]
NAMES = ["a", "b-c", "web", "init-1"]
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\u2028\u2029\ufffe\uffff"), max_size=20)
ODD = st.sampled_from(["a\nb\n", "c\n", "\nd", "---", "...", "- x", "# y", "kind: Pod", "{"])
SCALARS = TEXTS | ODD | st.integers(-9, 99) | st.booleans() | st.none()
EXTRA = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6)
LIMITS = st.dictionaries(st.sampled_from([*RESOURCES, "cpu", "memory", "x.y/z=all", "kubernetes.io/x"]), st.integers(0, 9), max_size=5)


def load(text: str) -> list[Value]:
    """The documents in TEXT. libyaml takes JSON that is indented with tabs, PyYAML alone does not."""
    return list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def optional(keys: dict[str, st.SearchStrategy[Value]]) -> st.SearchStrategy[dict[str, Value]]:
    return st.fixed_dictionaries({}, optional=keys)


ANNOTATIONS = st.none() | st.dictionaries(TEXTS.filter(lambda key: not key.startswith("io.oci")), TEXTS, max_size=3)
METADATA = st.none() | optional({"annotations": ANNOTATIONS, "name": st.just("p"), "labels": EXTRA, "x": EXTRA})


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Value]:
    """A Pod, Deployment, DaemonSet or Job, or an object that podman does not play."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
    resources = st.none() | optional({"limits": st.none() | LIMITS})
    containers = [{"name": name, "resources": draw(resources), "x": draw(EXTRA)} for name in names]
    split = draw(st.integers(0, len(containers)))
    spec = {"initContainers": containers[:split] or None, "containers": containers[split:], "x": draw(EXTRA)}
    kind = draw(st.sampled_from(["Pod", "Deployment", "DaemonSet", "Job", "CronJob"]))
    if kind != "Pod":
        template = {"spec": spec, **draw(optional({"metadata": METADATA}))}
        spec = {"template": template, "x": draw(EXTRA)}
    parts = list({"kind": kind, "spec": spec, "y": draw(EXTRA), **draw(optional({"metadata": METADATA}))}.items())
    return dict(draw(st.permutations(parts)))


@st.composite
def texts(draw: st.DrawFn) -> tuple[list[Value], str]:
    """Objects, and YAML or JSON that holds them, written in one of many ways."""
    documents = draw(st.lists(objects() | EXTRA.filter(bool), min_size=1, max_size=3))
    if draw(st.booleans()):
        documents = documents[:1]
        ascii_ = draw(st.booleans()) and json.dumps(documents).isascii() and max(json.dumps(documents, ensure_ascii=False)) < "\uffff"
        text = json.dumps(documents[0], indent=draw(st.sampled_from([None, 1, 4, "\t"])), ensure_ascii=ascii_)
    else:
        text = yaml.safe_dump_all(
            documents,
            default_flow_style=draw(st.sampled_from([False, None, True])),
            default_style=draw(st.sampled_from([None, None, '"', "'", "|"])),
            indent=draw(st.sampled_from([2, 3, 8])),
            width=draw(st.sampled_from([20, 80, 10_000])),
            explicit_start=draw(st.booleans()),
            explicit_end=draw(st.booleans()),
            allow_unicode=True,
            sort_keys=False,
        )
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return load(text), text


def holders(document: Value) -> list[dict[str, Value]]:
    """The parts of DOCUMENT whose metadata carry annotations."""
    if not isinstance(document, dict) or document.get("kind") not in ("Pod", "Deployment", "DaemonSet", "Job"):
        return []
    return [document] if document["kind"] == "Pod" else [document, document["spec"]["template"]]


def asked(document: Value) -> dict[str, dict[str, int]]:
    """The devices in the limits of DOCUMENT's containers."""
    spec = holders(document)[-1]["spec"]
    found = {}
    for container in (spec["initContainers"] or []) + spec["containers"]:
        limits = (container["resources"] or {}).get("limits") or {}
        found[container["name"]] = {name: count for name, count in limits.items() if name in RESOURCES}
    return found


def without_ours(document: Value) -> None:
    """Take our annotations out of DOCUMENT, and what is then empty."""
    for holder in holders(document):
        metadata = holder.get("metadata") or {}
        kept = {key: value for key, value in (metadata.get("annotations") or {}).items() if not str(key).startswith(annotations.PREFIX)}
        metadata = {**metadata, "annotations": kept or None}
        holder["metadata"] = {key: value for key, value in metadata.items() if value is not None} or None


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, max_examples=300)
@given(texts())
def test_only_annotations_change(written: tuple[list[Value], str]) -> None:
    """They say what the limits say, and a second time changes nothing."""
    before, text = written
    result = kube.annotate(text, "pod.yaml")
    after = load(result)

    assert kube.annotate(result, "pod.yaml") == result
    assert len(after) == len(before)
    for document in after:
        for holder in holders(document):
            found = (holder.get("metadata") or {}).get("annotations") or {}
            given_ = {key: value for key, value in found.items() if str(key).startswith(annotations.PREFIX)}
            for name, limits in asked(document).items():
                assert annotations.read(given_, name) == tuple(Request(resource, count) for resource, count in limits.items() if count)
            assert all(len(value) <= 63 for value in given_.values())
    for document in (*before, *after):
        without_ours(document)
    assert after == before


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(texts(), st.data())
def test_any_damage_is_answered(written: tuple[list[Value], str], data: st.DataObject) -> None:
    """With a sentence or a result, never with another error."""
    _, text = written
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 9)))
    damage = data.draw(st.sampled_from(["", " ", "\n", ":", "{", "- ", "&a ", "*a", "? ", "!!x ", "#", "<<: ", "'", "\t", "0.5"]))
    answer = "pod.yaml"
    try:
        kube.annotate(text[:start] + damage + text[end:], "pod.yaml")
    except UsageError as error:
        answer = str(error)
    assert answer.startswith("pod.yaml")
