"""SVG pictures: sound XML whatever the names, readable, steady, and quick."""

from __future__ import annotations

import itertools
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser import NEEDS_BROWSER, opened, serious
from drawn_graphs import GRAPHS, HOSTILE, any_graph, deep, loop, wide
from muniment.errors import UsageError
from muniment_plugins.workflow import workflow_graph
from muniment_plugins.workflow.pictures.layout import Direction
from muniment_plugins.workflow.pictures.svg import workflow_svg
from muniment_plugins.workflow.pictures.words import shown
from workflow_stages import Document, edge, graph_of, stage

if TYPE_CHECKING:
    from browser import Browser

SVG = "{http://www.w3.org/2000/svg}"
DIRECTIONS = st.sampled_from([None, "down", "right"])


def read(text: str) -> ET.Element:
    """Return the picture as a tree."""
    return ET.fromstring(text)  # noqa: S314 - our own text, without entities


def nodes_in(tree: ET.Element) -> list[ET.Element]:
    """Return the groups of the nodes."""
    return [
        one for one in tree.iter(f"{SVG}g") if "node" in one.get("class", "").split()
    ]


def title_of(group: ET.Element) -> str:
    """Return what a screen reader says of a node."""
    return group.findtext(f"{SVG}title") or ""


@given(any_graph(), DIRECTIONS, st.booleans())
def test_is_sound(graph: Document, direction: Any, run: bool) -> None:
    """Any graph makes XML in which each node has its name, its kind, and nothing else."""
    typed = workflow_graph(graph)
    statuses = None
    if run:
        statuses = dict(zip(typed.nodes, ["completed", *HOSTILE], strict=False))
    text = workflow_svg(typed, statuses=statuses, direction=direction)
    tree = read(text)
    titles = [title_of(one) for one in nodes_in(tree)]
    assert len(titles) == len(typed.nodes)
    for title, name in zip(titles, typed.order, strict=True):
        assert title.startswith(f"{shown(name)}, {typed.nodes[name].kind}")
    assert {one.tag.removeprefix(SVG) for one in tree.iter()} <= {
        *("svg", "title", "desc", "style", "defs", "marker", "path"),
        *("rect", "circle", "g", "polygon", "text"),
    }
    assert {name for one in tree.iter() for name in one.keys()} <= {  # noqa: SIM118 - no dict
        *("id", "role", "class", "width", "height", "viewBox", "aria-labelledby"),
        *("aria-label", "x", "y", "rx", "cx", "cy", "r", "d", "points", "marker-end"),
        *("refX", "refY", "markerWidth", "markerHeight", "markerUnits", "orient"),
    }
    assert len([*tree.iter(f"{SVG}path")]) == len(graph["edges"]) + 3
    assert workflow_svg(typed, statuses=statuses, direction=direction) == text


@given(any_graph(), DIRECTIONS)
def test_stands_free(graph: Document, direction: Any) -> None:
    """No two nodes overlap, and all of them are on the picture."""
    tree = read(workflow_svg(graph, direction=direction))
    width, height = float(tree.get("width", 0)), float(tree.get("height", 0))
    boxes = [box_of(one) for one in nodes_in(tree)]
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
        for other in boxes[:number]:
            apart_x = right <= other[0] or other[2] <= left
            assert apart_x or bottom <= other[1] or other[3] <= top


