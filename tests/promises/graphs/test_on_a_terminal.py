"""What a person sees of a graph that runs: one line, which is gone at the end."""

from __future__ import annotations

import re

import pytest

from first_hour import Newcomer
from graph_desk import write_graph
from terminals import on_terminal

COLUMNS = 90


@pytest.mark.slow
def test_progress(newcomer: Newcomer) -> None:
    """It names the node, the branch, the attempt and the items, and leaves nothing."""
    slow = Newcomer(newcomer.folder, newcomer.home, {"SLOWLY": "0.8"})
    slow.begin()
    write_graph(slow.folder)
    said = on_terminal(slow, COLUMNS, "run", "graph.json", both=True)

    assert said.code == 0
    drawn = re.findall(r"\r\x1b\[K(\S) ([^\r\x1b]*)", said.out)
    lines = [line for _, line in drawn]
    assert any(line.startswith("begin") for line in lines)
    assert any("lint in fork.1/lint" in line for line in lines)
    assert any(re.search(r"each [0-3] of 3 items", line) for line in lines)
    assert all(len(line) < COLUMNS - 1 for line in lines)
    last = said.out.rindex("\x1b[K")
    assert "completed" in said.out[last:]


@pytest.mark.slow
def test_no_colours(newcomer: Newcomer) -> None:
    """Who wants no colours gets a line for each node, and no escape sequence."""
    plain = Newcomer(newcomer.folder, newcomer.home, {"NO_COLOR": "1"})
    plain.begin()
    write_graph(plain.folder)
    said = on_terminal(plain, COLUMNS, "run", "graph.json", both=True)

    assert (said.code, "\x1b" in said.out) == (0, False)
    assert "each.1: mapped, 3 of 3 items" in said.out
