"""The verbs for people and their options; what they do stands in `verbs`, what they print in `printing`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import traceback

from . import __version__, log, places
from .errors import ExitCode, HookError, unexpected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from .run import Run

_EPILOG = """\
stages, run by engines: precreate createRuntime poststop
exit codes: 0 done; 64 the asker's fault; 69 no such resource or too few of it; 75 enough exist but are held;
77 refused: your own rights do not suffice; 78 a bad definition or installation; 70 a fault of this program"""


class _Parser(argparse.ArgumentParser):
    """argparse with this program's exit code for bad usage."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and leave."""
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> _Parser:
    """The whole command line."""
    top = _Parser(
        prog=places.NAME,
        description="Gives containers the devices they ask for by kind and count.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument(
        "--config-dir", metavar="DIR", help="definitions are in DIR/resources.d, in place of /usr/share, /run and /etc/oci-udev-hook"
    )
    top.add_argument("--state-dir", metavar="DIR", help="the ledger is in DIR, in place of /run/oci-udev-hook or the user's runtime folder")
    top.add_argument(
        "--debug",
        action="store_true",
        help="tell more: how it ended and when, and the traceback of a fault",
    )
    top.add_argument("--version", action="version", version=f"{places.NAME} {__version__}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Parser)
    _add_dry_run(verbs.add_parser("dry-run", help="what would happen at a container's start, and why"))
    for verb, text in (
        ("resources", "what is defined on this host, how much of it is there and free"),
        ("leases", "who holds what"),
    ):
        verbs.add_parser(verb, help=text, description=text).add_argument("--json", action="store_true", help="as JSON")
    devices = verbs.add_parser("devices", help="the devices of each resource and who holds them")
    devices.add_argument("resource", nargs="*", metavar="RESOURCE", help="only these resources")
    devices.add_argument("--json", action="store_true", help="as JSON")
    why = verbs.add_parser("why", help="the hook's last decision for a container")
    why.add_argument("container", nargs="?", metavar="CONTAINER", help="its name, its id or the id's beginning; without it, a list")
    why.add_argument("--json", action="store_true", help="as JSON")
    release = verbs.add_parser("release", help="end the leases of a container")
    release.add_argument("name", metavar="NAME", help="the container's name, its id or the id's beginning")
    release.add_argument("--force", action="store_true", help="even though the container lives: its devices can then be in two containers")
    kube = verbs.add_parser("kube", help="limits of a kube YAML to annotations, for podman kube play")
    kube.add_argument("file", nargs="+", metavar="FILE", help="a kube YAML file, - for standard input")
    kube.add_argument("--output", "-o", metavar="FILE", help="write there in place of standard output")
    return top


def _add_dry_run(verb: argparse.ArgumentParser) -> None:
    """The options of dry-run."""
    source = verb.add_mutually_exclusive_group()
    source.add_argument("--bundle", metavar="DIR", help="the config is DIR/config.json")
    source.add_argument("--config", metavar="FILE", help="the config is FILE, - for standard input")
    verb.add_argument(
        "--pid", metavar="PID", type=int, help="the container whose first process is PID runs: show what createRuntime would do in it"
    )
    verb.add_argument("--annotation", metavar="KEY=VALUE", action="append", default=[], help="as if the container had this annotation")
    verb.add_argument("--limits", metavar="'NAME: COUNT'", help="as if the container asked for this")
    verb.add_argument("--container", metavar="NAME", help="the container's name in its pod")
    verb.add_argument("--json", action="store_true", help="the plan as JSON")


def main(run: Run, arguments: Sequence[str]) -> int:
    """Run the verb in ARGUMENTS and return its exit code."""
    gc.enable()  # the program is started without, for the stages' sake; verbs may read large files
    options = _parser().parse_args(arguments)
    started = time.monotonic()
    code = ExitCode(_attempt(run, options))
    if run.debug:
        log.tell(log.Level.DEBUG, f"{options.verb} ended with {code.name} ({code:d}) after {(time.monotonic() - started) * 1000:.0f} ms")
    return _flushed(code)


def _attempt(run: Run, options: argparse.Namespace) -> int:
    """Run the verb of OPTIONS; its exit code, or that of what went wrong, which is told."""
    from . import verbs

    try:
        return verbs.VERBS[options.verb](run, options)
    except HookError as error:
        log.tell(log.Level.ERROR, *error.sentences)
        return error.code
    except BrokenPipeError:
        return _silenced(ExitCode.DONE)  # the reader (a pager, `head`) has seen enough
    except Exception as error:  # noqa: BLE001 — the last line of defence: a person gets a sentence, and with --debug the traceback
        log.tell(log.Level.ERROR, unexpected(options.verb, error))
        if run.debug:
            traceback.print_exc()
        return ExitCode.SOFTWARE


def _flushed(code: int) -> int:
    """CODE, once all of the answer is written out; it is another where that cannot be done."""
    try:
        if sys.stdout is not None:  # it is None where standard output is closed
            sys.stdout.flush()
    except BrokenPipeError:
        return _silenced(code)
    except OSError as error:
        log.tell(log.Level.ERROR, f"the answer cannot be written to standard output: {error.strerror}")
        return _silenced(code or ExitCode.SOFTWARE)
    return code


def _silenced(code: int) -> int:
    """CODE, with no more complaints when the interpreter writes out at its end what could not be written now."""
    os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), 1)
    return code
