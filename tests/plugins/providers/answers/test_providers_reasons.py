"""Why an answer ended, in the word of whoever said it; and what is no answer at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer
from model_wire import Json, Spoken, event
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.providers import complete
from muniment_plugins.providers.wire_formats.chat_completions import Chat
from muniment_plugins.providers.wire_formats.messages import Messages
from muniment_plugins.providers.wire_formats.responses import Responses
from muniment_plugins.providers.wire_formats.wire_format import Format, NoAnswer
from muniment_plugins.workflow import agent_loop, tool_define, tool_registry

pytestmark = pytest.mark.usefixtures("places")
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
CALL: Json = {"name": "t", "arguments": '{"x": 1}'}


def chat(reason: str | None, *, calls: bool = False) -> Spoken:
    """Answer in OpenAI's format, with the call in its older form."""
    message: Json = {"content": None if calls else "Hi."}
    message |= {"function_call": CALL} if calls else {}
    deltas: list[Json] = [message]
    if calls:
        parts = [{"name": "t", "arguments": '{"x"'}, {"arguments": ": 1}"}]
        deltas = [{"function_call": one} for one in parts]
    whole = {"choices": [{"message": message, "finish_reason": reason}]}
    choices: list[Json] = [{"delta": one, "finish_reason": None} for one in deltas]
    choices.append({"delta": {}, "finish_reason": reason})
    stream = [event({"choices": [one]}) for one in choices]
    return Spoken(whole, [*stream, "data: [DONE]\n\n"])


def anthropic(reason: str | None, *, calls: bool = False) -> Spoken:
    """Answer in Anthropic's format."""
    block: Json = {"type": "text", "text": "Hi."}
    if calls:
        block = {"type": "tool_use", "id": "u", "name": "t", "input": {"x": 1}}
    whole = {"content": [block], "stop_reason": reason}
    kinds: list[Json] = [
        {"type": "message_start", "message": {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}},
        {"type": "message_stop"},
    ]
    return Spoken(whole, [event(one, one["type"]) for one in kinds])


def response(status: str | None, why: object = None) -> Spoken:
    """Answer as the responses API does; its last event says the whole."""
    part = {"type": "output_text", "text": "Hi."}
    whole: Json = {"output": [{"type": "message", "content": [part]}]}
    whole |= {"status": status, "incomplete_details": why}
    kind = "response.incomplete" if status == "incomplete" else "response.completed"
    return Spoken(whole, [event({"type": kind, "response": whole}, kind)])


def read(spoken: Format, said: Spoken, *, stream: bool) -> Any:
    """Return the answer that the format reads."""
    if not stream:
        return spoken.read(said.whole)
    lines = [one.partition("data: ")[2].strip() for one in said.stream]
    events = [json.loads(one) for one in lines if one != "[DONE]"]
    return spoken.read(spoken.gather(events))


