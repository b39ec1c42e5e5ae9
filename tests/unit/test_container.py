"""Who is asking, told from configs that podman 4.3.1 and 5.4.2 handed to a precreate hook."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from oci_udev_hook import container, ociconfig, storage
from oci_udev_hook.errors import UsageError
from oci_udev_hook.frozen import replace
from oci_udev_hook.model import Container
from oci_udev_hook.places import User

DATA = Path(__file__).parents[1] / "data" / "oci"
ROOT = User(0, rootless=False)
USER = User(1000, rootless=True)
KEYS = frozenset({"bridge", "logger"})
GRAPHROOT = "/var/lib/containers/storage"
#: What the fixtures' containers are called in the storage that was there with them, by the tail of their cgroup or mounts.
IDS = {
    "4.3.1-kube-bridge": "54b8bcdbd8d771ce691dd9cad79da3e013d370c040e663f891d04ee9cb94dfc6",
    "4.3.1-kube-logger": "6add1f89f8de56bad390d6e0c2fc9b8ce797c1d11ea8bd7c158eaeba90d94192",
    "4.3.1-rootless-kube-bridge": "f243bd716d673a1e743742b1da002b8f54aeee4017fcd156212156f5a0d9e9ca",
    "5.4.2-kube-bridge": "5cb07a250364a17670c17ebfe2ffffcaba2656fa6061df71a23618718914edbc",
    "5.4.2-kube-logger": "8297adba56828d5f1ea8ac6090b101bc27016b6ea8e7c8b171e9119003be84eb",
    "5.4.2-rootless-kube-logger": "906d6c28997b0a07529c57eafab2bb80d4809deff6c68e5a4a23eff43cf12ddd",
}


def text_of(name: str) -> str:
    return (DATA / f"podman-{name}.json").read_text(encoding="utf-8")


def config_of(name: str) -> ociconfig.Config:
    return ociconfig.read(text_of(name).encode())


def edited(config: ociconfig.Config, **changes: object) -> ociconfig.Config:
    """CONFIG with some keys of its top level changed; None takes one away."""
    value = {key: value for key, value in {**config.value, **changes}.items() if value is not None}
    return ociconfig.read(json.dumps(value).encode())


def at_home(tmp_path: Path, name: str, storage_of: str = "", *, driver: str = "overlay") -> ociconfig.Config:
    """The fixture NAME with its storage moved to TMP_PATH, where the fixture's list of containers is."""
    text = (
        text_of(name)
        .replace("/home/tb/.local/share/containers/storage", str(tmp_path / "graph"))
        .replace(GRAPHROOT, str(tmp_path / "graph"))
    )
    text = text.replace("/run/user/1000/containers/", f"{tmp_path}/run/").replace("/run/containers/storage/", f"{tmp_path}/run/")
    if storage_of:
        folder = tmp_path / "graph" / f"{driver}-containers"
        folder.mkdir(parents=True)
        (folder / "containers.json").write_bytes((DATA / f"podman-{storage_of}-containers.json").read_bytes())
    return ociconfig.read(text.encode())


def identified(config: ociconfig.Config, cwd: str = "/root", *, who: User = ROOT, keys: frozenset[str] = KEYS) -> Container:
    return container.identify(config.value, cwd=cwd, who=who, container_names=keys)


@pytest.mark.parametrize(
    ("fixture", "lists", "driver", "kube"),
    [
        ("4.3.1-kube-bridge", "4.3.1", "overlay", "bridge"),
        ("4.3.1-kube-logger", "4.3.1", "overlay", "logger"),
        ("5.4.2-kube-bridge", "5.4.2", "overlay", "bridge"),
        ("5.4.2-kube-logger", "5.4.2", "overlay", "logger"),
        ("4.3.1-rootless-kube-bridge", "4.3.1-rootless", "vfs", "bridge"),
        ("5.4.2-rootless-kube-logger", "5.4.2-rootless", "overlay", "logger"),
    ],
)
def test_a_kube_container_knows_its_name(tmp_path: Path, fixture: str, lists: str, driver: str, kube: str) -> None:
    """The config has none, the storage's list has `POD-CONTAINER`; rootless there is no cgroup path either."""
    found = identified(at_home(tmp_path, fixture, lists, driver=driver))

    assert (found.id, found.name, found.kube) == (IDS[fixture], f"zigbee-{kube}", kube)


