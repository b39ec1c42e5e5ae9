"""The verbs for people, run as a person would, with devices that every Linux machine has."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from oci_udev_hook import allocation, engine, places
from oci_udev_hook.__main__ import main
from oci_udev_hook.allocation import rebuild
from oci_udev_hook.inventory import database
from oci_udev_hook.places import User
from oci_udev_hook.run import Run

ONE, TWO = "1f" * 32, "2f" * 32
LIMITS = "io.oci-udev-hook.limits"


class Person:
    """A person at a terminal, and the host's folders."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.capsys, self.monkeypatch = folder, capsys, monkeypatch
        self.answers: list[bytes] = []
        (folder / "config" / "resources.d").mkdir(parents=True)

    def define(self, name: str, text: str) -> None:
        """A definition file."""
        (self.folder / "config" / "resources.d" / name).write_text(textwrap.dedent(text))

    def start(self, container: str, asked: str, name: str = "") -> int:
        """A container's precreate; its exit code. NAME is what its engine calls it."""
        names = {"io.kubernetes.pod.name": name.rpartition("-")[0], "io.kubernetes.container.name": name.rpartition("-")[2]} if name else {}
        path = f"/libpod_parent/libpod-{container}"
        config = {"ociVersion": "1.0.2", "annotations": {LIMITS: asked, **names}, "linux": {"cgroupsPath": path}}
        self.monkeypatch.setattr(engine, "_read_input", lambda: json.dumps(config).encode())
        self.monkeypatch.setattr(engine, "_write_output", self.answers.append)
        run = Run(User(os.geteuid(), rootless=False), (str(self.folder / "config"),), str(self.folder / "state"))
        code = engine.main(run, "precreate")
        self.capsys.readouterr()
        return code

    def says(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """The exit code and output of a verb; the folder is shortened to DIR, times and boots to the letter."""
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(("--config-dir", str(self.folder / "config"), "--state-dir", str(self.folder / "state"), *arguments))
        shown = self.capsys.readouterr()
        return code, self.shortened(shown.out), self.shortened(shown.err)

    def shortened(self, text: str) -> str:
        """TEXT without what differs from run to run."""
        text = text.replace(str(self.folder), "DIR")
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)

    def json(self, *arguments: str, stdin: str = "") -> Any:
        """What a verb prints as JSON."""
        return json.loads(self.says(*arguments, stdin=stdin)[1])


