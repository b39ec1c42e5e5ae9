"""Limits of kube YAML become annotations, and all else stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from oci_udev_hook.errors import ExitCode, UsageError
from oci_udev_hook.model import Request
from oci_udev_hook.requests import annotations, kube
from oci_udev_hook.requests.annotations import LIMITS

DATA = Path(__file__).parent.parent / "data" / "kube"
FILES = sorted(path.name for path in DATA.iterdir() if ".out." not in path.name)
FOO = "hardware-vendor.example/foo"
RAW = "raw devices are not served by this version, name a resource that is defined on this host"
ASKED = 'io.oci-udev-hook.limits/a: "x.y/z: 1"'

#: A pod around the lines of its metadata.
POD = "apiVersion: v1\nkind: Pod\n{}spec:\n  containers:\n  - name: a\n    resources: {{limits: {{x.y/z: 1}}}}\n"


def pod(limits: str, requests: str = "{}", name: str = "a", metadata: str = "metadata: {name: p}\n") -> str:
    """A pod of one container with those resources."""
    return f"kind: Pod\n{metadata}spec:\n  containers:\n  - name: {name}\n    resources: {{limits: {limits}, requests: {requests}}}\n"


def faults(text: str) -> list[str]:
    """What is wrong with TEXT, without what leads each line."""
    with pytest.raises(UsageError) as caught:
        kube.annotate(text, "pod.yaml")
    assert caught.value.code is ExitCode.USAGE
    lead = "pod.yaml: document 1 (Pod p), "
    lines = str(caught.value).split("\n")
    assert all(line.startswith(lead) for line in lines), lines
    return [line.removeprefix(lead) for line in lines]


@pytest.mark.parametrize("name", FILES)
def test_files_come_out_as_they_should(name: str) -> None:
    """Cases 18 and 19: annotations where podman reads them and where Kubernetes does; long values in numbered keys."""
    text = (DATA / name).read_bytes().decode()
    out = DATA / name.replace(".", ".out.")
    expected = out.read_bytes().decode() if out.exists() else text

    assert kube.annotate(text, name) == expected
    assert kube.annotate(expected, name) == expected, "a second time changes nothing"


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".yaml")])
def test_files_come_out_the_same_without_libyaml(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")
    test_files_come_out_as_they_should(name)


def test_deployments_have_the_annotations_in_both_places() -> None:
    """Case 18: podman reads those of the object, Kubernetes those of the template."""
    text = kube.annotate((DATA / "deployment.yaml").read_text(), "deployment.yaml")
    deployment = yaml.safe_load(text)
    own, template = (holder["metadata"]["annotations"] for holder in (deployment, deployment["spec"]["template"]))

    assert own == template
    assert annotations.read(own, "probe") == (Request("hardware-vendor.example/foo", 1000),)
    assert annotations.read(own, "receiver") == (
        Request("hardware-vendor.example/foo", 2),
        Request("hardware-vendor.example/software-defined-radio"),
    )
    assert annotations.read(own, "plain") == ()


def test_no_value_is_longer_than_podman_4_takes() -> None:
    """Case 19: where the number fits behind the container's name."""
    written = yaml.safe_load(kube.annotate((DATA / "long.yaml").read_text(), "long.yaml"))["metadata"]["annotations"]

    assert {len(key.partition("/")[2]) for key, value in written.items() if len(value) > 63} == {63}
    assert all(len(key.partition("/")[2]) <= 63 for key in written)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("metadata: {name: p}\n", f"metadata: {{annotations: {{{ASKED}}}, name: p}}\n", id="in braces"),
        pytest.param("metadata: {}\n", f"metadata: {{annotations: {{{ASKED}}}}}\n", id="empty braces"),
        pytest.param("metadata: # why\n", f"metadata: # why\n  annotations:\n    {ASKED}\n", id="nothing"),
        pytest.param("metadata: null # why\n", f"metadata: # why\n  annotations:\n    {ASKED}\n", id="null"),
        pytest.param(
            "metadata:\n   # c\n   name: p\n", f"metadata:\n   annotations:\n      {ASKED}\n   # c\n   name: p\n", id="three spaces"
        ),
        pytest.param(
            "metadata:\n name: p\n annotations:\n", f"metadata:\n name: p\n annotations:\n  {ASKED}\n", id="annotations without any"
        ),
        pytest.param("metadata:\n  annotations: {}\n", f"metadata:\n  annotations: {{{ASKED}}}\n", id="annotations in empty braces"),
        pytest.param(
            "metadata:\n  annotations:  # c\n\n    # d\n    e: |\n      f\n\n\n  name: p\n",
            f"metadata:\n  annotations:  # c\n    {ASKED}\n\n    # d\n    e: |\n      f\n\n\n  name: p\n",
            id="annotations with comments and a block text",
        ),
        pytest.param(
            'metadata: {annotations: {"b": c, d: e}}\n',
            'metadata: {annotations: {"io.oci-udev-hook.limits/a": "x.y/z: 1", "b": c, d: e}}\n',
            id="quoted keys in braces",
        ),
        pytest.param(
            "metadata: {annotations: {\n    b: c,\n    d: e\n  }}\n",
            f"metadata: {{annotations: {{\n    {ASKED},\n    b: c,\n    d: e\n  }}}}\n",
            id="braces over lines",
        ),
        pytest.param("metadata: {annotations: , name: p}\n", f"metadata: {{annotations: {{{ASKED}}}, name: p}}\n", id="null in braces"),
        pytest.param("metadata: {name: p, annotations}\n", f"metadata: {{name: p, annotations: {{{ASKED}}}}}\n", id="bare key in braces"),
        pytest.param(
            "metadata:\n  annotations:\n    null\n  name: p\n",
            f"metadata:\n  annotations:\n    {{{ASKED}}}\n  name: p\n",
            id="null on a line of its own",
        ),
        pytest.param("metadata: !!map\n  name: p\n", f"metadata: !!map\n  annotations:\n    {ASKED}\n  name: p\n", id="tag"),
        pytest.param(
            "metadata:\n  !!map &m\n  name: p\n",
            f"metadata:\n  !!map &m\n  annotations:\n    {ASKED}\n  name: p\n",
            id="tag and anchor below",
        ),
        pytest.param("metadata:\n  ? name\n  : p\n", f"metadata:\n  annotations:\n    {ASKED}\n  ? name\n  : p\n", id="explicit key"),
        pytest.param('"metadata" : \n  name: p\n', f'"metadata" : \n  annotations:\n    {ASKED}\n  name: p\n', id="quoted key"),
    ],
)
def test_metadata_keep_their_style(before: str, after: str) -> None:
    """At the top of the mapping, with the indentation that is there."""
    for end in ("\n", "\r\n"):
        text = POD.format(before).replace("\n", end)
        assert kube.annotate(text, "pod.yaml") == POD.format(after).replace("\n", end)


