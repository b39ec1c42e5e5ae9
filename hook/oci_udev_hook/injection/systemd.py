"""systemd's part in what a container's scope may do with devices: org.freedesktop.systemd1(5), systemd.resource-control(5).

From the scope's properties systemd makes a device program (cgroup v2) or list (v1) of its own, again and again: what they do not say is
lost when it next does (case 26). Spoken to by busctl(1), which comes with it, so that no D-Bus library is needed.
"""

from __future__ import annotations

import os
import time

from .. import typed
from ..errors import ConfigurationError
from ..frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..edit import CgroupRule

_SYSTEMD, _PATH = "org.freedesktop.systemd1", "/org/freedesktop/systemd1"
_CLASSES = {"c": "char", "b": "block"}  #: of devices, as systemd and the folders below /dev have them
_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
_CHUNK = 1 << 16
_PAUSE = 0.001  #: seconds between two looks whether busctl has ended
_SIGKILL = 9


@frozen
class Manager:
    """The host's systemd, and how it is reached."""

    folders: tuple[str, ...] = ("/usr/bin", "/bin")  #: in which busctl is looked for
    running: str = "/run/systemd/system"  #: a folder that is there while systemd is the init, sd_booted(3)
    seconds: float = 5  #: that an answer may take


_HOST = Manager()


@frozen
class ScopeStep:
    """What a container's scope says of devices, and what is to be added to that."""

    scope: str  #: the unit's name: `libpod-….scope`
    policy: str  #: its DevicePolicy
    allow: tuple[tuple[str, str], ...]  #: entries for its DeviceAllow: `/dev/char/188:0` and the access
    pin: str  #: of the program that systemd attaches to it (BPFProgram): a path in a bpffs; empty if there is none
    reason: str  #: why nothing is added, a clause; empty if something is


def look(scope: str, rules: tuple[CgroupRule, ...], manager: Manager = _HOST) -> ScopeStep | None:
    """What makes RULES last in the unit SCOPE; None where systemd is not the init or has no such unit.

    A scope with DevicePolicy=auto and no entry keeps nothing out, and a first entry would close it.
    Raises ConfigurationError where systemd does not tell.
    """
    if not scope or not os.path.isdir(manager.running):
        return None
    # Those of all interfaces: systemd before 249 has no BPFProgram, and it is an error to ask for that alone.
    words = (f"{_PATH}/unit/{_escaped(scope)}", "org.freedesktop.DBus.Properties", "GetAll", "s", "")
    code, out, err = _busctl(manager, words)
    if code and "Unknown object" in err:
        return None
    try:
        if code:
            raise typed.TypedError(f"is an error: {err}")
        properties = next(typed.parse(out).objects("data"), typed.Fields({}))
        if properties.object("LoadState").text("data") == "not-found":
            return None
        policy = properties.object("DevicePolicy").text("data")
        entries = dict(_pairs(properties, "DeviceAllow"))
        pin = dict(_pairs(properties, "BPFProgram")).get("device", "")
    except typed.TypedError as error:
        what = typed.about("systemd's answer to busctl", error)
        raise ConfigurationError(
            f"{what}; what it lets {scope} do with devices must be known, see: systemctl show --property=DevicePolicy,DeviceAllow {scope}"
        ) from None
    if policy == "auto" and not entries:
        why = f"its program is the one at {pin}" if pin else "it has DevicePolicy=auto, which keeps no device out"
        return ScopeStep(scope, policy, (), pin, why)
    added = _added(rules, entries)
    return ScopeStep(scope, policy, added, pin, "" if added else "its DeviceAllow has them")


def add(step: ScopeStep, manager: Manager = _HOST) -> None:
    """Add what STEP says to the scope's DeviceAllow, for as long as the scope lives. Raises ConfigurationError.

    systemd makes its program or list anew at once, but after it has answered.
    """
    if not step.allow:
        return
    entries = [word for entry in step.allow for word in entry]
    words = (_PATH, f"{_SYSTEMD}.Manager", "SetUnitProperties", "sba(sv)", step.scope, "true", "1", "DeviceAllow", "a(ss)")
    code, _, err = _busctl(manager, (*words, str(len(step.allow)), *entries))
    if code:
        assignments = " ".join([f"'DeviceAllow={node} {access}'" for node, access in step.allow])
        raise ConfigurationError(
            f"systemd does not let {step.scope} use the devices: {err}; see whether it does by hand: "
            f"systemctl set-property --runtime {step.scope} {assignments}"
        )


def _escaped(name: str) -> str:
    """NAME as a component of an object path, sd_bus_path_encode(3)."""
    kept = [
        chr(byte) if chr(byte).isascii() and chr(byte).isalnum() and (index or not chr(byte).isdigit()) else f"_{byte:02x}"
        for index, byte in enumerate(os.fsencode(name))
    ]
    return "".join(kept)


