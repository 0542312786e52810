"""What called runs took is their caller's, and what is not known is below no limit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment import Run, replay
from muniment.ledger import Ledger
from muniment_plugins.evals import eval_suite_run
from muniment_plugins.evals.checks.assertions import within_thresholds
from muniment_plugins.workflow import StageInput, run_record, workflow_execute
from workflow_stages import Document, chain

ANSWER: dict[str, Any] = {}
SCRIPT: dict[int, Any] = {1: ANSWER}
ASKS = {"mode": "llm", "model_policy": {"model": "test:a"}}
OPEN = {"kind": "stage", "handler": "workflow_stages:says"}


def program(run: Run) -> str:
    """Ask a model, as a program that walks no graph."""
    request = {"model": "test:a", "prompt": "p"}
    said: Any = run.effect("llm", request, lambda _: dict(ANSWER))
    return str(said["text"])


def between(run: Run) -> str:
    """Call that."""
    return str(run.call(program))


def calls_one(run: Run, stage: StageInput) -> str:
    """Call a program."""
    del stage
    return str(run.call(program))


def calls_two(run: Run, stage: StageInput) -> str:
    """Call a program that calls another one."""
    del stage
    return str(run.call(between))


def below(graph: Document) -> Document:
    """Return a graph that runs *graph* as a run of its own."""
    return chain(sub={"kind": "subagent", "graph": graph})


GRAPHS: Mapping[str, tuple[Callable[[], Document], int]] = {
    "own": (lambda: chain(ask=ASKS), 1),
    "subagent": (lambda: below(chain(ask=ASKS)), 2),
    "subagents": (lambda: below(below(chain(ask=ASKS))), 3),
    "program": (lambda: chain(call={"handler": calls_one}), 1),
    "programs": (lambda: chain(call={"handler": calls_two}), 1),
    "both": (lambda: below(chain(call={"handler": calls_one})), 2),
}
"""Where a model is asked → a graph in which it is, and how many stages there are."""


@pytest.fixture
def script() -> dict[int, Any]:
    """Give what the model of `library` says."""
    return SCRIPT


def run_of(book: Ledger, where: str, **told: Any) -> str:
    """Run the graph of that name; its model answers, and says what it took."""
    ANSWER.clear()
    ANSWER.update(text="Ok.", model="test:a", **told)
    return workflow_execute(book, "T", GRAPHS[where][0]()).run_id


def verdict(book: Ledger, run: Any, **limits: Any) -> str:
    """Return the verdict about the run and these thresholds."""
    suite: dict[str, Any] = {
        "version": 1,
        "cases": [{"id": "c", "thresholds": limits}],
    }
    return str(eval_suite_run(book, suite, [run])["verdict"])


@pytest.mark.parametrize("where", GRAPHS)
def test_limits_count_what_is_below(library: Ledger, where: str) -> None:
    """At the limit it passes, below it fails, wherever the model was asked."""
    cost = {"usd": "0.5"}
    usage = {"input_tokens": 900, "output_tokens": 100}
    run = run_of(library, where, usage=usage, cost=cost)
    stages = GRAPHS[where][1]
    for name, most, least in (
        ("max_tokens", 1000, 999),
        ("max_cost_usd", 0.5, 0.49),
        ("max_stage_count", stages, stages - 1),
    ):
        assert verdict(library, run, **{name: most}) == "passed", name
        assert verdict(library, run, **{name: least}) == "failed", name


UNKNOWN: Mapping[str, Any] = {
    "no usage": {},
    "null": {"usage": None},
    "empty": {"usage": {}},
    "one kind": {"usage": {"input_tokens": 1}},
    "another kind": {"usage": {"completion_tokens": 1}},
    "a text": {"usage": {"input_tokens": "1", "output_tokens": 1}},
    "negative": {"usage": {"input_tokens": -5, "output_tokens": 5}},
    "a fraction": {"usage": {"input_tokens": 1.5, "output_tokens": 1}},
    "beyond": {"usage": {"input_tokens": 2**60, "output_tokens": 1}},
    "a flag": {"usage": {"input_tokens": True, "output_tokens": 1}},
}


@pytest.mark.parametrize("where", GRAPHS)
@pytest.mark.parametrize("what", UNKNOWN)
def test_what_is_not_known_passes_no_limit(
    library: Ledger, what: str, where: str
) -> None:
    """Tokens that an answer does not state, or states absurdly: nobody can tell."""
    run = run_of(library, where, **UNKNOWN[what])
    assert verdict(library, run, max_tokens=100) == "cannot_tell"
    assert verdict(library, run, max_cost_usd=1) == "cannot_tell"
    assert verdict(library, run, max_stage_count=9) == "passed"


NUMBERS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(NUMBERS, NUMBERS)
def test_any_numbers(library: Ledger, read: Any, wrote: Any) -> None:
    """A limit is passed by whole numbers from 0 that keep to it, and by nothing else."""
    run = run_of(library, "own", usage={"input_tokens": read, "output_tokens": wrote})
    sound = [type(one) is int and 0 <= one < 2**53 for one in (read, wrote)]
    found = verdict(library, run, max_tokens=100)
    if all(sound):
        assert found == ("failed" if read + wrote > 100 else "passed")
    else:
        assert found != "passed"


@pytest.mark.parametrize("op", ["less", "at-most", "equals", "more", "at-least"])
def test_a_sum_that_lacks_calls_is_at_least_that(library: Ledger, op: str) -> None:
    """A field of a usage is no upper limit of what was taken, if a call does not say."""
    run = run_of(library, "own", usage={"input_tokens": 50})
    for name, low in (("input_tokens", 40), ("output_tokens", 0)):
        for path in (f"usage.{name}", f"stages.ask.usage.{name}"):
            row = {"kind": "field", "path": path, "op": op, "expected": low}
            suite: dict[str, Any] = {
                "version": 1,
                "rubrics": [{"id": "r", "assertions": [row]}],
                "cases": [{"id": "c", "rubrics": ["r"]}],
            }
            found = eval_suite_run(library, suite, [run])
            holds = op == "at-least" or (op == "more" and low)
            assert found["verdict"] == ("passed" if holds else "cannot_tell"), path


def test_what_is_known_and_above_fails(library: Ledger) -> None:
    """Whatever the other number was."""
    run = run_of(library, "subagent", usage={"input_tokens": 101})
    assert verdict(library, run, max_tokens=100) == "failed"


@pytest.mark.parametrize("how", ["open", "unknown"])
@pytest.mark.parametrize("name", ["max_tokens", "max_stage_count", "max_cost_usd"])
def test_a_called_run_that_may_take_more(how: str, name: str) -> None:
    """One without an end, or that is not here: nobody can tell, unless it is too much."""
    usage = {"input_tokens": 5, "output_tokens": 4, "total_cost": "9"}
    view: dict[str, Any] = {
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "stages": [],
        "duration_us": 1,
        "called": {"runs": 1, "stages": 9, "usage": usage, how: 1},
    }
    told = {most: within_thresholds(view, {name: most})[0].ok for most in (8, 9, 99)}
    assert told == {8: False, 9: None, 99: None}
    view["called"][how] = 0
    assert within_thresholds(view, {name: 9})[0].ok is True


def test_a_record_in_a_file_does_not_say(library: Ledger) -> None:
    """What the runs below took is not in it: nobody can tell."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    for where, wanted in (("own", "passed"), ("subagent", "cannot_tell")):
        path = Path(f"{where}.json")
        path.write_text(
            json.dumps(run_record(library, run_of(library, where, usage=usage)))
        )
        suite = {
            "version": 1,
            "cases": [
                {"id": "c", "run_path": path.name, "thresholds": {"max_tokens": 9}}
            ],
        }
        assert eval_suite_run(library, suite)["verdict"] == wanted


def test_it_is_verified_and_replayed(library: Ledger) -> None:
    """Each run below is verified, and counted; a replay needs none of them."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    run = run_of(library, "both", usage=usage)
    events = sum(1 for one in library.events() if one.run is not None)
    suite = {"version": 1, "cases": [{"id": "c", "thresholds": {"max_tokens": 2}}]}
    found = eval_suite_run(library, suite, [run])
    assert (found["verdict"], found["verified"]) == ("passed", events)
    report = replay(library, found["eval_run_id"])
    assert report.verdict == "acceptable", report.findings