@pytest.mark.parametrize(
    "metadata", ["metadata: {name: p}", "metadata:", "metadata: ~", "metadata:\n  name: p", "metadata:\n  annotations:"]
)
def test_a_file_without_a_last_line_end_gets_none(metadata: str) -> None:
    text = pod("{x.y/z: 1}", metadata="") + metadata
    result = kube.annotate(text, "pod.yaml")

    assert yaml.safe_load(result)["metadata"]["annotations"] == {f"{LIMITS}/a": "x.y/z: 1"}
    assert not result.endswith("\n")


def test_a_pod_without_metadata_gets_them() -> None:
    assert kube.annotate("---\n# c\n" + POD.format(""), "pod.yaml") == (
        f"---\n# c\nmetadata:\n  annotations:\n    {ASKED}\n" + POD.format("")
    )


def test_a_byte_order_mark_stays() -> None:
    assert kube.annotate("\ufeff" + POD.format("metadata: {}\n"), "pod.yaml") == "\ufeff" + POD.format(
        f"metadata: {{annotations: {{{ASKED}}}}}\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "---\n",
        "# c",
        "- a\n",
        "a: b",
        "kind: Pod\n",
        "kind: Pod\nspec:\n",
        "kind: Pod\nspec: {containers: }\n",
        "kind: [Pod]\n",
        "Kind: Pod\n",
        pod("{cpu: 1, memory: 1Gi, kubernetes.io/x: 0.5, a.kubernetes.io/x: -1, foo: 500m}", "{cpu: 0.5, v/c=d: 2}"),
        pod("{podman.io/device=/dev/x: 1}"),
        pod("null", "null"),
        pod("{}").replace("resources", "resource"),
        'kind: Pod\nspec: {containers: [{resources: null}, {name: "x y"}]}\n',
    ],
)
def test_what_has_nothing_to_do_with_devices_stays_as_it_is(text: str) -> None:
    """Case 35: `kubernetes.io/x` is not ours."""
    assert kube.annotate(text, "pod.yaml") == text


