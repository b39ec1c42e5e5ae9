"""A lost ledger made anew from the living containers."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from oci_udev_hook.allocation import rebuild
from oci_udev_hook.errors import ConfigurationError
from oci_udev_hook.model import DeviceNumber, DeviceType, Holder, Lease, LeaseState, Process
from oci_udev_hook.places import MARK

if TYPE_CHECKING:
    from pathlib import Path

FOO = "hardware-vendor.example/foo"
CONTAINER = "c0ffee" * 10


def spawn(proc: Path, pid: int, start: int, *command: str) -> None:
    """A process in PROC."""
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "stat").write_text(f"{pid} (x) S 1 1 1 0 -1 4194560 2878 191 0 0 4 1 0 0 20 0 1 0 {start} 0 0\n")
    (proc / str(pid) / "cmdline").write_bytes(b"".join([word.encode() + b"\0" for word in command]))
    (proc / str(pid) / "root").symlink_to("/")


def mark(**changes: object) -> dict[str, object]:
    """The mark that the hook leaves in a config."""
    leases = [{"resource": FOO, "unit": "serial:A1", "numbers": ["c 188:0"], "nodes": ["/dev/ttyUSB0"]}]
    return {"version": 1, "container": CONTAINER, "boot": "now", "name": "demo-a", "leases": leases, "edits": [{"node": "…"}], **changes}


class Host:
    """A host of files: /proc, the runtimes' state folders, and a bundle."""

    def __init__(self, root: Path) -> None:
        bundle = f"overlay-containers/{CONTAINER}/userdata"
        self.proc, self.crun, self.runc, self.bundle = (root / name for name in ("proc", "crun", "runc", bundle))
        for folder in (self.proc, self.crun, self.runc, self.bundle):
            folder.mkdir(parents=True)
        self.config(mark())
        os.utime(self.bundle / "config.json", (5.5, 5.5))

    def config(self, found: object) -> None:
        """Write the bundle's config with FOUND as its mark."""
        text = found if isinstance(found, str) else json.dumps(found)
        (self.bundle / "config.json").write_text(json.dumps({"ociVersion": "1.0.2", "annotations": {MARK: text}}))

    def watch(self) -> None:
        """A conmon with the pid 30 for the container, which has the pid 31."""
        pidfile = self.bundle / "pidfile"
        pidfile.write_text("31")
        spawn(self.proc, 30, 1, "conmon", "-c", CONTAINER, "-b", str(self.bundle), "-p", str(pidfile))
        spawn(self.proc, 31, 2, "sleep")

    def leases(self) -> tuple[Lease, ...]:
        """What is found."""
        return rebuild.leases("now", 0, (str(self.crun), str(self.runc), str(self.crun / "not there")), str(self.proc))

    def lease(self, own: Process, state: LeaseState = LeaseState.CONFIRMED) -> Lease:
        """What should be found."""
        holder = Holder(CONTAINER, "demo-a", state, own, "now", since=5.5, bundle=str(self.bundle))
        return Lease(FOO, "serial:A1", frozenset([DeviceNumber(DeviceType.CHAR, 188, 0)]), ("/dev/ttyUSB0",), holder)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host without containers, but with a marked bundle."""
    return Host(tmp_path)


def test_without_containers_nothing_is_held(host: Host) -> None:
    """A bundle alone is none."""
    assert host.leases() == ()


def test_a_monitored_container_holds_what_its_mark_says(host: Host) -> None:
    """conmon's command line names the bundle."""
    host.watch()
    assert host.leases() == (host.lease(Process(31, 2)),)


@pytest.mark.parametrize("place", ["root", "bundle"])
def test_what_calls_itself_conmon_in_a_container_says_nothing(host: Host, tmp_path: Path, place: str) -> None:
    """Root in a container has root's uid, and the files of an image are root's: neither its mark nor a damaged one counts."""
    host.watch()
    if place == "root":
        (host.proc / "30" / "root").unlink()
        (host.proc / "30" / "root").symlink_to(tmp_path)
    else:
        host.bundle = host.bundle.rename(tmp_path / "in an image")
        (host.proc / "30").rename(host.proc / "29")
        spawn(host.proc, 30, 1, "conmon", "-c", CONTAINER, "-b", str(host.bundle), "-p", "/x")
        (host.proc / "29" / "cmdline").unlink()
    host.config("damaged")
    assert host.leases() == ()


def test_a_container_that_is_being_made_lives_as_its_monitor(host: Host) -> None:
    """As a reservation, since createRuntime is still to come."""
    host.watch()
    (host.bundle / "pidfile").unlink()
    assert host.leases() == (host.lease(Process(30, 1), LeaseState.RESERVED),)


def test_cruns_state_names_bundle_and_process(host: Host) -> None:
    """Without any monitor: crun run, or containerd."""
    spawn(host.proc, 31, 2, "sleep")
    (host.crun / CONTAINER).mkdir()
    (host.crun / CONTAINER / "status").write_text(json.dumps({"pid": 31, "process-start-time": 2, "bundle": str(host.bundle)}))
    assert host.leases() == (host.lease(Process(31, 2)),)


