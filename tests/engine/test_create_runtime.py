"""createRuntime alone, podman and runtimes on their own: units come and go with containers, and hostile images get nothing."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from bed.cells import MODES, Cell, Mode, cells, diagonal
from bed.engine import HELD, LIMITS, RESOURCE, Engine
from bed.plain import Plain
from bed.setup import IMAGE_TAR, define, without_precreate
from bed.views import Result, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.devices import Loop
    from conftest import Views

ONE = f"{RESOURCE}: 1"
MARK = "io.oci-udev-hook.injected"
USAGE, UNAVAILABLE, REFUSED = 64, 69, 77
VICTIM, EVIL = "/tmp/victim", "/tmp/evil-image"
#: A link of the image's, and where it leads
LINKS = {
    "dev is absolute": ("dev", VICTIM),
    "a deeper folder on the way": ("opt/vendor", f"../../../../../../../..{VICTIM}"),
}
#: For runtimes alone; podman's own mounts fail on some of them, whatever a container asks for
MORE_LINKS = {
    "dev goes up": ("dev", f"../../../../../../../..{VICTIM}"),
    "dev is the root": ("dev", "/"),
    "dev is in proc": ("dev", "/proc/self/fd/7"),
    "a folder on the way": ("opt", VICTIM),
}

by_podman = pytest.mark.parametrize("runner", diagonal(*MODES), indirect=True)
by_podman_too = pytest.mark.parametrize("runner", diagonal(Mode.ROOTFUL, Mode.ROOTLESS), indirect=True)
by_roots_podman = pytest.mark.parametrize("runner", diagonal(), indirect=True)
alone = pytest.mark.parametrize("runner", cells(plain=True), indirect=True)
alone_in_all_modes = pytest.mark.parametrize("runner", diagonal(*Mode, plain=True), indirect=True)
alone_as_root = pytest.mark.parametrize("runner", diagonal(plain=True), indirect=True)
by_both = pytest.mark.parametrize("runner", [*diagonal(), *diagonal(plain=True)], indirect=True)


@pytest.fixture
def runner(request: pytest.FixtureRequest, views: Views) -> Iterator[Engine | Plain]:
    """An engine without the precreate hook; nothing is held before and after."""
    cell: Cell = request.param
    runner = (Plain if cell.plain else Engine)(cell, views.get(cell))
    for loop in views.loops:
        loop.appear(runner.view, 0o666 if cell.mode is Mode.ROOTLESS else 0o660)
    define(runner.view, views.loops[:4])
    with without_precreate(runner.view):
        yield runner
        runner.remove_all()
    assert runner.leases() == {}


def opens(runner: Engine | Plain, name: str, *nodes: str) -> bool:
    """Whether NODES open in the container NAME."""
    result = runner.exec(name, "sh", "-c", " && ".join([*(f"exec 3<>{node}" for node in nodes), "echo opened"]), check=False)
    return result.out == "opened\n"


def status(result: Result) -> int:
    """The exit status of the hook, as runc and crun say it."""
    said = re.search(r"exit (?:status|code:) (\d+)", result.err)
    assert said, str(result)
    return int(said[1])


def refused(runner: Engine | Plain, name: str, limits: str, *options: str) -> int:
    """Start a container that must not start; the exit status of the hook that refuses it."""
    if isinstance(runner, Plain):
        if not runner.view.path(runner.bundle(name)).exists():
            runner.make(name, limits)
        result = runner.run(name)
    else:
        result = runner.podman(*runner.run_arguments(name, limits, ("--detach", *options), ("sleep", "1000")), check=False)
        assert runner.status(name) == "created", "the container must not have started"
    assert result.code != 0, str(result)
    return status(result)


class TestUnitsComeAndGo:
    """With what starts and ends a container."""

    @by_podman
    def test_a_container_that_stops_and_starts_has_the_same_units(self, runner: Engine, loops: tuple[Loop, ...]) -> None:
        """The first free ones would be others; a restart is both in one."""
        runner.start("a", ONE)
        runner.start("b", ONE)
        held = runner.leases()
        assert held == {"a": (loops[0].node,), "b": (loops[1].node,)}
        runner.stop("a")
        runner.stop("b")
        assert runner.leases() == {}

        runner.start_again("b")
        assert runner.leases() == {"b": held["b"]}
        runner.podman("restart", "--time", "0", "b")
        runner.start_again("a")

        assert runner.leases() == held
        assert opens(runner, "a", *held["a"])
        assert opens(runner, "b", *held["b"])

    @by_roots_podman
    def test_a_restart_by_policy_gives_the_units_again(self, runner: Engine, loops: tuple[Loop, ...]) -> None:
        """Case 24."""
        script = f"exec 3<>{loops[0].node} && echo opened; exit 1"

        runner.start("a", ONE, "--restart", "on-failure:2", command=("sh", "-c", script))

        until(lambda: runner.podman("logs", "a").out.splitlines() == ["opened"] * 3)
        until(lambda: runner.leases() == {})

    @alone
    def test_a_bundle_run_twice_gets_its_devices_by_lease_both_times(self, runner: Plain, loops: tuple[Loop, ...]) -> None:
        """A runtime gives what a patched bundle says with no hook at all, so poststop takes it out again."""
        runner.start("a", ONE)
        held = runner.leases()
        assert held == {"a": (loops[0].node,)}
        runner.stop("a")

        runner.start_again("a")

        assert runner.leases() == held
        assert opens(runner, "a", loops[0].node)

    @alone
    def test_a_bundle_run_twice_gets_no_device_that_another_holds_by_now(self, runner: Plain, loops: tuple[Loop, ...]) -> None:
        define(runner.view, loops[:1])
        runner.start("a", ONE)
        runner.stop("a")
        runner.start("b", ONE)

        assert refused(runner, "a", ONE) == HELD

        assert runner.leases() == {"b": (loops[0].node,)}
        assert "b" in runner.hook("why", "a").out

    @alone
    def test_what_was_killed_before_poststop_does_not_run_again_before_its_bundle_is_clean(
        self, runner: Plain, loops: tuple[Loop, ...]
    ) -> None:
        """The runtime and the container end by SIGKILL; the refusal has the command that cleans the bundle, and after that it runs."""
        runner.make("a", ONE)
        process = runner.popen("a")
        until(lambda: runner.exec("a", "true", check=False).code == 0)
        runtimes = runner.view.run("pgrep", "--full", "--", f"run --bundle {runner.bundle('a')} a").out.split()
        runner.view.run("kill", "-9", *runtimes, str(runner.process("a")))
        process.communicate(timeout=20)
        assert runner.leases() == {}

        result = runner.run("a", "again")

        assert status(result) == USAGE
        reason = runner.hook("why", "again").out
        command = re.search(r"start it again: (.*poststop)$", reason, re.MULTILINE)
        assert command, reason
        runner.call("sh", "-c", command[1])
        assert runner.run("a", "again").code == 0
        assert opens(runner, "again", loops[0].node)
        assert runner.leases() == {"again": (loops[0].node,)}

    @by_both
    def test_two_at_once_do_not_share_a_unit(self, runner: Engine | Plain, loops: tuple[Loop, ...]) -> None:
        names = [f"at-once-{number}" for number in range(4)]
        define(runner.view, loops[:2])
        if isinstance(runner, Plain):
            for name in names:
                runner.make(name, ONE)
            starts = [runner.popen(name, name, "--detach") for name in names]
        else:
            starts = [runner.popen(*runner.run_arguments(name, ONE, ("--detach",), ("sleep", "1000"))) for name in names]
        for process in starts:
            process.communicate(timeout=60)

        started = [name for name, process in zip(names, starts, strict=True) if process.returncode == 0]
        held = runner.leases()
        assert sorted(held) == sorted(started)
        assert sorted(held.values()) == [(loop.node,) for loop in loops[:2]]
        assert all(opens(runner, name, *nodes) for name, nodes in held.items())

    @by_both
    def test_another_container_is_refused_what_is_held(self, runner: Engine | Plain) -> None:
        """The runtime is told by the exit status, people by `why`."""
        runner.start("a", f"{RESOURCE}: 2")

        assert refused(runner, "b", f"{RESOURCE}: 3") == HELD

        reason = runner.hook("why", "b").out
        assert "exit status 75" in reason
        assert re.search(r"\ba\b holds|held by a\b|a: ", reason), reason
        assert set(runner.leases()) == {"a"}


class TestWhatItIsGiven:
    """Beside what test_live.py claims everywhere."""

    @alone_in_all_modes
    def test_a_path_with_colons_is_given_as_it_is(self, runner: Plain, loops: tuple[Loop, ...]) -> None:
        """Case 6; the folder on the way is made, too."""
        define(runner.view, loops[:1], 'path = "/dev/odd/dev{index}:rwm"\n')

        runner.start("a", ONE)

        assert opens(runner, "a", "/dev/odd/dev0:rwm")

    @alone
    def test_a_container_without_a_cgroups_path_gets_its_rules(self, runner: Plain, loops: tuple[Loop, ...]) -> None:
        """The runtime makes a cgroup of its own choice."""
        runner.make("without-cgroups-path", ONE)
        runner.edit("without-cgroups-path", lambda config: config["linux"].pop("cgroupsPath"))

        assert runner.run("without-cgroups-path").code == 0

        assert opens(runner, "without-cgroups-path", loops[0].node)
        runner.exec("without-cgroups-path", "mknod", "/tmp/other", "b", str(loops[1].major), str(loops[1].minor))
        assert not opens(runner, "without-cgroups-path", "/tmp/other")

    @by_roots_podman
    def test_its_own_device_is_not_lost(self, runner: Engine, loops: tuple[Loop, ...]) -> None:
        """Given by --device, and closed to nobody by what comes after."""
        runner.start("a", ONE, "--device", f"{loops[5].node}:{loops[5].node}:rwm")

        assert opens(runner, "a", loops[0].node, loops[5].node)
        runner.stop("a")
        runner.start_again("a")
        assert opens(runner, "a", loops[0].node, loops[5].node)

    @by_roots_podman
    def test_a_privileged_container_has_the_node_already(self, runner: Engine, loops: tuple[Loop, ...]) -> None:
        """A node of the same type and number is accepted; the lease counts all the same."""
        runner.start("a", ONE, "--privileged")

        assert opens(runner, "a", loops[0].node)
        assert runner.leases() == {"a": (loops[0].node,)}

    @by_both
    def test_a_container_that_asks_for_nothing_is_left_alone(self, runner: Engine | Plain) -> None:
        runner.start("a", "")

        assert "loop" not in runner.exec("a", "ls", "/dev").out
        assert runner.leases() == {}

    @by_both
    def test_a_dry_run_shows_the_steps_that_a_running_container_would_see(self, runner: Engine | Plain, loops: tuple[Loop, ...]) -> None:
        runner.start("a", "")

        bundle = ("--bundle", runner.bundle("a")) if isinstance(runner, Plain) else ()

        shown = runner.hook("dry-run", "--pid", str(runner.process("a")), *bundle, "--limits", ONE)

        assert f"{loops[0].node}" in shown.out
        assert f"cgroup {runner.cell.cgroup}" in shown.out
        assert runner.leases() == {}
        assert "loop" not in runner.exec("a", "ls", "/dev").out


class TestHostileImages:
    """Nothing is made on the host, nothing of the image runs as root, and the error says why."""

    @alone_in_all_modes
    def test_variables_of_the_image_have_no_effect(self, runner: Plain, loops: tuple[Loop, ...]) -> None:
        """Case 34: a module of the image's choice would leave a file, and so would the loader of any program with these variables."""
        prepare_evil(runner)
        runner.make("a", ONE)
        runner.edit("a", lambda config: config["process"]["env"].extend(VARIABLES))

        assert runner.run("a").code == 0, runner.hook("why", "a").out

        assert opens(runner, "a", loops[0].node)
        assert b"LD_DEBUG=files" in runner.view.path(f"/proc/{runner.process('a')}/environ").read_bytes()
        assert left_behind(runner) == ["json.py"]

    @by_podman_too
    def test_an_images_own_variables_have_no_effect(self, runner: Engine, loops: tuple[Loop, ...]) -> None:
        """Case 34, ENV of the image."""
        prepare_evil(runner)
        changes = [word for variable in VARIABLES for word in ("--change", f"ENV {variable}")]
        runner.podman("import", "--quiet", *changes, "--change", "ENV PATH=/bin", IMAGE_TAR, "localhost/evil:1")
        annotation = ("--annotation", runner.quoted(f"{LIMITS}={ONE}"))

        runner.podman("run", "--name", "a", "--detach", *runner.mapping, *annotation, "localhost/evil:1", "sleep", "1000")

        assert opens(runner, "a", loops[0].node)
        assert left_behind(runner) == ["json.py"]

    @by_both
    @pytest.mark.parametrize(("link", "target"), LINKS.values(), ids=LINKS)
    def test_a_link_in_the_image_leads_nowhere(self, runner: Engine | Plain, loops: tuple[Loop, ...], link: str, target: str) -> None:
        """Case 33."""
        leads_nowhere(runner, loops[0], link, target)

    @alone_as_root
    @pytest.mark.parametrize(("link", "target"), MORE_LINKS.values(), ids=MORE_LINKS)
    def test_another_link_leads_nowhere(self, runner: Engine | Plain, loops: tuple[Loop, ...], link: str, target: str) -> None:
        """Case 33."""
        leads_nowhere(runner, loops[0], link, target)

    @by_both
    def test_a_bind_of_the_hosts_dev_gets_nothing_new(self, runner: Engine | Plain, loops: tuple[Loop, ...]) -> None:
        define(runner.view, loops[:1], 'path = "/dev/new{index}"\n')
        before = runner.view.listing("/dev")
        bind = {"destination": "/dev", "type": "bind", "source": "/dev", "options": ["rbind", "rprivate"]}
        if isinstance(runner, Plain):
            runner.make("a", ONE)
            runner.edit("a", lambda config: config.update(mounts=[config["mounts"][0], bind]))

        assert refused(runner, "a", ONE, "--volume", "/dev:/dev") == USAGE

        assert "mounts the host's /dev at /dev" in runner.hook("why", "a").out
        assert runner.view.listing("/dev") == before
        assert runner.leases() == {}

    @alone
    def test_another_thing_in_the_nodes_place_stays(self, runner: Plain, loops: tuple[Loop, ...]) -> None:
        define(runner.view, loops[:1], 'path = "/tmp/taken"\n')
        runner.view.write("/tmp/volume", "kept")
        bind = {"destination": "/tmp/taken", "type": "bind", "source": "/tmp/volume", "options": ["bind"]}
        runner.make("a", ONE)
        runner.edit("a", lambda config: config["mounts"].append(bind))

        assert refused(runner, "a", ONE) == USAGE

        assert "/tmp/taken" in runner.hook("why", "a").out
        assert runner.view.path("/tmp/volume").read_text() == "kept"
        assert runner.leases() == {}


