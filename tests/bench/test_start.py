"""The hook's start-up time is bounded, as a ratio to the bare interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench
HERE = Path(__file__).parent
BARE = "python3 -I -c pass"
INSTALL = HERE.parents[1] / "packaging" / "install"


@pytest.fixture(scope="module", name="medians")
def fixture_medians(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """One run of the bench against the program as it is installed: milliseconds."""
    tree = tmp_path_factory.mktemp("installed")
    tree.chmod(0o755)
    subprocess.run([INSTALL, "--destdir", tree / "root", "--prefix", tree / "usr"], check=True)
    # --destdir keeps /etc and /usr/share clean, the prefix is where the program looks for its package
    (tree / "root" / str(tree).lstrip("/") / "usr").rename(tree / "usr")
    program = tree / "usr" / "libexec" / "oci" / "hooks.d" / "oci-udev-hook"
    bench = ["unshare", "-m", sys.executable, HERE / "start.py", program, "20", "--json"]
    answer = subprocess.run(bench, stdout=subprocess.PIPE, check=True, text=True)
    medians: dict[str, float] = json.loads(answer.stdout)
    print("\nmedians of 20 in one run, in ms and in bare interpreters (python3 -I -c pass)")
    for name, median in medians.items():
        print(f"{median:6.1f}  {median / medians[BARE]:6.2f}  {name}")
    return medians


@pytest.mark.parametrize(
    ("what", "bound"),
    [
        pytest.param("precreate, nothing asked", 2.0, id="nothing asked"),
        pytest.param("precreate, two units", 4.0, id="one request, two units"),
    ],
)
def test_precreate_takes_at_most_so_many_bare_interpreters(medians: dict[str, float], what: str, bound: float) -> None:
    assert medians[what] / medians[BARE] <= bound


def test_create_runtime_doing_everything_takes_at_most_25_ms_more_than_precreate(medians: dict[str, float]) -> None:
    """For the same four devices, on cgroup v2: nodes, a device program, the bundle, the lease."""
    assert medians["createRuntime, four units"] - medians["precreate, four units"] <= 25