@pytest.mark.parametrize(
    ("limits", "clauses"),
    [
        ("{x.y/z: 500m}", ['limits x.y/z is "500m", not a whole number: devices are given whole']),
        ("{x.y/z: 0.5}", ['limits x.y/z is "0.5", not a whole number: devices are given whole']),
        ("{x.y/z: -1}", ['limits x.y/z is "-1", a negative number: write 0 for none']),
        ("{x.y/z: two}", ['limits x.y/z is "two", not a number: write a whole number such as 2']),
        ("{x.y/z: true}", ['limits x.y/z is "true", not a number: write a whole number such as 2']),
        ("{x.y/z: 0x10}", ['limits x.y/z is "0x10", not a number: write a whole number such as 2']),
        ("{x.y/z: 010}", ['limits x.y/z is "010", which YAML reads as an octal number: write it without the zero in front']),
        ("{x.y/z: }", ["limits x.y/z is null, not a number: write a whole number such as 2"]),
        ("{x.y/z: [1]}", ["limits x.y/z is a list, not a number: write a whole number such as 2"]),
        ("{x.y/z: {a: 1}}", ["limits x.y/z is a mapping, not a number: write a whole number such as 2"]),
        ("{X.y/z: 1}", ['limits "X.y/z" cannot be asked for: the domain "X.y" may hold only lower-case letters, digits, "-" and "."']),
        ("{x.y/z/a: 1}", ['limits "x.y/z/a" cannot be asked for: it has more than one slash, a resource\'s name is DOMAIN/KIND']),
        (
            "{requests.x.y/z: 1}",
            ['limits "requests.x.y/z" cannot be asked for: a domain that starts with "requests." is kept for Kubernetes\' quotas'],
        ),
        (
            "{io.podman.device/x: 1}",
            [f'limits "io.podman.device/x" cannot be asked for: {RAW}'],
        ),
        ("[x.y/z]", ["limits is a list, not a mapping"]),
        ("x.y/z", ['limits is "x.y/z", not a mapping']),
    ],
)
def test_bad_limits_are_refused_as_kubernetes_does(limits: str, clauses: list[str]) -> None:
    """Case 35: not whole, negative, a bad name."""
    assert faults(pod(limits)) == [f"containers[0] (a): {clause}" for clause in clauses]


@pytest.mark.parametrize(
    ("limits", "requests", "clause"),
    [
        ("{}", "{x.y/z: 1}", "requests x.y/z has no limit, devices need one: write it under limits as well"),
        ("{x.y/z: 2}", "{x.y/z: 1}", "requests x.y/z is 1, but its limit is 2: for devices both must be equal"),
        ("{x.y/z: 2}", "{x.y/z: 2.5}", 'requests x.y/z is "2.5", not a whole number: devices are given whole'),
        ("{x.y/z: 2}", "[]", "requests is a list, not a mapping"),
    ],
)
def test_bad_requests_are_refused_as_kubernetes_does(limits: str, requests: str, clause: str) -> None:
    """Case 35: request without limit, request that is not its limit."""
    assert faults(pod(limits, requests)) == [f"containers[0] (a): {clause}"]


def test_a_request_that_equals_its_limit_is_no_fault() -> None:
    assert ASKED in kube.annotate(pod("{x.y/z: 1}", "{x.y/z: 1000m, cpu: 2}"), "pod.yaml")


