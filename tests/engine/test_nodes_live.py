"""Nodes in live containers made of namespaces: that they open, that a failure leaves nothing, and what hostile containers get."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bed import namespaces
from bed.namespaces import MAP, Container, apart, as_user, listing, started, swapping, without_mknod
from oci_udev_hook.allocation import liveness
from oci_udev_hook.edit import Edit, Mount, Node
from oci_udev_hook.errors import ConfigurationError, HookError, RefusedError, UnavailableError, UsageError
from oci_udev_hook.frozen import replace
from oci_udev_hook.injection import linux, nodes, target
from oci_udev_hook.injection.looking import wrong_node
from oci_udev_hook.injection.nodes import How, NodeStep
from oci_udev_hook.injection.target import Target
from oci_udev_hook.injection.undo import UndoLog
from oci_udev_hook.model import DeviceNumber, DeviceType

#: /dev/zero and /dev/full under other names, and an unused block device's number.
ZERO, FULL, BLOCK = (
    DeviceNumber(DeviceType.CHAR, 1, 5),
    DeviceNumber(DeviceType.CHAR, 1, 7),
    DeviceNumber(DeviceType.BLOCK, 7, 99),
)
EDITS = (
    Node("/dev/ttyUSB0", ZERO, 0o620, 7, 20),
    Node("/dev/serial/by-id/usb-FTDI-port0", ZERO, 0o620, 7, 20),
    Node("/dev/serial/by-path/pci-0", FULL, 0o606, 0, 0),
    Node("/dev/blocks/one", BLOCK, 0o600, 0, 0),
)
OWN_DEV = "give the container a tmpfs of its own on /dev, as the engines do, or take the device out of its requests"
kinds = pytest.mark.parametrize("user_namespace", [False, True], ids=["the host's users", "a user namespace"])


@pytest.fixture(params=["openat2", "no openat2", "openat2 denied"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """openat2(2), a kernel without it, and a seccomp filter of an engine's that does not know it."""
    number = {"no openat2": errno.ENOSYS, "openat2 denied": errno.EPERM}.get(request.param)
    if number is not None:

        def fails(*_: object) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(linux, "openat2", fails)


def given(
    container: Container,
    edits: tuple[Edit, ...] = EDITS,
    undo: UndoLog | None = None,
    *,
    root: str | None = None,
    bundle: str = "/nowhere",
    rootless: bool = False,
    between: Callable[[tuple[NodeStep, ...]], object] = lambda steps: None,
    after: Callable[[], object] = lambda: None,
    notes: list[str] | None = None,
) -> tuple[NodeStep, ...]:
    """EDITS made in CONTAINER, what is told of that put on NOTES; the way back is gone with the caller's UNDO.

    BETWEEN sees the steps before they are taken.
    """
    found = opened(container, root, bundle, rootless=rootless)
    try:
        steps = nodes.look(found, edits)
        between(steps)
        ways_back = UndoLog() if undo is None else undo
        try:
            told = nodes.make(found, steps, ways_back)
        except HookError:
            assert ways_back.take_back() == ()
            raise
        after()
        if notes is not None:
            notes += told
        if undo is not None:
            assert undo.take_back() == ()
        return steps
    finally:
        target.close(found)


def opened(container: Container, root: str | None = None, bundle: str = "/nowhere", *, rootless: bool = False) -> Target:
    """CONTAINER, whose config names its root folder, or ROOT."""
    process = liveness.process(container.pid)
    assert process is not None
    return target.open_target(process, container.root if root is None else root, bundle, "", rootless)


def looked_at(container: Container, edits: tuple[Edit, ...] = EDITS) -> tuple[tuple[How, ...], str | None]:
    """How each node would get there now, and what is wrong with those that are."""
    found = opened(container)
    try:
        return tuple(step.how for step in nodes.look(found, edits)), wrong_node(found, edits)
    finally:
        target.close(found)


def state(container: Container) -> tuple[object, ...]:
    """The host and the container, as far as anything could be new there: files, nodes, mounts. Loop devices are other programs' too."""
    host = [name for name in os.listdir("/dev") if not name.startswith("loop")]
    return sorted(host), listing(container.root, container.victim), container.do(listing, container.root)


def refused(container: Container, edits: tuple[Edit, ...] = EDITS[:1], *, root: str | None = None, bundle: str = "/nowhere") -> HookError:
    """The error that EDITS end with, after which nothing is new anywhere."""
    before = state(container)

    with pytest.raises(HookError) as caught:
        given(container, edits, root=root, bundle=bundle)

    assert state(container) == before
    return caught.value