def test_the_bundle_is_below_the_storage_that_lists_the_container(tmp_path: Path) -> None:
    """4.3.1 runs the hook in the caller's folder; the runroot has a userdata of the container too."""
    config = at_home(tmp_path, "4.3.1-kube-bridge", "4.3.1")
    for folder in ("graph", "run"):
        (tmp_path / folder / "overlay-containers" / IDS["4.3.1-kube-bridge"] / "userdata").mkdir(parents=True)

    assert identified(config).bundle == f"{tmp_path}/graph/overlay-containers/{IDS['4.3.1-kube-bridge']}/userdata"


def test_the_bundle_is_the_folder_that_the_hook_runs_in_where_that_is_the_containers_own() -> None:
    """podman 4.7 and later."""
    cwd = f"{GRAPHROOT}/overlay-containers/{IDS['5.4.2-kube-bridge']}/userdata"

    assert identified(config_of("5.4.2-kube-bridge"), cwd, keys=frozenset()).bundle == cwd


def test_another_containers_folder_is_not_the_bundle() -> None:
    """Who stands there and calls podman 4.3.1 is told apart by the config's own words."""
    cwd = f"{GRAPHROOT}/overlay-containers/{IDS['4.3.1-kube-logger']}/userdata"
    found = identified(config_of("4.3.1-kube-bridge"), cwd, keys=frozenset())

    assert (found.id, found.bundle) == (IDS["4.3.1-kube-bridge"], "")


def test_the_bundle_of_a_plain_runtime_is_where_config_json_lies(tmp_path: Path) -> None:
    """`runc run -b DIR` and dry-run of one."""
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    config = ociconfig.read(b'{"ociVersion": "1.0.2", "linux": {"cgroupsPath": "/mine"}}')

    assert identified(config, str(tmp_path), keys=frozenset()) == Container(id="", bundle=str(tmp_path))


A = "a" * 64
B = "b" * 64


@pytest.mark.parametrize(
    ("cgroup", "mounts", "cwd", "expected"),
    [
        pytest.param(f"/libpod_parent/libpod-{A}", {}, "/", A, id="cgroupfs"),
        pytest.param(f"/libpod_parent/{B}/libpod-{A}", {}, "/", A, id="cgroupfs in a pod"),
        pytest.param(f"machine.slice:libpod:{A}", {}, "/", A, id="systemd"),
        pytest.param(f"user.slice/user-libpod_pod_{B}.slice:libpod:{A}", {}, "/", A, id="systemd in a pod"),
        pytest.param(f"/system.slice/my.service/libpod-payload-{A}", {}, "/", A, id="split"),
        pytest.param(f"kubepods-besteffort.slice:crio:{A}", {}, "/", A, id="CRI-O"),
        pytest.param("", {"/run/.containerenv": f"/s/overlay-containers/{A}/userdata/.containerenv"}, "/", A, id="containerenv"),
        pytest.param("", {"/etc/hosts": f"/s/overlay-containers/{A}/userdata/hosts"}, "/", A, id="hosts"),
        pytest.param("", {}, f"/s/overlay-containers/{A}/userdata", A, id="folder"),
        pytest.param(
            "",
            {"/run/.containerenv": f"/s/vfs-containers/{A}/userdata/.containerenv"},
            f"/s/vfs-containers/{B}/userdata",
            A,
            id="own file first",
        ),
        pytest.param(
            f"slice:libpod:{A}", {"/run/.containerenv": f"/s/vfs-containers/{B}/userdata/.containerenv"}, "/", A, id="cgroup first"
        ),
        pytest.param("", {"/dev/shm": f"/s/overlay-containers/{B}/userdata/shm"}, "/", "", id="shm is the pod's"),
        pytest.param("", {"/data": f"/s/overlay-containers/{B}/userdata/x"}, "/", "", id="a volume says nothing"),
        pytest.param("/user.slice/web", {}, "/", "", id="plain runc"),
        pytest.param(f"/libpod_parent/libpod-{A[:-1]}g", {}, "/", "", id="no id"),
    ],
)
def test_the_id_is_found_where_an_engine_leaves_it(cgroup: str, mounts: dict[str, str], cwd: str, expected: str) -> None:
    """In this order: cgroup path, podman's own file, the folder, its other files."""
    binds = [{"destination": where, "type": "bind", "source": source} for where, source in mounts.items()]
    config = ociconfig.read(json.dumps({"ociVersion": "1.0.2", "linux": {"cgroupsPath": cgroup}, "mounts": binds}).encode())

    assert identified(config, cwd, keys=frozenset()).id == expected