NONE_GIVEN = ""
SAID: list[tuple[Format, Spoken, str]] = [
    *(
        (Chat(), chat(one), ours)
        for one, ours in (
            ("stop", "stop"),
            ("length", "length"),
            ("content_filter", "content_filter"),
            ("function_call", "tool_calls"),
            ("weird", "weird"),
            (None, NONE_GIVEN),
        )
    ),
    *(
        (Messages(), anthropic(one), ours)
        for one, ours in (
            ("end_turn", "stop"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
            ("refusal", "content_filter"),
            ("pause_turn", "pause_turn"),
            ("compaction", "compaction"),
            (None, NONE_GIVEN),
        )
    ),
    *(
        (Responses(), response(*one), ours)
        for one, ours in (
            (("completed", None), "stop"),
            (("incomplete", {"reason": "max_output_tokens"}), "length"),
            (("incomplete", {"reason": "content_filter"}), "content_filter"),
            (("incomplete", {"reason": None}), "incomplete"),
            (("incomplete", None), "incomplete"),
            (("weird", None), "weird"),
            ((None, None), NONE_GIVEN),
        )
    ),
]


@STREAMED
@pytest.mark.parametrize(("spoken", "said", "reason"), SAID)
def test_reasons(spoken: Format, said: Spoken, reason: str, stream: bool) -> None:
    """A reason that is known has our word, another keeps its own, none stays none."""
    answer = read(spoken, said, stream=stream)
    assert (answer.text, answer.finish_reason) == ("Hi.", reason)


@STREAMED
@pytest.mark.parametrize("reason", ["function_call", "stop", None])
def test_calls_in_their_older_form(reason: str | None, stream: bool) -> None:
    """A ``function_call`` is a call of a tool, which has no id."""
    answer = read(Chat(), chat(reason, calls=True), stream=stream)
    assert [one.to_json() for one in answer.tool_calls] == [
        {"id": "", "name": "t", "arguments": {"x": 1}}
    ]


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled", "failed"])
@pytest.mark.parametrize("output", [[], response("x").whole["output"]])
def test_what_is_no_answer(
    status: str, output: Any, server: ModelServer, ledger: Ledger
) -> None:
    """A response that is not there yet, or never will be, fails, and says what to do."""
    whole = {"status": status, "output": output, "model": "m", "id": "r"}
    with pytest.raises(NoAnswer):
        Responses().read(whole)
    server.speakers["/v1/responses"] = lambda _: Spoken(whole, [])

    def program(run: Run) -> str:
        return complete(run, "openai:m", "hi", api="responses", attempts=1).text

    done = ledger.execute(program)
    (failed,) = ledger.events(type="llm.failed")
    assert (done.status, failed.data["error_type"]) == ("failed", "CompletionFailed")
    told = str(ledger.resolve(failed))
    assert f"its status is {status}" in told
    assert ("`background`" in told) is (status in ("queued", "in_progress"))
    assert not list(ledger.events(type="llm.completed"))


REASONS = {
    "openai:m": [
        ("function_call", "answered"),
        (None, "answered"),
        ("weird", "answered"),
        ("length", "cut_off"),
        ("content_filter", "filtered"),
    ],
    "anthropic:m": [
        ("tool_use", "answered"),
        (None, "answered"),
        ("compaction", "answered"),
        ("max_tokens", "cut_off"),
        ("model_context_window_exceeded", "cut_off"),
        ("pause_turn", "unfinished"),
        ("refusal", "filtered"),
    ],
}


CASES = [
    (model, *row, stream)
    for model, rows in REASONS.items()
    for row in rows
    for stream in (False, True)
    if not (stream and model == "openai:m" and row[0] is None)  # it was cut off
]


@pytest.fixture
def looping(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger whose loops ask providers."""
    home, plugins = tmp_path / "home", ("workflow", "providers")
    with Ledger.create(tmp_path / "loops.db", home=home, plugins=plugins) as made:
        yield made


@pytest.mark.parametrize(("model", "reason", "ends", "stream"), CASES)
def test_calls_of_loops(
    model: str,
    reason: str | None,
    ends: str,
    stream: bool,
    server: ModelServer,
    looping: Ledger,
) -> None:
    """A loop performs what an answer calls, but of one that is not whole."""
    speak, last = (chat, "stop") if model == "openai:m" else (anthropic, "end_turn")
    said = [speak(reason, calls=True), speak(last)]
    path = "/v1/chat/completions" if speak is chat else "/v1/messages"
    server.speakers[path] = lambda _: said.pop(0)
    done: list[int] = []

    def t(x: int) -> str:
        done.append(x)
        return "r"

    policy = {"side_effect_level": "read_only"}
    made = {"parameters": {"x": {}}, "handler": t, "policy": policy}
    tools = tool_define(tool_registry(), "t", "d", made)

    def program(run: Run) -> str:
        options = {"stream": stream}
        return agent_loop(run, "hi", model=model, tools=tools, options=options).reason

    assert looping.execute(program).result == ends
    assert done == ([1] if ends == "answered" else [])
