"""Mermaid flowcharts: each line is one of a few forms, and no name gets out of its label.

The forms are narrower than Mermaid's grammar: each of them was read by its own parser.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn_graphs import GRAPHS, HOSTILE, any_graph, loop
from muniment_plugins.workflow import workflow_graph
from muniment_plugins.workflow.pictures.mermaid import workflow_mermaid
from muniment_plugins.workflow.pictures.words import shown
from workflow_stages import Document

TEXT = r"(?:[^\W]|[ .\-·]|#[0-9]{1,7};|<br>)*"
BEGIN, END = (
    r"(?:\(\[|\(|\{\{|\{|\[\[|\[\(|\[/|\[\\|\[)",
    r"(?:\]\)|\)\]|\)|\}\}|\}|\]\]|/\]|\\\]|\])",
)
FORMS = [
    re.compile(r"flowchart (TD|LR)"),
    re.compile(r'  n0\(\(" "\)\)'),
    re.compile(rf'  n[1-9]\d*{BEGIN}"({TEXT})"{END}'),
    re.compile(rf'  n\d+ (?:-->|-\.->)(?:\|"({TEXT})"\|)? n[1-9]\d*'),
    re.compile(r"  classDef (?:good|bad|busy|absent) [a-z0-9#:,\- ]+"),
    re.compile(r"  class n\d+(?:,n\d+)* (?:good|bad|busy|absent)"),
]


def lines_of(text: str) -> list[tuple[int, str]]:
    """Return which form each line has, and its text; fail if it has none."""
    found: list[tuple[int, str]] = []
    for line in text.removesuffix("\n").split("\n"):
        (match,) = [
            (number, one)
            for number, form in enumerate(FORMS)
            if (one := form.fullmatch(line))
        ] or pytest.fail(line)
        number, one = match
        found.append((number, (one.groups() or ("",))[0] or ""))
    return found


def plain(text: str) -> str:
    """Return what Mermaid shows of a text."""
    assert "\ufb02" not in text
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), text)


@given(any_graph(), st.booleans(), st.sampled_from(["down", "right"]))
def test_is_sound(graph: Document, run: bool, direction: Any) -> None:
    """Any graph makes lines of these forms, with the names as they are shown elsewhere."""
    typed = workflow_graph(graph)
    statuses = dict(zip(typed.order, HOSTILE, strict=False)) if run else None
    text = workflow_mermaid(typed, statuses=statuses, direction=direction)
    lines = lines_of(text)
    labels = [plain(told).split("<br>")[1] for form, told in lines if form == 2]
    assert labels == [shown(one) for one in typed.order] or "<br>" in repr(graph)
    ways = [plain(told) for form, told in lines if form == 3]
    assert ways[1:] == [shown(one.branch or "") for one in typed.edges]
    assert workflow_mermaid(typed, statuses=statuses, direction=direction) == text


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_graphs(graph: Document) -> None:
    """Whatever the shape, each line has one of the forms."""
    lines_of(workflow_mermaid(graph))


def test_loop() -> None:
    """A graph is drawn with its kinds, its labels, its edges back, and its outcome."""
    assert workflow_mermaid(
        loop(), statuses={"act": "completed", "verify": "failed"}
    ) == (
        "flowchart TD\n"
        '  n0((" "))\n'
        '  n1("stage<br>act<br>completed")\n'
        '  n2(["verify<br>verify<br>failed"])\n'
        '  n3("stage<br>repair<br>not reached")\n'
        '  n4("stage<br>report<br>not reached")\n'
        "  n0 --> n1\n"
        "  n1 --> n2\n"
        '  n2 -->|"failed"| n3\n'
        '  n3 -.->|"retry"| n2\n'
        '  n2 -->|"passed"| n4\n'
        "  classDef absent stroke-dasharray:3 3\n"
        "  class n3,n4 absent\n"
        "  classDef bad stroke:#b3261e,stroke-width:3px\n"
        "  class n2 bad\n"
        "  classDef good stroke:#146c2e,stroke-width:2px\n"
        "  class n1 good\n"
    )


def test_the_label_of_an_edge() -> None:
    """A picture writes it on the edge, and the branch beside it if that is another word."""
    edges = [{"from": "act", "to": "lint", "branch": "failed", "label": "mend it"}]
    nodes = {name: {"handler": "m:f"} for name in ("act", "lint")}
    drawn = workflow_mermaid({"nodes": nodes, "edges": edges})
    assert "mend it" in drawn
    assert "failed" in drawn