def pod(tmp_path: Path, names: list[str], *, hostname: str = "", environment: str = "") -> ociconfig.Config:
    """The config of the first of the containers NAMES, which the storage has."""
    folder = tmp_path / "overlay-containers"
    folder.mkdir()
    entries = [{"id": f"{number:064x}", "names": [name], "layer": f"{number + 1000:064x}"} for number, name in enumerate(names)]
    (folder / "containers.json").write_text(json.dumps(entries, separators=(",", ":")), encoding="utf-8")
    config = {
        "ociVersion": "1.0.2",
        "hostname": hostname,
        "process": {"env": [f"HOSTNAME={environment}"]},
        "root": {"path": f"{tmp_path}/overlay/{1000:064x}/merged"},
        "linux": {"cgroupsPath": f"/libpod_parent/libpod-{0:064x}"},
    }
    return ociconfig.read(json.dumps(config).encode())


@pytest.mark.parametrize(
    ("names", "hostname", "environment", "expected"),
    [
        pytest.param(["a-b-c", "a-b-b-c"], "", "", "c", id="the pod's other containers decide"),
        pytest.param(["a-b-b-c", "a-b-c"], "", "", "b-c", id="and for the other of them"),
        pytest.param(["a-b-c", "a-c"], "", "", "b-c", id="in pod a"),
        pytest.param(["a-b-c", "a-c", "a-b-b-c"], "a-b", "", "c", id="the host name, where both could be"),
        pytest.param(["a-b-c", "a-c", "a-b-b-c"], "a", "", "b-c", id="the other host name"),
        pytest.param(["a-b-c", "a-c", "a-b-b-c"], "", "a-b", "c", id="HOSTNAME, with the host's network on podman 4"),
        pytest.param(["a-b-c"], "", "", "b-c", id="else the longest"),
        pytest.param(["b-c", "c"], "", "", "b-c", id="no pod prefix"),
        pytest.param(["c"], "", "", "c", id="no pod prefix, short"),
        pytest.param(["xb-c"], "", "", "c", id="a dash is before the name"),
        pytest.param(["web"], "", "", None, id="a container that no key names"),
        pytest.param(["abc"], "", "", None, id="no dash"),
    ],
)
def test_a_name_that_can_be_read_in_two_ways_is_read_in_the_right_one(
    tmp_path: Path, names: list[str], hostname: str, environment: str, expected: str | None
) -> None:
    """Pods and containers may both have a dash in their names: `a-b-c` is c in pod a-b, or b-c in pod a."""
    config = pod(tmp_path, names, hostname=hostname, environment=environment)

    found = identified(config, keys=frozenset({"c", "b-c"}))

    assert (found.name, found.kube) == (names[0], expected)


def test_a_container_of_the_storage_is_found_by_its_layer_where_no_id_is_known(tmp_path: Path) -> None:
    """The root's path has the layer."""
    config = edited(pod(tmp_path, ["web"]), linux=None)

    assert identified(config, keys=frozenset()).name == "web"


