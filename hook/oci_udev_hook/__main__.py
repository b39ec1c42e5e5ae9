"""The program: global options, then a stage for an engine or a verb for a person."""

from __future__ import annotations

import os
import sys

from . import run
from .errors import ExitCode, HookError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main(arguments: tuple[str, ...] | None = None) -> int:
    """Run the program with ARGUMENTS (default: the process's own) and return its exit code."""
    try:
        line = run.command_line(tuple(sys.argv[1:]) if arguments is None else arguments)
    except HookError as error:
        print(f"oci-udev-hook: {error}", file=sys.stderr)
        return error.code
    if line.version:
        print(run.version_line(), flush=True)
        return ExitCode.DONE
    if line.rest and line.rest[0] in run.STAGES:
        from . import engine

        return engine.main(line.run, line.rest[0])
    from . import cli

    return cli.main(line.run, line.rest)


def program() -> NoReturn:
    """Run the program and end the process.

    The interpreter's own end, which takes every module apart, is a quarter of a bare interpreter's life, and an engine waits for it.
    """
    os._exit(main())


if __name__ == "__main__":
    program()
