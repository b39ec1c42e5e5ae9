"""QEMU's monitor: the QEMU Machine Protocol, https://www.qemu.org/docs/master/interop/qmp-spec.html."""

from __future__ import annotations

import json
import socket
from typing import Any


class MonitorError(Exception):
    """QEMU refuses a command, or has ended."""


class Monitor:
    """QEMU's end of a socket pair and ours: neither a path nor a port that others could find."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(30)
        self._stream = self._ours.makefile("rw", encoding="utf-8")

    @property
    def descriptor(self) -> int:
        """What QEMU must be given."""
        return self._theirs.fileno()

    def arguments(self) -> tuple[str, ...]:
        """QEMU's options for it."""
        return "-chardev", f"socket,id=monitor,fd={self.descriptor}", "-mon", "chardev=monitor,mode=control"

    def greet(self) -> None:
        """Begin to talk, as soon as QEMU has been started."""
        self._theirs.close()
        self._read()
        self.call("qmp_capabilities")

    def call(self, command: str, **arguments: object) -> Any:
        """What QEMU returns for COMMAND. Raises MonitorError."""
        self._stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._stream.flush()
        answer = self._read()
        if "error" in answer:
            raise MonitorError(f"{command}: {answer['error']['desc']}")
        return answer["return"]

    def human(self, line: str) -> str:
        """What the monitor for people prints for LINE: some things are told nowhere else."""
        answer: str = self.call("human-monitor-command", **{"command-line": line})
        return answer

    def _read(self) -> dict[str, Any]:
        """The next message that is no event."""
        while line := self._stream.readline():
            message: dict[str, Any] = json.loads(line)
            if "event" not in message:
                return message
        raise MonitorError("QEMU has ended")

    def close(self) -> None:
        """Talk no more."""
        self._stream.close()
        self._ours.close()
        self._theirs.close()
