"""Definition files are read whole, checked whole, and each fault is named by file, place and value."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from oci_udev_hook.errors import ConfigurationError
from oci_udev_hook.inventory import definitions, resources, rules
from oci_udev_hook.inventory.catalog import Catalog
from oci_udev_hook.model import Missing, Resource

DATA = Path(__file__).parents[1] / "data" / "resources"
NAME = "hardware-vendor.example/foo"
LABELS = 'may hold only lower-case letters, digits, "-" and "."'
FIELDS = "name, match, paths, sharing, permissions, path, links, uid, gid, mode, env, missing"
SCHEMA = json.loads(Path(resources.SCHEMA).read_text(encoding="utf-8"))


def load(folder: Path, **files: str | bytes) -> Catalog:
    """The catalog of FILES, whose names are written with `_` for the dot."""
    (folder / "resources.d").mkdir()
    for name, content in files.items():
        path = folder / "resources.d" / name.replace("_", ".")
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return resources.load((str(folder),))


@pytest.mark.parametrize("form", ["toml", "json"])
def test_both_forms_say_the_same(tmp_path: Path, form: str) -> None:
    catalog = load(tmp_path, **{f"50-full_{form}": (DATA / f"full.{form}").read_bytes()})
    source = f"{tmp_path}/resources.d/50-full.{form}"
    serial = Resource(
        name="hardware-vendor.example/serial",
        rules=(
            rules.parse('SUBSYSTEM=="tty", ENV{ID_VENDOR_ID}=="0403", ENV{ID_MODEL_ID}=="6001|6015"'),
            rules.parse('SUBSYSTEM=="tty", ATTRS{idVendor}=="1a86"'),
        ),
        sharing=2,
        permissions="rwm",
        path="/dev/{name}-{index}-{serial}-{ID_MODEL}",
        links=False,
        uid=1000,
        gid=20,
        mode=0o660,
        env=(("PORTS", "{paths}"), ("COUNT", "{count} of {{serial}}"), ("_", "")),
        missing=Missing.SKIP,
        source=source,
    )
    gpu = Resource(name="hardware-vendor.example/gpu", paths=("/dev/nvidia[0-9]*", "/dev/dri/render*"), source=source)
    assert catalog == Catalog({serial.name: serial, gpu.name: gpu}, {}, (), ())


def test_a_file_of_comments_defines_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, a_toml="# [[resource]]\n", b_json="{}") == Catalog({}, {}, (), ())


def test_a_whole_number_may_be_written_with_a_point(tmp_path: Path) -> None:
    catalog = load(tmp_path, a_json=json.dumps({"resource": [{"name": NAME, "paths": ["/dev/x"], "sharing": 2.0}]}))
    assert repr(catalog.resources[NAME].sharing) == "2"


def test_no_variables_are_not_the_default_ones(tmp_path: Path) -> None:
    assert load(tmp_path, a_toml=f'[[resource]]\nname = "{NAME}"\npaths = ["/dev/x"]\nenv = {{}}').resources[NAME].env == ()


#: What a resource says besides its name, and the predicates of what is wrong with it, each behind `resource[0]`.
BAD_RESOURCES: list[Any] = [
    pytest.param("", [" has neither match nor paths, one of them must say which devices belong to it"], id="neither match nor paths"),
    pytest.param('match = "x"', [".match is \"x\", it must be a list of lines: match = ['…']"], id="match no list"),
    pytest.param("match = []", [".match is empty"], id="no line"),
    pytest.param("match = [1]", [".match[0] is 1, it must be a string"], id="line no text"),
    pytest.param("match = ['']", [".match[0] is empty"], id="empty line"),
    pytest.param(
        "match = [',']", [".match[0], column 1: the line is empty and would take every device of the host"], id="line without a term"
    ),
    pytest.param(
        """match = ['KERNEL=="x"', 'KERNEL="x", RUN=="y"']""",
        [
            ".match[1], column 1: KERNEL= sets something, a match line only compares: write KERNEL== or KERNEL!=",
            ".match[1], column 13: RUN cannot stand in a match line: it runs a program",
        ],
        id="line that acts",
    ),
    pytest.param('paths = "/dev/x"', ['.paths is "/dev/x", it must be a list of paths: paths = ["/dev/…"]'], id="paths no list"),
    pytest.param("paths = []", [".paths is empty"], id="no path"),
    pytest.param("paths = [true]", [".paths[0] is true, it must be a string"], id="path no text"),
    *[
        pytest.param(f'paths = ["{path}"]', [f'.paths[0] is "{path}", it must be a path below /dev without "//", "." and ".."'], id=path)
        for path in ("", "/dev", "/dev/", "/etc/x", "dev/x", "/dev/../x", "/dev//x", "/dev/./x", "/dev/x/")
    ],
    pytest.param("sharing = 0", [".sharing is 0, it must be at least 1"], id="nobody"),
    pytest.param('sharing = "2"', ['.sharing is "2", it must be a whole number'], id="sharing no number"),
    pytest.param("sharing = 1.5", [".sharing is 1.5, it must be a whole number"], id="half a container"),
    pytest.param("sharing = inf", [".sharing is Infinity, it must be a whole number"], id="infinitely many"),
    pytest.param("sharing = true", [".sharing is true, it must be a whole number"], id="true is no number"),
    pytest.param("sharing = 2024-01-01", ['.sharing is "2024-01-01", it must be a whole number'], id="date"),
    *[
        pytest.param(
            f'permissions = "{value}"', [f'.permissions is "{value}", it must be letters of r, w and m, each at most once'], id=f"{value}."
        )
        for value in ("", "rr", "x", "rw ", "RW")
    ],
    pytest.param("permissions = 6", [".permissions is 6, it must be a string"], id="permissions no text"),
    *[
        pytest.param(f'path = "{path}"', [f'.path is "{path}", it must be an absolute path without "//", "." and ".."'], id=f"path {path}")
        for path in ("", "x", "/", "/dev/", "/dev/../x", "//dev/x")
    ],
    pytest.param(
        'path = "/dev/{index"',
        ['.path is "/dev/{index", but it has a brace without its partner or with nothing in it; a plain brace is written twice'],
        id="brace",
    ),
    pytest.param(
        'path = "/dev/{paths}"',
        ['.path is "/dev/{paths}", but {paths} is none of {name}, {index}, {serial} and no property of udev\'s'],
        id="paths in a path",
    ),
    pytest.param("path = {tty = 'x'}", ['.path is {"tty": "x"}, it must be a string'], id="path by subsystem"),
    pytest.param("links = 1", [".links is 1, it must be true or false"], id="links"),
    pytest.param("uid = -1", [".uid is -1, it must be at least 0"], id="uid below 0"),
    pytest.param("uid = 4294967295", [".uid is 4294967295, it must be at most 4294967294"], id="uid_t -1"),
    pytest.param('uid = "root"', ['.uid is "root", it must be a whole number'], id="user by name"),
    pytest.param("gid = -1", [".gid is -1, it must be at least 0"], id="gid below 0"),
    pytest.param("gid = 4294967295", [".gid is 4294967295, it must be at most 4294967294"], id="gid_t -1"),
    pytest.param('gid = "dialout"', ['.gid is "dialout", it must be a whole number'], id="group by name"),
    pytest.param("mode = 0o660", ['.mode is 432, it must be a string of octal digits as in "0660"'], id="mode as a number"),
    *[
        pytest.param(f'mode = "{mode}"', [f'.mode is "{mode}", it must be permission bits in octal as in "0660"'], id=f"mode {mode}")
        for mode in ("", "66", "1660", "06600", "0680", "rw-", "-660", "0 66")
    ],
    pytest.param("env = []", [".env is [], it must be a table"], id="env no table"),
    pytest.param("env = {A = 1}", [".env.A is 1, it must be a string"], id="variable no text"),
    *[
        pytest.param(
            f"env = {{'{name}' = 'x'}}",
            [f'.env has the name "{name}", but a variable\'s name has letters, digits and "_" and no digit in front'],
            id=f"variable {name}",
        )
        for name in ("", "1A", "A-B", "A=", "É")
    ],
    pytest.param(
        "env = {A = 'a}', 'B C' = '{x}'}",
        [
            '.env.A is "a}", but it has a brace without its partner or with nothing in it; a plain brace is written twice',
            '.env has the name "B C", but a variable\'s name has letters, digits and "_" and no digit in front',
            '.env["B C"] is "{x}", but {x} is none of {name}, {index}, {serial}, {paths}, {count} and no property of udev\'s',
        ],
        id="variable's template",
    ),
    pytest.param('missing = "wait"', ['.missing is "wait", it must be "fail" or "skip"'], id="missing"),
    pytest.param(
        'missing = "10s"', ['.missing is "10s", it must be "fail" or "skip"; this version cannot wait for a device'], id="missing waits"
    ),
    *[
        pytest.param(f"{field} = 1", [f" has the field {field}, which this version does not know yet; take it out"], id=field)
        for field in ("unit", "with", "order", "udev", "mounts", "who")
    ],
    pytest.param("Sharng = 1", [' has the field "Sharng", which is not known; write sharing'], id="misspelt"),
    pytest.param("colour = 1", [f' has the field "colour", which is not one of {FIELDS}'], id="unknown"),
    pytest.param(
        r'path = "/dev/x\u0000"',
        [".path has the character U+0000 in it, which no name can have"],
        id="zero",
    ),
]


def resource(text: str, name: str = NAME) -> str:
    """TEXT as the first resource of a TOML file; it is given devices where it is not devices that it speaks of."""
    devices = "" if text.startswith(("match", "paths")) or not text else 'paths = ["/dev/x"]\n'
    return f'[[resource]]\nname = "{name}"\n{devices}{text}\n'


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Catalog]:
    """A folder with a file for each of BAD_RESOURCES, and what comes of it."""
    folder = tmp_path_factory.mktemp("bad")
    files = {f"{index:03}_toml": resource(case.values[0], f"a.example/{index}") for index, case in enumerate(BAD_RESOURCES)}
    return f"{folder}/resources.d", load(folder, **files)


@pytest.mark.parametrize("index", range(len(BAD_RESOURCES)), ids=[case.id for case in BAD_RESOURCES])
def test_a_fault_is_named_by_file_place_and_value(bad: tuple[str, Catalog], index: int) -> None:
    folder, catalog = bad
    text, predicates = BAD_RESOURCES[index].values
    file = f"{folder}/{index:03}.toml: "
    faults = [fault.removeprefix(file) for fault in catalog.faults if fault.startswith(file)]
    assert sorted(faults) == sorted(f"resource[0]{predicate}" for predicate in predicates), text
    assert f"a.example/{index}" in catalog.broken


def test_a_faulty_file_gives_no_resources_and_is_readable(bad: tuple[str, Catalog]) -> None:
    _, catalog = bad
    assert catalog.resources == {}
    assert catalog.unreadable == ()
    assert len(catalog.faults) == sum(len(case.values[1]) for case in BAD_RESOURCES)


#: Whole JSON files and what is wrong with each.
BAD_FILES: list[Any] = [
    pytest.param([1], ["the file is [1], it must be a table"], id="list"),
    pytest.param(
        {"resources": []}, ['the file has the key "resources", it can have nothing but resource: write [[resource]]'], id="resources"
    ),
    pytest.param({"devices": []}, ['the file has the key "devices", it can have nothing but resource'], id="other key"),
    pytest.param({"name": NAME}, ["the file has the key name outside of a resource: put [[resource]] above it"], id="a field at the top"),
    pytest.param(
        {"name": NAME, "match": [], "sharing": 2, "x": 1, "Resource": []},
        [
            "the file has the keys name, match and sharing outside of a resource: put [[resource]] above them",
            'the file has the key "x", it can have nothing but resource',
            'the file has the key "Resource", it can have nothing but resource: write [[resource]]',
        ],
        id="fields at the top",
    ),
    pytest.param(
        {"resource": {"name": NAME}},
        [f'resource is {{"name": "{NAME}"}}, it must be a list: write [[resource]], with two pairs of brackets'],
        id="table",
    ),
    pytest.param({"resource": [1]}, ["resource[0] is 1, it must be a table"], id="resource no table"),
    pytest.param({"resource": [{"paths": ["/dev/x"]}]}, ["resource[0] has no name, it must say which resource it defines"], id="no name"),
    pytest.param({"resource": [{"name": 1, "paths": ["/dev/x"]}]}, ["resource[0].name is 1, it must be a string"], id="name no text"),
    pytest.param(
        {"resource": [{"name": "Foo/bar", "paths": ["/dev/x"]}]},
        [f'resource[0].name is "Foo/bar", but the domain "Foo" {LABELS}'],
        id="name",
    ),
    pytest.param(
        {"resource": [{"name": "a..b/c", "paths": ["/dev/x"]}]},
        ['resource[0].name is "a..b/c", but the domain "a..b" has an empty part between its dots'],
        id="name that the pattern lets through",
    ),
    pytest.param(
        {"resource": [{"name": NAME, "paths": ["/dev/x"]}, {"name": "a/b"}, {"name": NAME, "paths": ["/dev/x"]}]},
        [
            "resource[1] has neither match nor paths, one of them must say which devices belong to it",
            f'resource[2].name is "{NAME}", which resource[0] defines already',
        ],
        id="one name twice",
    ),
]


@pytest.mark.parametrize(("data", "faults"), BAD_FILES)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, data: object, faults: list[str]) -> None:
    catalog = load(tmp_path, a_json=json.dumps(data))
    assert list(catalog.faults) == [f"{tmp_path}/resources.d/a.json: {fault}" for fault in faults]
    assert catalog.resources == {}


def clauses(schema: dict[str, Any], path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all that SCHEMA demands."""
    for key, value in schema.items():
        here = (*path, key)
        if key == "properties":
            for name, below in value.items():
                yield from clauses(below, (*here, name))
        elif key in {"items", "propertyNames"} or (key == "additionalProperties" and value is not False):
            yield from clauses(value, here)
        elif key not in {"$schema", "title", "description"}:
            yield here


