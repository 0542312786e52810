"""Measures bundles of many events: time, memory, bytes, for writing and both verifiers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["bench_bundle"]

EVENTS = int(os.environ.get("MUNIMENT_BENCH_BUNDLE", "100000"))
_PEAK = """
status = open('/proc/self/status').read()
print(int(status.partition('VmHWM:')[2].split()[0]) // 1024, time.perf_counter() - began)
"""
_MAKE = """
import sys, time, muniment
def main(run):
    for number in range(int(sys.argv[2])):
        run.record("note.added", {"text": f"The text {number} is short."})
with muniment.open(sys.argv[1], create=True) as ledger:
    print(ledger.execute(main).run_id)
"""
_WRITE = """
import sys, time, muniment, pathlib
from muniment_plugins.evidence import write_bundle
began = time.perf_counter()
with muniment.open(sys.argv[1]) as ledger:
    assert write_bundle(ledger, sys.argv[2], pathlib.Path(sys.argv[3])).events > 0
"""
_VERIFY = """
import sys, time, muniment
began = time.perf_counter()
assert muniment.verify_bundle(sys.argv[1]).ok
"""
_ALONE = """
import sys, time, pathlib, verify_evidence
began = time.perf_counter()
assert verify_evidence.verify(pathlib.Path(sys.argv[1]), sys.argv[2])
"""


def bench_bundle(place: Path) -> None:
    """Print a row for each way of handling a bundle of `EVENTS` events."""
    from muniment import verify_bundle
    from muniment_plugins.evidence.standalone.one_file import one_file

    os.environ["MUNIMENT_PLUGINS"] = "evidence"
    (place / "verify_evidence.py").write_text(one_file())
    ledger, folder, packed = place / "ledger", place / "bundle", place / "bundle.zip"
    run = _told(_MAKE, ledger, EVENTS)[0]
    for path in (folder, packed):
        memory, seconds = _told(_WRITE + _PEAK, ledger, run, path)
        form = "zip file" if path == packed else "directory"
        _row(f"write a bundle of {EVENTS:,} events, {form}", memory, seconds)
    root = verify_bundle(folder)
    size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    _row(f"verify it, on {os.cpu_count()} cores", *_told(_VERIFY + _PEAK, folder))
    keys = _told(
        "import sys, muniment\n"
        "with muniment.open(sys.argv[1]) as ledger:\n"
        "    print(next(k.keyid for k in ledger.keys.entries if 'root' in k.roles))",
        ledger,
    )
    assert root.ok  # noqa: S101 - what is measured has to be true
    _row("the same by the standalone verifier", *_told(_ALONE + _PEAK, folder, keys[0]))
    print(f"| bytes of a bundle per event | {size / EVENTS:,.0f} | | | |")


def _row(what: str, memory: str, seconds: str) -> None:
    print(f"| {what} | {float(seconds):.1f} s, {memory} MB | | | |")


def _told(code: str, *arguments: object) -> list[str]:
    """Return the words that *code* prints, run by a fresh Python."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=Path(str(arguments[0])).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()
