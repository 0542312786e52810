"""Whoever says how many tokens an answer took says the same, on every wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)

from agent_tools import tools
from muniment.ledger import Ledger
from muniment.queries.effect_stats import EffectTally
from muniment.queries.sql import run_sql
from muniment_plugins.evals import eval_suite_run
from muniment_plugins.evals.views.usage import tokens_in
from muniment_plugins.evidence.exports.otlp import as_otlp
from muniment_plugins.governance.budgets.spending import Spending
from muniment_plugins.providers.wire_formats.chat_completions import Chat
from muniment_plugins.providers.wire_formats.messages import Messages
from muniment_plugins.providers.wire_formats.responses import Responses
from muniment_plugins.providers.wire_formats.wire_format import Format
from muniment_plugins.workflow import agent_loop, run_record, workflow_execute
from workflow_stages import chain

SCRIPT: dict[int, Any] = {1: "x"}
CALL = {"path": "a"}
COUNTS = st.integers(0, 10**6)


class Used(NamedTuple):
    """What a provider says that an answer took, in its dialect, and what that means."""

    wire: str
    usage: Mapping[str, Any]
    read: int
    written: int
    more: int = 0


def _given(**members: int | None) -> dict[str, int | None]:
    """Return *members*, of which those that are not there may be there as null."""
    return {name: one for name, one in members.items() if one != -1}


@st.composite
def beside(draw: st.DrawFn) -> Used:
    """Return what Anthropic says, and servers that speak like it: cached ones apart."""
    fresh, written = draw(COUNTS), draw(COUNTS)
    unsaid = st.sampled_from([None, -1])
    cached, stored = draw(COUNTS | unsaid), draw(COUNTS | unsaid)
    usage = _given(
        input_tokens=fresh,
        output_tokens=written,
        cache_read_input_tokens=cached,
        cache_creation_input_tokens=stored,
    )
    more = sum(one for one in (cached, stored) if one is not None and one > 0)
    return Used("messages", usage, fresh + more, written)


@st.composite
def within(draw: st.DrawFn) -> Used:
    """Return what OpenAI says, and servers that speak like it: the prompt has cached ones.

    Some of these also say, beside it, what their own provider counts; and a total that is
    more than the parts.
    """
    read, written, more = draw(COUNTS), draw(COUNTS), draw(st.just(0) | COUNTS)
    cached = draw(st.integers(0, read))
    details: dict[str, Any] = {"cached_tokens": cached}
    total: dict[str, Any] = {"total_tokens": read + written + more}
    if draw(st.booleans()):
        usage = {"input_tokens": read, "output_tokens": written, **total}
        usage |= {"input_tokens_details": details}
        return Used("responses", usage, read, written, more)
    usage = {"prompt_tokens": read, "completion_tokens": written, **total}
    proxied = {
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": draw(st.integers(0, read - cached)),
    }
    usage |= draw(st.sampled_from([{"prompt_tokens_details": details}, proxied, {}]))
    return Used("chat", usage, read, written, more)


FORMATS: Mapping[str, Format] = {
    "chat": Chat(),
    "responses": Responses(),
    "messages": Messages(),
}


def answer(used: Used, *, calls: bool = False) -> dict[str, Any]:
    """Return the answer that its wire format reads of what the provider sent."""
    wholes: Mapping[str, Any] = {
        "chat": {"choices": [{"message": {"content": "Ok."}, "finish_reason": "stop"}]},
        "responses": {
            "status": "completed",
            "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "Ok."}]}
            ],
        },
        "messages": {
            "content": [{"type": "text", "text": "Ok."}],
            "stop_reason": "end_turn",
        },
    }
    told = FORMATS[used.wire].read({**wholes[used.wire], "usage": used.usage}).to_json()
    if calls:
        told["tool_calls"] = [{"id": "c", "name": "read", "arguments": CALL}]
    return told


@pytest.fixture
def script() -> dict[int, Any]:
    """Give what the model of `library` says."""
    return SCRIPT


def spending(book: Ledger, run: str) -> Spending:
    """Return what governance counts."""
    spent = Spending()
    for event in book.events(run=run):
        spent.take_in(event)
    return spent


def attributes(book: Ledger, run: str) -> dict[str, int]:
    """Return the numbers of tokens in the exported trace."""
    found: dict[str, int] = {}
    data = ExportTraceServiceRequest.FromString(as_otlp(book, run))
    for span in data.resource_spans[0].scope_spans[0].spans:
        for one in span.attributes:
            if one.key.startswith("gen_ai.usage."):
                found[one.key.rpartition(".")[2]] = one.value.int_value
    return found


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(used=beside() | within())
def test_all_say_the_same(library: Ledger, used: Used) -> None:
    """Loop, record, evals, means, budgets, statistics, SQL and traces count alike.

    What was read contains what came from a cache, on each wire.
    """
    SCRIPT.clear()
    SCRIPT[1] = answer(used)
    asks = {"mode": "agent", "model_policy": {"model": "test:a"}}
    run = workflow_execute(library, "T", chain(ask=asks)).run_id
    record = run_record(library, run)
    whole = used.read + used.written + used.more

    usage, (stage,) = record["usage"], record["stages"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (used.read, used.written)
    assert usage.get("other_tokens", 0) == used.more
    assert "uncounted_calls" not in usage
    assert (stage["usage"], stage["agent"]["tokens"]) == (usage, whole)
    spent = spending(library, run)
    assert (spent.tokens, spent.unmetered) == (whole, 0)
    (llm,) = (one for one in library.project(EffectTally, run=run) if one.kind == "llm")
    assert (llm.input_tokens, llm.output_tokens) == (used.read, used.written)
    columns = f"SELECT input_tokens, output_tokens FROM llm_calls WHERE run = '{run}'"
    assert run_sql(library.path, columns).rows == [(used.read, used.written)]
    for most, verdict in ((whole, "passed"), (whole - 1, "failed")):
        if most >= 0:
            limits = {"thresholds": {"max_tokens": most}}
            suite = {"version": 1, "cases": [{"id": "c", **limits}]}
            assert eval_suite_run(library, suite, [run])["verdict"] == verdict
    again = workflow_execute(library, "T", chain(ask=asks)).run_id
    suite = {"version": 1, "cases": [{"id": "c", "thresholds": {"max_tokens": whole}}]}
    told = eval_suite_run(library, suite, [again], [run])["comparison"]
    assert told["numbers"]["tokens"]["older_mean"] == whole
    assert attributes(library, run) == {
        "input_tokens": used.read,
        "output_tokens": used.written,
    }


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(used=beside() | within(), over=st.integers(-1, 1))
def test_limits_of_loops_count_what_was_read(
    library: Ledger, used: Used, over: int
) -> None:
    """A loop goes on below its limit of tokens, and ends at it, cached ones counted."""
    whole = used.read + used.written + used.more
    SCRIPT.clear()
    SCRIPT.update({1: answer(used, calls=True), 2: {"text": "Ok."}})
    limit = max(1, whole + over)

    def program(run: Any) -> str:
        options = {"max_total_tokens": limit}
        return agent_loop(
            run, "x", model="test:a", tools=tools(), options=options
        ).reason

    expected = "max_total_tokens" if whole >= limit else "answered"
    assert library.execute(program).result == expected


half = st.dictionaries(
    st.sampled_from(
        [
            *("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens"),
            *("cache_read_tokens", "cache_write_tokens", "total_tokens"),
        ]
    ),
    COUNTS | st.sampled_from([None, -1, 1.5, "3", True, 2**60]),
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(usage=half)
def test_what_is_half_read_is_half_read_by_all(
    library: Ledger, usage: dict[str, Any]
) -> None:
    """Whatever a plugin states, budgets, records and loops agree whether it is known."""
    SCRIPT.clear()
    SCRIPT[1] = {"text": "Ok.", "usage": usage}
    asks = {"mode": "agent", "model_policy": {"model": "test:a"}}
    run = workflow_execute(library, "T", chain(ask=asks)).run_id
    record, spent = run_record(library, run), spending(library, run)
    assert tokens_in(record["usage"]) == spent.tokens
    assert record["usage"].get("uncounted_calls", 0) == spent.unmetered
    known = None if spent.unmetered else spent.tokens
    assert record["stages"][0]["agent"].get("tokens") == known