def test_each_clause_of_the_schema_has_a_file_that_breaks_it() -> None:
    documents: list[object] = [tomllib.loads(resource(case.values[0])) for case in BAD_RESOURCES]
    documents += [case.values[0] for case in BAD_FILES]
    broken = {tuple(error.absolute_schema_path) for document in documents for error in Draft7Validator(SCHEMA).iter_errors(document)}
    assert sorted(map(str, broken)) == sorted(map(str, clauses(SCHEMA)))


def test_each_property_of_the_schema_is_described() -> None:
    properties = {**SCHEMA["properties"], **SCHEMA["properties"]["resource"]["items"]["properties"]}
    assert all(value["description"].endswith(".") for value in properties.values())


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = f"{tmp_path}/resources.d/faulty.toml"
    catalog = load(tmp_path, faulty_toml=(DATA / "faulty.toml").read_bytes())
    assert [fault.removeprefix(f"{path}: ") for fault in catalog.faults] == [
        "resource[1] has the field unit, which this version does not know yet; take it out",
        'resource[1] has the field "shared", which is not known; write sharing',
        "resource[1].match[2] is empty",
        "resource[1].paths[1] is 1, it must be a string",
        "resource[1].sharing is 0, it must be at least 1",
        'resource[1].links is "yes", it must be true or false',
        "resource[1].uid is -1, it must be at least 0",
        "resource[1].gid is 4294967295, it must be at most 4294967294",
        'resource[1].mode is 660, it must be a string of octal digits as in "0660"',
        "resource[1].env.C is true, it must be a string",
        'resource[1].missing is "10s", it must be "fail" or "skip"; this version cannot wait for a device',
        f'resource[1].name is "hardware_vendor.example/foo", but the domain "hardware_vendor.example" {LABELS}',
        "resource[1].match[0], column 19: RUN cannot stand in a match line: it runs a program",
        'resource[1].match[1], column 1: "KERNAL" is no key of udev\'s match language, write KERNEL',
        "resource[1].match[1], column 14: TAG= sets something, a match line only compares: write TAG== or TAG!=",
        'resource[1].paths[0] is "/etc/passwd", it must be a path below /dev without "//", "." and ".."',
        'resource[1].permissions is "rrw", it must be letters of r, w and m, each at most once',
        'resource[1].path is "dev/{index", but it has a brace without its partner or with nothing in it; a plain brace is written twice',
        'resource[1].env has the name "1A", but a variable\'s name has letters, digits and "_" and no digit in front',
        'resource[1].env.B is "{serail}", but {serail} is none of {name}, {index}, {serial}, {paths}, {count} and no property of udev\'s',
        "resource[2] has neither match nor paths, one of them must say which devices belong to it",
        'resource[2].name is "hardware-vendor.example/good", which resource[0] defines already',
    ]
    assert list(catalog.broken) == ["hardware-vendor.example/good", "hardware_vendor.example/foo"]
    assert catalog.why_not("hardware-vendor.example/good") == (
        f"hardware-vendor.example/good is not given out, because its definition is faulty: {path}: "
        "resource[1] has the field unit, which this version does not know yet; take it out; "
        'resource[1] has the field "shared", which is not known; write sharing; resource[1].match[2] is empty; and 19 more'
    )


