"""The way through libudev: how it is loaded, and what is asked of it. Real libudev and udevd: tests/engine/test_inventory.py."""

from __future__ import annotations

import ctypes.util
import sys
from typing import TYPE_CHECKING

import pytest

from bed.fakehost import NULL, FakeHost
from oci_udev_hook.errors import ConfigurationError
from oci_udev_hook.inventory import rules, udev
from oci_udev_hook.inventory.query import Query
from oci_udev_hook.inventory.survey import survey
from oci_udev_hook.model import Device, Resource

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.unit


def pretend(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    """Let TEXT be the module pyudev."""
    (folder / "pyudev.py").write_text(text)
    monkeypatch.delitem(sys.modules, "pyudev", raising=False)
    monkeypatch.syspath_prepend(folder)


class TestLoading:
    """pyudev 0.22 to 0.24.5 take the function from ctypes when they are imported and call it when a Context is made."""

    PYUDEV = "from ctypes.util import find_library\nclass Context:\n    def __init__(self):\n        self.library = find_library('udev')\n"

    def test_libudev_is_found_where_find_library_finds_nothing(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Case 38."""
        asked: list[str] = []
        monkeypatch.setattr(ctypes.util, "find_library", asked.append)
        pretend(monkeypatch, tmp_path, self.PYUDEV)

        context = udev._load().Context()

        assert context.library == "libudev.so.1"
        assert asked == []

    def test_other_libraries_are_looked_for_as_ever(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        def asked(name: str) -> str:
            return f"lib{name}.so.7"

        monkeypatch.setattr(ctypes.util, "find_library", asked)
        pretend(monkeypatch, tmp_path, self.PYUDEV)

        assert udev._load().find_library("libc") == "liblibc.so.7"
        assert ctypes.util.find_library is asked

    def test_without_pyudev_the_reason_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyudev", None)

        with pytest.raises(ConfigurationError) as caught:
            udev._load()
        assert str(caught.value) == (
            "the records in /run/udev/data are not those of systemd 247 or later, but pyudev, which reads such ones, does not load "
            "(import of pyudev halted; None in sys.modules): install python3-pyudev"
        )

    def test_without_libudev_the_reason_is_said(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        pretend(
            monkeypatch,
            tmp_path,
            "class Devices: pass\nclass DeviceNotFoundError(Exception): pass\nclass Context:\n    def __init__(self):\n"
            "        raise ImportError('No library named udev')\n",
        )

        with pytest.raises(ConfigurationError) as caught:
            udev.Reader(Query())
        assert str(caught.value) == (
            "the records in /run/udev/data are not those of systemd 247 or later, but libudev.so.1, which reads such ones, does not load "
            "(No library named udev): install libudev"
        )


class Library:
    """A libudev of a device with two tags; entries are numbered from 1."""

    TAGS = (b"old", b"new")

    def udev_device_get_tags_list_entry(self, device: object) -> int:
        return 1

    def udev_list_entry_get_next(self, entry: int) -> int:
        return entry + 1 if entry < len(self.TAGS) else 0

    def udev_list_entry_get_name(self, entry: int) -> bytes:
        return self.TAGS[entry - 1]

    def udev_list_entry_get_value(self, entry: int) -> None:
        return None


class NewerLibrary(Library):
    """One of systemd 247 or later."""

    def udev_device_has_current_tag(self, device: object, tag: bytes) -> int:
        return int(tag == b"new")


@pytest.mark.parametrize(
    ("library", "expected"),
    [pytest.param(NewerLibrary(), [b"new"], id="systemd"), pytest.param(Library(), [b"old", b"new"], id="eudev")],
)
def test_only_current_tags_count_where_udev_tells_them_apart(library: Library, expected: list[bytes]) -> None:
    """Case 39: an older udev keeps no stale tags, so there all that a device has are current."""
    texts = udev._Texts.__new__(udev._Texts)
    texts.library = library

    assert list(texts.current_tags(object())) == expected


@pytest.mark.parametrize(
    ("value", "separator", "expected"),
    [(":b:a:", ":", ":a:b:"), (":a:", ":", ":a:"), ("/dev/b /dev/a", " ", "/dev/a /dev/b"), ("", " ", "")],
)
def test_lists_are_sorted(value: str, separator: str, expected: str) -> None:
    assert udev._sorted_list(value, separator) == expected


def test_libudev_is_asked_where_a_record_is_of_another_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What eudev and systemd before 247 write has no `V:1`."""
    host = FakeHost(tmp_path)
    devpath = host.adapter("1-2", "ttyUSB0", NULL, record="E:ID_VENDOR_ID=0403\n")
    asked: list[str] = []

    class Reader:
        def __init__(self, query: Query) -> None:
            assert query.attributes == ("a",)

        def device(self, path: str) -> Device | None:
            asked.append(path)

        def parents(self, path: str) -> tuple[Device, ...]:
            return ()

    monkeypatch.setattr(udev, "Reader", Reader)

    found = survey([Resource("a.b/c", rules=(rules.parse('SUBSYSTEM=="tty", ATTR{a}=="1"'),))], roots=host.roots)

    assert asked == [devpath]
    assert found.units == {"a.b/c": ()}
