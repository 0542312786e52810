"""A stage whose work a model does: each call is an effect, answered from the record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute
from workflow_stages import Document, chain, stage

ANSWERS = "answers.json"


@pytest.fixture
def library(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with a model that answers from a list."""
    (place / ANSWERS).write_text(json.dumps([{"text": "yes"}, {"text": "PASS: fine"}]))
    home, plugins = tmp_path / "home", ("workflow", "providers")
    with Ledger.create(tmp_path / "l.db", home=home, plugins=plugins) as made:
        yield made


def asking(kind: str, **more: object) -> Document:
    """Return a node that asks the model."""
    policy = {"model": f"scripted:{ANSWERS}"}
    return {"kind": kind, "mode": "llm", "model_policy": policy, **more}


@pytest.mark.parametrize("handler", ["says", "says_later"])
def test_models(library: Ledger, place: Path, handler: str) -> None:
    """What a model answered is recorded, and a replay asks nobody."""
    judge = asking("verify", verify={"rubric": "Is it fine?"})
    graph = chain(act=asking("stage", prompt="Is it?"), end=stage(handler), judge=judge)
    done = workflow_execute(library, "a task", graph)

    assert done.status == "completed", done.error
    assert [one.text for one in done.artifacts][:2] == ["yes", "end: 1"]
    asked = list(library.events(run=done.run_id, type="llm.requested"))
    assert [one.scope for one in asked] == ["act.1", "judge.1"]
    (place / ANSWERS).unlink()
    assert replay(library, done.run_id).verdict == "acceptable"


def test_nobody_answers(library: Ledger) -> None:
    """A model that no provider knows is a failure of the node, which says so."""
    node = {"kind": "stage", "mode": "llm", "model_policy": {"model": "nobody:x"}}
    done = workflow_execute(library, "", chain(act=node))

    (ended,) = library.events(run=done.run_id, type="node.completed")
    assert (done.status, ended.data["branch"]) == ("failed", "error")
    assert "no provider answers for this model" in str(done.error)
