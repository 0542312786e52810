"""The official SDKs through recording clients: live once, then from the record."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest

from model_server import ModelServer, Trouble
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import async_http_client, http_client

CANARY = "sk-canary-4f1e2d3c4b5a69788796a5b4c3d2e1f0"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CHAT: Any = {
    "model": "gpt-test",
    "messages": [{"role": "user", "content": "hello, Zürich"}],
}
CHAT_TOOL: Any = {
    "type": "function",
    "function": {"name": "weather", "parameters": SCHEMA},
}
RESPONSE: Any = {"model": "gpt-test", "input": "hello, Zürich"}
RESPONSE_TOOL: Any = {
    "type": "function",
    "name": "weather",
    "parameters": SCHEMA,
    "strict": False,
}
CLAUDE: Any = {
    "model": "claude-test",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "hello, Zürich"}],
}
CLAUDE_TOOL: Any = {"name": "weather", "input_schema": SCHEMA}

Use = Callable[[Any, Any], Any]


def chat(gpt: Any, _: Any) -> list[Any]:
    """Use chat completions: plain, with a tool and its result, streamed."""
    asked = gpt.chat.completions.create(**CHAT, tools=[CHAT_TOOL])
    message = asked.choices[0].message
    call = message.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    more = [*CHAT["messages"], message.model_dump(exclude_none=True), result]
    told = gpt.chat.completions.create(
        model="gpt-test", messages=more, tools=[CHAT_TOOL]
    )
    counted = {"include_usage": True}
    return [
        gpt.chat.completions.create(**CHAT),
        asked,
        told,
        *gpt.chat.completions.create(**CHAT, stream=True, stream_options=counted),
        *gpt.chat.completions.create(**CHAT, stream=True, tools=[CHAT_TOOL]),
    ]


def respond(gpt: Any, _: Any) -> list[Any]:
    """Use the responses API: plain, with a tool and its result, streamed."""
    asked = gpt.responses.create(**RESPONSE, tools=[RESPONSE_TOOL])
    call = asked.output[0]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}
    more = [{"role": "user", "content": "hello"}, call.model_dump(), result]
    told = gpt.responses.create(model="gpt-test", input=more, tools=[RESPONSE_TOOL])
    with gpt.responses.stream(**RESPONSE) as stream:
        final = [*stream, stream.get_final_response()]
    return [
        gpt.responses.create(**RESPONSE),
        asked,
        told,
        *final,
        *gpt.responses.create(**RESPONSE, stream=True, tools=[RESPONSE_TOOL]),
    ]


def message(_: Any, claude: Any) -> list[Any]:
    """Use messages: plain, with a tool and its result, streamed."""
    asked = claude.messages.create(**CLAUDE, tools=[CLAUDE_TOOL])
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}
    more = [
        *CLAUDE["messages"],
        {"role": "assistant", "content": [asked.content[0].model_dump()]},
        {"role": "user", "content": [result]},
    ]
    told = claude.messages.create(**{**CLAUDE, "messages": more}, tools=[CLAUDE_TOOL])
    with claude.messages.stream(**CLAUDE) as stream:
        final = [*stream, stream.get_final_message()]
    with claude.messages.stream(**CLAUDE, tools=[CLAUDE_TOOL]) as stream:
        final += [stream.get_final_message()]
    return [
        claude.messages.create(**CLAUDE),
        asked,
        told,
        *final,
        *claude.messages.create(**CLAUDE, stream=True),
    ]


async def achat(gpt: Any, _: Any) -> list[Any]:
    """Use chat completions, awaited."""
    create = gpt.chat.completions.create
    plain, asked = await asyncio.gather(
        create(**CHAT), create(**CHAT, tools=[CHAT_TOOL])
    )
    streamed = [one async for one in await create(**CHAT, stream=True)]
    return [plain, asked, *streamed]


async def arespond(gpt: Any, _: Any) -> list[Any]:
    """Use the responses API, awaited."""
    create = gpt.responses.create
    asked = await create(**RESPONSE, tools=[RESPONSE_TOOL])
    streamed = [one async for one in await create(**RESPONSE, stream=True)]
    return [await create(**RESPONSE), asked, *streamed]


async def amessage(_: Any, claude: Any) -> list[Any]:
    """Use messages, awaited."""
    create = claude.messages.create
    asked = await create(**CLAUDE, tools=[CLAUDE_TOOL])
    async with claude.messages.stream(**CLAUDE) as stream:
        final = [one async for one in stream]
        final.append(await stream.get_final_message())
    return [await create(**CLAUDE), asked, *final]


def clients(server: ModelServer, http: Any) -> tuple[Any, Any]:
    """Return the SDKs' clients on *http*."""
    common = {"api_key": CANARY, "http_client": http}
    places = (f"{server.url}/v1", server.url)
    if hasattr(http, "aclose"):
        return (
            openai.AsyncOpenAI(base_url=places[0], **common),
            anthropic.AsyncAnthropic(base_url=places[1], **common),
        )
    return (
        openai.OpenAI(base_url=places[0], **common),
        anthropic.Anthropic(base_url=places[1], **common),
    )


def program_of(use: Use, server: ModelServer, seen: list[list[Any]]) -> Any:
    """Return the program that does *use*, and notes the objects that it got."""

    def program(run: Run) -> object:
        with http_client(run) as http:
            got = use(*clients(server, http))
        seen.append(got)
        return [one.model_dump(mode="json", warnings=False) for one in got]

    async def aprogram(run: Run) -> object:
        async with async_http_client(run) as http:
            got = await use(*clients(server, http))
        seen.append(got)
        return [one.model_dump(mode="json", warnings=False) for one in got]

    return aprogram if inspect.iscoroutinefunction(use) else program


