"""What runs are marked with, in summaries, in lists and in SQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forge import Forge
from muniment import Run
from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummaries
from muniment.queries.sql import run_sql

RUN = "01JD3Z8M6Q4W0V9K2T7N5RYAAA"


def program(run: Run, marks: list[str]) -> None:
    """Mark the run, in a lane, too."""
    for number, one in enumerate(marks):
        with run.scope(f"step/{number}") as lane:
            lane.mark(one, f"reason {number}")


@pytest.mark.parametrize(
    "marks", [[], ["non_certifiable"], ["b", "non_certifiable", "b", "a", "b"]]
)
def test_each_mark_once_in_order(tmp_path: Path, marks: list[str]) -> None:
    """Summary, list and view say the same: each mark at the place of its first event."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=()
    ) as ledger:
        run = ledger.execute(program, params={"marks": marks}).run_id
        ledger.execute(program, params={"marks": []})
        wanted = list(dict.fromkeys(marks))
        assert ledger.project(RunSummaries, run=run).marks == wanted
        assert [one.marks for one in ledger.runs()] == [wanted, []]
    query = f"SELECT marks FROM runs WHERE id = '{run}'"
    ((found,),) = run_sql(tmp_path / "ledger.db", query).rows
    assert json.loads(str(found)) == wanted


def test_sql_selects_by_a_mark(tmp_path: Path) -> None:
    """A query finds the runs that have one, and those that have none."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=()
    ) as ledger:
        run = ledger.execute(program, params={"marks": ["a", "b"]}).run_id
        other = ledger.execute(program, params={"marks": []}).run_id
    having = "SELECT r.id FROM runs AS r, json_each(r.marks) AS m WHERE m.value = 'b'"
    assert run_sql(tmp_path / "ledger.db", having).rows == [(run,)]
    without = "SELECT id FROM runs WHERE marks = '[]'"
    assert run_sql(tmp_path / "ledger.db", without).rows == [(other,)]


@pytest.mark.parametrize("odd", [{}, {"mark": None}, {"mark": ["a"]}, {"mark": 1}])
def test_an_event_that_says_no_mark(tmp_path: Path, odd: dict[str, Any]) -> None:
    """No writer of ours signs it; it keeps nobody from reading the others."""
    forge = Forge("one").open()
    forge.append("run.started", {"name": "n", "seed": "0", "labels": {}}, run=RUN)
    forge.append("run.marked", {"reason": "so", **odd}, run=RUN)
    forge.append("run.marked", {"mark": "a", "reason": "so"}, run=RUN)
    forge.end_run(RUN)
    with Ledger.open(forge.write(tmp_path / "ledger.db"), plugins=()) as ledger:
        assert [one.marks for one in ledger.runs()] == [["a"]]
    ((found,),) = run_sql(tmp_path / "ledger.db", "SELECT marks FROM runs").rows
    assert "a" in json.loads(str(found))
