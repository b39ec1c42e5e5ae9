"""The program: global options, then a stage for an engine or a verb for a person."""

from __future__ import annotations

import sys

from . import run
from .errors import ExitCode, HookError


def main(arguments: tuple[str, ...] | None = None) -> int:
    """Run the program with ARGUMENTS (default: the process's own) and return its exit code."""
    try:
        line = run.command_line(tuple(sys.argv[1:]) if arguments is None else arguments)
    except HookError as error:
        print(f"oci-udev-hook: {error}", file=sys.stderr)
        return error.code
    if line.version:
        print(run.version_line())
        return ExitCode.DONE
    if line.rest and line.rest[0] in run.STAGES:
        from . import engine

        return engine.main(line.run, line.rest[0])
    from . import cli

    return cli.main(line.run, line.rest)


if __name__ == "__main__":
    sys.exit(main())
