"""The guide's complete example, as it is printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import muniment
from muniment.replaying import replay
from muniment.verifier import verify

EXAMPLE = Path(__file__).parents[3] / "examples" / "guide_example.py"

PRINTED = (
    "{'total': [15, 15, 15], 'mean': [3.0, 3.0, 3.0], "
    "'perm_pass': [True, True, True]}\n"
    "metamorphic: {'baseline': {'metamorphic_ok': True, 'perm_pass': True}}\n"
)


def test_the_example_prints_what_the_guide_prints(tmp_path: Path, home: Path) -> None:
    """As a plain script, from an empty directory, twice; every fact is in the ledger."""
    work = tmp_path / "empty"
    work.mkdir()
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, EXAMPLE],
            cwd=work,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (ran.stdout, ran.stderr) == (PRINTED, "")
    path = work / ".muniment" / "ledger.db"
    assert verify(path, home=home).ok
    with muniment.open(path, readonly=True) as ledger:
        runs = [event.run for event in ledger.events(type="run.started")]
        reports = [replay(ledger, run) for run in runs if run is not None]
    assert [report.verdict for report in reports] == ["acceptable"] * 2
    assert len({report.result_digest for report in reports}) == 1
    bundles = sorted(work.glob("artifacts/*/v*/baseline/evidence/bundle.json"))
    assert [json.loads(one.read_text())["proof"]["run"] for one in bundles] == runs
    assert len(list(work.glob("artifacts/*/v*/baseline/prompts/llm_calls.json"))) == 2
