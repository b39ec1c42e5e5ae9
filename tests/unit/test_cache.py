"""The checked form of the definitions is kept while it holds, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from oci_udev_hook import places
from oci_udev_hook.inventory import cache, definitions, resources
from oci_udev_hook.inventory.catalog import Catalog

DATA = Path(__file__).parents[1] / "data" / "resources"
GOOD = '[[resource]]\nname = "a.example/{}"\nmatch = [\'KERNEL=="x", ENV{{A}}!="é|"\']\n'


class Host:
    """A folder of definitions that are older than a tick, and a state folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files = folder / "resources.d"
        self.files.mkdir()
        self.folder = folder
        self.state = folder / "state"
        self.state.mkdir()
        self.cache = self.state / "definitions.json"
        self.read: list[tuple[resources.Source, ...]] = []
        monkeypatch.setattr(definitions, "_settled", lambda *_: True)
        original = definitions.read
        monkeypatch.setattr(definitions, "read", lambda found: (self.read.append(found), original(found))[1])

    def load(self) -> Catalog:
        """The catalog, with the cache."""
        return resources.load((str(self.folder),), str(self.cache))

    def kept(self) -> bool:
        """Whether the next start does not read the files."""
        before = len(self.read)
        self.load()
        return len(self.read) == before


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host with one definition."""
    host = Host(tmp_path, monkeypatch)
    (host.files / "a.toml").write_text(GOOD.format("x"), encoding="utf-8")
    return host


@pytest.mark.parametrize("name", ["full.toml", "full.json", "faulty.toml"])
def test_what_is_kept_is_what_was_read(host: Host, name: str) -> None:
    """The good and the faulty files alike: a bad file does not slow down each start."""
    (host.files / name).write_bytes((DATA / name).read_bytes())
    (host.files / "unreadable.json").write_text("?", encoding="ascii")
    first = host.load()
    assert host.kept()
    assert host.load() == first
    assert first.resources["a.example/x"].rules[0].terms[1].patterns == ("é", "")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda files: (files / "a.toml").write_text(GOOD.format("y"), encoding="utf-8"), id="content"),
        pytest.param(lambda files: os.utime(files / "a.toml"), id="times"),
        pytest.param(lambda files: (files / "b.toml").write_text(GOOD.format("y"), encoding="utf-8"), id="one more"),
        pytest.param(lambda files: (files / "a.toml").rename(files / "b.toml"), id="name"),
        pytest.param(lambda files: (files / "a.toml").unlink(), id="one less"),
        pytest.param(lambda files: (files / "a.toml").write_bytes(b""), id="emptied"),
        pytest.param(lambda files: (files / "b.toml").mkdir(), id="folder"),
    ],
)
def test_files_that_have_changed_are_read_again(host: Host, change: Callable[[Path], object]) -> None:
    host.load()
    assert host.kept()
    change(host.files)
    assert not host.kept()
    assert host.kept()


def test_another_version_reads_again(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.load()
    monkeypatch.setattr(resources, "__version__", "0.0.0")
    assert not host.kept()


def test_another_schema_reads_again(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host.load()
    (tmp_path / "schema.json").write_bytes(Path(resources.SCHEMA).read_bytes() + b"\n")
    monkeypatch.setattr(resources, "SCHEMA", str(tmp_path / "schema.json"))
    assert not host.kept()


def damaged(good: bytes) -> list[bytes]:
    """A GOOD cache in all kinds of bad shape."""
    halves = [good[:length] for length in range(0, len(good), 40)]
    flipped = [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(0, len(good), 23)]
    return [*halves, *flipped, good + b"x", b"\0" * len(good), b"\xff", b"{}", b"00000000\n"]


def test_a_damaged_one_is_made_anew_without_a_word(host: Host) -> None:
    first = host.load()
    good = host.cache.read_bytes()
    key = json.loads(good.partition(b"\n")[2])["key"]
    assert cache.fetch(str(host.cache), key) == first
    for content in damaged(good):
        host.cache.write_bytes(content)
        assert cache.fetch(str(host.cache), key) is None
    assert host.load() == first
    assert host.cache.read_bytes() == good


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"key": ["key"]}',
        b'{"key": ["key"], "resources": [[]], "broken": {}, "faults": [], "unreadable": []}',
        b'{"key": ["key"], "resources": 1, "broken": {}, "faults": [], "unreadable": []}',
    ],
)
def test_one_of_another_shape_is_none(tmp_path: Path, content: bytes) -> None:
    """Its checksum may be right: it is what another version has kept, which has forgotten to raise FORMAT."""
    (tmp_path / "cache").write_bytes(cache._checksum(content) + b"\n" + content)
    assert cache.fetch(str(tmp_path / "cache"), ["key"]) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_one_that_others_could_write_is_not_believed(host: Host, mode: int) -> None:
    host.load()
    host.cache.chmod(mode)
    assert not host.kept()
    assert host.cache.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_one_of_another_user_is_not_believed(host: Host) -> None:
    host.load()
    os.chown(host.cache, 65534, 65534)
    assert not host.kept()
    assert host.cache.stat().st_uid == 0


def test_a_link_is_not_followed(host: Host) -> None:
    host.load()
    host.cache.rename(host.state / "other")
    host.cache.symlink_to("other")
    assert not host.kept()
    assert not host.cache.is_symlink()


def test_a_pipe_does_not_stop_the_start(host: Host) -> None:
    os.mkfifo(host.cache)
    assert list(host.load().resources) == ["a.example/x"]
    assert host.kept()


def test_where_nothing_can_be_kept_the_files_are_read(host: Host) -> None:
    """A folder stands where the file should: the new one is removed again."""
    host.cache.mkdir()
    assert not host.kept()
    assert os.listdir(host.state) == ["definitions.json"]
    host.cache.rmdir()
    host.state.rmdir()
    assert not host.kept()


def test_without_a_state_folder_nothing_is_kept(host: Host) -> None:
    assert list(resources.load((str(host.folder),)).resources) == ["a.example/x"]
    assert os.listdir(host.state) == []


def test_a_file_that_has_just_changed_is_not_kept_yet(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "_settled", lambda *_: False)
    assert not host.kept()
    assert os.listdir(host.state) == []


def test_a_file_that_changes_while_it_is_read_is_not_kept(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = resources._sources((str(host.folder),))
    (host.files / "a.toml").write_text(GOOD.format("longer"), encoding="utf-8")
    catalog, settled = definitions.read(found)
    assert list(catalog.resources) == ["a.example/longer"]
    assert not settled


@pytest.mark.parametrize(
    ("changed", "now", "expected"),
    [
        pytest.param(1_000_000_001, 1_000_000_001, False, id="now"),
        pytest.param(1_000_000_001, 1_020_000_001, False, id="within a tick"),
        pytest.param(1_000_000_001, 1_020_000_002, True, id="after it"),
        pytest.param(1_000_000_000, 2_500_000_000, False, id="whole seconds"),
        pytest.param(1_000_000_000, 3_000_000_001, True, id="whole seconds, after two"),
        pytest.param(9_000_000_001, 1_000_000_000, True, id="the clock was set back"),
    ],
)
def test_a_file_settles_after_a_tick(changed: int, now: int, expected: bool) -> None:
    assert definitions._settled(changed, now) is expected


def test_racing_writers_leave_one_whole_file(host: Host) -> None:
    catalogs = []
    for name in ("x", "y" * 60):
        (host.files / "a.toml").write_text(GOOD.format(name), encoding="utf-8")
        catalogs.append(resources.load((str(host.folder),)))
    found: list[Catalog | None] = []

    def race(catalog: Catalog) -> None:
        for _ in range(15):
            cache.store(str(host.cache), ["key"], catalog)
            found.append(cache.fetch(str(host.cache), ["key"]))

    threads = [threading.Thread(target=race, args=(catalogs[number % 2],)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 60
    assert all(catalog in catalogs for catalog in found)
    assert os.listdir(host.state) == ["definitions.json"]


def test_a_kept_form_needs_none_of_the_readers(host: Host) -> None:
    """A start with known definitions loads no TOML reader, no schema checker and no reader of match lines."""
    host.load()
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from oci_udev_hook.inventory import resources; "
        "print(*resources.load((sys.argv[2],), sys.argv[3]).resources); print(*sys.modules)"
    )
    source = str(Path(places.__file__).parents[1])
    arguments = [sys.executable, "-I", "-S", "-c", program, source, str(host.folder), str(host.cache)]
    output = subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    assert output[0] == "a.example/x"
    inventory = "oci_udev_hook.inventory"
    own = [f"{inventory}.{name}" for name in ("definitions", "grammar", "fields", "complaints")]
    heavy = {"tomllib", "jsonschema", "dataclasses", "typing", "difflib", *own}
    assert heavy.isdisjoint(output[1].split())