def test_runcs_state_names_bundle_and_process(host: Host) -> None:
    """The bundle is among its labels."""
    spawn(host.proc, 31, 2, "sleep")
    (host.runc / CONTAINER).mkdir()
    state = {"init_process_pid": 31, "init_process_start": 2, "config": {"labels": ["a=b", f"bundle={host.bundle}"]}}
    (host.runc / CONTAINER / "state.json").write_text(json.dumps(state))
    assert host.leases() == (host.lease(Process(31, 2)),)


@pytest.mark.parametrize(
    "state", ['{"pid": 31, "process-start-time": 9, "bundle": "BUNDLE"}', "{", '{"pid": "31"}'], ids=["ended", "cut off", "wrong"]
)
def test_state_of_an_ended_container_is_passed_over(host: Host, state: str) -> None:
    """Its pid was given anew, or it is being written or removed."""
    spawn(host.proc, 31, 2, "sleep")
    (host.crun / CONTAINER).mkdir()
    (host.crun / CONTAINER / "status").write_text(state.replace("BUNDLE", str(host.bundle)))
    assert host.leases() == ()


def test_a_container_that_both_know_counts_once(host: Host) -> None:
    """podman with crun."""
    host.watch()
    (host.crun / CONTAINER).mkdir()
    (host.crun / CONTAINER / "status").write_text(json.dumps({"pid": 31, "process-start-time": 2, "bundle": str(host.bundle)}))
    assert host.leases() == (host.lease(Process(31, 2)),)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(mark(container="beef"), id="of another container"),
        pytest.param(mark(boot="before"), id="of another boot"),
        pytest.param(mark(leases=[]), id="without leases"),
    ],
)
def test_a_mark_that_is_not_its_own_counts_for_nothing(host: Host, found: dict[str, object]) -> None:
    """An image or a user could have written it."""
    host.watch()
    host.config(found)
    assert host.leases() == ()


@pytest.mark.parametrize(
    "content",
    ["{", "[]", "{}", '{"annotations": {"a": "b"}}', '{"process": {"args": ["io.oci-udev-hook.injected"]}}'],
    ids=["cut off", "list", "empty", "other annotations", "the mark's name elsewhere"],
)
def test_a_config_without_a_mark_counts_for_nothing(host: Host, content: str) -> None:
    """Most containers have none."""
    host.watch()
    (host.bundle / "config.json").write_text(content)
    assert host.leases() == ()


def test_a_bundle_that_has_gone_counts_for_nothing(host: Host) -> None:
    """The container is being removed."""
    host.watch()
    (host.bundle / "config.json").unlink()
    assert host.leases() == ()


def test_only_configs_of_ones_own_count(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another's config is another's word."""
    host.watch()
    (host.crun / CONTAINER).mkdir()
    (host.crun / CONTAINER / "status").write_text(json.dumps({"pid": 31, "process-start-time": 2, "bundle": str(host.bundle)}))
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert host.leases() == ()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(
            '{"annotations": {"io.oci-udev-hook.injected": "{',
            " is no JSON: Unterminated string starting at: line 1 column 47 (char 46)",
            id="config",
        ),
        pytest.param(
            '{"annotations": {"io.oci-udev-hook.injected": 1}}', ": annotations.io.oci-udev-hook.injected is 1, not a string", id="type"
        ),
        pytest.param('{"annotations": {"io.oci-udev-hook.injected": "[]"}}', " is no JSON object but []", id="mark"),
        pytest.param('{"annotations": {"io.oci-udev-hook.injected": "{}"}}', ": container is missing, it must be a string", id="key"),
    ],
)
def test_a_damaged_mark_of_a_living_container_stops_everything(host: Host, content: str, says: str) -> None:
    """What that container holds is unknown, so nothing may be given out."""
    host.watch()
    (host.bundle / "config.json").write_text(content)
    with pytest.raises(
        ConfigurationError,
        match="^"
        + re.escape(
            f"the ledger must be rebuilt from the living containers' configs, but the hook's mark in {host.bundle}/config.json{says}; "
            "stop the container c0ffeec0ffee and try again"
        )
        + "$",
    ):
        host.leases()


def test_users_runtimes_keep_their_state_in_the_users_folder() -> None:
    """Root's is in /run."""
    assert rebuild._runtime_folders(1000) == ("/run/user/1000/crun", "/run/user/1000/runc")
    assert "/run/crun" in rebuild._runtime_folders(0)


def test_what_was_promised_to_sharers_is_kept(host: Host) -> None:
    """A shared unit stays shared."""
    shared = {"resource": FOO, "unit": "serial:A1", "numbers": ["c 188:0"], "nodes": ["/dev/ttyUSB0"], "sharing": 3}
    host.config(mark(leases=[shared]))
    host.watch()
    assert [lease.sharing for lease in host.leases()] == [3]


@pytest.mark.parametrize(("seconds", "least", "most"), [(-5, 0.0, 0.0), (2**41, 2.0**31, 2.0**40)], ids=["before 1970", "after all clocks"])
def test_a_config_of_any_time_is_since_a_time_that_the_ledger_takes(host: Host, seconds: int, least: float, most: float) -> None:
    """Its owner may set any; file systems bound it each in their own way."""
    os.utime(host.bundle / "config.json", (seconds, seconds))
    host.watch()
    (lease,) = host.leases()
    assert least <= lease.holder.since <= most