def wrong(container: Container) -> str | None:
    """What is wrong with the first node of EDITS in a container that ought to have it."""
    found = opened(container)
    try:
        return wrong_node(found, EDITS[:1])
    finally:
        target.close(found)


def end(container: Container) -> None:
    """Kill the container's process and wait until it is gone."""
    os.kill(container.pid, signal.SIGKILL)
    os.waitpid(container.pid, 0)


def as_seen(container: Container) -> dict[str, str]:
    """Each node of EDITS in the container: what its own process sees, and what opening it gives."""
    nodes = [edit.path for edit in EDITS if edit.number.type == DeviceType.CHAR]
    return {path: f"{container.do(namespaces.shows, container.root, path)} {container.opens(path)}".rstrip() for path in nodes}


SEEN = {
    "/dev/ttyUSB0": "20620 7:20 1:5",
    "/dev/serial/by-id/usb-FTDI-port0": "20620 7:20 1:5",
    "/dev/serial/by-path/pci-0": "20606 0:0 1:7",
}


class TestNodes:
    @kinds
    @pytest.mark.parametrize("pivoted", [False, True], ids=["at createRuntime", "running"])
    def test_they_open_and_have_their_owners(self, user_namespace: bool, pivoted: bool, way: None) -> None:
        """Case 29: a node in a user namespace opens too. Case 8, the node's half."""
        how = How.MOUNT if user_namespace else How.MAKE
        with started(user_namespace=user_namespace) as container:
            inside = Container(container.pid, "/" if pivoted else container.root, container.victim, container.pipe)
            if pivoted:
                container.do(namespaces.pivot, container.root)
            assert looked_at(container) == (
                (how,) * 4,
                "the container has nothing at /dev/ttyUSB0, not the leased c 1:5; start the container again",
            )

            given(container)

            assert as_seen(inside) == SEEN
            assert inside.do(namespaces.shows, inside.root, "/dev/blocks/one") == "60600 0:0 7:99"
            assert inside.do(namespaces.shows, inside.root, "/dev/serial/by-id") == "40755 0:0 0:0"
            assert looked_at(container) == ((How.THERE,) * 4, None)

    @kinds
    def test_the_host_has_none_of_them(self, user_namespace: bool) -> None:
        with started(user_namespace=user_namespace) as container:
            before = state(container)

            given(container)

            assert state(container)[:2] == before[:2]
            assert state(container)[2] != before[2]

    @kinds
    def test_the_way_back_leaves_nothing(self, user_namespace: bool, way: None) -> None:
        """Though a node is open."""
        with started("mkdir var", user_namespace=user_namespace) as container:
            container.sh("mkdir dev/serial")
            before = state(container)
            edits = (*EDITS, Node("/var/dev/odd", ZERO, 0o600, 0, 0))

            steps = given(container, edits, undo=UndoLog(), after=lambda: container.do(os.open, f"{container.root}/dev/ttyUSB0", os.O_RDWR))

            assert steps[-1].how is How.MOUNT, "outside /dev, where the node would stay in the image"
            assert state(container) == before

    @kinds
    def test_the_umask_is_not_theirs(self, user_namespace: bool) -> None:
        with started(user_namespace=user_namespace) as container:
            mask = os.umask(0o077)
            try:
                given(container)
            finally:
                assert os.umask(mask) == 0o077

            assert as_seen(container) == SEEN

    @kinds
    def test_what_is_there_already_stays_as_it_is(self, user_namespace: bool) -> None:
        with started(user_namespace=user_namespace) as container:
            given(container)
            before = state(container)

            given(container, (Node("/dev/ttyUSB0", ZERO, 0o600, 0, 0), *EDITS[1:]), undo=UndoLog())

            assert state(container) == before

    @kinds
    def test_the_hooks_own_rights_to_files_are_as_before(self, user_namespace: bool) -> None:
        with started(user_namespace=user_namespace) as container:
            given(container)

        status = Path("/proc/self/status").read_text()
        assert [line.split()[4] for line in status.splitlines() if line.startswith(("Uid", "Gid"))] == ["0", "0"]

    @kinds
    def test_sigchld_may_be_ignored(self, user_namespace: bool) -> None:
        """An engine can leave it so to what it runs."""
        with started(user_namespace=user_namespace) as container:

            def work() -> None:
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                given(container)

            apart(work)

            assert as_seen(container) == SEEN

    def test_no_mount_of_theirs_shows_anywhere_else(self) -> None:
        """A private tmpfs holds the nodes; its own place in a namespace is gone with the process that mounted it."""
        with started(user_namespace=True) as container:
            before = container.do(namespaces.mount_table)

            given(container, EDITS[:2])

            new = [line.split() for line in container.do(namespaces.mount_table) if line not in before]
            assert [(root, place.removeprefix(container.root), options) for _, root, place, options, *_ in new] == [
                ("/0", "/dev/ttyUSB0", "rw,nosuid,noexec,relatime"),
                ("/1", "/dev/serial/by-id/usb-FTDI-port0", "rw,nosuid,noexec,relatime"),
            ]
            assert [line[4:] for line in new] == [["-", "tmpfs", "oci-udev-hook", "rw,mode=700"]] * 2

    @kinds
    @pytest.mark.parametrize("rights", [lambda work: work(), without_mknod], ids=["made", "bound"])
    def test_nothing_comes_out_by_propagation(self, user_namespace: bool, rights: Callable[[Callable[[], None]], None]) -> None:
        """Where systemd has made all mounts of the host shared, mount_namespaces(7)."""

        def work() -> None:
            namespaces.unshare(namespaces.CLONE_NEWNS)
            namespaces.mount("", "/", flags=namespaces.MS_REC | namespaces.MS_SHARED)
            with started(user_namespace=user_namespace) as container:
                before, within = namespaces.mount_table(), container.do(namespaces.mount_table)
                rights(lambda: given(container, (Node("/dev/foo", ZERO, 0o600, 0, 0),)) and None)
                new = [line for line in container.do(namespaces.mount_table) if line not in within]
                assert namespaces.mount_table() == before
                assert ["shared:" in line or "master:" in line for line in new] == [False] * len(new)

        apart(work)

    @kinds
    def test_the_hosts_node_is_mounted_where_none_can_be_made(self, user_namespace: bool) -> None:
        """A hook in a service with a device cgroup of its own. The owner is the host's then."""
        with started(user_namespace=user_namespace) as container:
            before = state(container)
            edits = (Node("/dev/foo", ZERO, 0o600, 0, 0),)

            def work() -> list[str]:
                notes: list[str] = []
                given(container, edits, notes=notes)
                return notes

            (note,) = without_mknod(work)
            assert note == (
                "/dev/foo in the container is the host's own /dev/zero, since the hook may not make c 1:5 (its own device cgroup or "
                "capabilities forbid it): mode 0666, owner 0:0 and SELinux label are the host's"
            )

            owner = "65534:65534" if user_namespace else "0:0"
            assert container.do(namespaces.shows, container.root, "/dev/foo") == f"20666 {owner} 1:5"
            assert container.opens("/dev/foo") == ""
            with pytest.raises(OSError, match="Read-only file system"):
                container.do(os.chmod, f"{container.root}/dev/foo", 0o600)
            without_mknod(lambda: given(container, (Node("/dev/bar", FULL, 0o600, 0, 0),), undo=UndoLog()) and None)
            container.sh("umount dev/foo; rm dev/foo")
            assert state(container)[2] == before[2]

    @kinds
    def test_a_device_without_a_node_cannot_be_given_then(self, user_namespace: bool) -> None:
        nowhere = DeviceNumber(DeviceType.CHAR, 240, 77)
        with started(user_namespace=user_namespace) as container:
            error = without_mknod(lambda: refused(container, (Node("/dev/foo", nowhere, 0o600, 0, 0),)))

        assert isinstance(error, ConfigurationError)
        assert str(error) == (
            "the hook may not make c 240:77 for the container (its own device cgroup or capabilities forbid it), and the host has "
            "no node of it to mount instead; run the engine outside the service or container that narrows its rights"
        )

    def test_a_user_whom_the_namespace_lacks_is_named(self) -> None:
        with started(user_namespace=True) as container:
            error = refused(container, (Node("/dev/foo", ZERO, 0o600, MAP[2], 0),))

        assert isinstance(error, UsageError)
        assert str(error) == (
            "/dev/foo is to belong to user 65536 and group 0, which the container's user namespace does not have; "
            "name others in the device's definition (uid, gid)"
        )

    @kinds
    def test_where_another_hook_was_quicker_the_others_are_made(self, user_namespace: bool) -> None:
        with started(user_namespace=user_namespace) as container:
            given(container, between=lambda _: container.sh("touch dev/ttyUSB0; mount --bind /dev/zero dev/ttyUSB0"))

            owner = "65534:65534" if user_namespace else "0:0"
            assert as_seen(container) == {**SEEN, "/dev/ttyUSB0": f"20666 {owner} 1:5"}

    def test_what_is_as_asked_is_no_note(self) -> None:
        notes: list[str] = []
        with started() as container:
            given(container, notes=notes)

        assert notes == []


