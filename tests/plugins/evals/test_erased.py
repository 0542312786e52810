"""At or below what was erased nobody can tell, by whatever operator."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from muniment.ledger import Ledger
from muniment_plugins.evals import eval_suite_run
from muniment_plugins.evals.views.fields import OPS, ORDERS, UNORDERED
from muniment_plugins.workflow import StageInput, artifact, workflow_execute
from workflow_stages import chain

PLACES = (
    "artifacts.0.data",
    "artifacts.0.data.secret",
    "artifacts.0.data.list.0",
    "artifacts.0.data.nowhere",
    "artifacts.0.data.$erased",
    "artifacts.0.data.secret.below.it",
    "stages.act.visible_text",
    "artifacts.0.text",
)


def tells(given: StageInput) -> object:
    """Make an artifact with data."""
    del given
    data = {"secret": "pw", "list": [1]}
    return artifact({"kind": "artifact", "text": "told", "data": data})


def asserting(path: str, op: str) -> dict[str, Any]:
    """Return a pack with one assertion about a field."""
    wanted: Any = 1 if op in ORDERS else "told"
    more = {} if op in UNORDERED else {"expected": wanted}
    row = {"kind": "field", "path": path, "op": op, **more}
    return {
        "version": 1,
        "rubrics": [{"id": "r", "assertions": [row]}],
        "cases": [{"id": "c", "rubrics": ["r"]}],
    }


@pytest.fixture
def erased(book: Ledger) -> str:
    """Give a run whose artifact has nothing left."""
    run = workflow_execute(book, "T", chain(act={"handler": tells})).run_id
    (made,) = book.events(run=run, type="artifact.recorded")
    before = eval_suite_run(book, asserting("artifacts.0.data.secret", "absent"), [run])
    assert before["verdict"] == "failed"
    for name in ("text", "data"):
        ref: Any = made.data[name]
        book.erase(ref.digest, reason="asked for")
    return run


def test_nobody_can_tell_of_what_was_erased(book: Ledger, erased: str) -> None:
    """Each operator, at each place at or below the contents: never passed, never failed."""
    tried = 0
    for path, op in product(PLACES, OPS):
        if op in ORDERS and path.endswith("text"):
            continue  # which is refused: a text is no number
        found = eval_suite_run(book, asserting(path, op), [erased])
        assert found["verdict"] == "cannot_tell", (path, op, found["cases"])
        assert "erased" in found["cases"][0]["undecided"][0]
        tried += 1
    assert tried > 75


def test_what_stands_beside_it_can_be_told(book: Ledger, erased: str) -> None:
    """Its kind is in the event itself; what might have been erased is not called missing."""
    for path, op, wanted in (
        ("artifacts.0.kind", "equals", "passed"),
        ("artifacts.0", "exists", "passed"),
        ("artifacts.0", "not-equals", "cannot_tell"),
        ("stages.act.error", "absent", "cannot_tell"),
    ):
        suite = asserting(path, op)
        row = suite["rubrics"][0]["assertions"][0]
        if op in ("equals", "not-equals"):
            row["expected"] = "artifact" if op == "equals" else {"kind": "x"}
        found = eval_suite_run(book, suite, [erased])
        assert found["verdict"] == wanted, (path, op, found["cases"])
