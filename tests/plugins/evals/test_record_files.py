"""A record that was given is a record, or it is refused with the place: each member is changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_run,
    run_record_diff,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.workflow import run_record, workflow_execute
from workflow_stages import chain, says

ODD: tuple[Any, ...] = (None, -1, 1.5, "x", True, [], {}, [{}])


def record_of(book: Ledger) -> tuple[str, dict[str, Any]]:
    """Return a run and its record."""
    run = workflow_execute(book, "T", chain(a={"handler": says})).run_id
    return run, json.loads(json.dumps(run_record(book, run)))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places in *value*."""
    rows = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in rows:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from places(one, (*path, key))


def test_each_member_of_a_record(book: Ledger) -> None:
    """Whatever stands there instead, or if nothing does: a result, or a line with the place."""
    run, record = record_of(book)
    fixture = run_record_fixture(book, run)
    sound = 0
    rules: list[str] = []
    for path in places(record):
        for odd in (*ODD, ...):
            changed = copy.deepcopy(record)
            here: Any = changed
            for key in path[:-1]:
                here = here[key]
            if odd is ...:
                del here[path[-1]]
            else:
                here[path[-1]] = odd
            try:
                run_record_diff(book, record, changed)
                if len(path) == 1:
                    run_record_eval(book, changed, fixture)
                sound += 1
            except UsageError as error:
                rules.append(str(error.rule))
    assert {*rules} == {"evals/record"}
    assert sound > 50
    assert len(rules) > 500


def test_a_stage_that_is_there_twice(book: Ledger) -> None:
    """No run has that."""
    run, record = record_of(book)
    record["stages"] *= 2
    with pytest.raises(UsageError, match="twice"):
        run_record_eval(book, record, run_record_fixture(book, run))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("usage.total_cost", "1"),
        ("stages.a.usage.total_cost", "1"),
        ("stages.a.agent.tokens", 10),
        ("stages.a.agent.cost_usd", "1"),
    ],
)
@pytest.mark.parametrize("op", ["at-most", "more", "equals"])
def test_a_number_that_nobody_knows(
    book: Ledger, path: str, expected: Any, op: str
) -> None:
    """What no answer states is neither below a limit nor above it: nobody can tell."""
    _, record = record_of(book)
    loop = {"agent": "a", "reason": "answered", "turns": []}
    counts = dict.fromkeys(("calls", "denied", "failed", "corrected"), 0)
    record["stages"][0]["agent"] = loop | counts
    record["stages"][0]["usage"] = {**record["usage"], "unpriced_calls": 1}
    row = {"kind": "field", "path": path, "op": op, "expected": expected}
    case = {"id": "c", "rubrics": ["r"], "run_path": "r.json"}
    with open("r.json", "w", encoding="utf-8") as file:  # noqa: PTH123 - in the test's own folder
        json.dump(record, file)
    suite = {"version": 1, "rubrics": [{"id": "r", "assertions": [row]}]}
    (found,) = eval_suite_run(book, {**suite, "cases": [case]})["cases"]
    assert (found["verdict"], found["failures"]) == ("cannot_tell", []), found
