"""Code that has no text is told apart by its instructions, and takes none of others."""

from __future__ import annotations

import importlib
import os
import py_compile
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muniment.programs.functions import describe


def test_code_without_a_text_has_a_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `exec` made, and bytecode alone, are told apart by their instructions."""
    digests: set[object] = set()
    for value in (1, 2):
        spaces: dict[str, Any] = {"__name__": "made_of_test"}
        exec(f"def made(stage): return {value}", spaces)  # noqa: S102 - that is asked
        told = describe(spaces["made"])
        assert "source" not in told
        digests.add(told["code"])
    assert len(digests) == 2
    file = tmp_path / "bytes_seen.py"
    file.write_text("def made(stage): return 1\n")
    py_compile.compile(str(file), cfile=str(tmp_path / "bytes_seen.pyc"))
    (tmp_path / "kept.py").write_text(file.read_text())
    file.unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    module: Any = importlib.import_module("bytes_seen")
    file.write_text("def made(stage): return 2\n")
    told = describe(module.made)
    del sys.modules["bytes_seen"]
    assert "source" not in told
    assert told["code"]


def test_no_text_of_others_is_taken() -> None:
    """Two functions that ``python -c`` made are told apart; neither has its text."""
    program = (
        "from muniment.programs.functions import describe\n"
        "spaces = {'__name__': 'made'}\n"
        "exec('def one(s): return 1\\ndef two(s): return 2', spaces)\n"
        "told = [describe(spaces[name]) for name in ('one', 'two')]\n"
        "print(*(one.get('source') for one in told), *(one['code'] for one in told))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    *texts, one, two = done.stdout.split()
    assert texts == ["None", "None"]
    assert one != two


def test_a_set_in_code_has_one_digest() -> None:
    """Two processes come to one digest of the same instructions."""
    program = (
        "from muniment.programs.functions import describe\n"
        "spaces = {'__name__': 'made'}\n"
        'exec(\'def made(s): return s in {"a", "b", "c", "d"}\', spaces)\n'
        "print(describe(spaces['made'])['code'])\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
