"""Whatever a model answers, a loop comes to an end with a reason, and replays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tools import ALLOWED, Model, tools
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.workflow import agent_loop, agent_records
from muniment_plugins.workflow.agents.loop.endings import ENDINGS

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["\ud800", "\x00", "a" * 300]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
arguments = st.one_of(
    values,
    st.fixed_dictionaries({"path": st.sampled_from(["a", "../b", "/etc/hosts", ""])}),
    st.fixed_dictionaries({"path": values, "text": values}),
    st.fixed_dictionaries({"why": st.text(max_size=3)}),
)


def usually(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw from *good*, but for one time of sixteen."""
    return st.integers(0, 15).flatmap(lambda one: good if one else values)


names = st.sampled_from(["read", "edit", "burst", "Read", "", "re\nad", "x" * 500])
rows = st.fixed_dictionaries(
    {"name": usually(names), "arguments": arguments},
    optional={"id": usually(st.sampled_from(["a", "a", "", "b\n"]))},
)
texts = st.text(max_size=5) | st.sampled_from(['{"n": 1}', "Well. DONE"])
reasons = st.sampled_from(["stop", "stop", "length", "tool_calls", "odd"])
tokens = st.integers(0, 9)
usages = st.fixed_dictionaries(
    {}, optional={"input_tokens": usually(tokens), "output_tokens": usually(tokens)}
)
costs = st.fixed_dictionaries({"usd": usually(st.sampled_from(["0.01", "x", "-1"]))})
answers = st.fixed_dictionaries(
    {"text": usually(texts)},
    optional={
        "tool_calls": usually(st.lists(rows, max_size=3)),
        "finish_reason": usually(reasons),
        "usage": usually(usages),
        "cost": usually(costs),
    },
)
options = st.fixed_dictionaries(
    {"max_iterations": st.integers(1, 4)},
    optional={
        "max_total_tokens": st.just(5),
        "max_cost_usd": st.just(0.1),
        "done_sentinel": st.just("DONE"),
        "max_tool_calls": st.integers(0, 3),
    },
)
SCRIPT: dict[int, Any] = {1: "x"}


@pytest.fixture
def shelf(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger whose model answers what was drawn."""
    del place
    plugins = Plugins(("workflow",), extra={"model": Model(SCRIPT)})
    with Ledger.create(
        tmp_path / "l.db", home=tmp_path / "home", plugins=plugins
    ) as made:
        yield made


@pytest.mark.filterwarnings("ignore:.*is held to the workspace_roots")
@given(st.lists(answers, min_size=1, max_size=4), options, st.booleans())
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_answers(
    shelf: Ledger, drawn: list[Any], limits: Any, valued: bool
) -> None:
    """It completes with a reason, or fails with an error that has a rule; never else."""
    SCRIPT.clear()
    SCRIPT.update(enumerate(drawn, 1))
    schema = {"type": "object", "required": ["n"]}
    given: Any = {"schema": schema} if valued else {}

    def program(run: Run) -> str:
        done = agent_loop(
            run,
            "Do it.",
            model="test:a",
            tools=tools(),
            approval_policy=ALLOWED,
            capability_policy={"workspace_roots": ["."]},
            options=limits,
            **given,
        )
        assert done.reason in ENDINGS
        assert (done.value is None) or valued
        return done.reason

    done = shelf.execute(program)
    if done.status == "failed":
        assert getattr(done.error, "rule", None), done.error
    (record,) = agent_records(shelf, done.run_id)
    assert record["reason"] == ("failed" if done.status == "failed" else done.result)
    report = replay(shelf, done.run_id, program=program)
    assert report.verdict == "acceptable", report
