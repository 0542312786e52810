"""Which runs a handler calls is held, by the scopes of the calls, however they came to end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from compared_runs import changed
from muniment import Run
from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment_plugins.evals import run_record_diff, run_record_eval, run_record_fixture
from muniment_plugins.workflow import StageInput, workflow_execute
from workflow_stages import Document, chain, edge, graph_of, says

SCRIPT: dict[int, Any] = {}


@pytest.fixture
def script() -> dict[int, Any]:
    """Give what the model of `library` says: nothing."""
    return SCRIPT


_CALLS: list[Any] = []


def caller(run: Run, stage: StageInput) -> str:
    """Call programs."""
    for program, params in _CALLS:
        with suppress(EffectFailed):
            run.call(program, params)
    return stage.node


def first(run: Run, x: object) -> object:
    """Return what it is given, or raise."""
    del run
    if x == "bad":
        raise ValueError(x)
    return "same"


def second(run: Run, x: object) -> object:
    """Do the same by another name."""
    return first(run, x)


def answers(run: Run, x: object) -> object:
    """Answer by what somebody else said."""
    del x
    return run.effect("human", "what", lambda _: _ANSWER[0])


_ANSWER = ["one"]
BASE = [(first, {"x": 1}), (first, {"x": 2})]
OTHERS: Mapping[str, tuple[list[Any], str]] = {
    "other params": ([(first, {"x": 1}), (first, {"x": 3})], "act.1#2"),
    "another program": ([(first, {"x": 1}), (second, {"x": 2})], "act.1#2"),
    "it fails": ([(first, {"x": 1}), (first, {"x": "bad"})], "act.1#2/first"),
    "one more": ([*BASE, (first, {"x": 3})], "act.1#3"),
    "one less": (BASE[:1], "act.1#2"),
    "none": ([], "act.1"),
    "another order": ([*reversed(BASE)], "act.1"),
}


@pytest.mark.parametrize("how", OTHERS)
def test_each_call_of_a_run_is_held(library: Ledger, how: str) -> None:
    """Its params, which program it was, how it ended, and how many there were."""
    _CALLS[:] = BASE
    one, same = (_called(library) for _ in range(2))
    assert changed(library, one, same) == [[], [], []]
    _CALLS[:], place = OTHERS[how]
    other = _called(library)
    for told in changed(library, one, other):
        assert place in told, told
    for told in changed(library, other, one):
        assert any(one.startswith("act.1") for one in told)


def test_another_answer_of_a_run_below_is_held(library: Ledger) -> None:
    """What a called run returned is compared, though its caller makes nothing of it."""
    _CALLS[:] = [(answers, {"x": 1})]
    _ANSWER[0] = "one"
    one, same = (_called(library) for _ in range(2))
    assert changed(library, one, same) == [[], [], []]
    _ANSWER[0] = "two"
    assert changed(library, one, _called(library)) == [["act.1/answers"]] * 3


def _called(book: Ledger) -> str:
    return workflow_execute(book, "T", chain(act={"handler": caller})).run_id


# -- at once, again, and not yet --------------------------------------------------------------

_STRUCK = [""]


def strikes(request: object) -> object:
    """End the process where it is told to, once."""
    if request == _STRUCK[0]:
        _STRUCK[0] = ""
        raise KeyboardInterrupt
    return request


def helps(run: Run, x: str) -> str:
    """Ask for two effects."""
    for name in "ab":
        run.effect("data", f"{x}{name}", strikes)
    return "same"


def works(run: Run, stage: StageInput) -> str:
    """Ask, call, and ask."""
    run.effect("data", f"{stage.node} before", strikes)
    run.call(helps, {"x": stage.node})
    run.effect("data", f"{stage.node} behind", strikes)
    return stage.node


def below(handler: Any) -> Document:
    """Return a node that works in a run below."""
    return {"kind": "subagent", "graph": chain(leaf={"handler": handler})}


STRUCK = (
    *("leaf before", "leafa", "leafb", "leaf behind"),
    *("act before", "acta", "actb", "act behind"),
)


@pytest.mark.parametrize("where", STRUCK)
def test_a_resumed_run_did_the_same(library: Ledger, where: str) -> None:
    """What a resumption performs again, in a run below or above it, is no further effect."""
    graph = chain(sub=below(works), act={"handler": works})
    _STRUCK[0] = ""
    clean = workflow_execute(library, "T", graph).run_id
    _STRUCK[0] = where
    with pytest.raises(KeyboardInterrupt):
        workflow_execute(library, "T", graph)
    left = next(it for it in library.runs(status="interrupted") if not it.parent)
    done = library.resume(left.id, repeat=["data"])
    assert done.status == "completed", done.error
    assert changed(library, clean, left.id) == [[], [], []]


def test_runs_that_are_at_once(library: Ledger) -> None:
    """Branches and items call runs at once: whose came first makes no difference."""
    items = {"items": ["a", "b", "c"], "max_concurrent": 3}
    graphs = (
        chain(m={"kind": "map", "map_policy": items, "body": below(says)}),
        graph_of(
            {
                "f": {"kind": "fork"},
                "x": below(says),
                "y": below(works),
                "j": {"kind": "join"},
            },
            edge("f", "x"),
            edge("f", "y"),
            edge("x", "j"),
            edge("y", "j"),
        ),
    )
    for graph, runs in zip(graphs, (3, 3), strict=True):
        one, other = (workflow_execute(library, "T", graph).run_id for _ in range(2))
        assert changed(library, one, other) == [[], [], []]
        diff = run_record_diff(library, one, other)
        assert diff["compared"]["runs_below"] == runs


_QUESTION = [""]


def asks(run: Run, stage: StageInput) -> str:
    """Ask people."""
    del stage
    return run.decide({"about": "it"}, _QUESTION[0]).outcome


def test_a_run_below_that_waits(library: Ledger) -> None:
    """A call without an end is known by its scope, too, and what people are asked is held."""
    runs: list[str] = []
    for question in ("This?", "This?", "That?"):
        _QUESTION[0] = question
        runs.append(workflow_execute(library, "T", chain(sub=below(asks))).run_id)
    fixture = run_record_fixture(library, runs[0])
    assert fixture["runs_below"][0]["call"] == "sub.1"
    assert run_record_eval(library, runs[1], fixture)["verdict"] == "passed"
    assert run_record_diff(library, *runs[:2])["identical"]
    found = run_record_eval(library, runs[2], fixture)
    assert (found["verdict"], found["changed_stages"]) == ("failed", ["sub.1/leaf.1"])
    assert not run_record_diff(library, runs[0], runs[2])["identical"]


def test_a_fork_has_the_runs_that_its_origin_called(library: Ledger) -> None:
    """What the origin answered was called there, and is compared all the same."""
    graph = chain(sub=below(works), act={"handler": works})
    one, other = (workflow_execute(library, "T", graph).run_id for _ in range(2))
    asked = [it.seq for it in library.events(run=one, type="data.requested")]
    fork = library.fork(one, at=asked[-1])
    assert fork.status == "completed"
    assert run_record_diff(library, other, fork.run_id)["identical"]
