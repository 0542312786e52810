"""In a locale without UTF-8 nothing is another, and nothing is lost.

Rules: what is written is the same, byte for byte; what is printed has escapes in place of
the characters that the locale lacks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recording import MUNIMENT, PYTHON

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
PROGRAM = """
def main(run):
    run.record("claim.stated", {"id": "c1", "text": "Grüße — 日本 😀"})
    run.record("verdict.reached", {"hypothesis": "c1", "verifier": "v", "passed": True})
    return run.effect("llm", {"prompt": "日本"}, lambda _: "ответ")
"""


def ran(work: Path, *line: str, locale: bool) -> bytes:
    """Return what the command prints, in such a locale or in that of the tests."""
    more = ASCII if locale else {}
    done = subprocess.run(
        line,
        cwd=work,
        env={**os.environ, "MUNIMENT_HOME": str(work / "home"), **more},
        capture_output=True,
        check=False,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert b"cli/bug" not in told
    assert b"Traceback" not in told
    return done.stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Give a folder with a ledger and a run."""
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "w.py").write_text(PROGRAM, "utf-8")
    ran(tmp_path, MUNIMENT, "init", locale=False)
    ran(tmp_path, MUNIMENT, "run", "w.py", locale=True)
    return tmp_path


WRITTEN = {
    "a page": ("report", "last", "-o", "{}.html"),
    "a page with its evidence": ("report", "last", "--evidence", "-o", "{}.html"),
    "Markdown": ("report", "last", "-o", "{}.md"),
    "a table": ("export", "last", "--format", "csv", "-o", "{}.csv"),
    "a bundle": ("bundle", "last", "-o", "{}.zip"),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_files_are_the_same(work: Path, what: str) -> None:
    """Byte for byte, and they verify in both."""
    names = []
    for locale in (False, True):
        line = [one.format(f"as{locale}") for one in WRITTEN[what]]
        ran(work, MUNIMENT, *line, locale=locale)
        names.append(line[-1])
    assert (work / names[0]).read_bytes() == (work / names[1]).read_bytes()
    if not names[0].endswith(".csv"):
        for locale in (False, True):
            ran(work, MUNIMENT, "verify", names[0], locale=locale)


@pytest.mark.parametrize("module", ["standalone", "javascript"])
def test_verifiers_are_the_same(work: Path, module: str) -> None:
    """Whoever publishes a verifier, and whoever compares it, may be in any locale."""
    name = f"muniment_plugins.evidence.{module}"
    told = {ran(work, PYTHON, "-m", name, locale=one) for one in (False, True)}
    assert len(told) == 1


@pytest.mark.parametrize(
    "line",
    [
        ("runs", "show", "last"),
        ("runs", "explain", "last"),
        ("events",),
        ("events", "show", "3"),
        ("replay", "last"),
        ("verify",),
        ("query", "SELECT seq, type, data FROM events"),
    ],
    ids=" ".join,
)
def test_what_is_printed_is_escaped(work: Path, line: tuple[str, ...]) -> None:
    """ASCII alone, and nothing is left out; JSON says the same in both."""
    told = ran(work, MUNIMENT, *line, locale=True)
    assert told.isascii() or b"\\x" not in told
    told.decode("utf-8")
    if line[0] not in ("verify", "replay", "query"):
        both = [
            ran(work, MUNIMENT, *line, "--json", locale=one) for one in (False, True)
        ]
        assert json.loads(both[0]) == json.loads(both[1])


@pytest.mark.skipif(sys.platform == "win32", reason="has no such locales")
def test_a_recorded_program_has_the_locale(work: Path) -> None:
    """It runs as it would alone."""
    code = "import sys; print(sys.stdout.encoding, sys.flags.utf8_mode)"
    alone = ran(work, PYTHON, "-c", code, locale=True)
    assert ran(work, MUNIMENT, "record", "--", PYTHON, "-c", code, locale=True) == alone
