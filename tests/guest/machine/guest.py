"""The machine: started from its image or from a saved state, commands run in it, adapters plugged into it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Self

from bed.views import BedError, Result, until

from .qmp import Monitor, MonitorError

if TYPE_CHECKING:
    from pathlib import Path

QEMU = "qemu-system-x86_64"
#: Emulated in software: /dev/kvm can be opened on machines that then cannot run a stock kernel, or only at a crawl. One CPU: Linux patches
#: its own code while other CPUs run it, which QEMU's translator does not always follow; one boot of two with two CPUs ended in a panic.
MACHINE = (
    *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
    *("-machine", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max,la57=off,smap=off,pku=off", "-smp", "1", "-m", "2G"),
    *("-drive", "file=disk.qcow2,if=virtio,cache=unsafe,discard=unmap", "-device", "virtio-rng-pci", "-device", "qemu-xhci,p2=15,p3=1"),
    # restrict: it can be reached, and reaches nothing
    *("-netdev", "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:22", "-device", "virtio-net-pci,netdev=net,romfile="),
    *("-serial", "file:console.log"),
)
#: panic=-1 and -no-reboot: a guest that panics ends, and does not spin
KERNEL = "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off rcupdate.rcu_expedited=1"
BOOT, RESUME = 400, 60  #: seconds that a start may take; a boot takes one minute of a machine that has nothing else to do
LINK = "/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_{serial}-if00-port0"


class Guest:
    """One machine that runs from IMAGE or from the saved STATE, which both stay as they are. All that it writes is in FOLDER.

    A context: on leaving it, QEMU and all else that was started for it have ended, and FOLDER is gone.
    """

    def __init__(self, image: Path, folder: Path, state: Path | None = None) -> None:
        self.image, self.folder, self.state = image, folder, state
        self.monitor = Monitor()
        self._ending = ExitStack()
        self._logins: dict[str, subprocess.Popen[bytes]] = {}
        self._ssh: tuple[str, ...] = (
            *("ssh", "-q", "-F", "none", "-i", str(image / "id_ed25519"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"),
            *("-o", f"UserKnownHostsFile={image / 'known_hosts'}", "-o", "HostKeyAlias=guest", "-o", "StrictHostKeyChecking=yes"),
            *("-o", "ConnectTimeout=20", "-o", "ControlPath=login-%r"),  # a relative path: a socket's may have 108 bytes only
        )

    def __enter__(self) -> Self:
        with ExitStack() as ending:
            ending.callback(self._ending.close)
            try:
                self._start()
                self._reach(RESUME if self.state else BOOT)
                self.run("date", "--utc", "--set", f"@{time.time():.0f}")
            except (MonitorError, AssertionError, OSError) as error:
                raise BedError(f"the guest does not start: {error}\n{self.last_words()}") from error
            ending.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def _start(self) -> None:
        """Start QEMU on a throw-away disk."""
        shutil.rmtree(self.folder, ignore_errors=True)  # a killed run's
        self.folder.mkdir(parents=True)
        self._ending.callback(shutil.rmtree, self.folder, ignore_errors=True)
        below = (str(self.state / "disk.qcow2"), "-F", "qcow2") if self.state else (str(self.image / "disk.img"), "-F", "raw")
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", *below, "disk.qcow2"], cwd=self.folder, check=True)
        incoming = ("-incoming", f"exec:cat {shlex.quote(str(self.state / 'ram'))}") if self.state else ()
        kernel = ("-kernel", self.image / "vmlinuz", "-initrd", self.image / "initrd.img", "-append", KERNEL)
        command = ("setpriv", "--pdeathsig", "KILL", QEMU, *MACHINE, *self.monitor.arguments(), *kernel, *incoming)
        with (self.folder / "qemu.log").open("wb") as log:
            self.qemu = subprocess.Popen(
                command, cwd=self.folder, pass_fds=[self.monitor.descriptor], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._ending.callback(_end, self.qemu)
        self._ending.callback(self._log_out)
        self._ending.callback(self.monitor.close)
        self.monitor.greet()

    def _reach(self, seconds: float) -> None:
        """Wait until root can log in."""
        network = self.monitor.human("info usernet")
        forward = re.search(r"HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)", network)
        if not forward:
            raise MonitorError(f"info usernet does not tell the port of the guest's sshd: {network}")
        self._ssh = (*self._ssh, "-p", forward[1])
        end = time.monotonic() + seconds
        while not self._log_in("root"):
            if self.qemu.poll() is not None:
                raise MonitorError(f"QEMU has ended: exit {self.qemu.returncode}")
            if "Kernel panic" in self.last_words() or time.monotonic() > end:
                raise TimeoutError(f"nobody can log in within {seconds} s")
            time.sleep(1)

    def _log_in(self, user: str) -> bool:
        """Open the connection that USER's commands share: a new one for each takes seconds. False where the guest does not answer."""
        login = subprocess.Popen([*self._ssh, "-M", "-N", f"{user}@127.0.0.1"], cwd=self.folder, stdin=subprocess.DEVNULL)
        while login.poll() is None:
            if (self.folder / f"login-{user}").exists():
                self._logins[user] = login
                return True
            time.sleep(0.05)
        return False

    def _log_out(self) -> None:
        """Close all connections."""
        while self._logins:
            _end(self._logins.popitem()[1])

    def last_words(self) -> str:
        """The end of what QEMU and the guest's kernel have printed."""
        found = []
        for name in ("qemu.log", "console.log"):
            with suppress(OSError):
                found += [f"--- {name}", *(self.folder / name).read_text(errors="replace").splitlines()[-25:]]
        return "\n".join(found)

    def run(self, *arguments: str, user: str = "root", stdin: str = "", timeout: float = 60, check: bool = True) -> Result:
        """Run ARGUMENTS in the guest and wait. With CHECK another exit code than 0 is an AssertionError."""
        if user not in self._logins and not self._log_in(user):
            raise BedError(f"{user} cannot log in to the guest\n{self.last_words()}")
        command = [*self._ssh, f"{user}@127.0.0.1", shlex.join(arguments)]
        try:
            done = subprocess.run(command, cwd=self.folder, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{' '.join(arguments)}: no end within {timeout} s\n{self.last_words()}") from None
        result = Result(arguments, done.returncode, done.stdout, done.stderr)
        if done.returncode == 255:  # ssh's own
            raise BedError(f"the guest does not answer: {result}\n{self.last_words()}")
        assert not check or result.code == 0, str(result)
        return result

    def copy(self, folder: Path, names: tuple[str, ...], target: str) -> None:
        """Copy what NAMES are in FOLDER into the guest's folder TARGET."""
        self.run("mkdir", "--parents", target)
        tar = ["tar", "-C", str(folder), "--exclude=__pycache__", "--owner=0", "--group=0", "-c", *names]
        archive = subprocess.run(tar, stdout=subprocess.PIPE, check=True).stdout
        command = [*self._ssh, "root@127.0.0.1", shlex.join(["tar", "-C", target, "-x"])]
        subprocess.run(command, cwd=self.folder, input=archive, timeout=60, check=True)

    def plug(self, serial: str) -> str:
        """Plug in a USB serial adapter with this number and return its node."""
        self.monitor.call("chardev-add", id=f"{serial}-line", backend={"type": "ringbuf", "data": {"size": 4096}})
        options = {"driver": "usb-serial", "id": serial, "serial": serial, "chardev": f"{serial}-line", "always-plugged": True}
        self.monitor.call("device_add", **options)
        link = LINK.format(serial=serial)
        self.run("udevadm", "wait", "--timeout=30", link)
        return self.run("realpath", link).out.strip()

    def unplug(self, serial: str) -> None:
        """Pull the adapter out."""
        self.monitor.call("device_del", id=serial)
        self.run("udevadm", "wait", "--removed", "--timeout=30", LINK.format(serial=serial))
        until(lambda: self._forgotten(f"{serial}-line"))

    def _forgotten(self, line: str) -> bool:
        """Whether the far end of an adapter is gone; it is busy until QEMU has taken the adapter away."""
        try:
            self.monitor.call("chardev-remove", id=line)
        except MonitorError:
            return False
        return True

    def received(self, serial: str) -> str:
        """What the adapter's far end has got since it was last asked."""
        text: str = self.monitor.call("ringbuf-read", device=f"{serial}-line", size=4096)
        return text

    def save(self, state: Path) -> None:
        """Keep RAM and disk in the folder STATE. The guest does not run on; nothing may be plugged in, QEMU cannot save an adapter."""
        self._log_out()
        self.monitor.call("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        self.monitor.call("migrate", uri=f"exec:cat >{shlex.quote(str(state / 'ram'))}")
        answer = self.monitor.call("query-migrate")
        while answer.get("status") != "completed":
            if answer.get("status") in {"failed", "cancelled"}:
                raise BedError(f"QEMU cannot save the guest: {answer}")
            time.sleep(0.2)
            answer = self.monitor.call("query-migrate")
        _end(self.qemu)
        shutil.move(self.folder / "disk.qcow2", state / "disk.qcow2")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End PROCESS and wait for it."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