def leads_nowhere(runner: Engine | Plain, loop: Loop, link: str, target: str) -> None:
    """The hook refuses an image in which LINK leads to TARGET, and nothing is made there.

    Old runtimes follow the link themselves and make their own nodes behind it (the CVEs of case 33): the hook adds nothing to that.
    """
    define(runner.view, (loop,), "" if link == "dev" else 'path = "/opt/vendor/dev{index}"\n')
    image = hostile_image(runner, link, target)
    start(runner, "control", "", image)
    alone, _ = made_by_it(runner)

    result = start(runner, "a", ONE, image)

    assert result.code != 0
    assert made_by_it(runner) == (alone, [])
    if link != "dev" or "exit status" in result.err or "exit code" in result.err:
        assert status(result) == REFUSED
        reason = runner.hook("why", "a").out
        assert f"/{link} in the container is a symbolic link" in reason or "the container has no /dev" in reason
    assert runner.leases() == {}


def hostile_image(runner: Engine | Plain, link: str, target: str) -> str:
    """An image, or a root folder, in which LINK leads to TARGET; its name."""
    unpack = f"rm -rf {EVIL} {VICTIM}; mkdir {EVIL} {VICTIM}; cd {EVIL}; tar -xf {IMAGE_TAR}; mkdir -p {os.path.dirname(link) or '.'}"
    runner.view.run("sh", "-ec", f"{unpack}; rm -rf {link}; ln -s {target} {link}")
    if isinstance(runner, Plain):
        return EVIL
    runner.view.run("tar", "-C", EVIL, "-cf", f"{EVIL}.tar", ".")
    runner.podman("import", "--quiet", "--change", "ENV PATH=/bin", f"{EVIL}.tar", "localhost/evil:1")
    return "localhost/evil:1"


