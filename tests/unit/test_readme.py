"""What the README shows is run, and its tables are held to the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from oci_udev_hook import inventory, policy, verbs
from oci_udev_hook.errors import ExitCode
from oci_udev_hook.model import Request
from oci_udev_hook.requests import annotations, kube
from oci_udev_hook.run import STAGES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ANOTHER_ISSUES = {"unit", "with", "order", "udev", "mounts", "who"}


def block(language: str) -> str:
    """The README's first block in LANGUAGE."""
    found = re.search(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def test_the_pods_limits_become_the_annotation_that_the_hook_reads() -> None:
    text = kube.annotate(block("yaml"), "pod.yaml")

    assert 'io.oci-udev-hook.limits/bridge: "hardware-vendor.example/foo: 2"' in text


def test_the_definition_has_no_fault(tmp_path: Path) -> None:
    (tmp_path / "resources.d").mkdir()
    (tmp_path / "resources.d" / "50-foo.toml").write_text(block("toml"), encoding="utf-8")
    catalog = inventory.load((str(tmp_path),), None)

    assert (catalog.faults, list(catalog.resources)) == ((), ["hardware-vendor.example/foo"])


def test_each_annotation_that_it_shows_asks_for_what_it_says() -> None:
    shown = re.findall(r"io\.oci-udev-hook\.limits=\\?[\"']?([^\"'`]+)", README)

    asked = [annotations.read({annotations.LIMITS: value}, None) for value in shown]
    foo = (Request("hardware-vendor.example/foo", 2),)
    assert asked == [foo, foo, (Request("a.example/foo", 2), Request("b.example/bar", 1))]


def test_the_policy_that_it_shows_is_one(tmp_path: Path) -> None:
    section, field, value = re.findall(r"`\[(\w+)\] (\w+) = (\"\w+\")` in `/etc/oci-udev-hook/policy.toml`", README)[0]
    (tmp_path / "policy.toml").write_text(f"[{section}]\n{field} = {value}\n")

    assert policy.load((str(tmp_path),)).pinned is policy.Pinned.LEAVE


def test_each_verb_that_it_shows_is_there() -> None:
    shown = set(re.findall(r"oci-udev-hook ([a-z]+(?:-[a-z]+)*)(?= |`|$)", README)) - {"precreate"}

    assert shown - verbs.VERBS.keys() - set(STAGES) == set()
    assert {"kube", "why", "resources", "devices", "leases", "dry-run"} <= shown


def test_the_table_of_exit_codes_is_whole() -> None:
    shown = {int(code) for code in re.findall(r"^\| (\d\d) \|", README, re.MULTILINE)}

    assert shown == set(ExitCode) - {ExitCode.DONE}


def test_the_table_of_fields_is_the_schemas() -> None:
    table = README.split("## Define resources")[1].split("##")[0]
    shown = {name for names in re.findall(r"^\|((?: `\w+`)+) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", names)}
    schema = json.loads((ROOT / "hook/oci_udev_hook/schema/resource-1.json").read_text(encoding="utf-8"))
    fields = set(schema["properties"]["resource"]["items"]["properties"])

    assert shown == fields - ANOTHER_ISSUES


@pytest.mark.parametrize("path", ["packaging/demo", "packaging/install", "tests/run"])
def test_each_command_of_the_clone_can_be_run(path: str) -> None:
    assert f"sudo {path}" in README
    assert (ROOT / path).stat().st_mode & 0o111
