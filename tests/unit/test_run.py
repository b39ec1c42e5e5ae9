"""Global options stand before the verb, and mean the same for stages and verbs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from oci_udev_hook import __version__, run
from oci_udev_hook.__main__ import main
from oci_udev_hook.errors import UsageError

PACKAGE = str(Path(run.__file__).parents[1])


@pytest.mark.parametrize(
    ("arguments", "config_dirs", "state_dir", "debug", "rest"),
    [
        pytest.param(("--config-dir", "/proc", "precreate"), ("/proc",), None, False, ("precreate",), id="a folder of definitions"),
        pytest.param(("--config-dir=/proc", "--state-dir=/s", "why", "x"), ("/proc",), "/s", False, ("why", "x"), id="with ="),
        pytest.param(("--debug", "--state-dir", "/s", "leases"), None, "/s", True, ("leases",), id="debug"),
        pytest.param(
            ("dry-run", "--json", "--debug"),
            None,
            None,
            False,
            ("dry-run", "--json", "--debug"),
            id="what is behind the verb is the verb's",
        ),
        pytest.param((), None, None, False, (), id="nothing"),
    ],
)
def test_global_options_are_split_off(
    arguments: tuple[str, ...], config_dirs: tuple[str, ...] | None, state_dir: str | None, debug: bool, rest: tuple[str, ...]
) -> None:
    line = run.command_line(arguments)

    assert config_dirs in (None, line.run.config_dirs)
    assert state_dir in (None, line.run.state_dir)
    assert (line.run.debug, line.rest) == (debug, rest)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--config-dir",), "--config-dir needs a folder: --config-dir DIR", id="no value"),
        pytest.param(
            ("--state-dir", "here"),
            "--state-dir is 'here', it must be an absolute path, since engines run hooks in folders of their own",
            id="a relative path",
        ),
        pytest.param(
            ("--config-dir", "/nonexistent", "leases"),
            "--config-dir is '/nonexistent', and there is no such folder; definitions are in its folder resources.d",
            id="a folder that is not there",
        ),
        pytest.param(
            ("--verbose", "leases"),
            "there is no global option --verbose; there are --config-dir, --state-dir, --debug, --version, before the verb",
            id="unknown",
        ),
        pytest.param(
            ("--debug=yes", "leases"),
            "there is no global option --debug; there are --config-dir, --state-dir, --debug, --version, before the verb",
            id="a value that has no place",
        ),
    ],
)
def test_wrong_global_options_are_named(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError) as error:
        run.command_line(arguments)

    assert str(error.value) == message
    assert main(arguments) == 64
    assert capsys.readouterr().err == f"oci-udev-hook: {message}\n"


def test_bad_options_in_a_hook_json_reach_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("--verbose", "precreate")) == 64
    sentence, event = capsys.readouterr().err.splitlines()

    assert sentence.startswith("oci-udev-hook: there is no global option --verbose")
    assert json.loads(event)["event"] == "start"


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("--version",)) == 0
    assert capsys.readouterr().out == f"oci-udev-hook {__version__}\n"


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("kube",)], ids=["no verb", "an unknown verb", "a verb without its file"])
def test_bad_usage_has_its_exit_code(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)

    assert left.value.code == 64
    assert capsys.readouterr().err.endswith("--help\n")


@pytest.mark.parametrize(
    ("output", "code", "complaint"),
    [
        pytest.param(
            ">/dev/full",
            70,
            "oci-udev-hook: the answer cannot be written to standard output: No space left on device\n",
            id="full",
        ),
        pytest.param("| true", 0, "", id="a reader that has gone"),
        pytest.param(">&-", 0, "", id="closed"),
        pytest.param("2>&-", 0, "", id="stderr closed"),
    ],
)
def test_an_answer_that_cannot_be_written_is_told(tmp_path: Path, output: str, code: int, complaint: str) -> None:
    script = f"import sys; sys.path.insert(0, {PACKAGE!r}); from oci_udev_hook.__main__ import program; program()"
    command = f'set -o pipefail; "$1" -I -c "$2" --config-dir "$3" --state-dir "$3" leases {output}'
    shell = ["bash", "-c", command, "bash", sys.executable, script, str(tmp_path)]
    answer = subprocess.run(shell, capture_output=True, text=True, check=False)

    assert (answer.returncode, answer.stderr) == (code, complaint)