def test_without_a_name_a_containers_own_key_is_not_passed_over() -> None:
    """The pod-wide key would give it another container's devices."""
    with pytest.raises(UsageError) as caught:
        identified(config_of("4.3.1-kube-bridge"))

    assert str(caught.value) == (
        "the annotations ask for the containers bridge, logger, and which of them this one is cannot be told: no list in "
        "/var/lib/containers/storage/overlay-containers or /run/containers/storage/overlay-containers has it; "
        "ask with a key that names no container, or say the name with --container where a verb is asked"
    )


def test_without_storage_the_sentence_says_so() -> None:
    """Plain runc with keys for pods."""
    with pytest.raises(UsageError) as caught:
        identified(ociconfig.read(b'{"ociVersion": "1.0.2"}'))

    assert "cannot be told: its config names no storage of podman's; ask" in str(caught.value)


def test_who_asks_for_a_dry_run_may_say_the_name() -> None:
    """And it is believed."""
    found = container.identify(config_of("4.3.1-kube-bridge").value, cwd="/", who=ROOT, container_names=KEYS, name="logger")

    assert (found.name, found.kube) == ("", "logger")


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param(
            {
                "io.container.manager": "cri-o",
                "io.kubernetes.container.name": "bridge",
                "io.kubernetes.pod.name": "zigbee",
                "io.kubernetes.cri-o.SandboxID": A,
            },
            ("zigbee-bridge", "bridge"),
            id="CRI-O",
        ),
        pytest.param(
            {"io.kubernetes.cri.container-name": "bridge", "io.kubernetes.cri.sandbox-name": "zigbee", "io.kubernetes.cri.sandbox-id": A},
            ("zigbee-bridge", "bridge"),
            id="containerd",
        ),
        pytest.param({"io.container.manager": "libpod", "io.kubernetes.container.name": "bridge"}, ("", None), id="podman: anyone's words"),
    ],
)
def test_kubernetes_engines_write_the_name_into_annotations(annotations: dict[str, str], expected: tuple[str, str | None]) -> None:
    """So no storage is needed there."""
    config = ociconfig.read(json.dumps({"ociVersion": "1.0.2", "annotations": annotations}).encode())

    found = identified(config, keys=frozenset())

    assert (found.name, found.kube) == expected


@pytest.mark.parametrize(
    ("fixture", "who", "expected"),
    [
        ("5.4.2-root", ROOT, {"rootless": False, "user_namespace": False, "uid": 0, "gid": 0, "groups": (), "uid_map": ()}),
        ("5.4.2-user", ROOT, {"uid": 1000, "gid": 1000, "groups": (1000, 44)}),
        ("4.3.1-uidmap", ROOT, {"user_namespace": True, "uid_map": ((0, 200000, 65536),), "gid_map": ((0, 200000, 65536),)}),
        ("5.4.2-uidmap", ROOT, {"user_namespace": True, "uid_map": ((0, 200000, 65536),), "gid_map": ((0, 200000, 65536),)}),
        ("4.3.1-rootless-user", USER, {"rootless": True, "user_namespace": False, "uid": 1000, "groups": (1000, 44)}),
        ("5.4.2-no-cgroup", ROOT, {"id": "8f474c5bf1d3a5c86b75a5bb1e9522113e1ed270c24c268bdf4a0c47cffb87eb"}),
        ("5.4.2-kube-infra", ROOT, {"kube": None, "name": ""}),
    ],
)
def test_process_and_user_namespace_are_the_configs(fixture: str, who: User, expected: dict[str, object]) -> None:
    """Rootless is what the hook's own user namespace tells, see places."""
    found = identified(config_of(fixture), who=who, keys=frozenset())

    assert replace(found, **expected) == found


