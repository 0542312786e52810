"""What a start costs, told by what is loaded and done: no clock is asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TYPES = {"annotated_types", "pydantic", "pydantic_core", "typing_extensions"}
CIPHERS = {"cryptography.hazmat.primitives.serialization"}
QUERIES = {"sqlalchemy", "sqlmodel"}
GUIDE = (ROOT / "examples" / "guide_example.py").as_posix()

A_RUN = """
import sys
import muniment

with muniment.open({place!r}, create=True, plugins=()) as ledger:
    ledger.execute(lambda run: run.record("note.added", text="x") and 1)
"""


def told(code: str, place: Path) -> list[str]:
    """Return the lines that a fresh interpreter prints for *code*."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=place,
    )
    return done.stdout.splitlines()


WHATEVER_RAN = {
    "import": "import muniment",
    "run": A_RUN.format(place="l.db"),
    "guide": f"import runpy\nrunpy.run_path({GUIDE!r}, run_name='__main__')",
}


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        ("import", TYPES | QUERIES | {"asyncio", "cryptography", "orjson", "pluggy"}),
        (
            "run",
            TYPES | CIPHERS | QUERIES | {"asyncio", "subprocess", "muniment.verifier"},
        ),
        ("guide", TYPES | CIPHERS | QUERIES | {"asyncio", "http", "ssl"}),
    ],
)
def test_what_is_not_loaded(code: str, unneeded: set[str], tmp_path: Path) -> None:
    """What a program does not use is not loaded, from its start to its end."""
    loaded = told(f"{WHATEVER_RAN[code]}\nimport sys\nprint(*sys.modules)", tmp_path)

    assert unneeded & set(loaded[-1].split()) == set()


def test_a_run_starts_no_process(tmp_path: Path) -> None:
    """A run begins, is written and ends without another program being started."""
    seen = (
        "import sys\n"
        "starts = ('os.exec', 'os.fork', 'os.posix_spawn', 'subprocess.Popen')\n"
        "sys.addaudithook(lambda name, _: name in starts and print(name))\n"
    )

    assert told(seen + A_RUN.format(place=str(tmp_path / "l.db")), tmp_path) == []
