"""``runs explain`` says what the record shows, whatever the end of a run claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge import RUN, Forge


@pytest.mark.parametrize("verb", ["completed", "failed", "nothing"])
def test_only_what_failed_is_said_to_have(shell: Any, work: Path, verb: str) -> None:
    """A completed effect that the end calls the cause is not said to have failed."""
    forge = Forge("one").open()
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    forge.append("llm.requested", {"request": forge.blob(b"1")}, run=RUN)
    if verb == "completed":
        forge.append("llm.completed", {"value": forge.blob(b'"a"')}, run=RUN, ordinal=1)
    elif verb == "failed":
        failed = {"error_type": "OSError", "message": forge.blob(b'"down"')}
        forge.append("llm.failed", failed, run=RUN, ordinal=1)
    ended = {"error_type": "E", "message": forge.blob(b'"m"'), "cause": [["", 1]]}
    forge.end_run(RUN, "run.failed", **ended)
    place = forge.write(work / "l.db")
    done = shell("--ledger", place, "runs", "explain", RUN)
    assert done.code == 0, done.err
    assert ("failed with" in done.out) == (verb == "failed")
    assert ("the record says no failure of it" in done.out) == (verb == "completed")
    assert "raised by" not in done.out
    offered = "performs what failed again" in done.out or "to resume" in done.out
    assert offered == (verb != "completed")
