"""A content that was erased is called erased wherever its event is listed."""

from __future__ import annotations

import json

import pytest

from first_hour import Newcomer

PROGRAM = """
import muniment


def work(run):
    return run.effect("tool", {"name": "pay"}, perform=lambda _: "x" * 50)


with muniment.open(".muniment/ledger.db", create=True) as ledger:
    ledger.execute(work)
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", [["events"], ["events", "tail"]], ids=" ".join)
def test_lists_say_so(newcomer: Newcomer, command: list[str]) -> None:
    """With its size before, with *erased* after."""
    (newcomer.folder / "work.py").write_text(PROGRAM)
    assert newcomer.python("work.py").code == 0
    (run,) = json.loads(newcomer.muniment("runs", "--json").out)
    before = newcomer.muniment(*command).out
    assert " bytes)" in before
    assert "(erased)" not in before
    assert newcomer.muniment("erase", run["id"], "--reason", "asked").code == 0
    after = newcomer.muniment(*command).out
    assert "(erased)" in after
    assert " bytes)" not in after