@pytest.fixture(name="person")
def fixture_person(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Person:
    """A host where kernel.example/random has two units and kernel.example/zero one that two may hold, and no container runs."""
    monkeypatch.setattr(rebuild, "leases", lambda *_: ())
    monkeypatch.setattr(places, "user", lambda: User(os.geteuid(), rootless=False))
    person = Person(tmp_path, capsys, monkeypatch)
    person.define(
        "50-kernel.toml",
        """
        [[resource]]
        name = "kernel.example/random"
        match = ['SUBSYSTEM=="mem", KERNEL=="random|urandom"']

        [[resource]]
        name = "kernel.example/zero"
        match = ['SUBSYSTEM=="mem", KERNEL=="zero"']
        sharing = 2
        """,
    )
    return person


def test_resources_lists_what_is_there_and_free(person: Person) -> None:
    person.start(ONE, "kernel.example/random: 1\nkernel.example/zero: 1")

    assert person.says("resources") == (
        0,
        (
            "RESOURCE               UNITS  FREE  SHARING  DEFINED IN\n"
            "kernel.example/random  2      1     1        DIR/config/resources.d/50-kernel.toml\n"
            "kernel.example/zero    1      1     2        DIR/config/resources.d/50-kernel.toml\n"
        ),
        "",
    )


def test_resources_names_the_faults_of_a_file_and_still_lists_the_others(person: Person) -> None:
    person.define("60-bad.toml", "[[resource]]\nname = 'kernel.example/bad'\nmatch = ['KERNEL==\"x\"']\nsharing = 0\n")
    code, out, err = person.says("resources")

    assert (code, err) == (78, "oci-udev-hook: DIR/config/resources.d/60-bad.toml: resource[0].sharing is 0, it must be at least 1\n")
    assert len(out.splitlines()) == 3


def test_resources_names_a_file_that_is_not_read(person: Person) -> None:
    """Its author believes otherwise, and nothing else would tell."""
    person.define("60-more.conf", "")

    assert person.says("resources")[::2] == (
        0,
        "oci-udev-hook: DIR/config/resources.d/60-more.conf is not read: definition files end in .toml or .json\n",
    )


def test_devices_names_nodes_and_holders(person: Person) -> None:
    assert person.says("devices", "kernel.example/random") == (
        0,
        (
            "RESOURCE               NODES         UNIT                               NAMES    HELD BY\n"
            "kernel.example/random  /dev/random   port:/devices/virtual/mem/random   random   -\n"
            "kernel.example/random  /dev/urandom  port:/devices/virtual/mem/urandom  urandom  -\n"
        ),
        "",
    )


def test_devices_of_an_unknown_resource_are_unavailable(person: Person) -> None:
    code, out, err = person.says("devices", "kernel.example/none")

    assert (code, out) == (69, "")
    assert err.startswith("oci-udev-hook: ")
    assert "kernel.example/none" in err


def test_a_lease_is_listed_while_its_engine_lives(person: Person) -> None:
    """The engine is this test's parent here, and lives."""
    assert person.start(ONE, "kernel.example/zero: 1") == 0
    leases = person.json("leases", "--json")["leases"]

    assert [(lease["unit"], lease["nodes"], lease["container"], lease["state"]) for lease in leases] == [
        ("port:/devices/virtual/mem/zero", ["/dev/zero"], ONE, "reserved")
    ]


def test_a_lost_ledger_is_read_as_the_next_start_would_make_it(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade, or `rm`: the living containers' own configs tell."""
    person.start(ONE, "kernel.example/zero: 1")
    state = str(person.folder / "state")
    found = allocation.Ledger.read_only(state).leases()
    monkeypatch.setattr(rebuild, "leases", lambda *_: found)
    shutil.rmtree(state)

    assert [lease["container"] for lease in person.json("leases", "--json")["leases"]] == [ONE]
    assert person.json("devices", "kernel.example/zero", "--json")["devices"][0]["held_by"] == [ONE[:12]]


def test_leases_says_what_is_not_counted(person: Person) -> None:
    assert person.says("leases") == (0, "no device is leased\nnot counted: devices given by plain --device or --privileged\n", "")


def test_why_shows_a_refusal(person: Person) -> None:
    """podman's user sees nothing but its exit code."""
    assert person.start(ONE, "kernel.example/random: 3") == 69
    assert person.says("why", "1f1f") == (
        0,
        (
            "1f1f1f1f1f1f: refused at precreate, TIME\n"
            "  asked for 3 of kernel.example/random\n"
            "  exit status 69: 3 of kernel.example/random were asked for, but only 2 exist: /dev/random and /dev/urandom; "
            "ask for fewer or plug in more\n"
        ),
        "",
    )


def test_why_shows_what_was_given(person: Person) -> None:
    person.start(ONE, "kernel.example/zero")
    decision = person.json("why", ONE, "--json")

    assert (decision["outcome"], decision["code"], decision["units"]) == ("allotted", 0, ["port:/devices/virtual/mem/zero"])


def test_why_of_a_container_that_the_hook_never_saw(person: Person) -> None:
    assert person.says("why", "other") == (
        69,
        "",
        (
            "oci-udev-hook: no decision for other is kept in DIR/state/decisions: either it asked for no devices (did its limits go "
            "through `oci-udev-hook kube`?), or it is another user's, or the hook last ran for it before the last boot or more than "
            "256 containers ago\n"
        ),
    )


def test_why_offers_the_containers_whose_names_hold_what_was_asked(person: Person) -> None:
    """A person knows the pod's name, and podman has made POD-CONTAINER of it."""
    person.start(ONE, "kernel.example/zero", name="zigbee-bridge")
    person.start(TWO, "kernel.example/zero", name="zigbee-web")
    code, out, err = person.says("why", "zigbee")

    assert (code, out) == (69, "")
    assert err.endswith("; there are decisions for zigbee-bridge, zigbee-web\n")


def test_why_alone_lists_the_last_decisions(person: Person) -> None:
    """Newest first."""
    person.start(ONE, "kernel.example/zero", name="zigbee-bridge")
    person.start(TWO, "kernel.example/random: 3", name="zigbee-web")

    assert person.says("why") == (
        0,
        (
            "CONTAINER      DECISION  EXIT STATUS  TIME\n"
            "zigbee-web     refused   69           TIME\n"
            "zigbee-bridge  allotted  0            TIME\n"
        ),
        "",
    )


def test_why_of_what_asked_for_a_count_of_none(person: Person) -> None:
    """The hook ran, and there was nothing to do."""
    person.start(ONE, "kernel.example/zero: 0")

    assert person.says("why", "1f1f") == (0, "1f1f1f1f1f1f: asked for nothing at precreate, TIME\n", "")


def test_release_of_a_living_container_needs_force(person: Person) -> None:
    person.start(ONE, "kernel.example/zero")
    code, out, err = person.says("release", "1f1f")

    assert (code, out) == (75, "")
    assert err.endswith("stop it, or release it with --force, after which its devices can be in two containers\n")
    assert person.says("release", "1f1f", "--force") == (
        0,
        "1f1f1f1f1f1f no longer holds port:/devices/virtual/mem/zero of kernel.example/zero (/dev/zero)\n",
        "",
    )
    assert person.says("leases")[1].startswith("no device is leased")


def test_release_of_who_holds_nothing(person: Person) -> None:
    person.start(ONE, "kernel.example/zero")

    assert person.says("release", "other") == (69, "", "oci-udev-hook: other holds nothing; `oci-udev-hook leases` names who does\n")


def test_release_where_no_ledger_is(person: Person) -> None:
    assert person.says("release", "other") == (69, "", "oci-udev-hook: other holds nothing: no device is leased in DIR/state\n")


def test_dry_run_of_limits_alone_needs_no_config(person: Person) -> None:
    code, out, err = person.says("dry-run", "--limits", "kernel.example/zero: 1")

    assert (code, err) == (0, "")
    assert out.startswith(
        "this container would get\n"
        "  1 of kernel.example/zero, as DIR/config/resources.d/50-kernel.toml defines it:\n"
        "    port:/devices/virtual/mem/zero: /dev/zero (c 1:5)\n"
        "by these changes\n"
        "  what         where                         how\n"
        "  node         /dev/zero                     c 1:5, mode 0666, owner 0:0\n"
        "  cgroup rule  c 1:5                         allow rw\n"
        "  variable     OCI_UDEV_KERNEL_EXAMPLE_ZERO  /dev/zero\n"
        "\n"
        "--- config.json\n"
        "+++ config.json with its devices\n"
    )


@pytest.mark.parametrize(
    ("options", "container"),
    [
        pytest.param(("--limits", "kernel.example/zero"), None, id="limits"),
        pytest.param(("--annotation", f"{LIMITS}=kernel.example/zero"), None, id="annotation"),
        pytest.param(("--limits", "kernel.example/zero", "--container", "bridge"), "bridge", id="for one container of a pod"),
    ],
)
def test_dry_run_prints_its_plan_as_json(person: Person, options: tuple[str, ...], container: str | None) -> None:
    plan = person.json("dry-run", "--json", *options)

    assert plan == {
        "container": "",
        "requests": ["1 of kernel.example/zero"],
        "units": [
            {"resource": "kernel.example/zero", "unit": "port:/devices/virtual/mem/zero", "nodes": ["/dev/zero"], "numbers": ["c 1:5"]},
        ],
        "edits": [
            {"node": "/dev/zero", "number": "c 1:5", "mode": 0o666, "uid": 0, "gid": 0},
            {"rule": "c 1:5", "access": "rw"},
            {"variable": "OCI_UDEV_KERNEL_EXAMPLE_ZERO", "value": "/dev/zero"},
        ],
        "notes": [],
        "warnings": [],
        "exit_code": 0,
    }


@pytest.mark.parametrize("source", ["bundle", "config", "standard input", "-"])
def test_dry_run_takes_a_config_from(person: Person, tmp_path: Path, source: str) -> None:
    config = json.dumps({"ociVersion": "1.0.2", "annotations": {LIMITS: "kernel.example/zero"}})
    (tmp_path / "config.json").write_text(config)
    options = {
        "bundle": ("--bundle", str(tmp_path)),
        "config": ("--config", str(tmp_path / "config.json")),
        "standard input": (),
        "-": ("--config", "-"),
    }[source]

    assert person.json("dry-run", "--json", *options, stdin=config)["requests"] == ["1 of kernel.example/zero"]


def test_dry_run_has_the_exit_code_that_the_start_would_have(person: Person) -> None:
    person.start(ONE, "kernel.example/random: 2")
    code, out, _ = person.says("dry-run", "--json", "--limits", "kernel.example/random: 3")

    assert code == json.loads(out)["exit_code"] == 69
    assert json.loads(out)["reason"].startswith("3 of kernel.example/random were asked for")


def test_dry_run_of_a_running_containers_bundle_shows_what_a_start_would_do_now(person: Person, tmp_path: Path) -> None:
    """The hook's edits of the last start are not what it starts with, and its own lease is not in its way."""
    person.start(ONE, "kernel.example/random: 2")
    (tmp_path / "config.json").write_bytes(person.answers[-1])
    plan = person.json("dry-run", "--json", "--bundle", str(tmp_path))

    assert (plan["exit_code"], len(plan["units"])) == (0, 2)


def test_dry_run_tells_of_a_missing_database_where_that_may_be_the_reason(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 37."""
    person.define("60-serial.toml", "[[resource]]\nname = 'kernel.example/serial'\nmatch = ['ENV{ID_SERIAL}==\"x\"']\n")
    monkeypatch.setattr(database, "present", lambda *_: False)
    code, _, err = person.says("dry-run", "--limits", "kernel.example/serial: 1")

    assert code == 69
    assert err.startswith(
        "oci-udev-hook: the udev database /run/udev/data is not there, so properties (ENV, ID_…), tags and links are missing"
    )


def test_free_is_what_a_start_could_get(person: Person) -> None:
    """A unit that was promised to one container alone is not free for a resource that shares it."""
    person.define(
        "60-shared.toml", "[[resource]]\nname = 'kernel.example/shared'\nmatch = ['SUBSYSTEM==\"mem\", KERNEL==\"random\"']\nsharing = 2\n"
    )
    person.start(ONE, "kernel.example/random=random")
    free = {row["name"]: row["free"] for row in person.json("resources", "--json")["resources"]}

    assert free == {"kernel.example/random": 1, "kernel.example/shared": 0, "kernel.example/zero": 1}
    assert person.says("dry-run", "--limits", "kernel.example/shared")[0] == 75


def test_dry_run_of_what_asks_for_nothing(person: Person) -> None:
    assert person.says("dry-run", stdin='{"ociVersion": "1.0.2"}') == (0, "this container asks for no devices: it starts as it is\n", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(("--annotation", "key"), "--annotation is 'key'; it must be KEY=VALUE", id="an annotation without a value"),
        pytest.param(
            ("--bundle", "/nonexistent"),
            "/nonexistent/config.json cannot be read: No such file or directory; see that it is there and yours to read",
            id="no such bundle",
        ),
        pytest.param(
            ("--config", "/dev/null"),
            "the config in /dev/null is empty; it must be an OCI config (config.json)",
            id="an empty config",
        ),
        pytest.param(
            ("--pid", "0"),
            "there is no process 0; --pid takes the first process of a container that runs",
            id="no process",
        ),
        pytest.param(
            ("--pid", str(os.getpid())),
            f"nothing tells where the bundle of process {os.getpid()} is; say so with --bundle DIR",
            id="a process of no container that is known",
        ),
    ],
)
def test_dry_run_says_what_is_wrong_with_its_options(person: Person, options: tuple[str, ...], message: str) -> None:
    assert person.says("dry-run", *options) == (64, "", f"oci-udev-hook: {message}\n")


POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: zigbee
spec:
  containers:
  - name: bridge
    resources:
      limits:
        hardware-vendor.example/foo: 2
"""


def test_kube_reads_standard_input_and_files(person: Person, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    added = '  annotations:\n    io.oci-udev-hook.limits/bridge: "hardware-vendor.example/foo: 2"\n'
    expected = POD.replace("metadata:\n", f"metadata:\n{added}")

    assert person.says("kube", "-", stdin=POD) == person.says("kube", str(tmp_path / "pod.yaml")) == (0, expected, "")


def test_kube_joins_files_to_one_of_several_documents(person: Person, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(POD)
    code, out, _ = person.says("kube", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"))

    assert (code, out.count("kind: Pod"), len(re.findall(r"^---$", out, re.MULTILINE))) == (0, 2, 1)


def test_kube_writes_a_file_whole_or_not_at_all(person: Person, tmp_path: Path) -> None:
    output = tmp_path / "out.yaml"
    output.write_text("before")
    bad = POD.replace(": 2", ": 500m")

    assert person.says("kube", "-", "--output", str(output), stdin=bad)[0] == 64
    assert output.read_text() == "before"
    assert person.says("kube", "-", "-o", str(output), stdin=POD) == (0, "", "")
    assert "io.oci-udev-hook.limits/bridge" in output.read_text()


def test_kube_names_all_faulty_files_at_once(person: Person, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"\xff")
    code, out, err = person.says("kube", str(tmp_path / "bad.yaml"), str(tmp_path / "none.yaml"))

    assert (code, out) == (64, "")
    assert err == (
        "oci-udev-hook: DIR/bad.yaml is no UTF-8 text: byte 0 is 0xff; save it as UTF-8\n"
        "oci-udev-hook: DIR/none.yaml cannot be read: No such file or directory; see that it is there and yours to read\n"
    )
