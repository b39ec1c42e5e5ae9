"""Which definition files count on a host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oci_udev_hook.inventory import cache as cached
from oci_udev_hook.inventory import resources
from oci_udev_hook.inventory.catalog import Catalog
from oci_udev_hook.model import Resource

GOOD = '[[resource]]\nname = "a.example/{}"\npaths = ["/dev/x"]\n'


@pytest.fixture
def dirs(tmp_path: Path) -> tuple[str, str, str]:
    """The three folders of definitions, the later ones before the earlier ones."""
    names = ("usr", "run", "etc")
    for name in names:
        (tmp_path / name / "resources.d").mkdir(parents=True)
    usr, run, etc = (str(tmp_path / name) for name in names)
    return usr, run, etc


def write(directory: str, name: str, content: str = GOOD) -> str:
    path = Path(directory, "resources.d", name)
    path.write_text(content, encoding="utf-8")
    return str(path)


def names(dirs: tuple[str, ...]) -> list[str]:
    """The names of all resources, without their domain."""
    catalog = resources.load(dirs)
    assert catalog.faults == ()
    return [name.removeprefix("a.example/") for name in catalog.resources]


def test_files_of_all_folders_count_in_the_order_of_their_names(dirs: tuple[str, str, str]) -> None:
    write(dirs[0], "50-b.toml", GOOD.format("b"))
    write(dirs[1], "10-a.json", '{"resource": [{"name": "a.example/a", "paths": ["/dev/x"]}]}')
    write(dirs[2], "90-c.toml", GOOD.format("c"))
    assert names(dirs) == ["a", "b", "c"]


def test_a_file_masks_one_of_the_same_name_in_an_earlier_folder(dirs: tuple[str, str, str]) -> None:
    write(dirs[0], "50-x.toml", GOOD.format("usr"))
    write(dirs[1], "50-x.toml", GOOD.format("run"))
    assert names(dirs) == ["run"]
    write(dirs[2], "50-x.toml", GOOD.format("etc"))
    assert names(dirs) == ["etc"]


def test_a_bad_file_that_is_masked_is_not_read(dirs: tuple[str, str, str]) -> None:
    write(dirs[0], "50-x.toml", "?")
    write(dirs[2], "50-x.toml", GOOD.format("etc"))
    assert names(dirs) == ["etc"]


def test_the_other_form_masks_nothing(dirs: tuple[str, str, str]) -> None:
    write(dirs[0], "50-x.toml", GOOD.format("toml"))
    write(dirs[2], "50-x.json", "{}")
    assert names(dirs) == ["toml"]


def test_an_empty_file_switches_one_off(dirs: tuple[str, str, str]) -> None:
    write(dirs[0], "50-x.toml", GOOD.format("usr"))
    write(dirs[2], "50-x.toml", "")
    assert names(dirs) == []


def test_a_link_to_dev_null_switches_one_off(dirs: tuple[str, str, str]) -> None:
    write(dirs[0], "50-x.toml", GOOD.format("usr"))
    Path(dirs[2], "resources.d", "50-x.toml").symlink_to("/dev/null")
    assert names(dirs) == []


def test_a_link_to_a_file_is_that_file(dirs: tuple[str, str, str], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(GOOD.format("x"), encoding="utf-8")
    Path(dirs[2], "resources.d", "x.toml").symlink_to(tmp_path / "elsewhere")
    assert names(dirs) == ["x"]


@pytest.mark.parametrize("name", ["60-t.conf", "60-t.yaml", "60-t.yml", "60-t.tml", "60-t.TOML", "60-t.Json", "60-t.txt", "60-t"])
def test_a_file_that_was_meant_as_a_definition_is_told(dirs: tuple[str, str, str], name: str) -> None:
    path = write(dirs[2], name, "?")
    assert resources.load(dirs) == Catalog({}, ignored=(f"{path} is not read: definition files end in .toml or .json",))


@pytest.mark.parametrize(
    "name",
    [
        "README",
        "README.txt",
        "x.toml~",
        "x~",
        "#x#",
        "x.toml.swp",
        "x.toml.bak",
        "x.toml.rpmsave",
        "x.toml.dpkg-old",
        ".x.conf",
        ".x",
        "x.pem",
        "x\ny",
    ],
)
def test_a_file_of_quite_another_name_is_passed_over(dirs: tuple[str, str, str], name: str) -> None:
    """Among them what editors and package managers leave."""
    write(dirs[2], name, "?")
    assert resources.load(dirs) == Catalog({})


def test_a_folder_among_the_definitions_is_passed_over(dirs: tuple[str, str, str]) -> None:
    Path(dirs[2], "resources.d", "old").mkdir()
    assert resources.load(dirs) == Catalog({})


def test_ignored_files_are_told_whatever_the_cache_has(dirs: tuple[str, str, str], tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    cached.store(cache, resources._key(resources._sources(dirs)[0]), Catalog({}, faults=("kept",)))
    paths = [write(dirs[0], "b.conf"), write(dirs[2], "a.conf"), write(dirs[2], "b.yml")]
    told = tuple(f"{path} is not read: definition files end in .toml or .json" for path in paths)
    assert resources.load(dirs, cache) == Catalog({}, faults=("kept",), ignored=told)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        pytest.param("nu.example/consol", "nu.example/console", id="kind"),
        pytest.param("nu.exampel/console", "nu.example/console", id="domain"),
        pytest.param("nu.exampel/Console", "nu.example/console", id="both"),
        pytest.param("nu.example/rgn", "nu.example/rng", id="a faulty one"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(name: str, meant: str) -> None:
    """Then it is beside the point that udev rules cannot mark any."""
    known = Catalog({one: Resource(one) for one in ("nu.example/console", "other.test/consol")}, {"nu.example/rng": "why"}, unmarked="x")
    assert (
        known.why_not(name) == f"{name} is not defined on this host, did you mean {meant}? `oci-udev-hook resources` lists those that are"
    )


@pytest.mark.parametrize("name", ["nu.example/gpu", "hardware-vendor.test/console"])
def test_a_name_that_is_far_from_all_was_no_slip(name: str) -> None:
    """Though most of it, the domain or the kind, is that of another."""
    known = Catalog({"nu.example/console": Resource("nu.example/console")})
    assert known.why_not(name) == f"{name} is not defined on this host; `oci-udev-hook resources` lists those that are"


@pytest.mark.parametrize("name", ["README", "x.toml~", "x.toml.dpkg-new", ".x.toml", ".#x.toml", "x.TOML", "toml"])
def test_a_file_of_another_name_is_no_definition(dirs: tuple[str, str, str], name: str) -> None:
    write(dirs[2], name, "?")
    assert names(dirs) == []


def test_a_host_without_definitions_has_none(tmp_path: Path) -> None:
    catalog = resources.load((str(tmp_path / "none"),))
    assert catalog == Catalog({}, {}, (), ())
    assert catalog.why_not("a.example/x") == "a.example/x is not defined on this host; `oci-udev-hook resources` lists those that are"


def test_what_is_no_readable_file_is_told_and_other_files_count(dirs: tuple[str, str, str], tmp_path: Path) -> None:
    folder = Path(dirs[2], "resources.d")
    write(dirs[0], "good.toml", GOOD.format("good"))
    (folder / "folder.toml").mkdir()
    (folder / "gone.toml").symlink_to("nothing")
    (folder / "loop.toml").symlink_to("loop.toml")
    (folder / "zero.toml").symlink_to("/dev/zero")
    Path(os.fsdecode(os.fsencode(folder) + b"/new\nline\xff.toml")).touch()
    with open(folder / "big.toml", "wb") as file:
        file.truncate(resources.SIZE_MAX + 1)
    (tmp_path / "run" / "resources.d").rmdir()
    (tmp_path / "run" / "resources.d").touch()
    catalog = resources.load(dirs)
    assert list(catalog.resources) == ["a.example/good"]
    assert catalog.unreadable == catalog.faults
    assert catalog.faults == (
        f"{dirs[1]}/resources.d: cannot be listed: Not a directory",
        f"{folder}/'new\\nline\\udcff.toml': has a name that cannot be printed",
        f"{folder}/big.toml: has 1048577 bytes, a definition file has at most 1048576",
        f"{folder}/folder.toml: is no file",
        f"{folder}/gone.toml: is a link to nothing",
        f"{folder}/loop.toml: cannot be read: Too many levels of symbolic links",
        f"{folder}/zero.toml: is no file",
    )