def test_all_faults_of_all_documents_come_at_once() -> None:
    text = (
        pod("{x.y/z: 0.5}")
        + "---\nkind: ConfigMap\n---\n"
        + "kind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n"
        + "      initContainers: [{name: i, resources: {limits: {x.y/z: -1}}}, x]\n"
        + "      containers: [{resources: {limits: {x.y/z: 1}}}, {name: w.1, resources: {limits: {x.y/z: 1}}}]\n"
        + "---\nkind: Deployment\nspec: {template: []}\n"
    )

    with pytest.raises(UsageError) as caught:
        kube.annotate(text, "all.yaml")
    assert str(caught.value).split("\n") == [
        'all.yaml: document 1 (Pod p), containers[0] (a): limits x.y/z is "0.5", not a whole number: devices are given whole',
        'all.yaml: document 3 (Job j), initContainers[0] (i): limits x.y/z is "-1", a negative number: write 0 for none',
        'all.yaml: document 3 (Job j), initContainers[1]: it is "x", not a mapping',
        "all.yaml: document 3 (Job j), containers[0]: it asks for devices, but has no name",
        (
            "all.yaml: document 3 (Job j), containers[1] (w.1): it asks for devices, so its name must be one that Kubernetes takes: "
            'at most 63 lower-case letters, digits and "-"'
        ),
        "all.yaml: document 4 (Deployment), spec.template is a list, not a mapping",
    ]


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        (
            POD.format("metadata: {name: p}\nmetadata: {name: p}\n"),
            ['line 4: the key "metadata" stands twice in one mapping, keep one of them'],
        ),
        (
            "kind: Pod\nmetadata: {name: p}\nspec:\n  x: [{a: 1, b: 2, a: 3}]\n  x: 1\n",
            [
                'line 4: the key "a" stands twice in one mapping, keep one of them',
                'line 5: the key "x" stands twice in one mapping, keep one of them',
            ],
        ),
        (
            "kind: Pod\nmetadata: {name: p}\n? {a: b}\n: c\n? [d]\n: e\n",
            ["line 3: a mapping stands as a key, which must be a text", "line 5: a list stands as a key, which must be a text"],
        ),
        ("kind: Pod\nmetadata: {name: p}\nspec: {containers: {}}\n", ["containers is a mapping, not a list"]),
        (pod("{x.y/z: 1}") + "  - name: a\n", ["two containers have the name a, each needs its own"]),
        (POD.format("metadata: {name: p, annotations: [a]}\n"), ["metadata.annotations is a list, not a mapping"]),
        (
            POD.format("metadata: {name: p, annotations: {io.oci-udev-hook.limits: [a]}}\n"),
            ["annotation io.oci-udev-hook.limits is a list, not a text"],
        ),
        (
            POD.format("metadata:\n  name: p\n  annotations: &a\n"),
            ["metadata.annotations is null with an anchor or an alias, take it away so that annotations can be added"],
        ),
        (
            POD.format("x: &x {annotations: {a: b}}\nmetadata: {<<: *x, name: p}\n"),
            ["metadata.annotations comes in through a merge key (<<), write it out so that annotations can be added"],
        ),
        (
            POD.format("metadata: &m {name: p}\nx: *m\n"),
            ["its annotations stand in a part that is used more than once (& and *), write them out where they belong"],
        ),
        (POD.format("? metadata\n: name: p\n"), ['line 4 is written in a way that nothing can be added to, write its keys without "?"']),
    ],
)
def test_what_cannot_be_done_is_said(text: str, clauses: list[str]) -> None:
    assert faults(text) == clauses


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("a: [", "f.yaml is no YAML, line 2, column 1: did not find expected node content", id="open"),
        pytest.param("a:\n\t- b", "f.yaml is no YAML, line 2, column 1: found character that cannot start any token", id="tab"),
        pytest.param("a: b\n---\na: \x01", "f.yaml is no YAML, position 12: control characters are not allowed", id="control character"),
        pytest.param("a: *b", "f.yaml cannot be read, line 1: the alias *b stands for nothing before it", id="alias"),
        pytest.param("\na: &b [*b]", "f.yaml cannot be read, line 2: the alias *b stands inside what it stands for", id="alias in itself"),
        pytest.param("a:\n " + "[" * 100_000, "f.yaml cannot be read, line 2: it is nested more than 1000 deep", id="deep"),
        pytest.param("#" * (16 * 1024 * 1024 + 1), "f.yaml is larger than 16 MiB; no kube YAML is", id="large"),
    ],
)
def test_what_is_no_yaml_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        kube.annotate(text, "f.yaml")
    assert str(caught.value) == sentence


