"""What a fork gives in place of an outcome fits, or is refused before the fork begins.

Rules: over all kinds that plugins and the kernel declare, and values of the wrong form. Either
the value is refused with `fork/change`, and nothing is written; or the program goes on with it,
and what it makes of it is no error of Python's own.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from muniment import Run, replay
from muniment.errors import MunimentError, UsageError
from muniment.events.effect_kinds import KERNEL_KINDS
from muniment.ledger import Ledger
from muniment_plugins.evals.vocabulary import KINDS as EVALS
from muniment_plugins.governance.vocabulary import KINDS as GOVERNANCE
from muniment_plugins.providers.vocabulary import KINDS as PROVIDERS
from muniment_plugins.workflow import (
    StageCall,
    StageInput,
    workflow_execute,
    workflow_signal,
)
from muniment_plugins.workflow.vocabulary import KINDS as WORKFLOW
from workflow_stages import Document, chain, edge, graph_of

INTERNAL = ("TypeError", "KeyError", "AttributeError", "IndexError", "ValueError")
ODD: list[Any] = [
    None,
    True,
    0,
    -1.5,
    "x",
    b"x",
    [],
    {},
    [[]],
    [{}],
    [None],
    {"a": {}},
    {"a": None, "b": None},
    {"a": {"arrived": True}, "b": {}},
    {"a": {"failed": ["x"]}, "b": {}},
    {"arrived": ["zzz"]},
    {"artifacts": None},
    {"artifacts": "x"},
    {"artifacts": [1]},
    {"artifacts": [{}]},
    {"artifacts": [{"id": "q", "kind": "k", "text": 5}]},
    {"artifacts": [{"id": "q", "kind": "k", "text": "x"}] * 2},
    {"ok": True},
    {"exit_status": "0"},
    {"stdout": 5},
    {"files": []},
    {"files": {"zzz": {}}},
    {"session": "x"},
    {"messages": [1]},
    {"views": []},
    {"sha256": 5},
    {"arguments": 5},
    {"text": 5},
]
"""Values that few kinds answer with."""


def says(given: StageInput) -> str:
    """Say who works."""
    return given.node


def hears(run: Run, stage: StageCall) -> str:
    """Wait for a letter, and a moment."""
    run.sleep(0)
    return str(stage.mail.receive("go"))


HEARS: Document = {"handler": hears}
SAYS: Document = {"handler": says}
RACE = graph_of(
    {
        "f": {"kind": "fork"},
        "a": SAYS,
        "b": SAYS,
        "j": {"kind": "join", "join_policy": {"strategy": "first"}},
        "z": SAYS,
    },
    *(edge(*pair) for pair in ("fa", "fb", "aj", "bj", "jz")),
)
GRAPHS: dict[str, tuple[str, Document]] = {
    "race": ("race", RACE),
    "race of items": (
        "race",
        chain(
            act={
                "kind": "map",
                "handler": says,
                "map_policy": {"items": [1, 2]},
                "join_policy": {"strategy": "first"},
            },
            z=SAYS,
        ),
    ),
    "check": (
        "check",
        chain(act={"kind": "verify", "verify": {"command": "true"}}, z=SAYS),
    ),
    "check of files": (
        "check",
        chain(
            act={
                "kind": "verify",
                "verify": {"command": "true", "required_paths": ["."]},
            },
            z=SAYS,
        ),
    ),
    "child": ("child", chain(act={"kind": "subagent", "graph": chain(x=SAYS)}, z=SAYS)),
    "mail": ("mail", chain(act=HEARS, z=SAYS)),
    "timer": ("timer", chain(act=HEARS, z=SAYS)),
    "stage": ("stage", chain(act=SAYS, z=SAYS)),
}


def forked(book: Ledger, run: str, at: int, value: Any) -> str:
    """Fork with a changed outcome; return what became of it."""
    before, refused, done = book.head.size, None, None
    try:
        done = book.fork(run, at=at, changes={at: value})
    except MunimentError as error:
        refused = error
    if done is None:
        assert refused is not None
        assert refused.rule == "fork/change", refused
        assert refused.remedy
        assert book.head.size == before
        return "refused"
    told = "" if done.error is None else str(done.error)
    assert type(done.error).__name__ not in INTERNAL, told
    assert not any(name in told for name in INTERNAL), told
    if done.status != "paused":
        assert replay(book, done.run_id).verdict == "acceptable"
    return done.status


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_changed_outcome_fits_or_is_refused(book: Ledger, graph: str) -> None:
    """The recorded one fits in any case, and what a handler returns may be anything."""
    kind, document = GRAPHS[graph]
    done: Any = workflow_execute(book, "t", document)
    if done.status == "paused":
        workflow_signal(book, done.run_id, "go", 1)
        done = book.resume(done.run_id)
    assert done.status in ("completed", "failed"), done.error
    outcome = [*book.events(run=done.run_id, type=f"{kind}.completed")][-1]
    kept = book.resolve(outcome).get("value")
    assert forked(book, done.run_id, outcome.seq, copy.deepcopy(kept)) != "refused"
    came = [forked(book, done.run_id, outcome.seq, one) for one in ODD]
    assert (came.count("refused") == 0) is (kind == "stage")


READ_BY_PROGRAMS = {
    *(
        "llm",
        "tool",
        "command",
        "human",
        "data",
        "execution",
        "child",
        "stage",
        "update",
    ),
    # of a form that is judged where they are read, or by the program that is recorded
    *("agent.turn", "compaction", "http", "retrieval", "session_loan"),
}
"""Kinds whose outcome may be any value."""


def test_every_kind_says_which_outcomes_it_reads() -> None:
    """A kind that names a form takes any value, and says what is wrong; none is forgotten."""
    known = [*KERNEL_KINDS, *WORKFLOW, *GOVERNANCE, *EVALS, *PROVIDERS]
    assert {one.name for one in known if one.fault is None} == READ_BY_PROGRAMS
    request = {"branches": ["a", "b"], "paths": ["p"], "used": 3, "reads": []}
    for kind in known:
        said = [kind.fault_of(request, one) for one in ODD]
        assert all(one is None or len(one) > 10 for one in said), kind.name
        assert any(said) is (kind.fault is not None), kind.name


def test_a_change_that_does_not_fit_says_what_would(book: Ledger) -> None:
    """The refusal names the event, the form, and where to look."""
    done: Any = workflow_execute(book, "t", RACE)
    (event,) = book.events(run=done.run_id, type="race.completed")
    with pytest.raises(UsageError, match="each branch of the race") as found:
        book.fork(done.run_id, at=event.seq, changes={event.seq: {}})
    assert f"events show {event.seq}" in found.value.remedy
    assert found.value.place == f"run {done.run_id}, race"
