"""Device programs of a container's cgroups (version 2): rules of ours get in front of each, which is swapped for that in one step.

All programs on a cgroup and on those above it must agree, so a program more could only forbid, and no program allows everything
(kernel: Documentation/admin-guide/cgroup-v2.rst, "Device controller"; bpf_prog_run_array_cg() of kernel/bpf/cgroup.c).
"""

from __future__ import annotations

import errno
import os
import time
from enum import StrEnum

from ..errors import ConfigurationError
from ..frozen import frozen
from . import bpf, programs, verdict
from .attached import OTHER_WAY, called, open_cgroup, programs_on, refusal
from .rules import RUNTIME_DEFAULTS, DeviceRule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..edit import CgroupRule
    from .programs import Program
    from .undo import UndoLog

NAME = "oci_udev_hook"
_SYSTEMDS = "sd_devices"  #: what systemd calls the program that it makes of DevicePolicy= and DeviceAllow=
_PAUSE = 0.01  #: seconds between two looks for what systemd does


class Way(StrEnum):
    """What happens to a program."""

    LEAVE = "leave"
    PREPEND = "prepend"  #: a copy of it with our rules in front takes its place
    REGENERATE = "regenerate"  #: one made of the config's rules, the runtimes' own and ours takes its place


@frozen
class FilterStep:
    """One program on a container's cgroup, and what is done about it."""

    folder: str  #: of the cgroup
    program: int  #: its id, as `bpftool prog` has it
    name: str
    instructions: int
    way: Way
    reason: str = ""  #: why it is left or made anew, a clause about it


def look(folder: str, rules: tuple[CgroupRule, ...]) -> tuple[FilterStep, ...]:
    """What is to be done so that the programs on the cgroup FOLDER allow RULES: one step for each, none where there is none.

    A program that does not allow them is loaded with RULES in front as a trial, and let go. Raises UnavailableError for a cgroup that has
    gone, ConfigurationError where its programs cannot be changed.
    """
    found = [_step(folder, each, rules) for each in programs_on(folder)]
    anew = [step for step in found if step.way is Way.REGENERATE]
    others = [step for step in found if step.name != _SYSTEMDS]
    if anew and len(others) > 1:
        raise ConfigurationError(
            f"{called(anew[0].program, folder)} cannot be told from the runtime's own, which could be made anew from its config: "
            f"{anew[0].reason}, and there are {len(others)} programs; {OTHER_WAY}"
        )
    return tuple(found)


def swap(steps: tuple[FilterStep, ...], rules: tuple[CgroupRule, ...], config_rules: tuple[DeviceRule, ...], undo: UndoLog) -> None:
    """Apply STEPS: RULES in front of what each program says, or of CONFIG_RULES and the runtimes' own where it is made anew.

    What systemd makes itself must allow RULES by now. UNDO gets the way back of each; descriptors that this needs stay open, for the
    process's life if it is never gone. Raises UnavailableError, ConfigurationError.
    """
    for folder in dict.fromkeys([step.folder for step in steps if step.name == _SYSTEMDS]):
        for number, rule in _denying(folder, rules):
            raise ConfigurationError(
                f"{called(number, folder)} is systemd's own and denies {rule.number} {rule.access}; "
                f"give the container's unit DeviceAllow=, or {OTHER_WAY}"
            )
    for step in steps:
        if step.way is not Way.LEAVE:
            _swap(step, rules, config_rules, undo)


def wait_for_systemd(folder: str, rules: tuple[CgroupRule, ...], seconds: float) -> None:
    """Wait until systemd's own programs on the cgroup FOLDER allow RULES: it answers before it has attached a new one.

    One that does not show what it does is taken at systemd's word. Raises ConfigurationError after SECONDS, UnavailableError.
    """
    end = time.monotonic() + seconds
    while True:
        denying = _denying(folder, rules)
        if not denying:
            return
        if time.monotonic() >= end:
            number, rule = denying[0]
            raise ConfigurationError(
                f"systemd was told to allow {rule.number} {rule.access} on {folder}, but after {seconds:g} seconds its device program "
                f"{number} still denies it; `journalctl -b _PID=1` may tell why"
            )
        time.sleep(_PAUSE)