@pytest.mark.parametrize(("value", "kept"), [("1", True), ("0", False)])
def test_groups_that_the_asker_keeps_are_known(value: str, kept: bool) -> None:
    """`podman run --group-add keep-groups`."""
    config = ociconfig.read(json.dumps({"ociVersion": "1.0.2", "annotations": {"run.oci.keep_original_groups": value}}).encode())

    assert identified(config, keys=frozenset()).keeps_groups == kept


def test_bind_mounts_are_known_by_their_normal_path() -> None:
    """An edit below one would reach the host."""
    mounts = [
        {"destination": "/dev//serial/", "type": "bind", "source": "/dev/serial"},
        {"destination": "/data", "source": "/srv", "options": ["rbind"]},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
    ]
    config = ociconfig.read(json.dumps({"ociVersion": "1.0.2", "mounts": mounts}).encode())

    assert identified(config, keys=frozenset()).binds == (("/dev/serial", "/dev/serial"), ("/data", "/srv"))


def test_a_transient_store_is_found_in_the_runroot(tmp_path: Path) -> None:
    """`podman --transient-store` has its lists there, and the bundle."""
    config = at_home(tmp_path, "5.4.2-transient")
    identity = "ebeb62983bf93535621f9ad5a9197f4e18d1440278b8aaae5f9181967ecc5225"
    (tmp_path / "run" / "overlay-containers" / identity / "userdata").mkdir(parents=True)
    lists = tmp_path / "run" / "overlay-containers" / "volatile-containers.json"
    lists.write_text(json.dumps([{"id": identity, "names": ["trans"]}]), encoding="utf-8")

    found = identified(config, keys=frozenset())

    assert (found.name, found.bundle) == ("trans", f"{tmp_path}/run/overlay-containers/{identity}/userdata")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[{", id="cut off"),
        pytest.param(b'[{"id":"' + A.encode() + b'"', id="cut off in the entry"),
        pytest.param(b'{"id":1}', id="no list"),
        pytest.param(b'[5, null, {"id":"' + A.encode() + b'","names":[7]}]', id="names are no text"),
        pytest.param(b'[{"id":"' + A.encode() + b'","names":["x\\ny"]}]', id="a name of two lines"),
        pytest.param(b"\xff\xfe\x00", id="not UTF-8"),
        pytest.param(b"[" * 100000, id="nested deeply"),
        pytest.param(b'[{"id":"' + A.encode() + b'","x":' + b"[" * 100000, id="nested deeply in the entry"),
    ],
)
def test_a_list_that_cannot_be_read_names_nobody(tmp_path: Path, content: bytes) -> None:
    """It is podman's file, not the asker's: no error, no name."""
    (tmp_path / "containers.json").write_bytes(content)

    assert storage.Storage([str(tmp_path)]).find(A, B)[1] == ""


def test_a_link_a_pipe_and_a_folder_are_no_lists(tmp_path: Path) -> None:
    """Nothing blocks, nothing is followed."""
    real = tmp_path / "real"
    real.write_text(json.dumps([{"id": A, "names": ["x"]}]), encoding="utf-8")
    (tmp_path / "containers.json").symlink_to(real)
    os.mkfifo(tmp_path / "volatile-containers.json")
    other = tmp_path / "other"
    (other / "containers.json").mkdir(parents=True)

    assert storage.Storage([str(tmp_path), str(other), str(tmp_path / "none")]).find(A, "") == ("", "")


