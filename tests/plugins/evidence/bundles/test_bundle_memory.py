"""A bundle of many events needs little memory, whoever writes or verifies it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bundled import evidence_plugins
from muniment import Run
from muniment.ledger import Ledger
from muniment_plugins.evidence.standalone.one_file import one_file

STEPS = """
import sys, pathlib, muniment, verify_evidence
from muniment_plugins.evidence import write_bundle
run, path, step = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
told = []
if step == "write":
    with muniment.open("ledger.db") as ledger:
        write_bundle(ledger, run, path, progress=lambda *pair: told.append(pair))
    assert len(told) > 20 or "bundle-100" in sys.argv, told
    assert told == sorted(told) and all(done <= whole for done, whole in told), told[-5:]
elif step == "verify":
    assert muniment.verify_bundle(path).integrity == "intact"
else:
    try:
        verify_evidence.verify(path, None)
    except verify_evidence.Unchecked:
        pass
status = open("/proc/self/status").read()
print(int(status.partition("VmHWM:")[2].split()[0]))
"""


def many(run: Run, count: int) -> None:
    """Record so many facts."""
    for number in range(count):
        run.record("note.added", {"text": f"The text {number} is short."})


def calling(run: Run, count: int) -> None:
    """Let a child record them."""
    run.call(many, {"count": count})


@pytest.mark.slow
@pytest.mark.parametrize("program", [many, calling])
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
def test_an_event_takes_little(
    tmp_path: Path, program: Callable[[Run, int], None]
) -> None:
    """Beyond a small bundle, each event adds less than 2 kB: its hash, number, place.

    So do those of child runs.
    """
    (tmp_path / "verify_evidence.py").write_text(one_file())
    peaks: dict[tuple[str, int], int] = {}
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as ledger:
        runs = {
            count: ledger.execute(program, params={"count": count}).run_id
            for count in (100, 15_000)
        }
    for count, run in runs.items():
        for step in ("write", "verify", "standalone"):
            done = subprocess.run(
                [sys.executable, "-c", STEPS, run, f"bundle-{count}", step],
                cwd=tmp_path,
                env={
                    "MUNIMENT_HOME": str(tmp_path / "home"),
                    "MUNIMENT_PLUGINS": "evidence",
                },
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            peaks[step, count] = int(done.stdout)
    grown = {
        step: (peaks[step, 15_000] - peaks[step, 100]) / 15_000
        for step in ("write", "verify", "standalone")
    }
    assert all(each < 2 for each in grown.values()), grown
