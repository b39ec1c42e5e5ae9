"""Many runs at once, killed at any moment: never one unit in two living hands, never half a file."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oci_udev_hook import typed
from oci_udev_hook.allocation import Ledger, allocate, leases, process, records
from oci_udev_hook.errors import HeldError
from oci_udev_hook.model import (
    Device,
    DeviceNumber,
    DeviceType,
    Holder,
    Lease,
    LeaseState,
    Process,
    Request,
    Resource,
    Unit,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.property

FOO = "hardware-vendor.example/foo"
RESOURCE = Resource(FOO)
SECONDS = 3.0
WORKERS = 6
FAULT = 99  #: exit status of a worker that found a unit in another's hands


def unit(minor: int) -> Unit:
    """A serial adapter."""
    number = DeviceNumber(DeviceType.CHAR, 188, minor)
    return Unit(FOO, f"serial:{minor}", (), (Device(f"/sys/{minor}", devnode=f"/dev/ttyUSB{minor}", number=number),))


POOL = tuple([unit(minor) for minor in range(4)])


def nothing(_boot: str, _uid: int) -> tuple[Lease, ...]:
    """No container lives outside of the ledger here."""
    return ()


def use(unit_: str, folder: str) -> int:
    """Open the device, as it were: a lock that ends with this process tells whether anybody else has it open."""
    descriptor = os.open(f"{folder}/{unit_}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os._exit(FAULT)
    return descriptor


def work(state: str, devices: str, seed: int) -> None:
    """Be one container after the other, each held by this process: take units, use them, let them go."""
    dice = random.Random(seed)
    own = process(os.getpid())
    assert own is not None
    for run in range(10**6):
        container = f"{os.getpid()}-{run}"
        state_ = dice.choice([LeaseState.RESERVED, LeaseState.CONFIRMED])
        holder = Holder(container, f"demo-{seed}", state_, own, "now", time.time())
        opened = []
        try:
            with Ledger(state, boot="now", rebuild=nothing) as ledger:
                allotments = allocate(
                    ((Request(FOO, dice.randint(1, 2)), RESOURCE),), {FOO: POOL}, ledger.living(POOL), ledger.previous(holder.name), {}, {}
                )
                ledger.commit(leases(allotments, holder))
            opened = [use(given.identity, devices) for allotment in allotments for given in allotment.units]
            if dice.random() < 0.3:
                with Ledger(state, boot="now", rebuild=nothing) as ledger:
                    assert len(ledger.confirm(container, own)) == len(opened)
        except HeldError:
            continue
        for descriptor in opened:
            os.close(descriptor)
        if dice.random() < 0.9:
            with Ledger(state, boot="now", rebuild=nothing) as ledger:
                ledger.release(container)
        else:
            os._exit(0)  # a container that nobody released


def start(state: str, devices: str, seed: int) -> int:
    """A worker; gives its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            work(state, devices, seed)
        finally:
            os._exit(1)
    return pid


def test_no_unit_is_ever_in_two_living_hands(tmp_path: Path) -> None:
    """Workers take and release; at random moments one is killed, and its body left unburied for a while, as a zombie."""
    state, devices = tmp_path / "state", tmp_path / "devices"
    devices.mkdir()
    seed = 185
    dice = random.Random(seed)
    workers = {start(str(state), str(devices), seed + number) for number in range(WORKERS)}
    statuses: list[int] = []
    deadline = time.monotonic() + SECONDS
    zombies: list[int] = []
    ledgers = 0
    try:
        while time.monotonic() < deadline:
            time.sleep(dice.random() * 0.02)
            ledgers += readable(state / "ledger.json")
            victim = dice.choice(sorted(workers))
            os.kill(victim, signal.SIGKILL)
            zombies.append(victim)
            workers.discard(victim)
            seed += 1
            workers.add(start(str(state), str(devices), seed + WORKERS))
            while len(zombies) > 3:
                statuses.append(os.waitpid(zombies.pop(0), 0)[1])
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        statuses += [os.waitpid(pid, 0)[1] for pid in (*workers, *zombies)]
    killed = [status for status in statuses if os.WIFSIGNALED(status)]
    exits = {os.WEXITSTATUS(status) for status in statuses if os.WIFEXITED(status)}
    assert exits <= {0}
    assert len(killed) > 20
    assert ledgers > 20
    assert not list(state.glob("*damaged*"))


def readable(path: Path) -> bool:
    """Whether there is a ledger yet, which must be whole whenever it is read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return False
    json.loads(data)
    records.parse(data, 0, str(path))
    return True


numbers = st.builds(DeviceNumber, st.sampled_from(DeviceType), st.integers(0, 4095), st.integers(0, 1048575))
texts = st.text(st.characters(codec=None), max_size=20)
paths = texts.filter(typed._is_path)
seconds = st.floats(0, 4e9, allow_nan=False)
holders = st.builds(
    Holder,
    st.text(min_size=1, max_size=20),
    texts,
    st.sampled_from(LeaseState),
    st.builds(Process, st.integers(1, 2**22), st.integers(0, 2**63)),
    texts,
    seconds,
    st.none() | seconds,
    paths,
    st.just(1000),
)


@given(st.data())
def test_the_file_keeps_whatever_is_put_into_it(data: st.DataObject) -> None:
    """Names come from users, and need not be text in any encoding."""
    holder = data.draw(holders)
    held = st.builds(
        Lease, texts, texts, st.frozensets(numbers, max_size=3), st.lists(paths, max_size=2).map(tuple), st.just(holder), st.integers(1, 9)
    )
    given_ = tuple(data.draw(st.lists(held, min_size=1, max_size=3)))
    book = records.Records({}, 1000)
    book.put(holder, given_)
    again = records.parse(book.dump(), 1000, "ledger.json")
    assert again.leases(holder.container) == given_
    for lease in given_:
        assert list(again.touching(frozenset([lease.unit]), frozenset())) == [holder.container]


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_file_at_all_is_a_ledger_or_damaged(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """And is replaced by a sound one."""
    folder = tmp_path_factory.mktemp("state")
    (folder / "ledger.json").write_bytes(content)
    with Ledger(str(folder), boot="now", rebuild=nothing) as book:
        assert book.living(POOL) == ()
        book.commit(())
    assert Ledger.read_only(str(folder), boot="now").leases() == ()
