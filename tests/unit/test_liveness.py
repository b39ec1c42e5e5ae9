"""Who lives: processes in a /proc made of files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from oci_udev_hook.allocation import liveness, monitors
from oci_udev_hook.allocation.liveness import Engine
from oci_udev_hook.frozen import replace
from oci_udev_hook.model import Container, Holder, LeaseState, Process

if TYPE_CHECKING:
    from pathlib import Path

CONTAINER = "c0ffee" * 10
BUNDLE = f"/var/lib/containers/storage/overlay-containers/{CONTAINER}/userdata"
CONMON = tuple(
    f"/usr/bin/conmon --api-version 1 -c {CONTAINER} -u {CONTAINER} -r /usr/bin/crun -b {BUNDLE} -p PIDFILE -n demo-a --full-attach "
    "-l k8s-file:/ctr.log --exit-command /usr/bin/podman --exit-command-arg -e".split()
)


def stat(pid: int, *, name: str = "sleep", state: str = "S", threads: int = 1, start: int = 84453) -> str:
    """A line as /proc/PID/stat has it."""
    return f"{pid} ({name}) {state} 1 19941 19941 0 -1 4194560 2878 191 0 0 4 1 0 0 20 0 {threads} 0 {start} 1299083264 8547 0 0\n"


def spawn(proc: Path, pid: int, command: tuple[str, ...] = ("sleep", "60"), **fields: str | int) -> None:
    """A process in PROC."""
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "stat").write_text(stat(pid, **fields))  # type: ignore[arg-type]  # each of its own type, as the test gives it
    (proc / str(pid) / "cmdline").write_bytes(b"".join([os.fsencode(word) + b"\0" for word in command]))
    (proc / str(pid) / "root").symlink_to("/")


def holder(**changes: object) -> Holder:
    """A confirmed one, unless said otherwise."""
    found = Holder(
        container=CONTAINER, name="demo-a", state=LeaseState.CONFIRMED, process=Process(20, 84453), boot="now", since=5.0, bundle=BUNDLE
    )
    return replace(found, **changes)


class TestProcess:
    @pytest.mark.parametrize(
        "name", ["podman", "a b", "x) S 1 (y", ") ", "ä"], ids=["plain", "blank", "parentheses", "parenthesis", "no ASCII"]
    )
    def test_it_is_known_by_pid_and_start(self, tmp_path: Path, name: str) -> None:
        """Whatever it calls itself."""
        spawn(tmp_path, 20, name=name, start=84441)
        assert liveness.process(20, str(tmp_path)) == Process(20, 84441)

    def test_one_that_is_not_there_is_none(self, tmp_path: Path) -> None:
        """Nor is a pid that no kernel gives."""
        assert liveness.process(20, str(tmp_path)) is None
        assert liveness.process(10**4000, str(tmp_path)) is None

    @pytest.mark.parametrize(
        ("state", "threads", "lives"),
        [
            pytest.param("Z", 1, False, id="zombie"),
            pytest.param("X", 0, False, id="dead"),
            pytest.param("Z", 2, True, id="first thread ended, others work"),
            pytest.param("T", 1, True, id="stopped"),
            pytest.param("D", 1, True, id="waiting for a disk"),
        ],
    )
    def test_a_zombie_has_ended(self, tmp_path: Path, state: str, threads: int, *, lives: bool) -> None:
        """It has no device open any more."""
        spawn(tmp_path, 20, state=state, threads=threads)
        assert (liveness.process(20, str(tmp_path)) is not None) == lives

    def test_the_real_proc_is_read(self) -> None:
        """This process lives, and a pid beyond the kernel's limit does not."""
        own = liveness.process(os.getpid())
        assert own is not None
        assert liveness._lives(own)
        assert not liveness._lives(replace(own, start=own.start + 1))
        assert not liveness._lives(Process(2**22 + 1, 1))

    def test_a_process_that_proc_hides_from_this_user_counts_as_living(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Mount option hidepid: kill(2) tells that it is there, nothing tells since when."""

        def refuse(_pid: int, _signal: int) -> None:
            raise PermissionError

        monkeypatch.setattr(os, "kill", refuse)
        assert liveness._lives(Process(2**22 + 1, 1))
        assert not liveness._lives(Process(-1, 1))


class TestHolder:
    @pytest.mark.parametrize(
        ("changes", "lives"),
        [
            pytest.param({}, True, id="confirmed"),
            pytest.param({"state": LeaseState.RESERVED}, True, id="reserved"),
            pytest.param({"boot": "before"}, False, id="another boot"),
            pytest.param({"process": Process(20, 1)}, False, id="pid given anew"),
            pytest.param({"process": Process(21, 84453)}, False, id="ended"),
            pytest.param({"state": LeaseState.RESERVED, "until": 100.5}, True, id="service, in time"),
            pytest.param({"state": LeaseState.RESERVED, "until": 100.0}, False, id="service, two minutes over"),
        ],
    )
    def test_it_lives_as_long_as_its_process(self, tmp_path: Path, changes: dict[str, object], *, lives: bool) -> None:
        """At the hundredth second after this boot."""
        spawn(tmp_path, 20)
        assert liveness.alive(holder(**changes), "now", 100.0, str(tmp_path)) == lives

    def test_a_reservation_whose_container_runs_unconfirmed_lives_on_as_the_container(self, tmp_path: Path) -> None:
        """Where no createRuntime hook is installed: conmon tells, and its pidfile names the container's process."""
        (tmp_path / "pidfile").write_text("31")
        spawn(tmp_path, 30, tuple([word.replace("PIDFILE", str(tmp_path / "pidfile")) for word in CONMON]), start=1)
        spawn(tmp_path, 31, start=2)
        reserved = holder(state=LeaseState.RESERVED, until=3.0)
        assert liveness.adopted(reserved, "now", os.geteuid(), str(tmp_path)) == holder(process=Process(31, 2), until=None)

    def test_a_container_that_is_being_made_lives_as_its_conmon(self, tmp_path: Path) -> None:
        """There is no pidfile yet."""
        spawn(tmp_path, 30, CONMON, start=1)
        assert liveness.adopted(holder(state=LeaseState.RESERVED), "now", None, str(tmp_path)) == holder(process=Process(30, 1))

    @pytest.mark.parametrize(
        ("changes", "owner"),
        [
            pytest.param({}, None, id="confirmed and ended"),
            pytest.param({"state": LeaseState.RESERVED, "boot": "before"}, None, id="another boot"),
            pytest.param({"state": LeaseState.RESERVED, "container": "beef"}, None, id="another container"),
            pytest.param({"state": LeaseState.RESERVED}, 12345, id="another user's conmon"),
        ],
    )
    def test_nothing_else_lives_on(self, tmp_path: Path, changes: dict[str, object], owner: int | None) -> None:
        """A conmon runs, but not for it."""
        spawn(tmp_path, 30, CONMON)
        assert liveness.adopted(holder(**changes), "now", owner, str(tmp_path)) is None

    def test_a_confirmed_holder_is_no_services_any_more(self) -> None:
        """Its time does not run out."""
        reserved = holder(state=LeaseState.RESERVED, process=Process(1, 1), until=3.0, uid=1000)
        assert liveness.confirmed(reserved, Process(20, 84453)) == holder(uid=1000)


class TestEngine:
    @pytest.mark.parametrize(
        ("command", "service"),
        [
            pytest.param(("podman", "run", "-d", "bb"), False, id="podman run"),
            pytest.param(("/usr/bin/podman", "kube", "play", "pod.yaml"), False, id="podman kube play"),
            pytest.param(("/usr/bin/podman", "--root", "/x", "container", "cleanup", "abc"), False, id="restart by policy"),
            pytest.param(("/usr/bin/podman", "--log-level=info", "system", "service"), True, id="podman's service"),
            pytest.param(("podman", "system", "service", "--time=0", "unix:///x"), True, id="podman's service with options"),
            pytest.param(("podman", "system", "prune"), False, id="podman system, no service"),
            pytest.param(("/usr/bin/crio",), True, id="another engine"),
            pytest.param((), True, id="no command line"),
        ],
    )
    def test_what_outlives_a_start_is_a_service(self, tmp_path: Path, command: tuple[str, ...], *, service: bool) -> None:
        """By its command line."""
        spawn(tmp_path, 20, command)
        assert liveness.engine(20, str(tmp_path)) == Engine(Process(20, 84453), service)

    @pytest.mark.parametrize("parent", [0, 1, 20], ids=["in another pid namespace", "ended, init's child now", "ended"])
    def test_init_stands_in_for_a_parent_that_has_gone(self, tmp_path: Path, parent: int) -> None:
        """For two minutes."""
        spawn(tmp_path, 1, ("/sbin/init",), start=3)
        assert liveness.engine(parent, str(tmp_path)) == Engine(Process(1, 3), service=True)

    def test_a_reservation_is_the_engines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """And runs out where that is a service."""
        monkeypatch.setattr(liveness, "clock", lambda: 100.0)
        monkeypatch.setattr("time.time", lambda: 5.0)
        container = Container(id=CONTAINER, name="demo-a", bundle=BUNDLE)
        reserved = holder(state=LeaseState.RESERVED, uid=1000)
        assert liveness.reservation(container, Engine(Process(20, 84453), service=False), "now", 1000) == reserved
        assert liveness.reservation(container, Engine(Process(20, 84453), service=True), "now", 1000) == replace(reserved, until=220.0)


class TestMonitors:
    def test_a_command_line_names_container_bundle_and_pidfile(self, tmp_path: Path) -> None:
        """As podman 4.3.1 and 5.4.2 write it; the exit command's options are not conmon's."""
        spawn(tmp_path, 30, CONMON)
        spawn(tmp_path, 31, ("/usr/bin/podman", "-c", CONTAINER))
        (tmp_path / "32").mkdir()
        (tmp_path / "self").mkdir()
        found = monitors.Monitor(Process(30, 84453), CONTAINER, BUNDLE, "PIDFILE")
        assert list(monitors.monitors(os.geteuid(), str(tmp_path))) == [found]

    def test_an_exec_session_is_no_container(self, tmp_path: Path) -> None:
        """Its conmon names the same container, its pidfile another process."""
        spawn(tmp_path, 30, ("conmon", "-c", CONTAINER, "-b", BUNDLE, "-p", "exec_pid", "-e", "--exec-attach", "--exit-command", "podman"))
        assert list(monitors.monitors(None, str(tmp_path))) == []

    def test_a_damaged_pidfile_names_no_process(self, tmp_path: Path) -> None:
        """It is being written."""
        (tmp_path / "pidfile").write_text("")
        assert monitors.container_process(monitors.Monitor(Process(30, 1), CONTAINER, BUNDLE, str(tmp_path / "pidfile"))) is None

    def test_a_command_line_may_end_anywhere(self, tmp_path: Path) -> None:
        """Nothing is found then, and nothing fails."""
        spawn(tmp_path, 30, ("conmon", "-c"))
        assert [found.container for found in monitors.monitors(None, str(tmp_path))] == [""]