@kinds
class TestPlaces:
    """Outside /dev what a node was mounted on stays in the container's layer, and its next start finds it there."""

    ONE = (Node("/opt/foo", ZERO, 0o620, 7, 20),)
    BOTH = (*ONE, Node("/opt/bar/foo", FULL, 0o606, 0, 0))

    def test_the_next_start_finds_the_last_ones(self, user_namespace: bool) -> None:
        with started("mkdir opt", user_namespace=user_namespace) as container:
            given(container, self.BOTH)
            container.sh("umount opt/foo opt/bar/foo")
            assert container.sh("stat -c '%a %s %F' opt/foo opt/bar/foo") == "0 0 regular empty file\n" * 2

            given(container, self.BOTH)

            assert container.do(namespaces.shows, container.root, "/opt/foo") == "20620 7:20 1:5"
            assert (container.opens("/opt/foo"), container.opens("/opt/bar/foo")) == ("", "")
            assert looked_at(container, self.BOTH) == ((How.THERE, How.THERE), None)

    def test_the_way_back_leaves_a_file_that_was_there(self, user_namespace: bool, way: None) -> None:
        with started("mkdir opt; touch opt/foo", user_namespace=user_namespace) as container:
            before = state(container)

            steps = given(container, self.BOTH, undo=UndoLog())

            assert [step.how for step in steps] == [How.MOUNT, How.MOUNT]
            assert state(container) == before

    @pytest.mark.parametrize(
        ("script", "what"),
        [
            ("rm opt/foo; ln -s $victim/file opt/foo", "a symbolic link"),
            ("rm opt/foo; mkfifo opt/foo", "a FIFO"),
            ("echo text >opt/foo", "a regular file"),
            ("touch opt/empty; mount --bind opt/empty opt/foo", "a regular file"),
        ],
        ids=["link", "fifo", "text", "mounted"],
    )
    def test_what_takes_its_place_after_the_look_is_refused(self, user_namespace: bool, script: str, what: str) -> None:
        """Case 33: and nothing is mounted on what a link leads to."""
        with started("mkdir opt; touch opt/foo $victim/file", user_namespace=user_namespace) as container:
            before: list[tuple[object, ...]] = []

            def swap(_: tuple[NodeStep, ...]) -> None:
                container.sh(script)
                before.append(state(container))

            with pytest.raises(UsageError) as caught:
                given(container, self.ONE, between=swap)

            assert [state(container)] == before
        assert str(caught.value) == f"the container has {what} at /opt/foo, where c 1:5 is to appear; {TAKE_OUT}"

    def test_a_file_that_changes_all_the_time_ends_in_the_container_or_with_an_error(self, user_namespace: bool, way: None) -> None:
        """Case 33: it changes places with a link to a file of the host's."""
        ends = {"made": 0, "refused": 0}
        until = time.monotonic() + namespaces.SECONDS
        clean = 'while grep -q " {}/" /proc/self/mountinfo; do umount opt/foo opt/link 2>/dev/null || :; done'
        with started("mkdir opt; touch opt/foo $victim/file; ln -s $victim/file opt/link", user_namespace=user_namespace) as container:
            clean = clean.format(f"{container.root}/opt")
            host, within = namespaces.mount_table(), container.do(namespaces.mount_table)
            with swapping(container, "/opt/foo", "/opt/link"):
                while min(ends.values()) < 25 and time.monotonic() < until:
                    found = opened(container)
                    undo = UndoLog()
                    try:
                        nodes.make(found, nodes.look(found, self.ONE), undo)
                        ends["made"] += 1
                    except HookError:
                        ends["refused"] += 1
                    finally:
                        new = [line for line in container.do(namespaces.mount_table) if line not in within]
                        assert [line for line in new if f" {container.root}/opt/" not in line] == []
                        if undo.take_back():
                            container.sh(clean)
                        target.close(found)
            container.sh(clean)
            assert (namespaces.mount_table(), container.do(namespaces.mount_table)) == (host, within)
            assert sorted(os.listdir(f"{container.root}/opt")) == ["foo", "link"]
            assert [path.stat().st_size for path in container.victim.iterdir()] == [0]
        assert min(ends.values()) >= 25, ends

    def test_a_link_on_the_way_is_followed_by_who_only_looks(self, user_namespace: bool) -> None:
        """Most images have /var/run so, runtimes follow it within the container, and a node that one of them has made there is right."""
        edits = (Node("/var/run/foo", ZERO, 0o600, 0, 0),)
        with started("mkdir var run; ln -s /run var/run", user_namespace=user_namespace) as container:
            container.sh("mount -t tmpfs tmpfs run; touch run/foo; mount --bind /dev/zero run/foo")
            found = opened(container)
            try:
                assert wrong_node(found, edits) is None
                assert wrong_node(found, (Node("/var/run/foo", FULL, 0o600, 0, 0),)) == (
                    "the container has the device c 1:5 at /var/run/foo, not the leased c 1:7; start the container again"
                )
            finally:
                target.close(found)
            assert str(refused(container, edits)) == LINK.format("/var/run")


