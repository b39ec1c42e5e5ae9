"""What stands around a container's start: builds, hostile images, what the hook leaves alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bed.cells import diagonal
from bed.engine import IMAGE, RESOURCE, Engine

if TYPE_CHECKING:
    from bed.devices import Loop

pytestmark = pytest.mark.parametrize("engine", diagonal(), indirect=True)
EVIL = "/tmp/evil"


def test_podman_build_works_with_everything_installed(clean: Engine) -> None:
    """Case 23: buildah refuses a whole folder of hooks for one precreate file in it."""
    clean.view.write("/tmp/context/Containerfile", f"FROM {IMAGE}\nRUN echo built >/tmp/built\n")

    clean.podman("build", "--quiet", "--network", "none", "--tag", "localhost/built:1", "/tmp/context")

    assert clean.podman("run", "--rm", "localhost/built:1", "cat", "/tmp/built").out == "built\n"


def test_an_images_environment_has_no_effect_on_the_hook(clean: Engine, loops: tuple[Loop, ...]) -> None:
    """Case 34: a module of the image's choice would leave a file, and so would the loader of any program that has the image's variables."""
    clean.view.write(f"{EVIL}/json.py", f"open('{EVIL}/python', 'w')\nraise SystemExit(99)\n")
    clean.view.path(EVIL).chmod(0o1777)
    variables = (f"PYTHONPATH={EVIL}", f"LD_PRELOAD={EVIL}/evil.so", "LD_DEBUG=files", f"LD_DEBUG_OUTPUT={EVIL}/loader")
    options = tuple(word for variable in variables for word in ("--env", variable))

    answer = clean.output(f"{RESOURCE}: 1", "sh", "-c", f"exec 3<>{loops[0].node} && echo $LD_PRELOAD", options=options)

    assert answer == f"{EVIL}/evil.so\n"
    assert [path.name for path in clean.view.path(EVIL).iterdir()] == ["json.py"]


def test_a_container_that_asks_for_nothing_is_left_alone(clean: Engine) -> None:
    assert "loop" not in clean.output("", "ls", "/dev")


def test_the_config_is_the_same_but_for_the_devices(clean: Engine) -> None:
    """A container with devices has all that one without them has: mounts, rights, limits."""
    show = ("sh", "-c", "cut -d ' ' -f 5,6 /proc/self/mountinfo | sort; grep -E '^(Cap|NoNew|Seccomp)' /proc/self/status; ulimit -a")

    assert clean.output(f"{RESOURCE}: 2", *show) == clean.output("", *show)
