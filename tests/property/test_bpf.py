"""Device programs: whatever rules there are, they allow what the rules say and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oci_udev_hook.edit import CgroupRule
from oci_udev_hook.injection import bpf, verdict
from oci_udev_hook.injection.rules import DeviceRule
from oci_udev_hook.model import DeviceNumber, DeviceType

pytestmark = pytest.mark.property

types = st.sampled_from(list(DeviceType))
parts = st.sampled_from([0, 1, 2, 255, 4095, 2**20 - 1])
accesses = st.sampled_from(["r", "w", "m", "rw", "rm", "wm", "rwm", "mwr"])
numbers = st.builds(DeviceNumber, types, parts, parts)
anything = st.none()
device_rules = st.lists(
    st.builds(DeviceRule, st.booleans(), types | anything, parts | anything | st.just(2**40), parts | anything, accesses), max_size=8
).map(tuple)
cgroup_rules = st.lists(st.builds(CgroupRule, numbers, accesses), max_size=4).map(tuple)


def model(rules: tuple[DeviceRule, ...], number: DeviceNumber, access: str) -> bool:
    """The last matching rule wins for each letter of ACCESS, none means no; without a letter, some rule must allow something."""
    matching = [
        rule
        for rule in rules
        if rule.type in (None, number.type) and rule.major in (None, number.major) and rule.minor in (None, number.minor)
    ]
    if not access:
        return any(rule.allow for rule in matching)
    return all(([False] + [rule.allow for rule in matching if letter in rule.access])[-1] for letter in access)


@given(rules=device_rules, number=numbers, access=accesses | st.just(""))
def test_a_device_list_says_what_its_rules_say(rules: tuple[DeviceRule, ...], number: DeviceNumber, access: str) -> None:
    program = bpf.device_list(rules)

    assert bpf.unusable(program) is None
    assert bpf.no_device_list(program) is None
    assert verdict.allows(program, number, access) is model(rules, number, access)


@given(old=device_rules, rules=cgroup_rules, number=numbers, access=accesses)
def test_rules_in_front_are_all_that_is_added(
    old: tuple[DeviceRule, ...], rules: tuple[CgroupRule, ...], number: DeviceNumber, access: str
) -> None:
    """What the program alone allows, or the rules alone: no request is let through that needs a bit from each."""
    given_ones = [rule for rule in rules if rule.number == number]
    ours = bool(given_ones) and set(access) <= {letter for rule in given_ones for letter in rule.access}
    program = bpf.allow(rules, bpf.device_list(old))

    assert bpf.unusable(program) is None
    assert verdict.allows(program, number, access) is (model(old, number, access) or ours)


@given(rules=cgroup_rules, old=device_rules)
def test_rules_in_front_are_allowed(rules: tuple[CgroupRule, ...], old: tuple[DeviceRule, ...]) -> None:
    program = bpf.allow(rules, bpf.device_list(old))

    assert all(verdict.allows(program, rule.number, rule.access) for rule in rules)


@given(program=st.binary(max_size=400), number=numbers, access=accesses)
def test_any_bytes_get_an_answer(program: bytes, number: DeviceNumber, access: str) -> None:
    """A dump is what the kernel shows, and that need not be a program."""
    assert bpf.unusable(program) is None or isinstance(bpf.unusable(program), str)
    assert bpf.no_device_list(program) in (None, "calls functions", "reads maps")
    assert verdict.allows(program, number, access) in (True, False, None)