class TestRootless:
    def test_the_hosts_node_is_mounted(self) -> None:
        """With the host's owner and mode."""
        edits = (
            Mount("/dev/zero", "/dev/ttyUSB0", ("slave", "nosuid", "noexec", "rw", "rbind")),
            Mount("/dev/full", "/dev/serial/by-id/full", ("slave", "nosuid", "noexec", "ro", "rbind")),
        )

        def work() -> None:
            with started() as container:
                before = state(container)
                assert looked_at(container, edits)[0] == (How.BIND, How.BIND)

                given(container, edits, rootless=True)

                assert container.do(namespaces.shows, container.root, "/dev/ttyUSB0") == "20666 65534:65534 1:5"
                assert container.opens("/dev/ttyUSB0") == ""
                new = [line.split() for line in state(container)[2] if f" {container.root}/dev/serial/by-id/full " in line]
                assert new[0][3].split(",")[:3] == ["ro", "nosuid", "noexec"]
                assert looked_at(container, edits) == ((How.THERE, How.THERE), None)

                container.sh("umount dev/ttyUSB0 dev/serial/by-id/full; rm -r dev/ttyUSB0 dev/serial")
                given(container, edits, undo=UndoLog(), rootless=True)
                assert state(container) == before

        as_user(work)

    def test_a_node_that_is_another_device_meanwhile_is_not(self) -> None:
        def work() -> str:
            with started() as container:
                before = state(container)
                edit = Mount(f"{container.victim}/tty", "/dev/ttyUSB0", ("rw",))
                (container.victim / "tty").symlink_to("/dev/zero")

                def replug(_: tuple[NodeStep, ...]) -> None:
                    (container.victim / "tty").unlink()
                    (container.victim / "tty").symlink_to("/dev/full")

                with pytest.raises(UnavailableError) as caught:
                    given(container, (edit,), between=replug)
                (container.victim / "tty").unlink()
                assert state(container) == before
                return str(caught.value).replace(str(container.victim), "")

        assert as_user(work) == "/tty was c 1:5 when it was allotted and is c 1:7 now; start the container again"


