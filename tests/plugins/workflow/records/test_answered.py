"""Who answered in place of what a node would have performed is in its record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment import GateAnswer, hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.workflow import run_record, workflow_execute

GOOD = {
    "exit_status": 0,
    "files": {},
    "stdout": "",
    "stderr": "",
    "timed_out": False,
}
GRAPH = {"nodes": {"check": {"kind": "verify", "verify": {"command": "false"}}}}


class Gate:
    """Says of each command that it ended well."""

    @hookimpl
    def before_effect(self, kind: Any) -> object:
        """Answer checks."""
        return GateAnswer(dict(GOOD)) if kind.name == "check" else None


@pytest.fixture
def gated(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with that plugin."""
    plugins = Plugins(("workflow",), extra={"gate": Gate()})
    with Ledger.create(tmp_path / "l.db", home=tmp_path / "h", plugins=plugins) as one:
        yield one


def test_a_plugin(gated: Ledger) -> None:
    """A check that a plugin answered is not said to have been performed."""
    done = workflow_execute(gated, "t", GRAPH)
    (stage,) = run_record(gated, done.run_id)["stages"]
    (event,) = gated.events(run=done.run_id, type="check.completed")
    assert stage["verification"]["ok"]
    said = {"event": event.seq, "kind": "check", "who": "plugin", "name": "gate"}
    assert stage["answered"] == [said]


def test_a_fork(tmp_path: Path) -> None:
    """A check that a fork changed says so; what the origin answered was performed there."""
    with Ledger.create(
        tmp_path / "l.db", home=tmp_path / "h", plugins=("workflow",)
    ) as book:
        origin = workflow_execute(book, "t", GRAPH)
        (event,) = book.events(run=origin.run_id, type="check.completed")
        changed = book.fork(origin.run_id, at=event.seq, changes={event.seq: GOOD})
        (stage,) = run_record(book, changed.run_id)["stages"]
        assert [(one["kind"], one["who"]) for one in stage["answered"]] == [
            ("check", "change")
        ]
        (last,) = book.events(run=origin.run_id, type="node.completed")
        same = book.fork(origin.run_id, at=last.seq)
        (stage,) = run_record(book, same.run_id)["stages"]
        assert "answered" not in stage


def test_one_that_a_node_performed(gated: Ledger) -> None:
    """Nothing is said where the node did its work itself."""
    graph = {"nodes": {"act": {"kind": "verify", "verify": {"required_paths": ["x"]}}}}
    plain = gated.path.with_name("other.db")
    with Ledger.create(plain, home=gated.home, plugins=("workflow",)) as book:
        done = workflow_execute(book, "t", graph)
        (stage,) = run_record(book, done.run_id)["stages"]
        assert "answered" not in stage