def start(runner: Engine | Plain, name: str, limits: str, image: str) -> Result:
    """Try to start a container from a hostile image."""
    if isinstance(runner, Plain):
        runner.make(name, limits)
        runner.edit(name, lambda config: config["root"].update(path=image))
        return runner.run(name)
    annotation = ("--annotation", runner.quoted(f"{LIMITS}={limits}")) if limits else ()
    return runner.podman("run", "--name", name, "--detach", *annotation, image, "sleep", "1000", check=False)


def made_by_it(runner: Engine | Plain) -> tuple[list[str], list[str]]:
    """What there is now where the image's links lead, and block devices that came into its root folder. The former is taken away."""
    found = runner.view.listing(VICTIM)
    runner.view.run("sh", "-c", f"rm -rf {VICTIM}; mkdir {VICTIM}")
    return found, runner.view.run("find", EVIL, "-type", "b").out.split()


VARIABLES = (f"PYTHONPATH={EVIL}", f"LD_PRELOAD={EVIL}/evil.so", "LD_DEBUG=files", f"LD_DEBUG_OUTPUT={EVIL}/loader")


def prepare_evil(runner: Engine | Plain) -> None:
    """A folder that shows what was loaded from it."""
    runner.view.run("rm", "-rf", EVIL)
    runner.view.write(f"{EVIL}/json.py", f"open('{EVIL}/python', 'w')\nraise SystemExit(99)\n")
    runner.view.path(EVIL).chmod(0o1777)


def left_behind(runner: Engine | Plain) -> list[str]:
    """The names in that folder."""
    return sorted(path.name for path in runner.view.path(EVIL).iterdir())