LINK = "{} in the container is a symbolic link, which could lead out of it; its image must have a folder there, or nothing"
IMAGES = [
    pytest.param("rmdir dev; ln -s $victim dev", None, id="absolute"),
    pytest.param("rmdir dev; ln -s ../victim dev", None, id="relative"),
    pytest.param("rmdir dev; ln -s /../../../../../../../../../$victim dev", None, id="through .."),
    pytest.param("rmdir dev; ln -s proc/self/fd dev", "mount -t proc proc proc", id="into /proc/self/fd"),
    pytest.param("rmdir dev; ln -s proc/1/root/tmp dev", "mount -t proc proc proc", id="into another root"),
    pytest.param("rmdir dev; mkdir own; ln -s own dev", "mount -t tmpfs tmpfs own", id="to a tmpfs of its own"),
]
TAKE_OUT = "take that out of its image or mounts, or give the device another path in its definition"


@kinds
class TestHostileContainers:
    """Case 33, and its kind: after each, nothing is new on the host, nor in the container."""

    @pytest.mark.parametrize(("image", "later"), IMAGES)
    def test_dev_is_a_link(self, user_namespace: bool, way: None, image: str, later: str | None) -> None:
        with started(image, user_namespace=user_namespace, dev=None) as container:
            if later is not None and not (user_namespace and "proc" in later):  # a user namespace without a pid namespace mounts no procfs
                container.sh(later)
            error = refused(container, EDITS)

        assert isinstance(error, RefusedError)
        assert str(error) == LINK.format("/dev")

    @pytest.mark.parametrize(
        ("script", "sentence"),
        [
            ("ln -s $victim dev/serial", LINK.format("/dev/serial")),
            ("ln -s ../../victim dev/serial", LINK.format("/dev/serial")),
            ("ln -s /proc/self/cwd dev/serial", LINK.format("/dev/serial")),
            ("mkdir dev/serial dev/other; ln -s ../other dev/serial/by-id", LINK.format("/dev/serial/by-id")),
            ("mkdir -p dev/other/by-id; ln -s other dev/serial", LINK.format("/dev/serial")),
            (
                "touch dev/serial",
                "/dev/serial in the container is a file where a folder is needed; its image must have a folder there, or nothing",
            ),
            (
                "mkdir dev/serial; mount --bind $victim dev/serial",
                "/dev/serial in the container is a mount of something else, and devices are not made there; mount it elsewhere",
            ),
            (
                "mkdir dev/serial; mount -t tmpfs tmpfs dev/serial",
                "/dev/serial in the container is a mount of something else, and devices are not made there; mount it elsewhere",
            ),
        ],
        ids=["absolute link", "relative link", "magic link", "deeper link", "link within", "file", "the host's folder", "another tmpfs"],
    )
    def test_a_folder_on_the_way_is_none(self, user_namespace: bool, way: None, script: str, sentence: str) -> None:
        """Though another node could be made."""
        with started(user_namespace=user_namespace) as container:
            container.sh(script)
            error = refused(container, EDITS[:2])

        assert isinstance(error, RefusedError)
        assert str(error) == sentence

    @pytest.mark.parametrize(
        ("script", "what"),
        [
            ("mkfifo dev/ttyUSB0", "a FIFO"),
            ("echo text >dev/ttyUSB0", "a regular file"),
            ("touch dev/empty dev/ttyUSB0; mount --bind dev/empty dev/ttyUSB0", "a regular file"),
            ("mkdir dev/ttyUSB0", "a folder"),
            ("ln -s $victim/new dev/ttyUSB0", "a symbolic link"),
            ("ln -s /dev/zero dev/ttyUSB0", "a symbolic link"),
            ("touch dev/ttyUSB0; mount --bind /dev/full dev/ttyUSB0", "the device c 1:7"),
        ],
        ids=["fifo", "file", "mounted file", "folder", "link to nowhere", "link to the device", "another device"],
    )
    def test_something_else_is_at_the_place_of_the_node(self, user_namespace: bool, way: None, script: str, what: str) -> None:
        with started(user_namespace=user_namespace) as container:
            container.sh(script)
            error = refused(container)
            confirmed = wrong(container)

        assert isinstance(error, UsageError)
        assert str(error) == f"the container has {what} at /dev/ttyUSB0, where c 1:5 is to appear; {TAKE_OUT}"
        assert confirmed == f"the container has {what} at /dev/ttyUSB0, not the leased c 1:5; start the container again"

    @pytest.mark.parametrize(
        ("script", "what"),
        [
            ("mkfifo dev/blocks/one", "a FIFO"),
            ("ln -s $victim/new dev/blocks/one", "a symbolic link"),
            ("touch dev/blocks/one; mount --bind /dev/full dev/blocks/one", "the device c 1:7"),
            ("echo text >dev/blocks/one", "a regular file"),
        ],
        ids=["fifo", "link", "device", "file"],
    )
    def test_something_comes_to_the_place_after_the_look(self, user_namespace: bool, script: str, what: str) -> None:
        """What was made before it is taken back; what came is not."""
        with started(user_namespace=user_namespace) as container:
            container.sh("mkdir dev/blocks")
            before = state(container)

            with pytest.raises(UsageError) as caught:
                given(container, between=lambda _: container.sh(script))

            container.sh("umount dev/blocks/one 2>/dev/null || :; rm dev/blocks/one")
            assert state(container) == before
        assert str(caught.value) == f"the container has {what} at /dev/blocks/one, where b 7:99 is to appear; {TAKE_OUT}"

    def test_something_takes_the_place_of_what_was_made(self, user_namespace: bool) -> None:
        """What came stays: it is not the hook's."""

        class Intruder(UndoLog):
            def add(self, what: str, way_back: Callable[[], None]) -> None:
                super().add(what, way_back)
                container.sh("rm dev/ttyUSB0; mkfifo dev/ttyUSB0")

        with started(user_namespace=user_namespace) as container:
            undo = Intruder()
            with pytest.raises(RefusedError) as caught:
                given(container, EDITS[:1], undo)

            assert container.sh("find dev -mindepth 1") == "dev/ttyUSB0\n"
            assert container.sh("stat -c %F dev/ttyUSB0") == "fifo\n"
        assert str(caught.value) == (
            "the nodes cannot be mounted in the container (No such file or directory); "
            "something in the container changes its /dev meanwhile, so look what that is and start it again"
            if user_namespace
            else "/dev/ttyUSB0 in the container is not the node that was made there; "
            "something in it changes its /dev meanwhile, so look what that is and start the container again"
        )

    @pytest.mark.parametrize(
        ("image", "later", "sentence"),
        [
            (
                "",
                "mount --rbind /dev dev",
                f"/dev in the container is the host's file system, so a node in it would be made on the host; {OWN_DEV}",
            ),
            (
                "",
                "mount -t devtmpfs devtmpfs dev 2>/dev/null || mount --rbind /dev dev",  # not in a user namespace
                f"/dev in the container is the host's file system, so a node in it would be made on the host; {OWN_DEV}",
            ),
            (
                "",
                "mount --bind /dev/shm dev",
                f"/dev in the container is the host's file system, so a node in it would be made on the host; {OWN_DEV}",
            ),
            ("", ":", f"/dev in the container is no tmpfs, so a node in it would be a file of the image or of the host; {OWN_DEV}"),
            ("rmdir dev", ":", f"the container has no /dev to make devices in; {OWN_DEV}"),
            (
                "rmdir dev; touch dev",
                ":",
                "/dev in the container is a file where a folder is needed; its image must have a folder there, or nothing",
            ),
        ],
        ids=["the host's", "a devtmpfs", "a tmpfs of the host's", "the image's", "none", "a file"],
    )
    def test_dev_is_not_its_own(self, user_namespace: bool, way: None, image: str, later: str, sentence: str) -> None:
        with started(image, user_namespace=user_namespace, dev=None) as container:
            container.sh(later)
            error = refused(container, (*EDITS, Node("/tmp/outside", ZERO, 0o600, 0, 0)))

        assert isinstance(error, RefusedError)
        assert str(error) == sentence

    @pytest.mark.parametrize(
        ("root", "error", "sentence"),
        [
            ("/", RefusedError, f"/dev in the container is the host's file system, so a node in it would be made on the host; {OWN_DEV}"),
            (
                "/dev/..",
                RefusedError,
                f"/dev in the container is the host's file system, so a node in it would be made on the host; {OWN_DEV}",
            ),
            (
                "../../../../../../..",
                RefusedError,
                f"/dev in the container is the host's file system, so a node in it would be made on the host; {OWN_DEV}",
            ),
            (
                "{base}/to-host",
                RefusedError,
                f"/dev in the container is the host's file system, so a node in it would be made on the host; {OWN_DEV}",
            ),
            ("{base}/victim", RefusedError, f"the container has no /dev to make devices in; {OWN_DEV}"),
            ("{base}/root/dev", RefusedError, f"the container has no /dev to make devices in; {OWN_DEV}"),
            ("/dev/zero", UsageError, "{named} (a file or link stands there or on the way); it must name the container's root folder"),
            ("/nonexistent", UsageError, "{named} (No such file or directory); it must name the container's root folder"),
            ("", UsageError, "the container's config has no root.path, so its root folder is not known; name it there"),
        ],
        ids=[
            "the host's root",
            "through ..",
            "relative",
            "a link to the host's root",
            "another folder",
            "its /dev",
            "a file",
            "nothing",
            "empty",
        ],
    )
    def test_its_config_lies_about_root_path(
        self, user_namespace: bool, way: None, root: str, error: type[HookError], sentence: str
    ) -> None:
        with started(user_namespace=user_namespace) as container:
            base = Path(container.root).parent
            (base / "to-host").symlink_to("/")
            path = root.format(base=base)
            found = refused(container, root=path, bundle=str(base))
            named = f'root.path "{path}" of the container\'s config is no folder that its process {container.pid} has'

        assert type(found) is error
        assert str(found) == sentence.format(named=named)

    @pytest.mark.parametrize(
        "root", ["root", "{base}/link", "link/../root", "{base}/around/root"], ids=["relative", "link", "..", "link on the way"]
    )
    def test_a_root_path_of_many_words_is_found(self, user_namespace: bool, root: str) -> None:
        """The part of it that is the host's may have links."""
        with started(user_namespace=user_namespace) as container:
            base = Path(container.root).parent
            (base / "link").symlink_to("root")
            (base / "around").symlink_to(base)

            given(container, root=root.format(base=base), bundle=str(base))

            assert as_seen(container) == SEEN

    def test_a_folder_on_the_way_changes_all_the_time(self, user_namespace: bool, way: None) -> None:
        """Each try ends in the container's folder or with an error, none on the host. What is made in the folder is taken back."""
        edits = (Node("/dev/serial/one", ZERO, 0o600, 0, 0),)
        ends = {"made": 0, "refused": 0}
        until = time.monotonic() + namespaces.SECONDS
        with started(user_namespace=user_namespace) as container:
            container.sh("mkdir dev/serial; ln -s $victim dev/link")
            with swapping(container, "/dev/serial", "/dev/link"):
                while min(ends.values()) < 25 and time.monotonic() < until:
                    found = opened(container)
                    undo = UndoLog()
                    try:
                        nodes.make(found, nodes.look(found, edits), undo)
                        ends["made"] += 1
                    except HookError:
                        ends["refused"] += 1
                    finally:
                        undo.take_back()
                        target.close(found)
            assert listing(container.victim)[0].startswith(str(container.victim))
            assert os.listdir(container.victim) == []
        assert min(ends.values()) >= 25, ends


