"""The rules of the house, held by walking the imports."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import oci_udev_hook

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


@lru_cache
def imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """The full names that a module imports, and whether it does so when it is loaded."""
    return tuple(imported(path))


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """The same, one by one."""
    package = (NAME, *path.relative_to(PACKAGE).parent.parts)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {id(node) for statement in tree.body for node in statements(statement)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield module, id(node) in top
            yield from ((f"{module}.{alias.name}", id(node) in top) for alias in node.names if node.level)


def statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """NODE and what runs with it when a module is loaded; a block for type checkers does not."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    if isinstance(node, (ast.If, ast.Try, ast.With)):
        for child in node.body:
            yield from statements(child)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_do_not_know_each_other(path: Path) -> None:
    """They know the words and a few pure helpers; `stages` and `planning` join them."""
    room = path.relative_to(PACKAGE).parts[0]
    if room not in ROOMS:
        return
    known = {name.split(".")[1] for name, _ in imports(path) if name.startswith(f"{NAME}.")}

    assert known - KNOWN_TO_ROOMS - {room} == set()


@pytest.mark.parametrize("module", DOORS)
def test_a_third_party_module_has_one_door(module: str) -> None:
    """And nothing loads it before it is needed."""
    found = {str(path.relative_to(PACKAGE)): loaded for path in MODULES for name, loaded in imports(path) if name.split(".")[0] == module}

    assert found
    assert set(found) <= DOORS[module]
    assert not any(found.values())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_are_short_and_say_what_they_are_for(path: Path) -> None:
    """At most 250 lines, with a docstring at their head."""
    text = path.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 250
    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_fit_a_screen(path: Path) -> None:
    """Fifty lines at most."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= 50
        and node.name != "frozen"
    ]

    assert long == []