def test_one_entry_among_hundreds_is_found(tmp_path: Path) -> None:
    """Also where the storage's writer puts blanks in."""
    entries = [{"id": f"{number:064x}", "names": [f"c{number}"], "metadata": json.dumps({"id": A})} for number in range(300)]
    (tmp_path / "containers.json").write_text(json.dumps(entries, separators=(",", ":")), encoding="utf-8")
    (tmp_path / "volatile-containers.json").write_text(json.dumps([{"id": A, "names": ["late"]}], indent=2), encoding="utf-8")
    lists = storage.Storage([str(tmp_path)])

    assert lists.find(f"{7:064x}", "") == (str(tmp_path), "c7")
    assert lists.find(A, "") == (str(tmp_path), "late")
    assert len(lists.names()) == 301


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"/g/overlay/{A}/merged", ("/g/overlay-containers", A)),
        (f"/g/vfs/dir/{A}", ("/g/vfs-containers", A)),
        (f"/g/btrfs/subvolumes/{A}", ("/g/btrfs-containers", A)),
        ("/var/tmp/intermediate-mountpoint-0.0", ("", "")),
        ("", ("", "")),
        (A, ("", "")),
    ],
)
def test_a_roots_path_tells_storage_and_layer(path: str, expected: tuple[str, str]) -> None:
    """Of podman's storage drivers; with a user namespace podman may name a place of its own."""
    assert storage.layer(path) == expected


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"linux": []}, "the container's config: linux is [], not an object"),
        ({"process": {"user": {"uid": "0"}}}, 'the container\'s config: process.user.uid is "0", not a whole number'),
        ({"mounts": [5]}, "the container's config: mounts[0] is 5, not an object"),
        (
            {"linux": {"uidMappings": [{"containerID": 0}]}},
            "the container's config: linux.uidMappings[0].hostID is missing, it must be a whole number",
        ),
        ({"root": {"path": True}}, "the container's config: root.path is true, not a string"),
        ({"root": {"path": "/a\0b"}}, 'the container\'s config: root.path is "/a\\u0000b", not a path'),
        ({"root": {"path": "/\ud800"}}, 'the container\'s config: root.path is "/\ud800", not a path'),
        (
            {"mounts": [{"type": "bind", "destination": "/x", "source": "/a\0b"}]},
            'the container\'s config: mounts[0].source is "/a\\u0000b", not a path',
        ),
        (
            {"mounts": [{"type": "bind", "destination": "/\ud800", "source": "/a"}]},
            'the container\'s config: mounts[0].destination is "/\ud800", not a path',
        ),
        ({"mounts": [{"destination": "/x", "options": [1]}]}, "the container's config: mounts[0].options is [1], not a list of strings"),
        ({"process": {"env": [1]}}, "the container's config: process.env is [1], not a list of strings"),
        (
            {"process": {"user": {"additionalGids": [5, True]}}},
            "the container's config: process.user.additionalGids is [5, true], not a list of whole numbers",
        ),
        (
            {"process": {"user": {"additionalGids": ["5"]}}},
            'the container\'s config: process.user.additionalGids is ["5"], not a list of whole numbers',
        ),
    ],
)
def test_a_config_of_another_shape_is_refused_in_a_sentence(config: dict[str, object], sentence: str) -> None:
    """It names the place and the value."""
    with pytest.raises(UsageError) as caught:
        identified(ociconfig.read(json.dumps({"ociVersion": "1.0.2", **config}).encode()), keys=frozenset())

    assert str(caught.value) == sentence


def test_a_user_namespace_that_is_joined_by_its_path_has_the_maps_of_the_process(tmp_path: Path) -> None:
    """Its config has no uidMappings, and a group that it does not have would stop its start."""
    (tmp_path / "42").mkdir()
    for kind, first in (("uid", 100000), ("gid", 200000)):
        (tmp_path / "42" / f"{kind}_map").write_text(f"         0     {first}      65536\n     65536          0          1\n")
    joined = container.with_live_maps(Container("c", user_namespace=True), 42, str(tmp_path))

    assert joined.uid_map == ((0, 100000, 65536), (65536, 0, 1))
    assert joined.gid_map == ((0, 200000, 65536), (65536, 0, 1))


@pytest.mark.parametrize(
    "asker",
    [
        pytest.param(Container("c"), id="no user namespace"),
        pytest.param(Container("c", user_namespace=True, uid_map=((0, 1, 1),)), id="maps in its config"),
        pytest.param(Container("c", user_namespace=True), id="a process that has gone"),
    ],
)
def test_maps_stay_as_they_are_for(tmp_path: Path, asker: Container) -> None:
    assert container.with_live_maps(asker, 42, str(tmp_path)) == asker
