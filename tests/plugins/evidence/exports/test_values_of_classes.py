"""Evidence of values of registered classes, in processes that know nothing of the classes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import muniment
from three_verifiers import NEEDS_NODE, verifiers

MUNIMENT = Path(sys.executable).with_name("muniment")
PROGRAM = """
import dataclasses, enum, typing
import muniment

@dataclasses.dataclass(frozen=True)
class Score:
    n: object

class Colour(enum.Enum):
    RED = "r"

class Pair(typing.NamedTuple):
    a: object
    b: object

VALUES = [Score(3), Colour.RED, Pair(1.0, Score(2)), {"a": [Score(None)]}, (Score(1.5),)]

def main(run):
    for value in VALUES:
        told = {"hypothesis": "h", "verifier": "v", "passed": True}
        run.record("verdict.reached", {**told, "result": {"found": value}})
        run.effect("tool", value, lambda asked: [asked, value])
    return VALUES

if __name__ == "__main__":
    with muniment.open() as ledger:
        for kind in (Score, Colour, Pair):
            ledger.register(kind)
        done = ledger.execute(main)
        assert done.status == "completed", done
        from pathlib import Path
        from muniment_plugins.evidence import write_bundle, write_report
        write_report(ledger, done.run_id, Path("own.html"))
        write_bundle(ledger, done.run_id, Path("own"))
"""

Commands = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command(tmp_path: Path) -> Commands:
    """Run ``muniment`` in a new process, where a program of its own recorded a run."""
    env = {**os.environ, "MUNIMENT_HOME": str(tmp_path / "home")}

    def run(*line: str) -> subprocess.CompletedProcess[str]:
        said = subprocess.run(
            line, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in said.stdout + said.stderr, said.stderr
        return said

    (tmp_path / "program.py").write_text(PROGRAM)
    assert run(str(MUNIMENT), "init").returncode == 0
    made = run(sys.executable, "program.py")
    assert made.returncode == 0, made.stderr
    return lambda *line: run(str(MUNIMENT), *line)


LINES = {
    "bundle": ("bundle", "last", "-o", "b"),
    "raw": ("bundle", "last", "-o", "raw", "--raw"),
    "redacted": ("bundle", "last", "-o", "redacted", "--redact"),
    "html": ("report", "last", "-o", "page.html"),
    "markdown": ("report", "last", "-o", "page.md"),
    "verify": ("verify",),
    "verify page": ("verify", "page.html"),
    "verify own page": ("verify", "own.html"),
    "verify bundle": ("verify", "b"),
    "show": ("runs", "show", "last"),
    "show --json": ("runs", "show", "last", "--json"),
    "inspect": ("inspect", "run", "last"),
    **{
        f"{form} of {of}": ("export", of, "--format", form, "-o", f"{form}.{of}")
        for form in ("csv", "parquet", "prov", "otlp", "ro-crate")
        for of in ("last", "b")
    },
}


@pytest.mark.slow
@NEEDS_NODE
def test_evidence_needs_no_class(command: Commands, tmp_path: Path) -> None:
    """Everything is written and verified without the classes, and holds their encoded form."""
    failed = {
        name: said.stderr
        for name, line in LINES.items()
        if (said := command(*line)).returncode
    }
    assert not failed
    for form in ("csv", "parquet", "prov", "otlp", "ro-crate"):
        ways = [(tmp_path / f"{form}.{of}").read_bytes() for of in ("last", "b")]
        assert ways[0] == ways[1], form
    table = (tmp_path / "csv.last").read_text().replace('""', '"')
    for name in ("Score", "Colour", "Pair"):
        assert f'{{"$object":["__main__.{name}",' in table
    with muniment.open(tmp_path / ".muniment/ledger.db") as ledger:
        root = next(one.keyid for one in ledger.keys.entries if "root" in one.roles)
    with verifiers(root, tmp_path / "nobody") as three:
        for name in ("b", "raw", "redacted", "own"):
            codes, told = three.codes(tmp_path / name)
            assert codes == (0, 0, 0), (name, told)