def _step(folder: str, program: Program, rules: tuple[CgroupRule, ...]) -> FilterStep:
    """What is to be done about PROGRAM of the cgroup FOLDER. Raises ConfigurationError."""
    if program.name == _SYSTEMDS and not _allows(program, rules):
        way, reason = Way.LEAVE, "systemd makes it anew from DeviceAllow="
    else:
        way, reason = decide(program, rules, called(program.id, folder))
    return FilterStep(folder, program.id, program.name, len(program.code) // bpf.INSTRUCTION, way, reason)


def decide(program: Program, rules: tuple[CgroupRule, ...], what: str) -> tuple[Way, str]:
    """What is to be done about PROGRAM, called WHAT in errors, and why if no rules get in front of it. Raises ConfigurationError."""
    if _allows(program, rules):
        return Way.LEAVE, "it allows them already"
    foreign = "reads maps" if program.maps else bpf.no_device_list(program.code)
    if foreign is not None:
        raise ConfigurationError(f"{what} {foreign}, so it is no plain list of devices that rules could be put in front of; {OTHER_WAY}")
    reason = bpf.unusable(program.code)
    if reason is None:
        try:
            os.close(programs.load(bpf.allow(rules, program.code), NAME))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EACCES, errno.E2BIG):
                raise refusal(error, what) from None
            reason = f"shows instructions that the kernel does not take again ({error.strerror})"
    return (Way.PREPEND, "") if reason is None else (Way.REGENERATE, f"it {reason}")


def _allows(program: Program, rules: tuple[CgroupRule, ...]) -> bool:
    """Whether PROGRAM allows all that RULES allow, each part of their access too; False where that cannot be told."""
    return all(verdict.allows(program.code, rule.number, part) for rule in rules for part in (rule.access, *_parts(rule.access)))


def _parts(access: str) -> list[str]:
    """All that can be asked for under a rule with ACCESS but all of it at once."""
    letters = sorted(set(access))
    return ["".join([each for place, each in enumerate(letters) if part >> place & 1]) for part in range(1, (1 << len(letters)) - 1)]


def replacement(way: Way, program: Program, rules: tuple[CgroupRule, ...], config_rules: tuple[DeviceRule, ...]) -> bytes:
    """What takes PROGRAM's place."""
    if way is Way.PREPEND:
        return bpf.allow(rules, program.code)
    ours = [DeviceRule(True, rule.number.type, rule.number.major, rule.number.minor, rule.access) for rule in rules]
    return bpf.device_list((*config_rules, *RUNTIME_DEFAULTS, *ours))


def _swap(step: FilterStep, rules: tuple[CgroupRule, ...], config_rules: tuple[DeviceRule, ...], undo: UndoLog) -> None:
    """Apply one STEP. The old program lives on as long as its descriptor."""
    what = called(step.program, step.folder)
    opened = [open_cgroup(step.folder)]
    try:
        opened.append(programs.open_program(step.program))
        cgroup, old = opened
        opened.append(programs.load(replacement(step.way, programs.show(old), rules, config_rules), NAME))
        new = opened[-1]
        _put(cgroup, old, new)
        undo.add(f"what took the place of {what}", lambda: _put(cgroup, new, old))
        opened = []
        number, (now, _) = programs.show(new).id, programs.attached(cgroup)
    except OSError as error:
        raise refusal(error, what) from None
    finally:
        for descriptor in opened:
            os.close(descriptor)
    if number not in now or step.program in now:
        there = ", ".join([str(each) for each in now]) or "none"
        raise ConfigurationError(f"{what} was to be replaced by {number}, but the kernel shows {there} there; look who else changes it")


def _put(cgroup: int, old: int, new: int) -> None:
    """Put the program NEW in the place of OLD on CGROUP, never with neither there. Raises OSError."""
    flags = _flags(cgroup, old)
    if not flags & programs.MULTI:
        programs.attach(cgroup, new, flags)  # such a cgroup has one program, and attaching another swaps them
        return
    try:
        programs.attach(cgroup, new, programs.MULTI | programs.REPLACE, old)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT):  # a kernel before 5.6, or a program that a link holds
            raise
        _flags(cgroup, old)  # what has gone meanwhile is no longer to be replaced
        programs.attach(cgroup, new, programs.MULTI)
        try:
            programs.detach(cgroup, old)
        except OSError as refused:
            programs.detach(cgroup, new)
            _flags(cgroup, old)
            says = "it is held by a BPF link" if refused.errno == errno.ENOENT else refused.strerror
            raise OSError(errno.EBUSY, says) from None


def _flags(cgroup: int, program: int) -> int:
    """The flags with which PROGRAM is attached to CGROUP. Raises OSError, ENOENT if it is not attached (any more)."""
    numbers, flags = programs.attached(cgroup)
    if programs.show(program).id not in numbers:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    return flags


def _denying(folder: str, rules: tuple[CgroupRule, ...]) -> list[tuple[int, CgroupRule]]:
    """Those of RULES that a program of systemd's on the cgroup FOLDER denies, with the program's id."""
    own = [program for program in programs_on(folder) if program.name == _SYSTEMDS]
    return [(program.id, rule) for program in own for rule in rules if verdict.allows(program.code, rule.number, rule.access) is False]