def test_aliases_of_aliases_take_no_time() -> None:
    """A billion laughs, in values and in merge keys."""
    bomb = "a0: &a0 {x: y}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60))

    assert ASKED in kube.annotate(bomb + pod("{<<: *a59, x.y/z: 1}"), "pod.yaml")


def written(annotations_: dict[str, str], limits: str = "{}", kind: str = "Pod", template: dict[str, str] | None = None) -> str:
    """A pod p, or another kind, with ANNOTATIONS_ and two containers: a with LIMITS, and b."""
    spec = f"{{containers: [{{name: a, resources: {{limits: {limits}}}}}, {{name: b}}]}}"
    if kind != "Pod":
        inner = {} if template is None else template
        spec = f"{{template: {{metadata: {{annotations: {inner}}}, spec: {spec} }} }}"
    return f"kind: {kind}\nmetadata:\n  name: p\n  annotations: {annotations_}\nspec: {spec}\n"


def annotated(text: str) -> dict[str, str]:
    """The annotations of TEXT's object once it is annotated."""
    result: dict[str, str] = yaml.safe_load(kube.annotate(text, "pod.yaml"))["metadata"]["annotations"]
    return result


@pytest.mark.parametrize(
    "value",
    [f"{FOO}: 2", f"{FOO}: 2k", f'{{"{FOO}": 2}}', f"{FOO}=A, {FOO}=B", f"{FOO}=A, {FOO}"],
    ids=["pair", "other count", "JSON", "units", "unit and count"],
)
def test_hand_written_annotations_stay_if_they_say_what_the_limits_say(value: str) -> None:
    """Which unit it is may be said for podman only: Kubernetes has no such thing."""
    text = written({f"{LIMITS}/a": value}, f"{{{FOO}: {'2k' if 'k' in value else 2}}}")

    assert kube.annotate(text, "pod.yaml") == text


def test_hand_written_annotations_of_other_containers_stay() -> None:
    given = {LIMITS: f"{FOO}: 3", f"{LIMITS}/b.1": f"{FOO}: ", f"{LIMITS}/b.2": "1", "x": "y"}

    assert annotated(written(given, f"{{{FOO}: 2}}")) == {**given, f"{LIMITS}/a": f"{FOO}: 2"}
    assert kube.annotate(written(given), "pod.yaml") == written(given)


@pytest.mark.parametrize(
    ("given", "limits", "clauses"),
    [
        pytest.param(
            {f"{LIMITS}/a": f"{FOO}: 3"},
            f"{{{FOO}: 2}}",
            [f"annotation {LIMITS}/a says {FOO}: 3, but the limits of a say {FOO}: 2: make them equal or take the annotation away"],
            id="other count",
        ),
        pytest.param(
            {f"{LIMITS}/a": ""},
            f"{{{FOO}: 2}}",
            [f"annotation {LIMITS}/a says nothing, but the limits of a say {FOO}: 2: make them equal or take the annotation away"],
            id="nothing",
        ),
        pytest.param(
            {f"{LIMITS}/a": FOO},
            f"{{{FOO}: 0}}",
            [f"annotation {LIMITS}/a says {FOO}: 1, but the limits of a say nothing: make them equal or take the annotation away"],
            id="limit 0",
        ),
        pytest.param(
            {f"{LIMITS}/c": FOO}, "{}", [f"annotation {LIMITS}/c names no container of this pod, there is a, b"], id="no such container"
        ),
        pytest.param(
            {f"{LIMITS}/b": f"{FOO}: x"},
            "{}",
            [f'annotation {LIMITS}/b: {FOO} is "x", not a number: write a whole number such as 2'],
            id="bad value",
        ),
        pytest.param(
            {f"{LIMITS}/b": FOO, f"{LIMITS}/b.1": FOO},
            "{}",
            [f"annotation {LIMITS}/b stands in numbered keys, but there is a key without a number as well, only one of the two can hold"],
            id="bad numbers",
        ),
    ],
)
def test_hand_written_annotations_that_cannot_hold_are_refused(given: dict[str, str], limits: str, clauses: list[str]) -> None:
    assert faults(written(given, limits)) == clauses


