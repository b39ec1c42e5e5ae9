"""Each test carries the marker of the folder that it stands in."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`pytest -m unit` and `pytest tests/unit` mean the same."""
    for item in items:
        item.add_marker(item.path.relative_to(HERE).parts[0])
