"""Each fork is closed by one join, or its branches end; anything else is named."""

from __future__ import annotations

import pytest

from muniment_plugins.workflow import workflow_graph
from muniment_plugins.workflow.documents.structure import structure_of

KINDS = {"f": "fork", "j": "join", "c": "condition"}


def regions(*edges: str) -> dict[str, object]:
    """Return fork → its join, or its fault; names tell kinds by their first letter."""
    pairs = [one.split(">") for one in edges]
    names = dict.fromkeys(name for pair in pairs for name in pair)
    nodes = {name: {"kind": KINDS.get(name[0], "stage")} for name in names}
    graph = workflow_graph(
        {
            "nodes": nodes,
            "edges": [{"from": one, "to": other} for one, other in pairs],
            "entry": next(iter(names)),
        }
    )
    found = structure_of(graph).regions
    return {name: one.fault or one.join for name, one in found.items()}


@pytest.mark.parametrize(
    ("edges", "closed"),
    [
        ("f>a f>b a>j b>j j>end", {"f": "j"}),
        ("f>a f>b", {"f": None}),
        ("f>a f>j a>j", {"f": "j"}),
        ("f>a f>b f>d a>j b>j", {"f": "j"}),
        ("f>c f>b c>x c>y x>j1 y>j1 j1>j b>j", {"f": "j"}),
        ("f>f2 f>a f2>x f2>y x>j2 y>j2 j2>j a>j", {"f": "j", "f2": "j2"}),
        ("s>f f>a f>b a>j b>j j>s", {"f": "j"}),
        ("s>f f>a f>b a>a b>j a>j", {"f": "j"}),
        ("c>f1 c>f2 f1>a f1>b f2>x f2>y a>j b>j x>j y>j", {"f1": "j", "f2": "j"}),
    ],
)
def test_closed(edges: str, closed: dict[str, object]) -> None:
    """Branches meet in one join, whatever is in them, or they end."""
    assert regions(*edges.split()) == closed


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        ("f>a f>b a>x b>x", "no join"),
        ("f>a f>b a>j1 b>j1 a>j2 b>j2", "several places: j1, j2"),
        ("s>f f>a f>b a>s b>j", "back, by s"),
        ("t>s s>f f>a f>b a>s b>j a>j", "leads back"),
        ("f>a f>b a>f b>j", "back, by a"),
        ("f>a f>b a>b b>j", "no join"),
        ("f>f2 f>a f2>x f2>y x>j y>j a>j", "which closes f"),
    ],
)
def test_open(edges: str, says: str) -> None:
    """What is no region is named, with the nodes that make it none."""
    assert says in str(regions(*edges.split()))


@pytest.mark.parametrize(
    ("names", "edges", "entry"),
    [
        (("parent", "child"), [("parent", "child")], "parent"),
        (("plan", "act"), [("plan", "act")], "act"),
        (("b", "c"), [], "b"),
        (("b", "c"), [("b", "c"), ("c", "b")], "b"),
        (("z", "y", "x"), [("z", "y"), ("z", "x")], "z"),
        ((), [], "act"),
    ],
)
def test_where_a_graph_begins(
    names: tuple[str, ...], edges: list[tuple[str, str]], entry: str
) -> None:
    """Unsaid, it is ``act``, else the only node to which no edge leads, else the first."""
    document = {
        "nodes": {one: {"handler": "m:f"} for one in names},
        "edges": [{"from": source, "to": target} for source, target in edges],
    }
    assert workflow_graph(document).entry == entry
