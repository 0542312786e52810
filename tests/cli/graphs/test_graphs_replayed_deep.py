"""The runs that a graph calls, each replayed by itself and below their parent.

Rules: every command is a process of its own. A replay's process has the record of one run
and nothing of its parent, however the run was called: by a graph or a handler as a
subagent, of a map or of a subagent, or by a handler that calls a program.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("made")

DESK = """
import os


def ok(stage):
    return f"{stage.node} saw {len(stage.artifacts)}"


async def later(stage):
    return "in its time"


def dies(stage):
    if os.environ.get("DIES_IN") == stage.node:
        os._exit(9)
    return "lived"


def calls(run, stage):
    return str(run.call(program, {"number": 2}))


def program(run, number):
    run.record("note.added", {"text": "called"})
    return run.effect("data", number, lambda request: request)
"""


def handler(name: str) -> dict[str, object]:
    """Return what a node says that this function of the desk works in."""
    return {"handler": f"desk:{name}"}


def line(**nodes: object) -> dict[str, object]:
    """Return a graph of *nodes*, one after the other."""
    names = [*nodes]
    edges = [{"from": one, "to": other} for one, other in pairwise(names)]
    return {"entry": names[0], "nodes": nodes, "edges": edges}


def subagent(**nodes: object) -> dict[str, object]:
    """Return a node that runs a line of *nodes* as a child."""
    return {"kind": "subagent", "graph": line(**nodes)}


CALLED = {
    "graph": subagent(a=handler("ok"), low=handler("dies")),
    "handler": {"kind": "subagent", **handler("ok")},
    "awaited": {"kind": "subagent", **handler("later")},
    "nested": subagent(inner=subagent(deep=handler("dies")), after=handler("ok")),
    "items": {
        "kind": "map",
        "map_policy": {"items": [1, 2]},
        "body": subagent(one=handler("ok")),
    },
    "program": handler("calls"),
}
"""Every way in which a node calls a run."""
BELOW = 8


@pytest.mark.slow
@pytest.mark.parametrize("dies_in", ["", "deep"])
def test_what_a_graph_calls_is_replayed(
    installed: Any, work: Path, dies_in: str
) -> None:
    """Each run below is replayed, by its id and by `--deep`, killed meanwhile or not."""
    (work / "desk.py").write_text(DESK)
    (work / "g.json").write_text(json.dumps(line(**CALLED)))
    ran = installed("run", "g.json", env={"DIES_IN": dies_in})
    assert ran.code == (9 if dies_in else 0), ran.err
    if dies_in:
        assert installed("resume", "last").code == 0
    listed = installed("runs", "--json").json
    below = [one["id"] for one in listed if one["parent"]]
    (top,) = (one["id"] for one in listed if not one["parent"])
    assert len(below) == BELOW
    deep = installed("replay", top, "--deep", "--no-record", "--json")
    assert (deep.code, deep.json["verdict"]) == (0, "acceptable"), deep.err
    alone = [installed("replay", one, "--no-record", "--json") for one in (top, *below)]
    assert [one.code for one in alone] == [0] * (1 + BELOW), [one.err for one in alone]
    compared = sum(one.json["compared"] for one in alone)
    assert (deep.json["children"], deep.json["compared"]) == (BELOW, compared)


def test_a_subagent_is_replayed_by_itself(installed: Any, work: Path) -> None:
    """The run of a subagent needs nothing of its parent's record."""
    (work / "desk.py").write_text(DESK)
    (work / "g.json").write_text(json.dumps(line(one=CALLED["graph"])))
    assert installed("run", "g.json").code == 0
    (child,) = (one["id"] for one in installed("runs", "--json").json if one["parent"])
    assert installed("replay", child, "--no-record").code == 0
