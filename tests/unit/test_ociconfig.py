"""OCI documents: what is taken, what is refused with which sentence, what goes back to the engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oci_udev_hook import ociconfig, typed
from oci_udev_hook.errors import ExitCode, UsageError

DATA = Path(__file__).parents[1] / "data" / "oci"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        pytest.param(b"", "the config on standard input is empty", id="empty"),
        pytest.param(b" \n", "the config on standard input is empty", id="blank"),
        pytest.param(b"{}", "the config on standard input has no ociVersion", id="no version"),
        pytest.param(b'{"ociVersion": 1}', "the config on standard input: ociVersion is 1, not a string", id="version of another type"),
        pytest.param(b"[1, 2]", "the config on standard input is no JSON object but [1, 2]", id="list"),
        pytest.param(b"null", "the config on standard input is no JSON object but null", id="null"),
        pytest.param(
            b'{"ociVersion": "1.0.2", "mou',
            "the config on standard input is no JSON: Unterminated string starting at: line 1 column 25 (char 24)",
            id="cut off",
        ),
        pytest.param(b"hello", "the config on standard input is no JSON: Expecting value: line 1 column 1 (char 0)", id="words"),
        pytest.param(b'{"ociVersion": "\xff"}', "the config on standard input is no JSON: it is not UTF-8 text", id="not UTF-8"),
        pytest.param(b'{"ociVersion": "1", "x": NaN}', "the config on standard input is no JSON: NaN is no JSON value", id="NaN"),
        pytest.param(
            b'{"ociVersion": "1", "annotations": {"a": 5}}',
            "the config on standard input: annotations.a is 5, not a string",
            id="annotation of another type",
        ),
        pytest.param(
            b'{"ociVersion": "1", "annotations": []}',
            "the config on standard input: annotations is [], not an object",
            id="annotations of another type",
        ),
        pytest.param(
            b"[" * 100_000, "the config on standard input is no JSON that can be read: it is nested too deeply", id="nested deeply"
        ),
        pytest.param(b" " * (typed.MAX_INPUT + 1), "the config on standard input has more than 16 MiB", id="large"),
    ],
)
def test_what_is_no_config_is_refused_with_a_sentence(data: bytes, sentence: str) -> None:
    """Exit code 64, never a traceback."""
    with pytest.raises(UsageError) as caught:
        ociconfig.read(data)

    assert str(caught.value) == f"{sentence}; it must be an OCI config (config.json)"
    assert caught.value.code == ExitCode.USAGE


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    """Python has a limit for them, int_info.str_digits_check_threshold."""
    with pytest.raises(
        UsageError, match="the config on standard input is no JSON that can be read: a number in it has thousands of digits; "
    ):
        ociconfig.read(b'{"ociVersion": "1", "x": ' + b"1" * 5000 + b"}")


def test_nesting_at_the_interpreters_limit_is_refused_too() -> None:
    """Where reading is possible but writing is not, and where the sentence itself would go too deep."""
    for depth in range(960, 1010):
        for text in ("[" * depth + "]" * depth, '{"ociVersion": "1", "x": ' + "[" * depth + "]" * depth + "}"):
            try:
                ociconfig.render(ociconfig.read(text.encode()).value)
            except UsageError:
                continue


def test_the_sentence_names_the_file() -> None:
    """Where the config is a bundle's."""
    with pytest.raises(UsageError, match=r"^the config in /run/x/config\.json has no ociVersion; it must be"):
        ociconfig.read(b"{}", "/run/x/config.json")


def test_a_config_goes_back_as_it_came() -> None:
    """Keys in their order, unknown ones kept, null and escapes too; the last of two equal keys counts, as in Go."""
    text = '{"ociVersion": "1.0.2", "z": null, "a": {"x": [1, 2.5, true]}, "s": "\\ud800 \\u00fc", "d": 1, "d": 2}'

    rendered = ociconfig.render(ociconfig.read(text.encode()).value)

    assert rendered == b'{"ociVersion":"1.0.2","z":null,"a":{"x":[1,2.5,true]},"s":"\\ud800 \\u00fc","d":2}'


def test_a_number_that_json_cannot_hold_does_not_go_back() -> None:
    """Python reads 1e999 as infinity."""
    with pytest.raises(UsageError) as caught:
        ociconfig.render(ociconfig.read(b'{"ociVersion": "1", "x": 1e999}').value)

    assert (
        str(caught.value)
        == "the config holds a number too large for JSON or is nested too deeply, so that it cannot be given back to the engine"
    )


@pytest.mark.parametrize("path", sorted(DATA.glob("podman-*-kube-bridge.json")), ids=lambda path: path.stem)
def test_podmans_configs_are_read(path: Path) -> None:
    """Of the versions that the fixtures are from."""
    assert ociconfig.read(path.read_bytes()).annotations["io.oci-udev-hook.limits/bridge"] == "hardware-vendor.example/foo: 2"


@pytest.mark.parametrize(
    ("fixture", "has_pid"),
    [
        ("crun-4.3.1-state-createRuntime", True),
        ("crun-5.4.2-state-createRuntime", True),
        ("crun-4.3.1-state-poststop", False),
        ("crun-5.4.2-state-poststop", False),
    ],
)
def test_states_are_read(fixture: str, has_pid: bool) -> None:
    """A runtime's at createRuntime, podman's own at poststop."""
    state = ociconfig.read_state((DATA / f"{fixture}.json").read_bytes())

    assert (state.pid is not None) == has_pid
    assert state.bundle == f"/var/lib/containers/storage/overlay-containers/{state.id}/userdata"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "the state on standard input: id is missing, it must be a string"),
        ({"id": ""}, 'the state on standard input: id is "", not a container\'s id'),
        ({"id": "a/../b"}, 'the state on standard input: id is "a/../b", not a container\'s id'),
        ({"id": "x", "pid": "1"}, 'the state on standard input: pid is "1", not a whole number'),
        ({"id": "x", "bundle": 1}, "the state on standard input: bundle is 1, not a string"),
        ({"id": "x", "bundle": "/a\0b"}, 'the state on standard input: bundle is "/a\\u0000b", not a path'),
        ({"id": "x", "bundle": "/\ud800"}, 'the state on standard input: bundle is "/\ud800", not a path'),
    ],
)
def test_what_is_no_state_is_refused_with_a_sentence(fields: dict[str, object], sentence: str) -> None:
    """As for configs."""
    with pytest.raises(UsageError) as caught:
        ociconfig.read_state(json.dumps(fields).encode())

    assert str(caught.value) == f"{sentence}; it must be a container's state as the OCI runtime spec has it"