def test_hand_written_annotations_go_where_they_are_missing() -> None:
    """Case 18: from the template to the object, where podman reads them, and the other way round for Kubernetes."""
    text = kube.annotate(written({f"{LIMITS}/a": FOO, "x": "y"}, kind="DaemonSet", template={LIMITS: f"{FOO}: 2"}), "set.yaml")
    daemon_set = yaml.safe_load(text)

    assert daemon_set["metadata"]["annotations"] == {f"{LIMITS}/a": FOO, LIMITS: f"{FOO}: 2", "x": "y"}
    assert daemon_set["spec"]["template"]["metadata"]["annotations"] == {f"{LIMITS}/a": FOO, LIMITS: f"{FOO}: 2"}


def test_hand_written_annotations_may_not_differ_in_the_two_places() -> None:
    with pytest.raises(UsageError) as caught:
        kube.annotate(written({LIMITS: FOO}, kind="Job", template={LIMITS: f"{FOO}: 2"}), "job.yaml")
    assert str(caught.value) == (
        f'job.yaml: document 1 (Job p), annotation {LIMITS} is "{FOO}", but "{FOO}: 2" in the template: make them equal'
    )


def test_odd_texts_survive_the_way_from_template_to_object() -> None:
    """Values in quotes mean the same to YAML and JSON, whatever they hold."""
    value = f'{FOO}: 2,\n\t"\\\x7f\x85\u2028\u00e9\U0001f600'
    template = {"io.oci-udev-hook.init": value}
    text = kube.annotate(
        written({}, kind="Job", template=template).replace(str(template), "{io.oci-udev-hook.init: " + kube_quoted(value) + "}"), "j"
    )

    assert yaml.safe_load(text)["metadata"]["annotations"] == template
    assert not set("\x7f\x85\u2028") & set(text)


def kube_quoted(text: str) -> str:
    """TEXT in YAML's double quotes."""
    return str(yaml.safe_dump(text, default_style='"', width=10_000)).strip()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            {f"{LIMITS}/a/p-a": FOO, f"{LIMITS}/a/p-b": FOO, f"{LIMITS}/b/p-a": f"{FOO}: 2", f"{LIMITS}/b/p-b": f"{FOO}: 2"},
            {f"{LIMITS}/p-a": FOO, f"{LIMITS}/p-b": f"{FOO}: 2"},
            id="one key for each container",
        ),
        pytest.param(
            {f"{LIMITS}/a/p-a": FOO, f"{LIMITS}/a/p-b": FOO, f"{LIMITS}/p-a": f"{FOO}: 3", f"{LIMITS}/p-b": f"{FOO}: 3"},
            {f"{LIMITS}/p-a": FOO, f"{LIMITS}/p-b": f"{FOO}: 3"},
            id="the own key wins over the pod-wide one",
        ),
        pytest.param(
            {f"{LIMITS}/a.{n}/p-{c}": part for n, part in ((1, FOO), (2, ": 2")) for c in "ab"}
            | {f"{LIMITS}.{n}/p-{c}": part for n, part in ((1, FOO), (2, ": 3")) for c in "ab"},
            {f"{LIMITS}/p-a.1": FOO, f"{LIMITS}/p-a.2": ": 2", f"{LIMITS}/p-b.1": FOO, f"{LIMITS}/p-b.2": ": 3"},
            id="numbered keys",
        ),
        pytest.param({f"{LIMITS}/p-a": FOO, f"{LIMITS}/p-b": FOO}, {f"{LIMITS}/p-a": FOO, f"{LIMITS}/p-b": FOO}, id="pod-wide key"),
        pytest.param({"io.oci-udev-hook.init/p-a": "a", "io.oci-udev-hook.init/p-b": "a"}, {"io.oci-udev-hook.init": "a"}, id="init"),
    ],
)
def test_keys_made_by_kube_generate_are_mended(given: dict[str, str], expected: dict[str, str]) -> None:
    """They name the containers as the generated file calls them."""
    text = written({**given, "x/p-a": "y"}).replace("name: a", "name: p-a").replace("name: b", "name: p-b")

    assert annotated(text) == {**expected, "x/p-a": "y"}


