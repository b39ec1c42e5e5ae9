"""The pod of the README: what `oci-udev-hook kube` writes plays on both podmans, and each container has its own units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bed.cells import Mode, cells, diagonal
from bed.engine import HELD, IMAGE, RESOURCE, Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.devices import Loop

everywhere = pytest.mark.parametrize("engine", cells(modes=(Mode.ROOTFUL, Mode.ROOTLESS)), indirect=True)
here_and_there = pytest.mark.parametrize("engine", diagonal(Mode.ROOTFUL, Mode.ROOTLESS), indirect=True)

#: Names so long that podman 4.3 would refuse them in one annotation (63 characters).
LONG = tuple(f"hardware-vendor.example/a-kind-of-device-with-a-very-long-name-{number}" for number in (1, 2))
SHOW = "echo $OCI_UDEV_BED_EXAMPLE_LOOP; exec sleep 1000"
CONTAINERS = f"""\
  - name: a
    image: {IMAGE}
    imagePullPolicy: Never
    command: [sh, -c, '{SHOW}']
    resources:
      limits:
        {RESOURCE}: 2
  - name: b
    image: {IMAGE}
    imagePullPolicy: Never
    command: [sh, -c, '{SHOW}']
    resources:
      limits:
        {RESOURCE}: 1
"""
POD = f"""\
apiVersion: v1
kind: Pod
metadata:
  name: demo
  annotations:
    kept: as-it-is
    io.podman.annotations.init.container.type: always  # podman removes one that has run only once
spec:
  hostNetwork: true
  restartPolicy: Never
  initContainers:
  - name: first
    image: {IMAGE}
    imagePullPolicy: Never
    command: [sh, -c, 'exec 3<>$OCI_UDEV_BED_EXAMPLE_LOOP && echo $OCI_UDEV_BED_EXAMPLE_LOOP']
    resources:
      limits:
        {RESOURCE}: 1
  containers:
{CONTAINERS}"""
DEPLOYMENT = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: demo}}
spec:
  selector: {{matchLabels: {{app: demo}}}}
  template:
    metadata: {{labels: {{app: demo}}}}
    spec:
      hostNetwork: true
      containers:
{"".join(f"    {line}" for line in CONTAINERS.splitlines(keepends=True))}"""


def play(engine: Engine, text: str, *, check: bool = True) -> str:
    """`oci-udev-hook kube FILE | podman kube play -`; what podman said to stderr."""
    engine.view.write("/tmp/pod.yaml", text)
    converted = engine.hook("kube", "/tmp/pod.yaml").out
    if not engine.denies_its_pods:
        return engine.podman("kube", "play", "-", stdin=converted, check=check).err
    pod = engine.podman("kube", "play", "--start=false", "-", stdin=converted).out.split()[1]
    engine.allow_pod(pod)
    return engine.podman("pod", "start", pod, check=check).err


def variable(engine: Engine, container: str, name: str = "OCI_UDEV_BED_EXAMPLE_LOOP") -> list[str]:
    """The nodes that a container was told of."""
    variables = dict(pair.partition("=")[::2] for pair in engine.exec(container, "cat", "/proc/1/environ").out.split("\0"))
    return variables.get(name, "").split(",")


def opens(engine: Engine, container: str, nodes: list[str]) -> bool:
    """Whether all NODES open in CONTAINER."""
    return engine.exec(container, "sh", "-c", " && ".join(f"exec 3<>{node}" for node in nodes)).code == 0


@pytest.fixture(scope="module")
def played(engine: Engine) -> Iterator[Engine]:
    """An engine that plays the pod."""
    play(engine, POD)
    yield engine
    engine.remove_all()


@everywhere
def test_each_container_of_a_pod_has_its_own_units(played: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 1: `hardware-vendor.example/foo: 2` in the YAML, two working devices in the container."""
    first, second = variable(played, "demo-a"), variable(played, "demo-b")

    assert (len(first), len(second)) == (2, 1)
    assert sorted({*first, *second}) == [loop.node for loop in loops[:3]]
    assert opens(played, "demo-a", first)
    assert opens(played, "demo-b", second)
    assert played.exec("demo-b", "sh", "-c", "ls -d /dev/loop*").out.split() == second
    assert played.leases() == {"demo-a": tuple(first), "demo-b": tuple(second)}


@everywhere
def test_the_init_container_had_one_and_gave_it_back(played: Engine, loops: tuple[Loop, ...]) -> None:
    assert played.podman("logs", "demo-first").out.strip() in {loop.node for loop in loops[:4]}
    assert "demo-first" not in played.leases()


@everywhere
def test_what_is_not_about_devices_stays(played: Engine) -> None:
    assert played.inspect("demo-a", '{{index .Config.Annotations "kept"}}') == "as-it-is"


@everywhere
def test_a_second_pod_is_refused_and_told_who_holds_them(played: Engine) -> None:
    message = play(played, POD.replace("name: demo", "name: other"), check=False)

    assert f"exit status {HELD}" in message
    reason = played.hook("why", "other-a").out
    assert "demo-a" in reason
    assert "demo-b" in reason


@here_and_there
def test_a_pod_comes_back_to_the_same_units(clean: Engine) -> None:
    """Stopped it holds nothing, started again it has the same, removed it holds nothing."""
    play(clean, POD)
    held = clean.leases()
    clean.podman("pod", "stop", "--time", "0", "demo")
    assert clean.leases() == {}

    clean.podman("pod", "start", "demo")

    assert clean.leases() == held
    clean.remove_pod("demo")
    assert clean.leases() == {}


@here_and_there
def test_a_deployment_has_its_units(clean: Engine) -> None:
    """Case 18: podman reads the top-level object's annotations, Kubernetes the template's."""
    play(clean, DEPLOYMENT)

    assert sorted(map(len, clean.leases().values())) == [1, 2]


@here_and_there
def test_names_too_long_for_one_annotation_are_split_and_joined(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 19."""
    path = "/etc/oci-udev-hook/resources.d/70-long.toml"
    definitions = [
        f"[[resource]]\nname = '{name}'\nmatch = ['KERNEL==\"{loop.name}\"']\nenv = {{NODE{number} = '{{paths}}'}}\n"
        for number, (name, loop) in enumerate(zip(LONG, loops[-2:], strict=True))
    ]
    clean.view.write(path, "".join(definitions))
    try:
        play(clean, POD.replace(f"{RESOURCE}: 2", f"{LONG[0]}: 1\n        {LONG[1]}: 1"))

        assert [variable(clean, "demo-a", f"NODE{number}") for number in (0, 1)] == [[loop.node] for loop in loops[-2:]]
    finally:
        clean.view.path(path).unlink()
