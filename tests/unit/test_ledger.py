"""The ledger's file: what it keeps, what it survives, and what it refuses."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import stat
import time
from pathlib import Path

import pytest

from oci_udev_hook import files, printing
from oci_udev_hook.allocation import Ledger, View, history, lock, others, process, records
from oci_udev_hook.errors import ConfigurationError, HookError, UsageError
from oci_udev_hook.frozen import replace
from oci_udev_hook.leases import as_json
from oci_udev_hook.model import Device, DeviceNumber, DeviceType, Holder, Lease, LeaseState, Process, Unit
from oci_udev_hook.typed import TypedError

FOO = "hardware-vendor.example/foo"
FILE = "ledger.json"
LOOP = "Too many levels of symbolic links"
OWN = process(os.getpid())
assert OWN is not None
DEAD = replace(OWN, start=OWN.start + 1)


def number(minor: int) -> DeviceNumber:
    """A serial adapter's."""
    return DeviceNumber(DeviceType.CHAR, 188, minor)


def unit(minor: int) -> Unit:
    """A serial adapter."""
    return Unit(FOO, f"serial:{minor}", (), (Device(f"/sys/{minor}", devnode=f"/dev/ttyUSB{minor}", number=number(minor)),))


def lease(minor: int, container: str = "a", *, life: Process = OWN, boot: str = "now", state: LeaseState = LeaseState.CONFIRMED) -> Lease:
    """A serial adapter in the hands of CONTAINER, which lives as long as this test unless said otherwise."""
    holder = Holder(container, f"demo-{container}", state, life, boot, since=5.5, bundle=f"/bundle/{container}", uid=os.geteuid())
    return Lease(FOO, f"serial:{minor}", frozenset([number(minor)]), (f"/dev/ttyUSB{minor}",), holder)


def nothing(_boot: str, _uid: int) -> tuple[Lease, ...]:
    """What is found where no container lives."""
    return ()


def ledger(folder: Path, rebuild: object = nothing, wait: float = 0.0) -> Ledger:
    """The ledger in FOLDER."""
    return Ledger(str(folder), uid=os.geteuid(), boot="now", rebuild=rebuild, wait=wait)  # type: ignore[arg-type]  # each test's own fake


def commit(folder: Path, *leases: Lease) -> None:
    """Write LEASES down."""
    with ledger(folder) as book:
        book.commit(leases)


def look(folder: Path) -> tuple[Lease, ...]:
    """All that is written down."""
    return Ledger.read_only(str(folder), uid=os.geteuid(), boot="now").leases()