@pytest.mark.parametrize(
    ("name", "content", "predicate"),
    [
        pytest.param("a_toml", "x = 1\ny\n", "is no TOML: Expected '=' after a key in a key/value pair (at line 2, column 2)", id="TOML"),
        pytest.param("a_toml", "x = 1\nx = 2\n", "is no TOML: Cannot overwrite a value (at line 2, column 6)", id="TOML key twice"),
        pytest.param("a_json", '{\n"a": 1 2\n}', "is no JSON: Expecting ',' delimiter (at line 2, column 8)", id="JSON"),
        pytest.param("a_json", '{"a": 1, "a": 2}', 'is no JSON: the key "a" stands twice in one object', id="JSON key twice"),
        pytest.param("a_json", r'["\ud800"]', "is no JSON: a text in it is half of a surrogate pair", id="JSON text"),
        pytest.param("a_json", "[NaN]", "is no JSON: a number in it is infinite or none at all", id="JSON constant"),
        pytest.param("a_json", "[1e999]", "is no JSON: a number in it is infinite or none at all", id="JSON number out of range"),
        pytest.param("a_json", "1" * 5000, "is no JSON: Exceeds the limit", id="JSON number"),
        pytest.param("a_json", "[" * 100000, "is nested too deeply", id="JSON nested"),
        pytest.param("a_toml", "x = " + "[" * 100000, "is nested too deeply", id="TOML nested"),
        pytest.param("a_json", '{"resource": ' + "[" * 700 + "]" * 700 + "}", "", id="JSON nested within reason"),
        pytest.param("a_toml", b"x = 1\n\xff", "is no UTF-8 text (at line 2)", id="no text"),
    ],
)
def test_a_file_that_is_no_data_is_unreadable(tmp_path: Path, name: str, content: str | bytes, predicate: str) -> None:
    path = f"{tmp_path}/resources.d/{name.replace('_', '.')}"
    catalog = load(tmp_path, **{name: content})
    assert len(catalog.faults) == 1
    assert catalog.faults[0].startswith(f"{path}: {predicate}")
    if predicate:
        assert catalog.unreadable == catalog.faults
        unless = f"unless it is in a file that cannot be read: {catalog.faults[0]}"
        assert catalog.why_not(NAME) == f"{NAME} is not defined on this host, {unless}"


