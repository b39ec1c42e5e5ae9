"""The README shows what this run has found."""

from __future__ import annotations

import pytest

from bed.matrix import README, Results, block, parse, render

EVERY = {"runc 1": {"v1 rootful": "✓", "v1 uidmap": "no: `such | thing`"}}


def test_the_readme_shows_what_this_run_has_found(matrix: Results) -> None:
    """Runs after test_live.py, whose stacks these are; `make matrix` writes the table anew."""
    if not matrix.rows:
        pytest.skip("no test of test_live.py has run before")
    shown = parse(block(README.read_text())[1])

    assert {row: {column: shown.get(row, {}).get(column) for column in columns} for row, columns in matrix.rows.items()} == matrix.rows


def test_a_table_is_read_as_it_was_written() -> None:
    rows = parse(render(EVERY))

    assert {column: rows["runc 1"][column] for column in EVERY["runc 1"]} == EVERY["runc 1"]
    assert rows["runc 1"]["v2 rootful"] == "failed"