@pytest.mark.parametrize(
    ("names", "given", "expected"),
    [
        pytest.param(("a", "b"), {f"{LIMITS}/a/p-a": FOO}, {f"{LIMITS}/a": FOO}, id="containers renamed back"),
        pytest.param(
            ("q-a", "q-x-a"),
            {f"{LIMITS}/a/q-a": FOO, f"{LIMITS}/x-a/q-a": FOO},
            {f"{LIMITS}/q-a": FOO, f"{LIMITS}/q-x-a": FOO},
            id="other pod",
        ),
        pytest.param(("p-a", "p-x-a"), {f"{LIMITS}/a/p-a": FOO}, {f"{LIMITS}/p-a": FOO}, id="name that ends alike"),
    ],
)
def test_the_container_of_a_generated_key_is_found(names: tuple[str, str], given: dict[str, str], expected: dict[str, str]) -> None:
    text = written(given).replace("name: a", f"name: {names[0]}").replace("name: b", f"name: {names[1]}")

    assert annotated(text) == expected


def test_numbers_that_do_not_fit_behind_a_name_are_given_up() -> None:
    """A generated file has longer names; keys longer than Kubernetes takes play on no podman from 5.0 on."""
    name = "p-" + "a" * 60
    text = written({f"{LIMITS}/{'a' * 60}.{number}/{name}": part for number, part in ((1, FOO), (2, ": 2"))})

    assert annotated(text.replace("name: a", f"name: {name}")) == {f"{LIMITS}/{name}": f"{FOO}: 2"}


@pytest.mark.parametrize(
    ("given", "clause"),
    [
        (
            {f"{LIMITS}/a/p-a": FOO, f"{LIMITS}/a/p-b": f"{FOO}: 2"},
            f'the copies of annotation {LIMITS}/a differ (p-a "{FOO}", p-b "{FOO}: 2"), write one {LIMITS}/a',
        ),
        ({f"{LIMITS}/c/p-c": FOO}, f"annotation {LIMITS}/c/p-c names no container of this pod"),
    ],
)
def test_generated_keys_that_cannot_be_mended_are_refused(given: dict[str, str], clause: str) -> None:
    assert faults(written(given)) == [clause]


def test_generated_keys_are_taken_out_of_block_mappings_whatever_their_values_look_like() -> None:
    """podman writes long values over two lines."""
    text = (
        f"kind: Pod\nmetadata:\n  annotations:\n    {LIMITS}/a/p-a: |-\n      {FOO}: 2\n    {LIMITS}/a/p-b:\n      '{FOO}:\n      2' # c\n"
        f"    x: y\n    {LIMITS}/a/p-c: '{FOO}: 2'\n  name: p\nspec: {{containers: [{{name: p-a}}]}}\n"
    )

    assert kube.annotate(text, "pod.yaml") == (
        f'kind: Pod\nmetadata:\n  annotations:\n    {LIMITS}/p-a: "{FOO}: 2"\n    x: y\n  name: p\nspec: {{containers: [{{name: p-a}}]}}\n'
    )


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        (["a: b"], "a: b"),
        (["a: b", "c: d\n"], "a: b\n---\nc: d\n"),
        (["a: b\n", "# c\n---\nc: d"], "a: b\n# c\n---\nc: d"),
        (["a: b\n", "%YAML 1.1\n---\nc: d\n"], "a: b\n...\n%YAML 1.1\n---\nc: d\n"),
        (["a: b\n...\n", "\ufeffc: d\n"], "a: b\n...\n---\nc: d\n"),
        (["", "c: d\n"], "c: d\n"),
    ],
)
def test_several_files_become_one(texts: list[str], joined: str) -> None:
    assert kube.join(texts) == joined
    assert len(list(yaml.safe_load_all(joined))) == len([text for text in texts if text])