def box_of(group: ET.Element) -> tuple[float, float, float, float]:
    """Return where the shape of a node is."""
    rects = [one for one in group if one.tag == f"{SVG}rect"]
    if rects:
        of = [one for one in rects if one.get("class") == "shape"][-1]
        x, y, w, h = (float(of.get(key, 0)) for key in ("x", "y", "width", "height"))
        return x, y, x + w, y + h
    points = group.find(f"{SVG}polygon")
    assert points is not None
    pairs = [one.split(",") for one in points.get("points", "").split()]
    xs, ys = [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    return min(xs), min(ys), max(xs), max(ys)


@pytest.mark.parametrize("name", GRAPHS)
def test_stays_inside(name: str) -> None:
    """Edges and labels do not leave the picture."""
    ways: tuple[Direction, ...] = ("down", "right")
    for direction in ways:
        tree = read(workflow_svg(GRAPHS[name], direction=direction))
        width, height = float(tree.get("width", 0)), float(tree.get("height", 0))
        for path in tree.iter(f"{SVG}path"):
            if "edge" in path.get("class", "") and path.get("class") != "tip":
                numbers = [
                    float(one) for one in re.findall(r"-?[\d.]+", path.get("d", ""))
                ]
                assert min(numbers) >= 0
                assert max(numbers[::2]) <= width
                assert max(numbers[1::2]) <= height


def test_says_what_it_shows() -> None:
    """Title, description, kinds and statuses are words; edges back are said to be dashed."""
    graph = {**loop(), "name": "repair <loop>"}
    tree = read(workflow_svg(graph, statuses={"act": "completed", "verify": "failed"}))
    assert tree.findtext(f"{SVG}title") == "Workflow repair <loop>"
    told = tree.findtext(f"{SVG}desc") or ""
    assert "4 nodes, 4 edges" in told
    assert "it begins at act" in told
    assert "Dashed edges lead back." in told
    assert "verify leads to repair (failed), report (passed)." in told
    assert "not reached: 2" in told
    titles = [title_of(one) for one in nodes_in(tree)]
    assert titles[1:3] == ["verify, verify, failed", "repair, stage, not reached"]
    texts = ["".join(one.itertext()) for one in tree.iter(f"{SVG}text")]
    assert "\u2717 failed" in texts
    back = [one for one in tree.iter(f"{SVG}path") if "back" in one.get("class", "")]
    assert len([one for one in back if "edge" in one.get("class", "").split()]) == 1


def test_long_names() -> None:
    """A long name is cut where it is seen, and whole where it is read."""
    name = "a_very_long_name_" * 11
    tree = read(workflow_svg(graph_of({name: stage()})))
    (node,) = nodes_in(tree)
    assert title_of(node).startswith(name)
    seen = [one.text or "" for one in node if one.get("class") == "name"]
    assert seen[0].endswith("\N{HORIZONTAL ELLIPSIS}")
    assert len(seen[0]) < 60


def test_refuses() -> None:
    """A status of a node that is not there is refused, with what may have been meant."""
    with pytest.raises(UsageError) as caught:
        workflow_svg(loop(), statuses={"verfy": "failed"})
    assert "did you mean verify?" in caught.value.remedy


def test_has_nothing_outside() -> None:
    """A picture asks for nothing: no address, no script, no font."""
    text = workflow_svg(deep(), statuses={})
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|@import|@font-face|href|url\((?!#)", text)


def test_ids() -> None:
    """Two pictures on one page have different ids, and their styles stay with them."""
    one, other = workflow_svg(loop()), workflow_svg(loop(), statuses={})
    ids = [set(re.findall(r'id="(w[^"]*)"', text)) for text in (one, other)]
    assert not ids[0] & ids[1]
    style = re.search(r"<style>(.*?)</style>", one, re.DOTALL)
    assert style is not None
    rules = re.sub(r"@media\([^)]*\)\{", "}", style[1])
    for rule in re.findall(r"([^{}]+)\{", rules):
        assert all(part.strip().startswith("#w") for part in rule.split(",")), rule


@pytest.mark.parametrize("kind", ["chain", "wide", "edges ahead", "random"])
def test_time(kind: str) -> None:
    """Thousands of nodes and edges are drawn in seconds, whatever leads where."""
    count = 10_000 if kind in ("chain", "wide") else 3000
    names = [f"n{one}" for one in range(count)]
    nodes = {one: {"kind": "stage"} for one in names}
    pairs = list(itertools.pairwise(names))
    if kind == "wide":
        pairs = [(names[0], one) for one in names[1:]]
    elif kind == "edges ahead":
        pairs += [(one, names[-1]) for one in names[:-2]]
    elif kind == "random":
        pairs = [(one, names[hash_of(one) % count]) for one in names for _ in "ab"]
    graph = workflow_graph(graph_of(nodes, *(edge(*one) for one in pairs)))
    began = time.perf_counter()
    text = workflow_svg(graph)
    assert time.perf_counter() - began < 20
    assert text.endswith("</svg>\n")


def hash_of(name: str) -> int:
    """Return a number that looks like chance, and is not."""
    return int(name[1:]) * 2_654_435_761 % 4_294_967_291


@NEEDS_BROWSER
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(browser: Browser, tmp_path: Path, scheme: Any) -> None:
    """A browser draws it, in its scheme, without errors; axe finds nothing grave."""
    nodes = {f"n{number}": {"kind": "stage"} for number in range(4)}
    hostile = graph_of(nodes, *(edge("n0", "n1", one) for one in HOSTILE[:6]))
    said = ["completed", "failed", "running", "skipped"]
    page = tmp_path / "page.html"
    pictures = [
        workflow_svg(loop()),
        workflow_svg(wide()),
        workflow_svg(deep()),
        workflow_svg(hostile, statuses=dict(zip(nodes, said, strict=True))),
    ]
    page.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
        f"<body><main><h1>Pictures</h1>{''.join(pictures)}</main></body></html>",
        "utf-8",
    )
    with opened(browser, page, scheme=scheme) as seen:
        assert seen.errors == []
        assert serious(seen) == []
        ground = seen.view.evaluate(
            "getComputedStyle(document.querySelector('.ground')).fill"
        )
        assert ground == (
            "rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 29)"
        )
        wide_texts = seen.view.evaluate(
            """[...document.querySelectorAll('g.node')].filter(node => {
                 const box = node.querySelector('.shape').getBBox();
                 return [...node.querySelectorAll('text')].some(
                   text => text.getBBox().width > box.width - 4)
               }).map(node => node.getAttribute('aria-label'))"""
        )
        assert wide_texts == []


def test_the_label_of_an_edge() -> None:
    """A picture writes it on the edge, and the branch beside it if that is another word."""
    edges = [{"from": "act", "to": "lint", "branch": "failed", "label": "mend it"}]
    nodes = {name: {"handler": "m:f"} for name in ("act", "lint")}
    drawn = workflow_svg({"nodes": nodes, "edges": edges})
    assert "mend it" in drawn
    assert "failed" in drawn