def prepared(container: str = "a", *, numbers: list[str] | None = None, **spelled: str) -> str:
    """A ledger that its user has prepared: with these NUMBERS, or other values of its holder as they are SPELLED in JSON."""
    row: dict[str, object] = {**records._holder_row(lease(0).holder), **dict.fromkeys(spelled, "SPELLED")}
    row["leases"] = [{**as_json(lease(0)), **({} if numbers is None else {"numbers": numbers})}]
    text = json.dumps({"version": 1, "holders": {container: row}})
    for value in spelled.values():
        text = text.replace('"SPELLED"', value, 1)
    return text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state folder that is not there yet."""
    return tmp_path / "state"


def whole(message: str) -> str:
    """The pattern of MESSAGE and nothing else."""
    return f"^{re.escape(message)}$"


class TestLeases:
    def test_what_is_committed_is_read_again(self, folder: Path) -> None:
        """Every field, in order."""
        given = (lease(1), lease(0), replace(lease(2, "b", state=LeaseState.RESERVED), sharing=3))
        held = replace(given[2], holder=replace(given[2].holder, until=99.5))
        commit(folder, given[0], given[1], held)
        assert look(folder) == (given[0], given[1], held)
        view = Ledger.read_only(str(folder), uid=os.geteuid(), boot="now")
        assert (view.held("b"), view.held("c")) == ((held,), ())

    def test_a_new_run_replaces_what_the_container_held(self, folder: Path) -> None:
        """Others keep theirs."""
        commit(folder, lease(0), lease(1))
        commit(folder, lease(2, "b"))
        commit(folder, lease(1))
        assert {(held.holder.container, held.unit) for held in look(folder)} == {("a", "serial:1"), ("b", "serial:2")}

    def test_a_container_that_got_nothing_holds_nothing(self, folder: Path) -> None:
        """Its resource may skip what is missing."""
        commit(folder, lease(0))
        with ledger(folder) as book:
            book.commit((), "a")
        assert look(folder) == ()

    def test_a_container_without_an_id_gets_none(self, folder: Path) -> None:
        """Nothing could ever release it."""
        with (
            ledger(folder) as book,
            pytest.raises(
                UsageError,
                match=whole("a container without an id cannot hold devices, since nothing could release them; let the engine start it"),
            ),
        ):
            book.commit((lease(0, ""),))

    def test_the_living_of_some_units_are_found_by_identity_or_number(self, folder: Path) -> None:
        """And not those of other units, nor the asker's own."""
        commit(folder, lease(0), lease(1, "b"), lease(2, "c"), lease(3, "d"))
        renumbered = Unit(FOO, "serial:1", (), ())
        successor = Unit(FOO, "serial:new", (), unit(2).devices)
        with ledger(folder) as book:
            assert book.living((unit(0), renumbered, successor), "a") == (lease(1, "b"), lease(2, "c"))
            assert book.living(()) == ()

    def test_only_holders_of_those_units_are_looked_up(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A thousand others cost nothing."""
        commit(folder, *[lease(minor, f"c{minor}") for minor in range(5)])
        looked_up = []
        monkeypatch.setattr("oci_udev_hook.allocation.liveness.alive", lambda holder, *_: bool(looked_up.append(holder.container)) or True)
        with ledger(folder) as book:
            book.living((unit(3),))
        assert looked_up == ["c3"]

    @pytest.mark.parametrize(
        "dead",
        [
            pytest.param(lease(0, life=DEAD), id="ended"),
            pytest.param(lease(0, boot="before"), id="another boot"),
            pytest.param(replace(lease(0), holder=replace(lease(0, state=LeaseState.RESERVED).holder, until=1.0)), id="two minutes over"),
        ],
    )
    def test_the_dead_hold_nothing_and_are_struck_out_when_noticed(self, folder: Path, dead: Lease) -> None:
        """At the next commit, so that a start that was thought dead is not confirmed later."""
        commit(folder, dead, lease(1, "b", life=DEAD))
        with ledger(folder) as book:
            assert book.living((unit(0),)) == ()
            book.commit((lease(0, "c"),))
            assert book.confirm("a", DEAD) == ()
        assert look(folder) == (lease(1, "b", life=DEAD), lease(0, "c"))

    def test_an_unconfirmed_container_that_lives_is_found_through_its_monitor(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """And is written down as confirmed."""
        commit(folder, lease(0, life=DEAD, state=LeaseState.RESERVED))
        monkeypatch.setattr("oci_udev_hook.allocation.liveness.adopted", lambda *_: lease(0).holder)
        with ledger(folder) as book:
            assert book.living((unit(0),)) == (lease(0),)
            book.commit((lease(1, "b"),))
        assert look(folder) == (lease(0), lease(1, "b"))

    def test_confirming_changes_whose_life_it_is(self, folder: Path) -> None:
        """And gives the leases, which the caller compares with the config."""
        commit(folder, lease(0, state=LeaseState.RESERVED))
        with ledger(folder) as book:
            assert book.confirm("a", Process(7, 8)) == (lease(0, life=Process(7, 8)),)
            assert book.confirm("b", Process(7, 8)) == ()
        assert look(folder) == (lease(0, life=Process(7, 8)),)

    def test_what_another_boot_reserved_is_not_confirmed(self, folder: Path) -> None:
        """The mark in the bundle is stale."""
        commit(folder, lease(0, boot="before"))
        with ledger(folder) as book:
            assert book.confirm("a", Process(7, 8)) == ()

    def test_release_gives_back_all(self, folder: Path) -> None:
        """And tells what."""
        commit(folder, lease(0), lease(1))
        commit(folder, lease(2, "b"))
        with ledger(folder) as book:
            assert book.release("a") == (lease(0), lease(1))
            assert book.release("a") == ()
        assert look(folder) == (lease(2, "b"),)

    def test_a_look_tells_the_living_from_the_dead(self, folder: Path) -> None:
        """For `leases`."""
        commit(folder, lease(0), lease(1, "b", life=DEAD))
        view = Ledger.read_only(str(folder), uid=os.geteuid(), boot="now")
        assert [view.alive(held.holder) for held in view.leases()] == [True, False]


class TestHistory:
    def test_it_outlasts_release_and_boot(self, folder: Path) -> None:
        """In the order of allotment."""
        commit(folder, lease(1), lease(0))
        with ledger(folder) as book:
            book.release("a")
        assert Ledger.read_only(str(folder), boot="next").previous("demo-a") == ("serial:1", "serial:0")
        assert Ledger.read_only(str(folder), boot="next").previous("other") == ()
        assert Ledger.read_only(str(folder), boot="next").previous("") == ()

    def test_a_container_without_a_name_is_known_by_its_id(self, folder: Path) -> None:
        """As `podman restart` has it."""
        commit(folder, replace(lease(0), holder=replace(lease(0).holder, name="")))
        assert Ledger.read_only(str(folder)).previous("a") == ("serial:0",)

    def test_roots_outlasts_a_reboot(self) -> None:
        """/run does not, so that one is in /var/lib; with another state folder it stays there."""
        assert history.path("/run/oci-udev-hook") == "/var/lib/oci-udev-hook/history.json"
        assert history.path("/run/user/1000/oci-udev-hook") == "/run/user/1000/oci-udev-hook/history.json"

    def test_the_oldest_name_is_dropped(self, tmp_path: Path) -> None:
        """256 are kept; one that comes back is young again."""
        file = str(tmp_path / "history.json")
        (tmp_path / "history.json").write_text(json.dumps({f"c{index}": ["x"] for index in range(history._LIMIT)}))
        history.remember(file, "c0", ("x",))
        history.remember(file, "new", ("y",))
        assert list(history.read(file))[-2:] == ["c0", "new"]
        assert len(history.read(file)) == history._LIMIT
        assert "c1" not in history.read(file)

    def test_what_is_fresh_and_unchanged_is_not_written_again(self, tmp_path: Path) -> None:
        """The same file is there."""
        file = tmp_path / "made on the way/history.json"
        history.remember(str(file), "a", ("x",))
        before = file.stat().st_ino
        history.remember(str(file), "a", ("x",))
        assert file.stat().st_ino == before

    @pytest.mark.parametrize(
        "content", ["", "[]", '{"a": 1}', '{"a": ["x", 5]}', '{"a": ["x"'], ids=["empty", "list", "wrong type", "no identity", "cut off"]
    )
    def test_a_damaged_one_is_empty_and_is_replaced(self, tmp_path: Path, content: str) -> None:
        """It is a preference only."""
        file = tmp_path / "history.json"
        file.write_text(content)
        assert history.read(str(file)) == {}
        history.remember(str(file), "a", ("x",))
        assert history.read(str(file)) == {"a": ("x",)}

    def test_one_that_cannot_be_written_stops_nothing(self, folder: Path, tmp_path: Path) -> None:
        """The lease is committed all the same."""
        (tmp_path / "file").touch()
        with Ledger(str(folder), boot="now", rebuild=nothing, history_path=str(tmp_path / "file/history.json")) as book:
            book.commit((lease(0),))
        assert len(look(folder)) == 1


class TestDamage:
    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"\xff\xfe", id="no text"),
            pytest.param(b"[]", id="no object"),
            pytest.param(b'{"version": 1, "holders": {"b": {"name"', id="cut off"),
            pytest.param(b'{"holders": {}}', id="no version"),
            pytest.param(b'{"version": true, "holders": {}}', id="version of the wrong type"),
            pytest.param(b'{"version": 0, "holders": {}}', id="version that never was"),
            pytest.param(b'{"version": 1}', id="no holders"),
            pytest.param(b'{"version": 1, "holders": []}', id="holders of the wrong type"),
            pytest.param(b'{"version": 1, "holders": {"b": 1}}', id="holder of the wrong type"),
            pytest.param(b'{"version": 1, "holders": {"b": {"leases": {}}}}', id="leases of the wrong type"),
            pytest.param(b'{"version": 1, "holders": {"b": {"leases": [1]}}}', id="lease of the wrong type"),
            pytest.param(b'{"version": 1, "holders": {"b": {"leases": [{"unit": "x"}]}}}', id="lease without numbers"),
            pytest.param(b'{"version": 1, "holders": {"b": {"leases": [{"unit": "x", "numbers": "c 188:0"}]}}}', id="numbers as text"),
            pytest.param(b'{"version": 1, "holders": {"b": {"leases": [{"unit": "x", "numbers": ["188:0"]}]}}}', id="number of no type"),
            pytest.param(
                b'{"version": 1, "holders": {"b": {"leases": [{"unit": "serial:0", "numbers": []}]}}}', id="holder without a process"
            ),
        ],
    )
    def test_a_damaged_ledger_is_set_aside_and_rebuilt_before_anything_is_given_out(self, folder: Path, content: bytes) -> None:
        """From the living containers: unit 0 is held, though the file did not say so."""
        folder.mkdir()
        (folder / "ledger.json").write_bytes(content)
        with ledger(folder, lambda *_: (lease(0), lease(1))) as book:
            assert book.living((unit(0),)) == (lease(0),)
        assert (folder / "ledger.json.damaged-1").read_bytes() == content
        assert look(folder) == (lease(0), lease(1))

    def test_damage_is_noticed_though_no_one_asks_for_what_it_hides(self, folder: Path) -> None:
        """A single letter of another container's row."""
        commit(folder, lease(0), lease(1, "b"))
        text = (folder / "ledger.json").read_text()
        (folder / "ledger.json").write_text(text.replace('"c 188:1"', '"c 188,1"'))
        with ledger(folder, lambda *_: (lease(1, "b"),)) as book:
            assert book.living((unit(0),)) == ()
            assert book.living((unit(1),)) == (lease(1, "b"),)
        assert (folder / "ledger.json.damaged-1").exists()

    def test_an_edit_by_hand_counts(self, folder: Path) -> None:
        """Though the sum is wrong and the lines are others."""
        commit(folder, lease(0), lease(1, "b"))
        fields = json.loads((folder / "ledger.json").read_text())
        del fields["holders"]["a"], fields["sum"]
        (folder / "ledger.json").write_text(json.dumps(fields, indent=4))
        with ledger(folder) as book:
            assert book.living((unit(0), unit(1))) == (lease(1, "b"),)
            book.commit((lease(0, "c"),))
        assert look(folder) == (lease(1, "b"), lease(0, "c"))

    def test_only_rows_that_matter_are_parsed(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A thousand others cost nothing, and are written as they were read."""
        commit(folder, *[lease(minor, f"c{minor}") for minor in range(5)])
        before = (folder / "ledger.json").read_text().splitlines()
        parsed = []
        read_row = records.read_row
        monkeypatch.setattr(records, "read_row", lambda container, *rest: parsed.append(container) or read_row(container, *rest))
        with ledger(folder) as book:
            assert book.living((unit(3),)) == (lease(3, "c3"),)
            book.commit((lease(5, "new"),))
        assert parsed == ["c3"]
        assert (folder / "ledger.json").read_text().splitlines()[1:5] == before[1:5]

    @pytest.mark.parametrize("container", ['a": {"b', "a\\b", "ä", "a\nb", "a,b: c"])
    def test_an_id_may_hold_any_letter(self, folder: Path, container: str) -> None:
        """Engines have hexadecimal ones, but nobody promised that."""
        commit(folder, lease(0, container), lease(1, "b"))
        assert look(folder) == (lease(0, container), lease(1, "b"))

    def test_a_missing_ledger_is_rebuilt(self, folder: Path) -> None:
        """It is missing after a boot, and after `rm -r`, too."""
        with ledger(folder, lambda *_: (lease(0),)) as book:
            assert book.living((unit(0),)) == (lease(0),)
        assert look(folder) == (lease(0),)

    def test_nothing_is_given_out_where_it_cannot_be_rebuilt(self, folder: Path) -> None:
        """And it stays damaged, so that the next run tries again; what is set aside is set aside once."""
        folder.mkdir()
        (folder / "ledger.json").write_text("damaged")

        def fail(*_: object) -> tuple[Lease, ...]:
            raise ConfigurationError("a config cannot be understood")

        for _ in range(2):
            with pytest.raises(ConfigurationError, match=whole("a config cannot be understood")), ledger(folder, fail):
                pytest.fail("it was entered")
        assert (folder / "ledger.json").read_text() == "damaged"
        assert sorted(path.name for path in folder.iterdir()) == ["ledger.json", "ledger.json.damaged-1", "lock"]

    def test_what_was_set_aside_is_never_written_over_and_only_so_many_are_kept(self, folder: Path) -> None:
        """The first ones tell most."""
        folder.mkdir()
        for index in range(10):
            (folder / "new").write_text(f"damage {index}")
            (folder / "new").rename(folder / "ledger.json")
            with ledger(folder):
                pass
        kept = {path.name: path.read_text() for path in folder.glob("*damaged*")}
        assert kept == {f"ledger.json.damaged-{index + 1}": f"damage {index}" for index in range(8)}

    def test_a_newer_form_is_refused(self, folder: Path) -> None:
        """What it means is not known here."""
        folder.mkdir()
        (folder / "ledger.json").write_text('{"version": 2, "holders": "whatever"}')
        with (
            pytest.raises(
                ConfigurationError,
                match=whole(
                    f"the ledger {folder}/ledger.json was written by a newer oci-udev-hook (form 2, this one knows forms up to 1); "
                    "install the newer one again, or stop all containers with devices and remove the file"
                ),
            ),
            ledger(folder),
        ):
            pytest.fail("it was entered")
        assert [path.name for path in folder.glob("*damaged*")] == []

    def test_a_row_keeps_what_this_version_does_not_know(self, folder: Path) -> None:
        """As long as nobody changes that row."""
        commit(folder, lease(0))
        text = (folder / "ledger.json").read_text()
        (folder / "ledger.json").write_text(text.replace('"name"', '"colour": "red", "name"'))
        commit(folder, lease(1, "b"))
        assert '"colour": "red"' in (folder / "ledger.json").read_text()

    def test_a_link_in_its_place_is_not_followed(self, folder: Path, tmp_path: Path) -> None:
        """It could name any file."""
        folder.mkdir()
        (tmp_path / "elsewhere").write_text('{"version": 1, "holders": {}}')
        (folder / "ledger.json").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(
            ConfigurationError,
            match=whole(
                f"the ledger {folder}/ledger.json cannot be read: Too many levels of symbolic links; "
                f"see its owner and mode, or name another folder with --state-dir"
            ),
        ):
            look(folder)


class TestFile:
    def test_others_may_read_it_and_nobody_may_lock_it(self, folder: Path) -> None:
        """Users' hooks read root's ledger; who could open the lock file could stop all containers."""
        mask = os.umask(0o077)
        try:
            commit(folder, lease(0))
        finally:
            os.umask(mask)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert modes == {"ledger.json": 0o644, "history.json": 0o644, "lock": 0o600}

    def test_what_a_kill_left_is_written_over(self, folder: Path) -> None:
        """The temporary file never counts."""
        commit(folder, lease(0))
        (folder / "ledger.json.new").write_text("half a led")
        commit(folder, lease(1, "b"))
        assert len(look(folder)) == 2
        assert not (folder / "ledger.json.new").exists()

    @pytest.mark.parametrize(
        ("number_", "call", "words"),
        [
            pytest.param(errno.ENOSPC, "write", "No space left on device", id="full"),
            pytest.param(errno.EROFS, "open", "Read-only file system", id="read-only"),
            pytest.param(errno.EIO, "fsync", "Input/output error", id="broken"),
            pytest.param(errno.ENOENT, "rename", "No such file or directory", id="folder gone"),
        ],
    )
    def test_one_that_cannot_be_written_gives_nothing_out(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, number_: int, call: str, words: str
    ) -> None:
        """The old content stays, no temporary file is left, the sentence says why."""
        commit(folder, lease(0))
        before = (folder / "ledger.json").read_bytes()

        def fail(*_: object, **__: object) -> None:
            raise OSError(number_, os.strerror(number_))

        message = (
            f"the ledger {folder}/ledger.json cannot be written: {words}; see that its folder has room and may be written, then try again"
        )
        with ledger(folder) as book, monkeypatch.context() as patch:
            patch.setattr(files.os, call, fail)
            with pytest.raises(ConfigurationError, match=whole(message)):
                book.commit((lease(1, "b"),))
        assert (folder / "ledger.json").read_bytes() == before
        assert not (folder / "ledger.json.new").exists()

    def test_a_missing_folder_is_an_empty_ledger_to_a_look(self, folder: Path) -> None:
        """dry-run makes nothing."""
        assert look(folder) == ()
        assert not folder.exists()


class TestLock:
    def test_a_second_run_waits_and_then_names_the_first(self, folder: Path) -> None:
        """Its pid is in /proc/locks."""
        with ledger(folder), pytest.raises(HookError) as caught, ledger(folder):
            pytest.fail("it was entered")
        held = f"the ledger's lock {folder}/lock is held by"
        kept = "and was not given up for 0 s"
        named = f"{held} process {os.getpid()} {kept}; if that process hangs, end it (kill {os.getpid()})"
        # Some file systems show another device number in /proc/locks than stat(2) does.
        unnamed = f"{held} another run of the hook {kept}; try again"
        assert str(caught.value) in (named, unnamed)

    def test_the_holder_stands_in_proc_locks(self) -> None:
        """As a line for each lock, device number in hexadecimal."""
        text = (
            "1: POSIX  ADVISORY  WRITE 11 00:18:1234 0 EOF\n2: FLOCK  ADVISORY  READ  12 00:18:1234 0 EOF\n"
            "3: FLOCK  ADVISORY  WRITE 13 fe:10:1234 0 EOF\n3: -> FLOCK  ADVISORY  WRITE 14 00:18:1234 0 EOF\n"
            "4: FLOCK  ADVISORY  WRITE 0 00:18:1234 0 EOF\n5: FLOCK  ADVISORY  WRITE 15 00:18:1234 0 EOF\n"
        )
        assert lock._holder(text, os.makedev(0, 0x18), 1234) == 15
        assert lock._holder(text, os.makedev(0xFE, 0x10), 1234) == 13
        assert lock._holder(text, os.makedev(1, 1), 1234) is None

    def test_it_is_given_back_whatever_happens(self, folder: Path) -> None:
        """An error inside, or one on entering."""
        with pytest.raises(KeyError), ledger(folder):
            raise KeyError
        (folder / "ledger.json").write_text('{"version": 2}')
        with pytest.raises(ConfigurationError), ledger(folder):
            pytest.fail("it was entered")
        (folder / "ledger.json").unlink()
        with ledger(folder):
            pass

    def test_a_lock_file_that_was_removed_meanwhile_does_not_count(self, folder: Path) -> None:
        """Two runs would hold two locks."""
        folder.mkdir()
        descriptor = lock._open_lock(f"{folder}/lock")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert lock._is_current(f"{folder}/lock", descriptor)
        (folder / "lock").unlink()
        assert not lock._is_current(f"{folder}/lock", descriptor)
        (folder / "lock").touch()
        assert not lock._is_current(f"{folder}/lock", descriptor)
        os.close(descriptor)

    def test_no_program_that_the_hook_starts_inherits_it(self, folder: Path) -> None:
        """It would keep the lock."""
        folder.mkdir()
        descriptor = lock._open_lock(f"{folder}/lock")
        assert not os.get_inheritable(descriptor)
        os.close(descriptor)

    def test_a_folder_that_cannot_hold_it_is_told(self, folder: Path) -> None:
        """A link there could name any file."""
        folder.mkdir()
        (folder / "lock").symlink_to("/nowhere")
        with (
            pytest.raises(
                ConfigurationError,
                match=whole(
                    f"the lock {folder}/lock cannot be opened: Too many levels of symbolic links; "
                    f"see its owner and mode, or name another folder with --state-dir"
                ),
            ),
            ledger(folder),
        ):
            pytest.fail("it was entered")


class TestRecords:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            pytest.param({"state": "lost"}, 'holders.a.state is "lost", not reserved or confirmed', id="state"),
            pytest.param({"pid": "7"}, 'holders.a.pid is "7", not a whole number', id="pid"),
            pytest.param({"until": "7"}, 'holders.a.until is "7", not a number of seconds', id="until"),
            pytest.param({"since": True}, "holders.a.since is true, not a number of seconds", id="since"),
            pytest.param({"since": 10**18}, "holders.a.since is 1000000000000000000, not a number of seconds", id="no clock shows it"),
            pytest.param({"since": -1}, "holders.a.since is -1, not a number of seconds", id="before the epoch"),
            pytest.param({"until": float("inf")}, "holders.a.until is Infinity, not a number of seconds", id="never"),
            pytest.param({"until": 10**400}, f"holders.a.until is 1{'0' * 56}…, not a number of seconds", id="no float"),
            pytest.param({"pid": 2**31}, "holders.a.pid is 2147483648, not a whole number from 0 to 2147483647", id="no pid_t"),
            pytest.param({"pid": -1}, "holders.a.pid is -1, not a whole number from 0 to 2147483647", id="all processes"),
            pytest.param({"start": 2**64}, f"holders.a.start is {2**64}, not a whole number from 0 to {2**64 - 1}", id="start"),
            pytest.param({"bundle": "/a\0b"}, 'holders.a.bundle is "/a\\u0000b", not a path', id="bundle"),
            pytest.param({"leases": [{"resource": 1}]}, "holders.a.leases[0].resource is 1, not a string", id="resource"),
            pytest.param(
                {"leases": [{"resource": "r", "unit": "u", "numbers": [], "nodes": [1]}]},
                "holders.a.leases[0].nodes is [1], not a list of strings",
                id="nodes",
            ),
        ],
    )
    def test_a_wrong_value_is_named_by_its_place(self, change: dict[str, object], message: str) -> None:
        """And shown."""
        row = {**records._holder_row(lease(0).holder), "leases": [as_json(lease(0))], **change}
        with pytest.raises(TypedError, match=whole(message)):
            records.read_row("a", row, 0)


class TestOthers:
    def test_a_user_obeys_roots_ledger(self, folder: Path) -> None:
        """Read without its lock, which is another's."""
        with ledger(folder) as book:
            book.commit((lease(0),))
            (held,) = others.root(str(folder), "now").living((unit(0),))
        assert (held.unit, held.holder.uid) == ("serial:0", 0)

    def test_root_that_holds_nothing_has_no_ledger(self, folder: Path) -> None:
        """A missing one is empty."""
        assert others.root(str(folder)).living((unit(0),)) == ()

    def test_a_damaged_one_of_another_user_is_refused(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What root's containers hold is unknown then, and their configs are not this user's to read."""
        folder.mkdir()
        (folder / "ledger.json").write_text("")
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        with pytest.raises(
            ConfigurationError,
            match=whole(
                f"the ledger {folder}/ledger.json is no JSON: Expecting value: line 1 column 1 (char 0); "
                "the next container with devices that its owner starts mends it"
            ),
        ):
            others.root(str(folder))

    def test_a_look_at_ones_own_damaged_ledger_shows_what_the_next_start_would_find(self, folder: Path) -> None:
        """And writes nothing."""
        folder.mkdir()
        (folder / "ledger.json").write_text("")
        view = View(str(folder), boot="now", rebuild=lambda *_: (lease(0),)).load()
        assert [held.unit for held in view.leases()] == ["serial:0"]
        assert (folder / "ledger.json").read_text() == ""

    def test_root_lists_users_leases(self, tmp_path: Path) -> None:
        """From both places where a user's state folder can be."""
        own = os.geteuid()
        for state in (tmp_path / f"run/{own}/oci-udev-hook", tmp_path / f"tmp/oci-udev-hook-{own}"):
            state.parent.mkdir(parents=True)
            commit(state, lease(0))
        (tmp_path / "run/nobody").mkdir()
        (tmp_path / "run/99").mkdir()
        (tmp_path / "tmp/oci-udev-hook-x").mkdir()
        listing = others.users(str(tmp_path / "run"), str(tmp_path / "tmp"))
        assert [(held.unit, held.holder.uid) for held in listing.leases] == [("serial:0", own)] * 2
        assert listing.faults == ()

    @pytest.mark.parametrize(
        ("prepare", "says"),
        [
            pytest.param(lambda state: state.symlink_to("/etc"), " was passed over: Not a directory", id="folder is a link"),
            pytest.param(lambda state: state.touch(), " was passed over: Not a directory", id="folder is a file"),
            pytest.param(lambda state: state.mkdir() or (state / FILE).symlink_to("/etc/shadow"), f" was passed over: {LOOP}", id="link"),
            pytest.param(lambda state: state.mkdir() or os.mkfifo(state / FILE), " was passed over: it is no regular file", id="FIFO"),
            pytest.param(lambda state: state.mkdir() or (state / FILE).mkdir(), " was passed over: it is no regular file", id="folder"),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).touch() or os.truncate(state / FILE, 1 << 40),
                " was passed over: it has more than 1048576 bytes",
                id="huge",
            ),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).write_text("[" * 100000),
                " is no JSON that can be read: it is nested too deeply; it was passed over",
                id="deep",
            ),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).write_text('{"version": 1, "holders": {"a": 1}}'),
                ": holders.a is 1, not an object; it was passed over",
                id="wrong type",
            ),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).write_text(prepared(numbers=["c 188:" + "1" * 5000])),
                f': holders.a.leases[0].numbers is ["c 188:{"1" * 49}…, not a list of device numbers such as "c 188:0"; it was passed over',
                id="a number of 5000 digits",
            ),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).write_text(prepared(since="1e18")),
                ": holders.a.since is 1e+18, not a number of seconds; it was passed over",
                id="a time that no clock shows",
            ),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).write_text(prepared(since="1e400")),
                ": holders.a.since is Infinity, not a number of seconds; it was passed over",
                id="an endless time",
            ),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).write_text(prepared(since="1" * 400)),
                f": holders.a.since is {'1' * 57}…, not a number of seconds; it was passed over",
                id="a time of 400 digits",
            ),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).write_text(prepared(pid="1" * 400)),
                f": holders.a.pid is {'1' * 57}…, not a whole number from 0 to 2147483647; it was passed over",
                id="a pid of 400 digits",
            ),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).write_text(prepared(container="c" * 100000, pid="-1")),
                f": holders.{'c' * 79}….pid is -1, not a whole number from 0 to 2147483647; it was passed over",
                id="an id of 100000 letters",
            ),
            pytest.param(
                lambda state: state.mkdir() or (state / FILE).write_text('{"version": 7}'),
                "/ledger.json was written by a newer oci-udev-hook (form 7, this one knows forms up to 1); install the newer one again, "
                "or stop all containers with devices and remove the file",
                id="too new",
            ),
        ],
    )
    def test_what_a_user_prepared_does_not_hurt_root(self, tmp_path: Path, prepare: object, says: str) -> None:
        """It is passed over, and that is said."""
        own = os.geteuid()
        state = tmp_path / f"run/{own}/oci-udev-hook"
        state.parent.mkdir(parents=True)
        prepare(state)  # type: ignore[operator]  # a function from the table
        listing = others.users(str(tmp_path / "run"), str(tmp_path / "tmp"))
        says = f" in {state} of uid {own}{says}" if says[0] != "/" else f" {state}{says}"
        assert listing == others.Listing((), (f"the ledger{says}",))

    def test_one_users_ledger_does_not_hide_anothers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The listing goes on behind the one that is passed over, and what it shows can be printed."""
        own = os.geteuid()
        hostile, honest = tmp_path / f"run/{own}/oci-udev-hook", tmp_path / f"tmp/oci-udev-hook-{own}"
        hostile.mkdir(parents=True)
        (hostile / FILE).write_text(prepared(since="1e18"))
        honest.mkdir(parents=True)
        (honest / FILE).write_text(prepared(since=str(2**40), until="null"))
        listing = others.users(str(tmp_path / "run"), str(tmp_path / "tmp"))
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
        assert len(listing.faults) == 1
        assert "36812-02-20 00:36:16" in printing.lease_table(listing.leases)

    def test_a_file_of_another_owner_is_passed_over(self, tmp_path: Path) -> None:
        """A link to another's file could be a hard one."""
        state = tmp_path / "run/12345/oci-udev-hook"
        state.parent.mkdir(parents=True)
        commit(state, lease(0))
        listing = others.users(str(tmp_path / "run"), str(tmp_path / "tmp"))
        assert listing.faults == (f"the ledger in {state} of uid 12345 was passed over: the file belongs to uid {os.geteuid()}",)

    @pytest.mark.parametrize(
        ("point", "kind", "hangs"),
        [
            pytest.param("/run/user/1000/oci-udev-hook", "fuse.evil", True, id="itself"),
            pytest.param("/run/user/1000", "fuse", True, id="above"),
            pytest.param("/run/user/1000/oci-udev-hook/ledger.json", "fuseblk", True, id="below"),
            pytest.param("/run/user/1000/doc", "fuse.portal", False, id="beside"),
            pytest.param("/run/user/1000", "tmpfs", False, id="tmpfs"),
        ],
    )
    def test_a_file_system_that_its_user_serves_is_not_entered(self, point: str, kind: str, *, hangs: bool) -> None:
        """It could let root wait for ever."""
        mountinfo = f"22 1 254:0 / / rw shared:1 - ext4 /dev/root rw\n90 22 0:50 / {point} rw,nosuid,nodev shared:9 - {kind} x rw\n"
        assert others._on_fuse("/run/user/1000/oci-udev-hook", mountinfo) == hangs

    def test_a_mount_point_may_hold_what_looks_like_a_line_end(self) -> None:
        """The kernel escapes blanks, tabs, newlines and backslashes alone, proc_pid_mountinfo(5)."""
        mountinfo = "90 22 0:50 / /tmp/a\x0bb\u2028c rw - fuse x rw\n"
        assert others._on_fuse("/tmp/a\x0bb\u2028c/oci-udev-hook", mountinfo)