@pytest.mark.parametrize(
    ("text", "fault", "hinted"),
    [
        pytest.param('match = ["KERNEL=="tty42""]', "Unclosed array (at line 2, column 20)", True, id="list"),
        pytest.param('match = [\n  "ATTRS{idVendor}!="0403"",\n]', "Unclosed array (at line 3, column 22)", True, id="a line of its own"),
        pytest.param(
            'match="TAG=="a""', "Expected newline or end of document after a statement (at line 2, column 14)", True, id="no list"
        ),
        pytest.param('match = ["KERNEL=="', "Unclosed array (at end of document)", True, id="end of the document"),
        pytest.param(
            'match = [\'KERNEL=="a", TAG=="b"\' x', "Unclosed array (at line 2, column 34)", False, id="single quotes, another fault"
        ),
        pytest.param('env = {A="b', "Illegal character '\\n' (at line 2, column 12)", False, id="no match line"),
    ],
)
def test_a_match_line_in_double_quotes_is_told_from_other_bad_toml(tmp_path: Path, text: str, fault: str, hinted: bool) -> None:
    catalog = load(tmp_path, a_toml=f"[[resource]]\n{text}\n")
    hint = """; a match line stands in single quotes: match = ['KERNEL=="tty42"']""" if hinted else ""
    assert catalog.faults == (f"{tmp_path}/resources.d/a.toml: is no TOML: {fault}{hint}",)


