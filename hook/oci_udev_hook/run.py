"""One run of the program: its global options and what they and the host settle for every stage and verb."""

from __future__ import annotations

import os

from . import __version__, places
from .errors import UsageError
from .frozen import frozen

#: The stages that engines run; their success path loads nothing that it does not need, argparse included.
STAGES = ("precreate", "createRuntime", "poststop")
_GLOBAL_OPTIONS = ("--config-dir", "--state-dir", "--debug", "--version")


@frozen
class Run:
    """What holds for the whole run."""

    who: places.User
    config_dirs: tuple[str, ...]
    state_dir: str
    debug: bool = False

    @property
    def cache(self) -> str:
        """The file that keeps the validated form of the definitions."""
        return f"{self.state_dir}/definitions.json"


@frozen
class CommandLine:
    """The global options and what stands behind them, verb first."""

    run: Run
    rest: tuple[str, ...]
    version: bool = False


def command_line(arguments: tuple[str, ...]) -> CommandLine:
    """Split ARGUMENTS into the global options, which stand before the verb, and the rest. Raises UsageError."""
    values: dict[str, str] = {}
    debug = version = False
    rest = list(arguments)
    while rest and rest[0].startswith("--"):
        option, equals, value = rest.pop(0).partition("=")
        if option in ("--config-dir", "--state-dir"):
            if not equals and not rest:
                raise UsageError(f"{option} needs a folder: {option} DIR")
            values[option] = value if equals else rest.pop(0)
            values[option] = os.path.normpath(values[option]) if values[option] else ""
            if not values[option].startswith("/"):
                raise UsageError(
                    f"{option} is {values[option]!r}, it must be an absolute path, since engines run hooks in folders of their own"
                )
        elif option in ("--debug", "--version") and not equals:
            debug, version = debug or option == "--debug", version or option == "--version"
        elif option == "--help" and not equals:
            rest.insert(0, option)
            break
        else:
            raise UsageError(f"there is no global option {option}; there are {', '.join(_GLOBAL_OPTIONS)}, before the verb")
    who = places.user()
    config_dir = values.get("--config-dir")
    if config_dir is not None and not os.path.isdir(config_dir):
        raise UsageError(f"--config-dir is {config_dir!r}, and there is no such folder; definitions are in its folder resources.d")
    run = Run(
        who=who,
        config_dirs=places.CONFIG_DIRS if config_dir is None else (config_dir,),
        state_dir=values.get("--state-dir", "") or places.state_dir(who),
        debug=debug,
    )
    return CommandLine(run, tuple(rest), version)


def version_line() -> str:
    """What `--version` prints."""
    return f"{places.NAME} {__version__}"
