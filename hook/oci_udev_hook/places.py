"""Where things are on the host: folders of definitions, state folders, the boot id, and who runs us.

Nothing is taken from the environment, which is empty or the engine's when a hook runs.
"""

from __future__ import annotations

import os

from .errors import ConfigurationError
from .frozen import frozen

NAME = "oci-udev-hook"
CONFIG_DIRS = (f"/usr/share/{NAME}", f"/run/{NAME}", f"/etc/{NAME}")  #: later ones mask earlier ones
ROOT_STATE_DIR = f"/run/{NAME}"
MARK = f"io.{NAME}.injected"  #: the annotation in which the hook's own mark stands on a config that it has patched


@frozen
class User:
    """Whose hook this is: the uid outside of any user namespace of the engine's."""

    uid: int
    rootless: bool


def user(uid_map: str | None = None) -> User:
    """Who runs the hook. UID_MAP is the text of /proc/self/uid_map, see user_namespaces(7).

    Rootless podman runs its hooks as uid 0 of its own user namespace, so geteuid(2) does not tell.
    """
    if uid_map is None:
        try:
            with open("/proc/self/uid_map", "rb") as file:  # as bytes: to open it as text would load the codec's module
                uid_map = file.read().decode("ascii")
        except OSError as error:
            raise ConfigurationError(f"/proc/self/uid_map cannot be read: {error.strerror}; oci-udev-hook needs the host's /proc") from None
    own = os.geteuid()
    for line in uid_map.splitlines():
        inside, outside, length = (int(word) for word in line.split())
        if inside <= own < inside + length:
            uid = outside + own - inside
            return User(uid, rootless=uid != 0)
    return User(own, rootless=True)


def state_dir(who: User) -> str:
    """The folder of WHO's ledger; not made yet.

    Rootless it is the user's runtime folder (pam_systemd(8)), or one in /tmp as podman's own is where no session made that.
    """
    if not who.rootless:
        return ROOT_STATE_DIR
    runtime = f"/run/user/{who.uid}"
    return f"{runtime}/{NAME}" if os.path.isdir(runtime) else f"/tmp/{NAME}-{who.uid}"


def make_state_dir(path: str) -> None:
    """Make the state folder PATH, 0755 so that users' hooks can read root's ledger, and see that nobody else may write there.

    Raises ConfigurationError where it belongs to another user or is open to others: its content decides who gets a device.
    """
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigurationError(
            f"the state folder {path} cannot be made: {error.strerror}; make it or name another with --state-dir"
        ) from None
    status = os.lstat(path)
    if status.st_mode & 0o170022 != 0o040000 or status.st_uid != os.geteuid():
        raise ConfigurationError(
            f"the state folder {path} is not safe: it must be a folder of uid {os.geteuid()} that no one else may write; "
            "remove it and start again"
        )


def boot_id() -> str:
    """This boot's id, random(4)."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