@pytest.mark.parametrize(
    "use",
    [chat, respond, message, achat, arespond, amessage],
    ids=lambda one: one.__name__,
)
def test_recorded_and_replayed(use: Use, server: ModelServer, ledger: Ledger) -> None:
    """Every object that an SDK gives comes again from the record, without the server."""
    seen: list[list[Any]] = []
    program = program_of(use, server, seen)
    done = asyncio.run(ledger.aexecute(program))
    done.raise_failure()
    calls = len(server.calls)
    report = replay(ledger, done.run_id, program=program)

    assert report.verdict == "acceptable", str(report)
    assert report.result_digest == done.result_digest
    live, again = seen
    assert len(live) > 3
    assert [type(one) for one in again] == [type(one) for one in live]
    assert again == live
    assert len(server.calls) == calls == report.compared


def test_echoes(server: ModelServer, ledger: Ledger) -> None:
    """What the SDKs give is what the server said: the test above compares no nothing."""
    seen: list[list[Any]] = []
    ledger.execute(program_of(chat, server, seen)).raise_failure()
    plain, asked, told, *chunks = seen[0]

    assert plain.choices[0].message.content == "echo: hello, Zürich"
    assert (
        asked.choices[0].message.tool_calls[0].function.arguments
        == '{"city": "Zürich"}'
    )
    assert told.choices[0].message.content == "echo: sunny"
    words = [c.choices[0].delta.content or "" for c in chunks if c.choices]
    assert "".join(words) == "echo: hello, Zürich"


def test_retries(server: ModelServer, ledger: Ledger) -> None:
    """Each attempt of an SDK is an effect, and a replay makes them all again."""
    seen: list[list[Any]] = []

    def use(gpt: Any, _: Any) -> list[Any]:
        return [gpt.chat.completions.create(**CHAT)]

    server.fail(Trouble(429, retry_after="0.01"), Trouble(500))
    program = program_of(use, server, seen)
    done = ledger.execute(program)
    kinds = [e.type for e in ledger.events(run=done.run_id) if e.type[:3] == "llm"]
    report = replay(ledger, done.run_id, program=program)

    assert kinds == [
        "llm.requested",
        "llm.failed",
        "llm.requested",
        "llm.failed",
        "llm.requested",
        "llm.completed",
    ]
    assert report.verdict == "acceptable", str(report)
    assert seen[0] == seen[1]
    assert len(server.calls) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_failures(status: int, server: ModelServer, ledger: Ledger) -> None:
    """The error of an SDK comes as it is and again; what it quotes is not recorded."""

    def program(run: Run) -> object:
        with http_client(run) as http:
            gpt = clients(server, http)[0].with_options(max_retries=0)
            return gpt.chat.completions.create(**CHAT).choices[0].message.content

    server.fail(Trouble(status, say="no {key} here"))
    done = ledger.execute(program)
    report = replay(ledger, done.run_id, program=program)

    assert isinstance(done.error, openai.APIStatusError)
    assert done.error.status_code == status
    assert f"no {CANARY} here" in str(done.error)  # live, as the server said it
    files = [one for one in ledger.path.parent.rglob("*") if one.is_file()]
    assert ledger.path in files
    assert not [one for one in files if CANARY.encode() in one.read_bytes()]
    assert report.verdict == "acceptable", str(report)
    assert len(server.calls) == 1
    assert ledger.resume(done.run_id, program=program).result == "echo: hello, Zürich"
    assert len(server.calls) == 2


def test_cut_stream(server: ModelServer, ledger: Ledger) -> None:
    """A stream that breaks gives its beginning and its error, live and again."""
    seen: list[list[Any]] = []

    def program(run: Run) -> object:
        got: list[Any] = []
        seen.append(got)
        with http_client(run) as http:
            gpt = clients(server, http)[0]
            try:
                for one in gpt.chat.completions.create(**CHAT, stream=True):
                    got.append(one.choices[0].delta.content)  # noqa: PERF401 - as it comes
            except openai.APIConnectionError as error:
                got.append(str(error))
        return got

    server.fail(Trouble(cut=3))
    done = ledger.execute(program)
    report = replay(ledger, done.run_id, program=program)

    assert seen[0] == ["", "echo:", " hello,", "Connection error."]
    assert seen[0] == seen[1]
    assert report.verdict == "acceptable", str(report)


def test_another_request(server: ModelServer, ledger: Ledger) -> None:
    """A program that asks for something else diverges, and the field is named."""
    words = iter(["one", "other"])

    def program(run: Run) -> object:
        said = [{"role": "user", "content": next(words)}]
        with http_client(run) as http:
            gpt = clients(server, http)[0].with_options(max_retries=0)
            return gpt.chat.completions.create(model="gpt-test", messages=said).id

    done = ledger.execute(program)
    report = replay(ledger, done.run_id, program=program)

    assert report.first_divergence is not None
    assert report.first_divergence.field == "request.body.json.messages[0].content"
    assert (report.first_divergence.expected, report.first_divergence.got) == (
        "one",
        "other",
    )
    assert len(server.calls) == 1


def test_another_key(server: ModelServer, ledger: Ledger) -> None:
    """A replay needs no key: requests that differ in it alone are equal."""
    keys = iter([CANARY, "none"])

    def program(run: Run) -> object:
        with http_client(run) as http:
            gpt = openai.OpenAI(
                api_key=next(keys), base_url=f"{server.url}/v1", http_client=http
            )
            return gpt.responses.create(**RESPONSE).output_text

    done = ledger.execute(program)

    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
