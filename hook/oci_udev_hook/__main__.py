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
    words = tuple(sys.argv[1:]) if arguments is None else arguments
    try:
        line = run.command_line(words)
    except HookError as error:
        return _refused(error, for_engine=not set(run.STAGES).isdisjoint(words))
    if line.version:
        print(run.version_line(), flush=True)
        return ExitCode.DONE
    if line.rest and line.rest[0] in run.STAGES:
        from . import engine

        return engine.main(line.run, line.rest[0])
    from . import cli

    return cli.main(line.run, line.rest)


def _refused(error: HookError, *, for_engine: bool) -> int:
    """The exit code for bad global options. Where they stand in a hook JSON the log gets it too, since engines throw stderr away."""
    from . import log

    log.tell(log.Level.ERROR, *error.sentences)
    if for_engine:
        log.event("start", log.Level.ERROR, {"outcome": "refused", "code": int(error.code), "reason": str(error)})
    return error.code


def program() -> NoReturn:
    """Run the program and end the process.

    The interpreter's own end, which takes every module apart, is a quarter of a bare interpreter's life, and an engine waits for it.
    """
    _furnish_standard_streams()
    os._exit(main())


def _furnish_standard_streams() -> None:
    """See that descriptors 0 to 2 are taken: else the next file that is opened becomes standard output, and gets the answer."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # so that an answer that nobody can read is an error all the same


if __name__ == "__main__":
    program()
