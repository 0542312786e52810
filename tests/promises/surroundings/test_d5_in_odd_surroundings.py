"""What holds for root on an idle machine holds for others, with what shells export.

An ordinary user without much processor time, on whose machine variables tune the
libraries of linear algebra, runs a part of these tests: the tour, a recorded program, its
replay, a verification, programs in a capsule and an experiment.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from base_install import Site
from machines import NOBODY

ROOT = Path(__file__).parents[3]
TUNED = {
    "MKL_NUM_THREADS": "3",
    "OMP_NUM_THREADS": "3",
    "OPENBLAS_L2_SIZE": "512",
    "OPENBLAS_NUM_THREADS": "3",
}
if os.uname().machine == "x86_64":
    TUNED["OPENBLAS_CORETYPE"] = "Prescott"  # any of them computes as it did
NEEDS = (
    *("hypothesis", "numpy", "pandas", "pytest", "pytest-timeout"),
    *("aiohttp", "anthropic", "httpx", "httpx2", "openai", "requests"),
)
RECORDED = "plugins/recorder/test_recorder_programs.py"
PARTS = (
    "cli/running/test_demo.py",
    "cli/running/test_replaying.py",
    "cli/keeping/test_verify_command.py",
    "ledger/replays/test_replay.py",
    "plugins/capsule/running/test_capsule_running.py",
    "plugins/harness/experiments/test_harness_experiments.py",
    f"{RECORDED}::test_a_program_is_one_run_that_replays_offline",
    f"{RECORDED}::test_streams_and_exit_code_are_the_programs",
)


@pytest.fixture
def site() -> Iterator[Site]:
    """Give an environment that any user reads, with these tests beside it."""
    made = Site()
    try:
        made.install(*NEEDS)
        for name in ("tests", "examples"):
            away = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, made.root / name, ignore=away)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, made.root)
        (made.root / "own").mkdir()
        os.chown(made.root / "own", NOBODY, NOBODY)
        yield made
    finally:
        made.close()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another")
def test_an_ordinary_user_with_tuned_libraries_and_little_time(site: Site) -> None:
    """Not one of them fails; what they skip is what needs root."""
    own = site.root / "own"
    done = subprocess.run(
        [
            *("nice", "-n", "19", site.bin / "python", "-m", "pytest", "-q", "-rs"),
            *("-p", "no:cacheprovider", "--basetemp", own / "tests"),
            *(f"tests/{part}" for part in PARTS),
        ],
        cwd=site.root,
        env={
            "HOME": str(own),
            "PATH": f"{site.bin}:/usr/bin:/bin",
            "TMPDIR": str(own),
            **TUNED,
        },
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (passed,) = re.findall(r"(\d+) passed", done.stdout)
    assert int(passed) > 100, done.stdout
