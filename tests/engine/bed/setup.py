"""What a view needs before its first container: the hook installed as the README says, an image, a user, the engine's settings."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .cells import Cgroup, Release, can_raise_limits, tree
from .devices import Loop
from .engine import IMAGE, RESOURCE, USER
from .views import HERE, View

CHECKOUT = HERE.parents[2]
SOURCE = "/opt/oci-udev-hook"  #: the checkout's copy in a view
DEFINITION = "/etc/oci-udev-hook/resources.d/50-bed.toml"
HOOKS = "/usr/share/containers/oci/hooks.d"  #: podman's default folder
DROP_IN = "/etc/containers/containers.conf.d/50-oci-udev-hook.conf"  #: names the folder of the precreate hook
IMAGE_TAR = "/tmp/image.tar"

#: Settings that podman needs on machines without CAP_SYS_RESOURCE, without iptables, or whose v2 hierarchy has no pids controller.
SETTINGS = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
netns = "none"
pids_limit = 0
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


def bare(release: Release, cgroup: Cgroup) -> View:
    """Start a view of RELEASE with nothing in it but a copy of the checkout, at SOURCE."""
    view = View(tree(release), cgroup)
    view.start()
    for folder in ("hook", "oci-hooks.d", "packaging", "tests/engine/bed"):
        shutil.copytree(CHECKOUT / folder, view.path(f"{SOURCE}/{folder}"), ignore=shutil.ignore_patterns("__pycache__"))
    return view


def prepare(release: Release, cgroup: Cgroup, loops: tuple[Loop, ...], units: tuple[Loop, ...]) -> View:
    """Start a view of RELEASE that has LOOPS, UNITS of them defined, ready for tests."""
    view = bare(release, cgroup)
    try:
        furnish(view, release, loops, units)
    except BaseException:
        view.stop()
        raise
    return view


def furnish(view: View, release: Release, loops: tuple[Loop, ...], units: tuple[Loop, ...]) -> None:
    """Put into VIEW what engines need."""
    view.run(f"{SOURCE}/packaging/install")
    view.write("/etc/containers/containers.conf.d/10-bed.conf", SETTINGS)
    if release is Release.DEBIAN12 and not can_raise_limits() and shutil.which("gcc"):
        shim_crun(view)
    view.run("useradd", "--create-home", USER)
    for file in ("/etc/subuid", "/etc/subgid"):  # of --userns=auto, containers-storage.conf(5)
        view.write(file, f"{view.path(file).read_text()}containers:1000000:1000000\n")
    uid = view.uid(USER)
    view.run("install", "-d", "-o", USER, "-g", USER, "-m", "700", f"/run/user/{uid}")
    view.run(str(Path(SOURCE, "tests/engine/bed/image")), IMAGE_TAR)
    for loop in loops:
        loop.appear(view)
    define(view, units)
    import_image(view, None)


def import_image(view: View, user: str | None) -> None:
    """Give USER's podman the image."""
    view.run("podman", "import", "--quiet", "--change", 'CMD ["sh"]', "--change", "ENV PATH=/bin", IMAGE_TAR, IMAGE, user=user)


@contextmanager
def without_precreate(view: View) -> Iterator[None]:
    """No engine finds the precreate hook meanwhile; the others are where they are by default."""
    drop_in = view.path(DROP_IN)
    text = drop_in.read_text()
    drop_in.unlink()
    try:
        yield
    finally:
        view.write(DROP_IN, text)


def define(view: View, loops: tuple[Loop, ...], extra: str = "") -> None:
    """Make LOOPS the units of RESOURCE in VIEW. EXTRA is more of its definition."""
    names = "|".join(loop.name for loop in loops)
    view.write(DEFINITION, f"[[resource]]\nname = '{RESOURCE}'\nmatch = ['SUBSYSTEM==\"block\", KERNEL==\"{names}\"']\n{extra}")


def shim_crun(view: View) -> None:
    """Let crun 1.8.1 load device programs without CAP_SYS_RESOURCE, see memlock-shim.c."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "shim.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, HERE / "memlock-shim.c", "-ldl"], check=True)
        shutil.copy(library, view.path("/usr/local/lib/memlock-shim.so"))
    view.write("/usr/local/bin/crun", '#!/bin/sh\nLD_PRELOAD=/usr/local/lib/memlock-shim.so exec /usr/bin/crun "$@"\n', 0o755)
    view.write("/etc/containers/containers.conf.d/11-crun.conf", '[engine.runtimes]\ncrun = ["/usr/local/bin/crun"]\n')
