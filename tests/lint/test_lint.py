"""The tools that read the code find nothing. Their settings stand in setup.cfg and pyproject.toml."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
SHEBANGS = (b"#!/bin/sh", b"#!/bin/bash", b"#!/usr/bin/env bash")


def files() -> list[str]:
    """What git knows or would know: no build output."""
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={CHECKOUT}", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return [name for name in listing.stdout.splitlines() if (CHECKOUT / name).is_file()]


def shell_scripts() -> list[str]:
    """Files that start as shell scripts do."""
    return [name for name in files() if (CHECKOUT / name).read_bytes().startswith(SHEBANGS)]


def content(*command: str) -> None:
    """COMMAND, run in the checkout, ends with 0."""
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_ruff_is_content() -> None:
    content(sys.executable, "-m", "ruff", "check", "--output-format=concise", ".")


def test_mypy_is_content_with_the_package() -> None:
    content(sys.executable, "-m", "mypy")


@pytest.mark.parametrize("package", ["bed", "machine"])
def test_mypy_is_content_with_the_test_beds(package: str) -> None:
    content(sys.executable, "-m", "mypy", "-p", package)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed; tests/run installs it")
def test_shellcheck_is_content() -> None:
    content("shellcheck", *shell_scripts())


@pytest.mark.parametrize("name", shell_scripts())
def test_a_shell_script_stops_at_the_first_error(name: str) -> None:
    assert "\nset -eu" in (CHECKOUT / name).read_text()
