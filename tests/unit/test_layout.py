"""The rules of the house, held by walking the imports."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import oci_udev_hook
from oci_udev_hook import stages, verbs

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(oci_udev_hook.__file__).parent
NAME = PACKAGE.name
ROOMS = ("requests", "inventory", "allocation", "injection")
MODULES = sorted(PACKAGE.rglob("*.py"))
#: What a room may know: words, pure helpers, and the careful way to files.
KNOWN_TO_ROOMS = {
    "__version__",
    "model",
    "edit",
    "leases",
    "errors",
    "frozen",
    "typed",
    "names",
    "template",
    "places",
    "files",
    "dependencies",
}
#: Third-party modules and the one place that may import each.
DOORS = {
    "pyudev": {"inventory/udev.py"},
    "structlog": {"log.py"},
    "yaml": {"requests/yamltext.py"},
    "jsonschema": {"inventory/complaints.py"},
}
#: What is called from outside, or through a table that is looked up by a word of the command line.
ENTRIES = {
    "__main__.main",
    "__main__.program",
    *[f"stages.{stage.__name__}" for stage in stages.STAGES.values()],
    *[f"verbs.{verb.__name__}" for verb in verbs.VERBS.values()],
}
#: Modules that are vocabulary: whole, whoever uses which word of it.
VOCABULARY = {"model", "edit", "errors", "places"}


@lru_cache
def imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """The full names that a module imports, and whether it does so when it is loaded."""
    return tuple(imported(path))


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """The same, one by one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {id(node) for statement in tree.body for node in statements(statement)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = origin(node, path)
            yield module, id(node) in top
            yield from ((f"{module}.{alias.name}", id(node) in top) for alias in node.names if node.level)


def origin(node: ast.ImportFrom, path: Path) -> str:
    """The full name of what NODE in the module at PATH imports from."""
    package = (NAME, *path.relative_to(PACKAGE).parent.parts)
    base = package[: len(package) - node.level + 1] if node.level else ()
    return ".".join([*base, *([node.module] if node.module else [])])


@lru_cache
def used(path: Path) -> frozenset[str]:
    """The full names in the package that a module uses: what it imports, and the attributes of that, as in `module.name`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            for alias in node.names:
                known.setdefault(alias.asname or alias.name, set()).add(f"{origin(node, path)}.{alias.name}")
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    found = {f"{full}.{node.attr}" for node in attributes for full in known.get(ast.unparse(node.value), ())}
    return frozenset(found.union(*known.values()))


def defined(path: Path) -> list[str]:
    """The functions and constants that a module defines, except for dunder names; types may be known by a public signature alone."""
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [name for name in found if not name.startswith("__") and name != "TYPE_CHECKING"]


def statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """NODE and what runs with it when a module is loaded; a block for type checkers does not."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    if isinstance(node, (ast.If, ast.Try, ast.With)):
        for child in node.body:
            yield from statements(child)


def label(path: Path) -> str:
    """A module as a person names it."""
    return str(path.relative_to(PACKAGE))


def test_rooms_do_not_know_each_other() -> None:
    """They know the words and a few pure helpers; `stages` and `planning` join them."""
    found = {}
    for path in MODULES:
        room = path.relative_to(PACKAGE).parts[0]
        known = {name.split(".")[1] for name, _ in imports(path) if name.startswith(f"{NAME}.")}
        found[label(path)] = known - KNOWN_TO_ROOMS - {room} if room in ROOMS else set()

    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("module", DOORS)
def test_a_third_party_module_has_one_door(module: str) -> None:
    """And nothing loads it before it is needed."""
    found = {str(path.relative_to(PACKAGE)): loaded for path in MODULES for name, loaded in imports(path) if name.split(".")[0] == module}

    assert found
    assert set(found) <= DOORS[module]
    assert not any(found.values())


def test_modules_are_short_and_say_what_they_are_for() -> None:
    """At most 250 lines, with a docstring at their head."""
    texts = {label(path): path.read_text(encoding="utf-8") for path in MODULES}

    assert [path for path, text in texts.items() if len(text.splitlines()) > 250] == []
    assert [path for path, text in texts.items() if not ast.get_docstring(ast.parse(text))] == []


def test_functions_fit_a_screen() -> None:
    """Fifty lines at most."""
    functions = [
        (f"{label(path)}: {node.name}", (node.end_lineno or 0) - node.lineno + 1)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]

    assert [name for name, lines in functions if lines > 50] == []


def test_a_private_name_is_used_in_its_own_module_only() -> None:
    """Whoever changes it need look no further."""
    parts = [name.split(".") for path in MODULES for name in used(path)]

    assert [name for name in parts if any(part.startswith("_") and not part.endswith("__") for part in name)] == []


def test_what_no_other_module_uses_is_private() -> None:
    """By a leading underscore, so that a reader knows how far a change of it reaches."""
    found = []
    for path in MODULES:
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip(".")
        others = frozenset[str]().union(*[used(other) for other in MODULES if other != path])
        public = [".".join(filter(None, (module, name))) for name in defined(path) if not name.startswith("_")]
        found += [name for name in public if f"{NAME}.{name}" not in others and name not in ENTRIES and module not in VOCABULARY]

    assert found == []


def test_entries_are_there() -> None:
    found = {f"{path.stem}.{name}" for path in MODULES if path.parent == PACKAGE for name in defined(path)}

    assert found >= ENTRIES
