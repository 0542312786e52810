"""Graphs are drawn, compared, edited and committed on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph_desk import DOCUMENT, write_graph

Shell = Any


@pytest.fixture
def desk(work: Path) -> Iterator[Path]:
    """Stand beside a graph, and a patch."""
    sys.modules.pop("stages", None)
    write_graph(work)
    patch = [{"op": "replace", "path": "/nodes/check/verify/command", "value": "false"}]
    (work / "patch.json").write_text(json.dumps(patch))
    yield work
    sys.modules.pop("stages", None)


def test_pictures(desk: Path, shell: Shell) -> None:
    """A picture is printed, or written to a new file, which is not written over."""
    drawn = shell("workflow", "graph", "graph.json")
    assert (drawn.code, drawn.out.splitlines()[0]) == (0, "flowchart TD")
    written = ("workflow", "graph", "graph.json", "--svg", "-o", "graph.svg")
    assert shell(*written).code == 0
    before = (desk / "graph.svg").read_bytes()
    assert before.startswith(b"<svg")
    again = shell(*written)
    assert (again.code, (desk / "graph.svg").read_bytes()) == (2, before)
    assert "nothing is overwritten" in again.err.replace("\n", " ")


def test_edited_and_compared(desk: Path, shell: Shell) -> None:
    """A patch makes another graph, whose difference is that patch."""
    edit = ("workflow", "edit", "graph.json", "patch.json", "-o", "new.json")
    assert shell(*edit).code == 0
    equal = shell("workflow", "diff", "graph.json", "graph.json")
    told_equal = "equal: 7 nodes, 7 edges, 4 members"
    assert (equal.code, equal.out.strip()) == (0, told_equal)
    found = shell("workflow", "diff", "graph.json", "new.json")
    assert found.code == 1
    assert found.out.strip() == 'replace /nodes/check/verify/command "false"'
    told = shell("workflow", "diff", "graph.json", "new.json", "--json")
    assert (told.code, told.json["changed"]) == (1, True)
    assert told.json["nodes"]["changed"].keys() == {"check"}
    assert desk.is_dir()


@pytest.mark.parametrize(
    "patch", ["nonsense", "{}", '[{"op": "remove", "path": "/x"}]']
)
def test_patches_that_do_not_fit(desk: Path, shell: Shell, patch: str) -> None:
    """A patch that is none, or does not fit, is one line, and writes nothing."""
    (desk / "patch.json").write_text(patch)
    done = shell("workflow", "edit", "graph.json", "patch.json", "-o", "new.json")
    assert done.code in (2, 4)
    assert "patch.json" in done.err
    assert "Traceback" not in done.err
    assert not (desk / "new.json").exists()


def test_committed(desk: Path, shell: Shell) -> None:
    """Commits count versions, record what changed, and refuse a graph that did not."""
    assert shell("init").code == 0
    first = shell("workflow", "commit", "graph.json", "-m", "the first")
    assert (first.code, ": version 1, sha256:" in first.out) == (0, True)
    edit = ("workflow", "edit", "graph.json", "patch.json", "-o", "new.json")
    assert shell(*edit).code == 0
    second = shell("workflow", "commit", "new.json", "-m", "fail")
    assert (second.code, ": version 2, sha256:" in second.out) == (0, True)
    again = shell("workflow", "commit", "new.json")
    assert (again.code, "workflow/unchanged" in again.err) == (4, True)
    assert shell("verify").code == 0
    assert desk.is_dir()


def test_policies(desk: Path, shell: Shell) -> None:
    """Under a ceiling it is said which node asks for more, and the exit code is 1."""
    (desk / "ceiling.json").write_text('{"side_effect_level": "none"}')
    free = shell("workflow", "policy-report", "graph.json")
    assert (free.code, all(name in free.out for name in DOCUMENT["nodes"])) == (0, True)
    held = shell("workflow", "policy-report", "graph.json", "--ceiling", "ceiling.json")
    assert (held.code, "CEILING" in held.out) == (1, True)


def test_stale_edits(desk: Path, shell: Shell) -> None:
    """Of two edits of one version the second is refused, until it is said what it follows."""
    (desk / "ann.json").write_text(
        '[{"op": "add", "path": "/metadata", "value": {"by": "ann"}}]'
    )
    assert shell("init").code == 0
    assert shell("workflow", "commit", "graph.json").code == 0
    for patch, made in (("ann.json", "a.json"), ("patch.json", "b.json")):
        assert shell("workflow", "edit", "graph.json", patch, "-o", made).code == 0
    assert shell("workflow", "commit", "a.json").code == 0
    stale = shell("workflow", "commit", "b.json")
    assert (stale.code, "workflow/not-following" in stale.err) == (4, True)
    assert "--onto 2" in stale.err.replace("\n", " ")
    assert shell("workflow", "edit", "a.json", "patch.json", "-o", "ab.json").code == 0
    both = shell("workflow", "commit", "ab.json")
    assert (both.code, ": version 3, sha256:" in both.out) == (0, True)
    digest = both.out.split()[-1]
    by_hand = json.loads((desk / "ab.json").read_text())
    by_hand["metadata"]["by"] = "hand"
    del by_hand["made_of"]
    (desk / "hand.json").write_text(json.dumps(by_hand))
    told = shell("workflow", "commit", "hand.json")
    assert (told.code, "nothing tells which version" in told.err) == (4, True)
    assert shell("workflow", "commit", "hand.json", "--onto", "3x").code == 2
    onto = ("workflow", "commit", "hand.json", "--onto", digest)
    assert ": version 4, sha256:" in shell(*onto).out
    assert shell("verify").code == 0


def test_a_patch_writes_what_can_be_read_again(desk: Path, shell: Shell) -> None:
    """A graph is written in as many bytes as a file may have, or not at all."""
    row = {"op": "add", "path": "/metadata", "value": {"a": [[0]] * 60_000}}
    (desk / "wide.json").write_text(json.dumps([row]))
    edit = ("workflow", "edit", "graph.json")
    assert shell(*edit, "wide.json", "-o", "wide_graph.json").code == 0
    assert shell("workflow", "inspect", "wide_graph.json").code == 0
    more = [
        {"op": "copy", "from": "/metadata/a", "path": f"/metadata/{n}"} for n in "bcd"
    ]
    (desk / "wider.json").write_text(json.dumps([row, *more]))
    told = shell(*edit, "wider.json", "-o", "wider_graph.json")
    assert (told.code, "workflow/patch-size" in told.err) == (2, True)
    assert not (desk / "wider_graph.json").exists()