def test_other_files_count_and_a_name_in_two_is_in_none(tmp_path: Path) -> None:
    good = '[[resource]]\nname = "a.example/{}"\npaths = ["/dev/x"]\n'
    folder = f"{tmp_path}/resources.d"
    one, two, three, four = (good.format(number) for number in range(1, 5))
    catalog = load(tmp_path, a_toml=one + two, b_toml=two + three, c_toml=four + "x = 1", d_toml="?")
    assert list(catalog.resources) == ["a.example/1", "a.example/3"]
    both = "it can be in one file only"
    unknown = 'resource[0] has the field "x", which is not one of ' + FIELDS
    invalid = "is no TOML: Invalid statement (at line 1, column 1)"
    assert catalog.faults == (
        f"{folder}/c.toml: {unknown}",
        f"{folder}/d.toml: {invalid}",
        f"{folder}/a.toml: a.example/2 is defined in {folder}/b.toml too, {both}",
        f"{folder}/b.toml: a.example/2 is defined in {folder}/a.toml too, {both}",
    )
    assert catalog.broken == {
        "a.example/2": f"it is in {folder}/a.toml and in {folder}/b.toml, {both}",
        "a.example/4": f"{folder}/c.toml: {unknown}",
    }
    assert catalog.unreadable == (f"{folder}/d.toml: {invalid}",)


