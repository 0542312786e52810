"""A replay calls no handler, so it needs none: closures, which nobody finds again, replay.

Only what is a part of the program, a handler of two arguments or of a condition, has to be
there; then it cannot tell, which is no verdict about the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from muniment import replay
from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment_plugins.workflow import StageInput, workflow_execute
from workflow_stages import Document, chain

Shape = Callable[[Callable[[StageInput], Any]], Document]
SHAPES: dict[str, Shape] = {
    "stage": lambda works: {"handler": works},
    "retried": lambda works: {"handler": works, "retry_policy": {"max_attempts": 2}},
    "timed": lambda works: {"handler": works, "timeout_s": 30},
    "map": lambda works: {
        "kind": "map",
        "handler": works,
        "map_policy": {"items": [1, 2]},
    },
    "reduce": lambda works: {"kind": "reduce", "handler": works},
    "verify": lambda works: {"kind": "verify", "verify": {"handler": works}},
    "subagent": lambda works: {
        "kind": "subagent",
        "graph": chain(deep={"handler": works}),
    },
}


@pytest.mark.parametrize("later", [False, True], ids=["threads", "tasks"])
@pytest.mark.parametrize("fails", [False, True], ids=["good", "bad"])
@pytest.mark.parametrize("shape", SHAPES)
def test_closures_replay(book: Ledger, shape: str, fails: bool, later: bool) -> None:
    """Whatever they came to, in threads and as tasks."""

    def works(given: StageInput) -> object:
        if fails:
            raise ValueError(given.node)
        return shape == "verify" or "done"

    async def awaited(given: StageInput) -> object:
        return works(given)

    node = SHAPES[shape](awaited if later else works)
    done = workflow_execute(book, "t", chain(node=node, after={"handler": works}))

    assert done.status == ("failed" if fails else "completed"), done.error
    for one in book.runs():
        assert replay(book, one.id).verdict == "acceptable"


PARTS: dict[str, Shape] = {
    "in its lane": lambda works: {"handler": lambda _, given: works(given)},
    "condition": lambda works: {"kind": "condition", "handler": works},
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_program_has_to_be_there(book: Ledger, part: str) -> None:
    """Where it is not, nobody can tell: that is no divergence, and no bad verdict."""
    node = PARTS[part](lambda _: True)
    graph = chain(node=node, after={"handler": "workflow_stages:says"})
    if part == "condition":
        graph["edges"][0]["branch"] = "true"
        graph["nodes"]["no"] = {"handler": "workflow_stages:says"}
        graph["edges"].append({"from": "node", "to": "no", "branch": "false"})
    done = workflow_execute(book, "t", graph)

    assert done.status == "completed", done.error
    with pytest.raises(CannotTellError):
        replay(book, done.run_id)
