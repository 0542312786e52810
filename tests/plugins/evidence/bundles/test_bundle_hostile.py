"""A hostile bundle gets one line, little memory and little time, from both verifiers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bundled import Bundles
from hostile import hostile
from muniment_plugins.evidence.standalone.one_file import one_file
from spoiled_bundles import read

JUDGES = """
import json, resource, sys, time
import muniment, verify_evidence as standalone

root, home = sys.argv[1:3]
resource.setrlimit(resource.RLIMIT_CPU, (600, 600))

def by_standalone(path):
    try:
        standalone.verify(standalone.Path(path), root)
    except standalone.Refused as error:
        return 1, str(error)
    except standalone.Unchecked as error:
        return 3, str(error)
    return 0, ""

def by_muniment(path):
    report = muniment.verify_bundle(path, keys=[root], home=home)
    return report.exit_code, "; ".join(one.message for one in report.findings)

for path in map(str.strip, sys.stdin):
    for judge in (by_muniment, by_standalone):
        started = time.process_time()
        try:
            code, said = judge(path)
        except BaseException as error:
            code, said = None, f"{type(error).__name__}: {error}"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        took = time.process_time() - started
        print(json.dumps([judge.__name__, code, said, peak, took]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["folder", "raw"])
def test_each_is_refused_in_bounds(form: str, bundles: Bundles, tmp_path: Path) -> None:
    """Never a crash, never accepted, never more than 250 MB or a few seconds."""
    (tmp_path / "verify_evidence.py").write_text(one_file())
    (tmp_path / "judges.py").write_text(JUDGES)
    made = tmp_path / "made"
    made.mkdir()
    files = read(bundles.folder if form == "folder" else bundles.raw)
    told: list[tuple[str, str, int, str]] = []
    with subprocess.Popen(
        [sys.executable, "judges.py", bundles.root, str(bundles.home)],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as judges:
        assert judges.stdin is not None
        assert judges.stdout is not None
        before = 0
        for what, path in hostile(files, made):
            print(path, file=judges.stdin, flush=True)
            for _ in range(2):
                judge, code, said, peak, took = json.loads(judges.stdout.readline())
                before = before or peak
                told.append((what, judge, code, said))
                assert code in (1, 3), (what, judge, code, said)
                assert "\x1b" not in said, (what, judge)
                assert said.strip(), (what, judge)
                assert peak < before + 250, (what, judge, peak)
                assert took < 20, (what, judge, took)
        judges.stdin.close()
    assert len(told) > 300
    codes = {what: code for what, judge, code, _ in told if judge == "by_muniment"}
    other = {what: code for what, judge, code, _ in told if judge == "by_standalone"}
    assert {one for one in codes if codes[one] != other[one]} == set()