class TestProcess:
    def test_one_that_has_gone_is_unavailable(self) -> None:
        with started() as container:
            process = liveness.process(container.pid)
            assert process is not None
            found = target.open_target(process, container.root, "", "", rootless=False)
            assert target.read_proc(found, "cgroup") == Path(f"/proc/{container.pid}/cgroup").read_text()
            end(container)

            with pytest.raises(UnavailableError) as caught:
                target.read_proc(found, "cgroup")
            with pytest.raises(UnavailableError) as again:
                target.open_target(process, container.root, "", "", rootless=False)
            target.close(found)

        sentence = f"the container's process {container.pid} is not there, or not any more; start the container again"
        assert (str(caught.value), str(again.value)) == (sentence, sentence)

    def test_one_that_ends_after_the_look_is_unavailable(self) -> None:
        with started(user_namespace=True) as container, pytest.raises(UnavailableError) as caught:
            given(container, between=lambda _: end(container))

        assert str(caught.value) == f"the container's process {container.pid} is not there, or not any more; start the container again"

    @pytest.mark.parametrize("self_link", [None, "1", "{pid}"], ids=["nothing like it", "static", "knows the hook"])
    def test_a_proc_that_is_none_is_not_believed(self, self_link: str | None) -> None:
        """CVE-2025-52881's kind: what a file in /proc says counts only where the kernel says it."""

        def work() -> str:
            pid = os.getpid()
            process = liveness.process(pid)
            assert process is not None
            stat = Path("/proc/self/stat").read_text()
            namespaces.unshare(namespaces.CLONE_NEWNS)
            namespaces.mount("", "/", flags=namespaces.MS_REC | namespaces.MS_PRIVATE)
            namespaces.mount("tmpfs", "/proc", "tmpfs")
            Path(f"/proc/{pid}/ns").mkdir(parents=True)
            Path(f"/proc/{pid}/ns/user").touch()
            Path(f"/proc/{pid}/stat").write_text(stat)
            Path(f"/proc/{pid}/root").symlink_to("/run")
            if self_link is not None:
                Path("/proc/self").symlink_to(self_link.format(pid=pid))
            if self_link == "{pid}":
                found = target.open_target(process, "", "", "", rootless=False)
                assert wrong_node(found, EDITS[:1]) is not None, "its word is against the container only"
                with pytest.raises(ConfigurationError) as caught:
                    nodes.look(found, EDITS)
            else:
                with pytest.raises(ConfigurationError) as caught:
                    target.open_target(process, "", "", "", rootless=False)
            return str(caught.value)

        assert apart(work) == (
            "/proc is not the procfs of the hook's own pid namespace, so it tells nothing of the container; mount that there, proc(5)"
        )

    def test_a_users_hook_may_not_look_into_roots_container(self) -> None:
        with started() as container:

            def work() -> str:
                os.setresuid(65534, 65534, 65534)
                with pytest.raises(RefusedError) as caught:
                    opened(container)
                return str(caught.value)

            assert apart(work) == (
                f"you may not look into process {container.pid} of the container; do it as root, or run the runtime in a user "
                "namespace of yours, as podman unshare makes one"
            )

    def test_root_without_the_right_to_look_into_a_container_is_told_which(self) -> None:
        """An init that is not dumpable, prctl(2), as after it has changed its user."""
        with started() as container:
            container.do(namespaces.undumpable)

            def work() -> str:
                with pytest.raises(RefusedError) as caught:
                    opened(container)
                return str(caught.value)

            assert namespaces.without(namespaces.CAP_SYS_PTRACE, work) == (
                f"root may not look into process {container.pid} of the container; the hook needs CAP_SYS_PTRACE, in that process's user "
                "namespace, where the engine runs it"
            )
            target.close(opened(container))

    def test_one_that_has_the_pid_of_another_is_not_looked_into(self) -> None:
        with started() as container:
            process = liveness.process(container.pid)
            assert process is not None

            with pytest.raises(UnavailableError) as caught:
                target.open_target(replace(process, start=process.start - 1), container.root, "", "", rootless=False)

        assert str(caught.value) == f"the container's process {container.pid} is not there, or not any more; start the container again"