def test_a_file_is_opened_without_waiting_for_anyone(tmp_path: Path) -> None:
    (tmp_path / "resources.d").mkdir()
    os.mkfifo(tmp_path / "resources.d" / "a.toml")
    assert resources.load((str(tmp_path),)).faults == (f"{tmp_path}/resources.d/a.toml: is no file",)


@pytest.mark.parametrize(
    ("change", "predicate"),
    [
        pytest.param(os.mkfifo, "cannot be read: it is no regular file", id="a pipe"),
        pytest.param(os.mkdir, "cannot be read: it is no regular file", id="a folder"),
        pytest.param(lambda path: os.symlink("gone", path), "cannot be read: No such file or directory", id="a link to nothing"),
        pytest.param(
            lambda path: Path(path).write_bytes(b"#" * (resources.SIZE_MAX + 1)),
            f"cannot be read: it has more than {resources.SIZE_MAX} bytes",
            id="huge",
        ),
    ],
)
def test_what_a_file_has_become_since_it_was_seen_is_told(tmp_path: Path, change: Callable[[str], object], predicate: str) -> None:
    """It does not count as an empty one, nor with its first part only."""
    load(tmp_path, a_toml=resource("links = true"))
    found, _ = resources._sources((str(tmp_path),))
    path = found[0].path
    os.unlink(path)
    change(path)

    catalog, _ = definitions.read(found)

    assert catalog == Catalog({}, {}, (f"{path}: {predicate}",), (f"{path}: {predicate}",))


def test_without_the_schema_checker_nothing_is_taken_on_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(
        ConfigurationError, match=r"^definition files are checked with jsonschema, which does not load: .*; install python3-jsonschema$"
    ):
        load(tmp_path, a_toml=resource(""))