def _pairs(properties: typed.Fields, name: str) -> list[tuple[str, str]]:
    """The property NAME, whose type is a(ss); none where systemd does not have it. Raises TypedError."""
    value = properties.object(name)
    entries = value.items("data")
    pairs = [(entry[0], entry[1]) for entry in entries if isinstance(entry, list) and [type(part) for part in entry] == [str, str]]
    if len(pairs) != len(entries):
        raise value.wrong("data", "a list of pairs of strings")
    return pairs


def _added(rules: tuple[CgroupRule, ...], entries: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """What the ENTRIES of a DeviceAllow lack of RULES, by number: systemd would look a node's name up anew each time.

    An entry takes the place of one for the same node, so it keeps what that one allowed.
    """
    found: dict[str, str] = {}
    for rule in rules:
        kind = _CLASSES[rule.number.type]
        node = f"/dev/{kind}/{rule.number.major}:{rule.number.minor}"
        has = found.get(node, entries.get(node, ""))
        whole = [entries.get(f"{kind}-*", ""), entries.get(f"{kind}-{rule.number.major}", "")]
        if not any(set(rule.access) <= set(access) for access in (has, *whole)):
            found[node] = "".join([letter for letter in "rwm" if letter in has + rule.access])
    return tuple(found.items())


def _busctl(manager: Manager, words: tuple[str, ...]) -> tuple[int, bytes, str]:
    """Call a method of systemd's: WORDS are object, interface, method, signature and arguments.

    The exit code of busctl, its output as JSON, and what it says of an error. Raises ConfigurationError where it is not there or too slow.
    """
    programs = [f"{folder}/busctl" for folder in manager.folders if os.access(f"{folder}/busctl", os.X_OK)]
    if not programs:
        where = " or ".join(manager.folders)
        raise ConfigurationError(f"systemd is the init here, but its busctl is not in {where}; install it, it is part of systemd")
    arguments = [programs[0], "--system", "--json=short", "--no-pager", "--", "call", _SYSTEMD, *words]
    end = time.monotonic() + manager.seconds
    try:
        result = _run(arguments, end)
    except OSError as error:
        raise ConfigurationError(f"{programs[0]} cannot be run: {error.strerror}; see that it is the one of systemd") from None
    if result is None:
        raise ConfigurationError(
            f"systemd did not answer {programs[0]} within {manager.seconds:g} s; see what keeps it busy (systemctl list-jobs) "
            "and start the container again"
        )
    return result


def _run(arguments: list[str], end: float) -> tuple[int, bytes, str] | None:
    """Run a program: its exit code, standard output and the last line of its standard error; None if it was killed at END of the clock.

    One that has nothing to say but of an error has failed, whatever its exit code. Raises OSError where it cannot be run.
    """
    pipes = [os.pipe(), os.pipe()]
    writing = [pipe[1] for pipe in pipes]
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), *[(os.POSIX_SPAWN_DUP2, fd, 1 + n) for n, fd in enumerate(writing)]]
    try:
        try:
            child = os.posix_spawn(arguments[0], arguments, _ENVIRONMENT, file_actions=actions)
        finally:
            for descriptor in writing:
                os.close(descriptor)
        texts = _read(pipes[0][0], pipes[1][0], end)
        code = _reap(child, end)
    finally:
        for pipe in pipes:
            os.close(pipe[0])
    if texts is None or code is None:
        return None
    out, err = texts
    said = "".join([line for line in err.decode("utf-8", "replace").split("\n") if line][-1:])
    return code or int(bool(said) and not out), out, said


def _read(out: int, err: int, end: float) -> tuple[bytes, bytes] | None:
    """What comes through the pipes OUT and ERR until both are closed; None if that is not before END of the clock."""
    from select import POLLIN, poll

    texts = {out: b"", err: b""}
    waiting = poll()
    for descriptor in texts:
        waiting.register(descriptor, POLLIN)
    still = set(texts)
    while still:
        left = end - time.monotonic()
        if left <= 0:
            return None
        for descriptor, _ in waiting.poll(left * 1000):
            part = os.read(descriptor, _CHUNK)
            texts[descriptor] += part
            if not part:
                waiting.unregister(descriptor)
                still.discard(descriptor)
    return texts[out], texts[err]


def _reap(child: int, end: float) -> int | None:
    """The exit code of CHILD; None if it had to be killed at END of the clock."""
    try:
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() >= end:
                os.kill(child, _SIGKILL)
                os.waitpid(child, 0)
                return None
            time.sleep(_PAUSE)
    except ChildProcessError:  # whoever ran the hook ignores SIGCHLD, and the kernel has kept no exit code
        return 0
