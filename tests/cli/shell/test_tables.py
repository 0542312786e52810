"""Tables on terminals: what gives way, what never does, and what stands upright."""

from __future__ import annotations

import pytest

from muniment_cli.terminal import output
from muniment_cli.terminal.fitting import Give

EVENTS = [
    ["7", "01JD3Z8M6Q7YB", "synthesis.attempted", "name=" + "x" * 200],
    ["12345", "01JD3Z8M6Q7YB", "note.added", "short"],
]
GIVES: dict[str, Give] = {"run": "never", "data": "first"}


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at stdout as a person on a terminal of 60 columns does."""
    monkeypatch.setattr(output, "interactive", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that were printed."""
    return capsys.readouterr().out.splitlines()


def test_one_column_gives_way_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers, ids and types stay whole; the column that may is cut, and says so."""
    headings = ["seq", "run", "type", "data"]
    output.table(headings, EVENTS, right=["seq"], gives=GIVES)
    assert printed(capsys) == [
        "  seq  run            type                 data",
        "    7  01JD3Z8M6Q7YB  synthesis.attempted  name=xxxxxxxxxxx…",
        "12345  01JD3Z8M6Q7YB  note.added           short",
    ]


def test_the_rest_gives_way_before_a_column_is_gone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a narrower terminal types are cut too, and columns stand closer together."""
    monkeypatch.setenv("COLUMNS", "44")
    output.table(["seq", "run", "type", "data"], EVENTS, right=["seq"], gives=GIVES)
    assert printed(capsys) == [
        "  seq run           type            data",
        "    7 01JD3Z8M6Q7YB synthesis.atte… name=xx…",
        "12345 01JD3Z8M6Q7YB note.added      short",
    ]


def test_what_cannot_give_way_stands_upright(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal narrower than the ids, each row becomes lines that hold them."""
    monkeypatch.setenv("COLUMNS", "30")
    output.table(["seq", "run", "type", "data"], EVENTS, right=["seq"], gives=GIVES)
    lines = printed(capsys)
    assert lines[:3] == ["seq   7", "run   01JD3Z8M6Q7YB", "type  synthesis.attempted"]
    assert lines[-1] == "data  short"


def test_wide_characters_keep_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """Characters that take two columns are counted as two."""
    output.table(["a", "b"], [["日本", "x"], ["abcd", "y"]])
    assert printed(capsys)[1:] == ["日本  x", "abcd  y"]


def test_a_line_break_in_a_cell_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """A row is one line, whatever stands in the ledger."""
    output.table(["a"], [["one\ntwo"]])
    assert printed(capsys) == ["a", "one\\ntwo"]


def test_rows_that_do_not_fit_stand_upright(capsys: pytest.CaptureFixture[str]) -> None:
    """Where asked for, each row becomes names and values below each other."""
    rows = [["01JD3", "y" * 70], ["01JD4", "z"]]
    output.table(["run", "result"], rows, upright=True)
    assert printed(capsys) == [
        "run     01JD3",
        "result  " + "y" * 70,
        "",
        "run     01JD4",
        "result  z",
    ]
    output.table(["run", "result"], rows[1:], upright=True)
    assert printed(capsys) == ["run    result", "01JD4  z"]


def test_a_sparse_row_has_what_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    """Upright, an empty cell is a name without a value: said only where it tells."""
    rows = [["better", "0.25", "y" * 70], ["other", "", ""]]
    headings = ["name", "p-value", "interval"]
    output.table(headings, rows, upright=True, sparse=True)
    assert printed(capsys)[-2:] == ["", "name      other"]
    output.table(headings, rows, upright=True)
    assert printed(capsys)[-1] == "interval  "


def test_a_line_that_moves_on_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `tail` prints takes one line on a terminal, and is whole in a pipe."""
    assert output.fitted("x" * 61) == "x" * 59 + "…"
    assert output.fitted("x" * 60) == "x" * 60
    monkeypatch.setattr(output, "interactive", lambda: False)
    assert output.fitted("x" * 61) == "x" * 61
