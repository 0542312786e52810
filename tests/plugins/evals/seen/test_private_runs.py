"""What is private is compared, and neither told nor to be guessed: each kind, each way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest

from agent_tools import calls, tools
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_run,
    run_record_diff,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.evals.checks.fixtures import held_against
from muniment_plugins.evals.views.fields import OPS, ORDERS, UNORDERED
from muniment_plugins.evals.views.normaliser import Normaliser
from muniment_plugins.workflow import StageInput, artifact, run_record, workflow_execute
from workflow_stages import Document, chain, edge, graph_of

ONE, TWO = "kept-one", "kept-two"
DIGEST = f"sha256:{'0' * 64}"
PRIVATE = {"output_visibility": "private"}
_SAID: list[str] = [ONE]


def texts(given: StageInput) -> str:
    """Make an artifact with a text."""
    del given
    return _SAID[0]


def holds(given: StageInput) -> object:
    """Make an artifact with data."""
    del given
    return artifact({"kind": "artifact", "text": "told", "data": {"secret": _SAID[0]}})


def raises(given: StageInput) -> object:
    """Raise."""
    del given
    raise ValueError(_SAID[0])


def judges(given: StageInput) -> object:
    """Find something."""
    del given
    return {"ok": True, "reason": _SAID[0]}


def asks(run: Run, given: StageInput) -> str:
    """Ask people."""
    return str(run.decide({"about": given.node}, _SAID[0]).outcome)


def says(given: StageInput) -> str:
    """Say nothing of it."""
    return f"public {given.node}"


def _failing() -> Document:
    nodes = {"act": {"handler": raises, **PRIVATE}, "end": {"handler": says}}
    return graph_of(nodes, edge("act", "end", "error"))


def _verified() -> Document:
    node = {"kind": "verify", "verify": {"handler": judges}, **PRIVATE}
    return chain(first={"handler": says}, act=node)


def _looped() -> Document:
    policy = {"model": "test:a"}
    return chain(
        act={"mode": "agent", "tools": tools(), "model_policy": policy, **PRIVATE}
    )


GRAPHS: Mapping[str, Callable[[], Document]] = {
    "text": lambda: chain(act={"handler": texts, **PRIVATE}, end={"handler": says}),
    "data": lambda: chain(act={"handler": holds, **PRIVATE}, end={"handler": says}),
    "error": _failing,
    "verification": _verified,
    "question": lambda: chain(act={"handler": asks, **PRIVATE}),
    "arguments": _looped,
    "denied": _looped,
    "made up": _looped,
}
"""Kind of private content → a graph that has it in the stage ``act``."""


SCRIPT: dict[int, Any] = {2: "Ok."}


def run_of(book: Ledger, kind: str, said: str) -> str:
    """Run the graph that has *kind*, which says *said*; return the run."""
    _SAID[0] = said
    made_up = {"made up": (said, {}), "denied": ("read", {said: 1})}
    SCRIPT[1] = calls(made_up.get(kind, ("read", {"path": said})))
    return workflow_execute(book, "T", GRAPHS[kind]()).run_id


@pytest.fixture
def script() -> dict[int, Any]:
    """Give what the model of `library` says."""
    return SCRIPT


def compared(book: Ledger, one: str, other: str) -> list[tuple[str, list[str]]]:
    """Return the verdict about *other*, and the stages that changed, by three ways."""
    found = [run_record_eval(book, other, run_record_fixture(book, one))]
    case = {"label": "c", "run": other, "compare_to": one}
    found.append(eval_suite_run(book, {"cases": [case]})["cases"][0])
    diff = run_record_diff(book, one, other)
    changed = [row["stage_id"] for row in diff["stage_diffs"]]
    if not changed and diff["observability_diffs"]:
        changed = ["questions"]
    verdict = "passed" if diff["identical"] else "failed" if changed else "cannot_tell"
    told = [(row["verdict"], row["changed_stages"]) for row in found]
    return [*told, (verdict, changed)]


@pytest.mark.parametrize("kind", GRAPHS)
def test_each_kind_is_compared(library: Ledger, kind: str) -> None:
    """The same is passed, another one is a change that names its stage, by each way."""
    one, same, other = (run_of(library, kind, text) for text in (ONE, ONE, TWO))
    alike = [verdict for verdict, _ in compared(library, one, same)]
    waits = (
        kind == "question"
    )  # nobody can tell what it is compared to: that has no end
    assert alike == ["passed", "cannot_tell" if waits else "passed", "passed"]
    found = compared(library, one, other)
    for verdict, changed in found[:1] + found[2:] if waits else found:
        assert (verdict, changed[0]) == ("failed", "act.1"), found
    evals = {one.run for one in library.events(type="eval.concluded")}
    for report in (replay(library, str(run)) for run in evals):
        assert report.verdict == "acceptable", report.findings


@pytest.mark.parametrize("kind", [one for one in GRAPHS if one != "question"])
def test_nothing_recorded_confirms_a_guess(library: Ledger, kind: str) -> None:
    """Neither the text, nor a digest that who guesses the text could make, is anywhere."""
    one, same = run_of(library, kind, ONE), run_of(library, kind, ONE)
    fixture = run_record_fixture(library, one)
    first = run_record_eval(library, same, fixture)
    second = run_record_eval(library, same, fixture)
    told = json.dumps([fixture, first, second])
    views: list[Any] = []
    for found in (first, second):
        for event in library.events(run=found["eval_run_id"]):
            said = library.resolve(event)
            told += repr(said)
            if event.type == "eval.completed":
                views.append(said["value"]["views"][0])  # type: ignore[index]  # a dict
    assert ONE not in told
    keyed = [{*re.findall("private:[0-9a-f]{64}", json.dumps(view))} for view in views]
    assert all(keyed)
    assert not keyed[0] & keyed[1], "each reading has a key of its own"
    assert "private" in json.dumps(fixture)
    assert "private:" not in json.dumps(fixture)


@pytest.mark.parametrize("kind", GRAPHS)
def test_what_was_erased_cannot_be_told(library: Ledger, kind: str) -> None:
    """After an erasure of either side nobody can tell, by each way."""
    for which in (0, 1):
        pair = [run_of(library, kind, ONE) for _ in range(2)]
        fixture = run_record_fixture(library, pair[0])
        library.erase(pair[which], reason="asked for")
        found = run_record_eval(library, pair[1], fixture)
        if kind != "question":  # of which a fixture says nothing
            assert found["verdict"] == "cannot_tell", found
        case = {"label": "c", "run": pair[1], "compare_to": pair[0]}
        suite = eval_suite_run(library, {"cases": [case]})
        assert suite["verdict"] == "cannot_tell", suite


@pytest.mark.parametrize("kind", ["text", "error", "arguments"])
def test_a_fixture_without_its_run_cannot_tell(
    library: Ledger, other_book: Ledger, kind: str
) -> None:
    """What a fixture calls private is in the run that it was made of, and nowhere else."""
    fixture = run_record_fixture(library, run_of(library, kind, ONE))
    head = {"run": "01JD", "head": f"sha256:{'0' * 64}"}
    for wrong in (head, {**fixture["source"], "head": head["head"]}):
        said = {**fixture, "source": wrong, "source_run_id": "01JD"}
        found = run_record_eval(library, run_of(library, kind, ONE), said)
        assert (found["verdict"], found["failures"]) == ("cannot_tell", []), found
        assert "it is private" in found["undecided"][0]
    if kind != "arguments":
        found = run_record_eval(other_book, run_of(other_book, kind, ONE), fixture)
        assert (found["verdict"], found["failures"]) == ("cannot_tell", []), found


@pytest.mark.parametrize("kind", ["text", "error", "data"])
def test_a_fixture_from_before_cannot_tell(library: Ledger, kind: str) -> None:
    """It has a digest of what everybody saw: that says nothing of what is private."""
    one, same = run_of(library, kind, ONE), run_of(library, kind, ONE)
    fixture = run_record_fixture(library, one)
    text = json.dumps(fixture).replace('"private"', f'"sha256:{"1" * 64}"')
    old = json.loads(text)
    for stage in old["stage_assertions"]:
        del stage["expected_calls"]
    found = run_record_eval(library, same, old)
    assert (found["verdict"], found["failures"]) == ("cannot_tell", []), found


PLACES = {
    "text": ("artifacts.0.text", "stages.act.visible_text", "artifacts.0.data"),
    "data": ("artifacts.0.data", "artifacts.0.data.secret", "artifacts.0.data.none"),
    "error": ("stages.act.error", "stages.act.attempts.0.error"),
    "verification": ("stages.act.verification.checks.0.actual",),
    "question": ("hitl_questions.0.prompt",),
}


@pytest.mark.parametrize("kind", PLACES)
def test_no_probe_is_answered(library: Ledger, kind: str) -> None:
    """By whatever operator, at or below what is private: nobody is told, and why is said."""
    run, tried = run_of(library, kind, ONE), 0
    for path, op in product(PLACES[kind], OPS):
        if op in ORDERS and not path.startswith("artifacts.0.data"):
            continue  # which is refused: a text is no number
        wanted: Any = 1 if op in ORDERS else ONE
        more = {} if op in UNORDERED else {"expected": wanted}
        row = {"kind": "field", "path": path, "op": op, **more}
        found = eval_suite_run(library, _pack(row), [run])["cases"][0]
        assert found["verdict"] == "cannot_tell", (path, op, found)
        assert any("it is private" in one for one in found["undecided"]), found
        tried += 1
    assert tried >= len(OPS) - len(ORDERS)


@pytest.mark.parametrize("word", [ONE, TWO])
def test_no_text_is_looked_into(library: Ledger, word: str) -> None:
    """Whether a private text or question has a word is not said, either way."""
    rows = {
        "text": {"kind": "visible-text-contains", "stage": "act", "contains": word},
        "question": {"kind": "hitl-question-contains", "contains": word},
    }
    for kind, row in rows.items():
        run = run_of(library, kind, ONE)
        found = eval_suite_run(library, _pack(row), [run])["cases"][0]
        assert found["verdict"] == "cannot_tell", found
        assert any("it is private" in one for one in found["undecided"]), found
    asked = {"_type": "replay_fixture", "eval_kind": "clarifying_question"}
    for term in ("required_terms", "forbidden_terms"):
        fixture = {**asked, "clarifying_question": {term: [word]}}
        found = run_record_eval(library, run_of(library, "question", ONE), fixture)
        assert found["verdict"] == "cannot_tell", found


def _pack(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "version": 1,
        "rubrics": [{"id": "r", "assertions": [dict(row)]}],
        "cases": [{"id": "c", "rubrics": ["r"]}],
    }


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_run_is_as_itself(library: Ledger, kind: str) -> None:
    """It passes its own fixture, given or not, and that proves nothing."""
    run = run_of(library, kind, ONE)
    for fixture in (run_record_fixture(library, run), None):
        found = run_record_eval(library, run, fixture)
        assert (found["pass"], found["proves"], found["failures"]) == (True, 0, [])


KEYED = ("private:1", "private:2")


@pytest.mark.parametrize(
    ("had", "has", "holds"),
    [
        (KEYED[0], KEYED[0], True),
        (KEYED[0], KEYED[1], False),
        (None, KEYED[0], None),
        (KEYED[0], None, None),
        (KEYED[0], DIGEST, None),
        (DIGEST, KEYED[0], None),
        (..., KEYED[0], None),
    ],
)
@pytest.mark.parametrize("what", ["task", "published"])
def test_the_input_and_what_is_published(
    what: str, had: Any, has: Any, holds: bool | None
) -> None:
    """A private task, or a private value that was published, is compared in the same way."""
    told: dict[str, Any] = {"task": had, "published": {"q": had}}
    view: dict[str, Any] = {
        "run": "b",
        "status": "completed",
        "workflow_id": "w",
        "stages": [],
        "task": has,
        "published": {"q": has},
        "origin": {},
        "source": {},
        "normaliser": Normaliser().document(),
        "opened": {} if had is ... else {"stages": {}, **told},
    }
    shut = {"task": "private", "published": {"q": "private"}}
    fixture = {"complete": False, "stage_assertions": [], what: shut[what]}
    (row,) = held_against(view, fixture)
    assert row.ok is holds


def test_a_record_in_a_file_lacks_it(library: Ledger) -> None:
    """A record that everybody may read has no private parts: they equal nothing."""
    one, same = (run_record(library, run_of(library, "text", ONE)) for _ in range(2))
    found = run_record_diff(library, one, same)
    assert (found["identical"], found["stage_diffs"]) == (False, [])
    assert "act.1: artifacts" in found["undecided"]
