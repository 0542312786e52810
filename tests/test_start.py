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

WHATEVER_RUNS = {
    "import": "import muniment",
    "help": "from muniment_cli import main\nmain(['--help'])",
    "run": """
import muniment

with muniment.open("l.db", create=True, plugins=()) as ledger:
    done = ledger.execute(lambda run: run.record("note.added", {"text": "x"}) and 1)
    assert done.result == 1
""",
    "look": """
import muniment
from muniment_cli import main

muniment.open("l.db", create=True).close()
for command in ("events", "runs", "status"):
    assert main([command, "--ledger", "l.db"]) == 0
""",
    "guide": f"import runpy\nrunpy.run_path({GUIDE!r}, run_name='__main__')",
}

A_RECORDING = """
import sys
import muniment
from muniment_cli import main

muniment.open("l.db", create=True).close()
before = set(sys.modules)
sys.addaudithook(
    lambda name, _: name == "subprocess.Popen"
    and print(*set(sys.modules) - before, flush=True)
)
main(["record", "-q", "--ledger", "l.db", "--", sys.executable, "-c", "print('ran')"])
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


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        ("import", TYPES | QUERIES | {"cryptography", "orjson", "re", "typing"}),
        ("help", {"difflib", "importlib.metadata", "orjson", "pathlib"}),
        (
            "run",
            TYPES | CIPHERS | QUERIES | {"asyncio", "muniment.verification.verify"},
        ),
        (
            "look",
            TYPES | CIPHERS | QUERIES | {"asyncio", "muniment.verification.verify"},
        ),
        ("guide", TYPES | CIPHERS | QUERIES | {"asyncio", "http", "ssl"}),
    ],
)
def test_what_is_not_loaded(code: str, unneeded: set[str], tmp_path: Path) -> None:
    """What a program does not use is not loaded, from its start to its end."""
    lines = told(
        "import sys\n"
        "before = set(sys.modules)\n"
        f"{WHATEVER_RUNS[code]}\n"
        "print(*set(sys.modules) - before)",
        tmp_path,
    )

    assert unneeded & set(lines[-1].split()) == set()


def test_a_recorded_program_does_not_wait(tmp_path: Path) -> None:
    """What calls need is loaded while the program starts, not before."""
    loaded, *rest = told(A_RECORDING, tmp_path)  # the bystander is started behind it

    assert "ran" in rest
    assert {"asyncio", "muniment_plugins.providers.recorder.server"} <= {
        *loaded.split()
    }
    later = {"muniment_plugins.providers.clients.exchange", *TYPES, *CIPHERS, *QUERIES}
    assert later & {*loaded.split()} == set()


def test_a_run_starts_no_process(tmp_path: Path) -> None:
    """A run begins, is written and ends without another program being started."""
    seen = (
        "import sys\n"
        "starts = ('os.exec', 'os.fork', 'os.posix_spawn', 'subprocess.Popen')\n"
        "sys.addaudithook(lambda name, _: name in starts and print(name))\n"
    )

    assert told(seen + WHATEVER_RUNS["run"], tmp_path) == []
