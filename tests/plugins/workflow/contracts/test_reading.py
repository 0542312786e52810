"""What a verifier reads is held to the policy of its node, as the paths of a tool are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment import replay
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute, workflow_validate

OUTSIDE = ["secret/s", "ws/../secret/s", "ws/link/s", "ws/file", "../x", "/etc/passwd"]
LEVELS = ("read_only", "workspace_write", "process_exec", "network")


@pytest.fixture
def tree(place: Path) -> Path:
    """Make a workspace, a secret, and links from one to the other."""
    for name in ("ws", "secret"):
        (place / name).mkdir()
    (place / "secret" / "s").write_text("the password")
    (place / "ws" / "a").write_text("open")
    (place / "ws" / "link").symlink_to("../secret")
    (place / "ws" / "file").symlink_to("../secret/s")
    (place / "linked").symlink_to("ws")
    return place


def verifying(path: str, *, as_check: bool = False) -> dict[str, Any]:
    """Return a graph whose verifier looks at *path*."""
    said: dict[str, Any] = {"required_paths": [path]}
    if as_check:
        said = {"checks": [{"kind": "path", "value": path}]}
    return {"nodes": {"act": {"kind": "verify", "verify": said}}}


def ends(book: Ledger, graph: dict[str, Any], ceiling: dict[str, Any]) -> str:
    """Return the branch in which the verifier ends; "refused" if it does not begin."""
    try:
        done = workflow_execute(book, "t", graph, [], {"ceiling": ceiling})
    except RefusedError:
        return "refused"
    (said,) = book.events(run=done.run_id, type="node.completed")
    assert "password" not in str(said.data)
    return str(said.data["branch"])


@pytest.mark.parametrize("as_check", [False, True])
@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("absolute", [False, True])
def test_nothing_outside_of_the_roots_is_read(
    absolute: bool, path: str, as_check: bool, book: Ledger, tree: Path
) -> None:
    """By text, by a way upwards, by a link: what is outside is refused or an error."""
    roots = [str(tree / "ws") if absolute else "ws"]
    graph = verifying(path, as_check=as_check)
    assert ends(book, graph, {"workspace_roots": roots}) in ("refused", "error")


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("ws", "ws/a"),
        (".", "ws/a"),
        ("/", "ws/a"),
        ("ws/a", "ws/a"),
        ("linked", "linked/a"),
    ],
)
def test_what_is_inside_is_read(root: str, path: str, book: Ledger, tree: Path) -> None:
    """A root may be written as a link, and a file is a root, too."""
    del tree
    assert ends(book, verifying(path), {"workspace_roots": [root]}) == "passed"


def test_the_level_none_reads_nothing(book: Ledger, tree: Path) -> None:
    """Looking at a file is of the level `read_only`; every level above may."""
    del tree
    graph = verifying("ws/a")
    none = {"side_effect_level": "none"}
    report = workflow_validate(graph, none)
    assert [one.code for one in report.errors] == ["CEILING_EXCEEDED"]
    assert report.errors[0].place == "nodes.act.verify.required_paths"
    assert ends(book, graph, none) == "refused"
    for level in LEVELS:
        assert ends(book, graph, {"side_effect_level": level}) == "passed"


def test_a_policy_of_the_node_holds_it_too(book: Ledger, tree: Path) -> None:
    """What the node itself leaves out is as far away as what a ceiling does."""
    del tree
    graph = verifying("secret/s")
    graph["nodes"]["act"]["capability_policy"] = {"workspace_roots": ["ws"]}
    assert ends(book, graph, {}) in ("refused", "error")


def test_a_file_of_a_contract_is_held_as_well(book: Ledger, tree: Path) -> None:
    """Paths that a contract file asks for are seen when the graph runs."""
    (tree / "c.json").write_text('{"required_paths": ["secret/s"]}')
    graph = {
        "nodes": {"act": {"kind": "verify", "verify": {"contract_path": "c.json"}}}
    }
    ceiling = {"workspace_roots": ["ws"]}
    assert ends(book, graph, ceiling) in ("refused", "error")
    assert ends(book, graph, {"side_effect_level": "none"}) in ("refused", "error")


def test_a_command_moves_no_file_of_its_verifier(book: Ledger, tree: Path) -> None:
    """Where links lead is looked at after the command, too; the record has the end.

    So a replay comes to it where the links are other ones.
    """
    graph = verifying("ws/a")
    said = graph["nodes"]["act"]["verify"]
    said |= {"command": "ln -sf ../secret/s ws/a", "required_text": ["password"]}
    graph["nodes"]["act"]["retry_policy"] = {"max_attempts": 3}
    assert ends(book, graph, {"workspace_roots": ["ws"]}) == "error"
    (run,) = book.runs()
    (failed,) = book.events(run=run.id, type="check.failed")
    assert failed.data["error_type"] == "PathRefused"
    (tree / "ws" / "a").unlink()
    (tree / "ws" / "a").write_text("open")
    assert replay(book, run.id).verdict == "acceptable"
