"""Graphs to be drawn: small, wide, deep, looping, and any that hypothesis thinks of."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from muniment.documents.places import At
from muniment.errors import UsageError
from muniment_plugins.workflow.documents.shapes import NAME
from workflow_stages import Document, chain, edge, graph_of, stage

__all__ = ["GRAPHS", "HOSTILE", "any_graph", "deep", "loop", "wide"]

HOSTILE = (
    '"',
    '"]',
    "<svg>",
    "]]>",
    "&amp;",
    "<!--",
    "'onload='x",
    "end",
    "click",
    "%%{init:{}}%%",
    "#quot;",
    "a-->b",
    "`b`",
    "style:#34;",
    "\ufb02\N{DEGREE SIGN}\N{DEGREE SIGN}34\N{PILCROW SIGN}\N{LATIN SMALL LETTER SHARP S}",
    "a\x00b",
    "a\x1bb",
    "\u202eabc",
    "\ufffe",
    "\N{CJK UNIFIED IDEOGRAPH-65E5}\N{CJK UNIFIED IDEOGRAPH-672C}",
    "x" * 400,
)
"""Names that would act on a picture if they were not escaped."""

KINDS = [
    *("stage", "verify", "condition", "fork", "join"),
    *("map", "reduce", "subagent", "escalation", "acme.survey"),
]


def loop() -> Document:
    """Return a graph that repairs until its check passes."""
    nodes = {
        "act": stage(),
        "verify": {"kind": "verify", "verify": {"command": "true"}},
        "repair": stage(),
        "report": stage(),
    }
    return graph_of(
        nodes,
        edge("act", "verify"),
        edge("verify", "repair", "failed"),
        edge("repair", "verify", "retry"),
        edge("verify", "report", "passed"),
    )


def wide(count: int = 12) -> Document:
    """Return a fork into many branches."""
    names = [f"branch_{one}" for one in range(count)]
    nodes: Document = {"plan": stage(), "fork": {"kind": "fork"}}
    nodes |= {one: stage() for one in names}
    nodes |= {"join": {"kind": "join"}}
    edges = [edge("plan", "fork"), *(edge("fork", one) for one in names)]
    return graph_of(nodes, *edges, *(edge(one, "join") for one in names))


def deep(count: int = 50) -> Document:
    """Return a long chain, in which two edges lead back and one far ahead."""
    graph = chain(**{f"step_{one:02}": stage() for one in range(count)})
    graph["edges"] += [
        edge("step_13", "step_10", "failed"),
        edge("step_43", "step_20", "failed"),
        edge("step_07", "step_19", "failed"),
    ]
    return graph


GRAPHS = {
    "one": graph_of({"act": stage()}),
    "loop": loop(),
    "wide": wide(),
    "deep": deep(),
    "itself": graph_of({"a": stage()}, edge("a", "a", "failed"), edge("a", "a", "x")),
    "apart": graph_of({one: stage() for one in "abcd"}, edge("c", "d")),
    "nothing": {"nodes": {}},
    "nowhere": graph_of({"a": stage()}, edge("a", "b"), edge("c", "a")),
}


@st.composite
def any_graph(draw: Any) -> Document:
    """Draw a graph of a few nodes with whatever names, kinds, edges and labels."""
    hostile = [one for one in HOSTILE if _is_name(one)]
    name = st.sampled_from(hostile) | st.text(min_size=1, max_size=12).filter(_is_name)
    names = draw(st.lists(name, min_size=1, max_size=9, unique=True))
    one = st.sampled_from(names)
    label = st.none() | st.sampled_from(["failed", *HOSTILE])
    edges = [
        edge(*each) for each in draw(st.lists(st.tuples(one, one, label), max_size=16))
    ]
    nodes = {each: {"kind": draw(st.sampled_from(KINDS))} for each in names}
    title = draw(st.text(max_size=12).filter(_is_text).filter(str.strip))
    return graph_of(nodes, *edges, name=title or "x")


def _is_text(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)


def _is_name(text: str) -> bool:
    """Tell whether a node can be called *text*."""
    try:
        NAME.check(text, At("", "workflow"))
    except UsageError:
        return False
    return True
