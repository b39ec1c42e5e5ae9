"""The hook's start-up time is bounded, as a ratio to the bare interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench
HERE = Path(__file__).parent
INSTALL = HERE.parents[1] / "packaging" / "install"


@pytest.fixture(scope="module", name="ratios")
def fixture_ratios(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """One run of the bench against the program as it is installed."""
    tree = tmp_path_factory.mktemp("installed")
    tree.chmod(0o755)
    subprocess.run([INSTALL, "--destdir", tree / "root", "--prefix", tree / "usr"], check=True)
    # --destdir keeps /etc and /usr/share clean, the prefix is where the program looks for its package
    (tree / "root" / str(tree).lstrip("/") / "usr").rename(tree / "usr")
    program = tree / "usr" / "libexec" / "oci" / "hooks.d" / "oci-udev-hook"
    bench = ["unshare", "-m", sys.executable, HERE / "start.py", program, "20", "--json"]
    answer = subprocess.run(bench, stdout=subprocess.PIPE, check=True, text=True)
    ratios: dict[str, float] = json.loads(answer.stdout)
    print("\nwall time in bare interpreters (python3 -I -c pass), medians of 20 in one run")
    for name, ratio in ratios.items():
        print(f"{ratio:6.2f}  {name}")
    return ratios


@pytest.mark.parametrize(
    ("what", "bound"),
    [
        pytest.param("precreate, nothing asked", 2.0, id="nothing asked"),
        pytest.param("precreate, two units", 4.0, id="one request, two units"),
    ],
)
def test_precreate_takes_at_most_so_many_bare_interpreters(ratios: dict[str, float], what: str, bound: float) -> None:
    assert ratios[what] <= bound
