"""Completions by our own code: every provider, whole and streamed, with tools."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer, Trouble
from muniment.errors import CannotTellError, EffectFailed, UsageError
from muniment.lanes import Lane
from muniment.ledger import Ledger
from muniment.replaying import replay
from muniment_plugins.providers import Answer, acomplete, complete

KEY = "sk-canary-99887766554433221100aabbccddeeff"
TOOL = {
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
SPOKEN: list[dict[str, Any]] = [
    {"model": "openai:gpt-4o-mini", "api": "chat"},
    {"model": "openai:gpt-4o-mini", "api": "responses"},
    {"model": "anthropic:claude-3-haiku-20240307"},
]
EVERY = pytest.mark.parametrize("spoken", SPOKEN, ids=["chat", "responses", "messages"])
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.fixture(autouse=True)
def places(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the environment name the server on this machine, and a key."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)


def answer_of(
    ledger: Ledger, server: ModelServer, program: Callable[[Lane], object]
) -> Any:
    """Return what *program* gives, live and from the record alike."""
    done = ledger.execute(program)
    done.raise_failure()
    calls = len(server.calls)
    report = replay(ledger, done.run_id, program=program)

    assert report.verdict == "acceptable", str(report)
    assert len(server.calls) == calls
    return done.result


@EVERY
@STREAMED
def test_text(
    spoken: dict[str, Any], stream: bool, server: ModelServer, ledger: Ledger
) -> None:
    """A prompt gives text, reason, tokens and cost, in the same words everywhere."""

    def program(run: Lane) -> object:
        asked = complete(run, prompt="hello, Zürich", stream=stream, **spoken)
        return asked.to_json()

    told = answer_of(ledger, server, program)
    provider, _, model = spoken["model"].partition(":")

    assert told["text"] == "echo: hello, Zürich"
    assert told["finish_reason"] == "stop"
    assert (told["provider"], told["model"]) == (provider, model)
    assert (told["usage"]["input_tokens"], told["usage"]["output_tokens"]) == (9, 4)
    assert float(told["cost"]["usd"]) > 0
    assert told["cost"]["table"].startswith("genai-prices ")
    assert bool(server.calls[0].body.get("stream")) == stream


@EVERY
@STREAMED
def test_tools(
    spoken: dict[str, Any], stream: bool, server: ModelServer, ledger: Ledger
) -> None:
    """A model calls a tool, is told the result, and answers."""

    def program(run: Lane) -> object:
        said: list[dict[str, Any]] = [{"role": "user", "content": "how is it?"}]
        more = {"tools": [TOOL], "stream": stream, **spoken}
        asked = complete(run, prompt=said, **more)
        (call,) = asked.tool_calls
        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        told = complete(run, prompt=[*said, asked.message, result], **more)
        return [asked.finish_reason, call.name, call.arguments, told.text]

    assert answer_of(ledger, server, program) == [
        "tool_calls",
        "weather",
        {"city": "Zürich"},
        "echo: sunny",
    ]


@EVERY
def test_awaited(spoken: dict[str, Any], server: ModelServer, ledger: Ledger) -> None:
    """Awaited completions are the same, side by side."""

    async def program(run: Lane) -> object:
        asked = (
            acomplete(run, prompt=f"hello {n}", stream=bool(n % 2), **spoken)
            for n in range(3)
        )
        return [one.text for one in await asyncio.gather(*asked)]

    done = asyncio.run(ledger.aexecute(program))

    assert done.result == ["echo: hello 0", "echo: hello 1", "echo: hello 2"]
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    assert len(server.calls) == 3


@EVERY
def test_cancelled(spoken: dict[str, Any], server: ModelServer, ledger: Ledger) -> None:
    """Whoever stops waiting stops the request, the waits between attempts too."""

    async def program(run: Lane) -> object:
        try:
            async with asyncio.timeout(0.2):
                await acomplete(run, prompt="hello", **spoken)
        except TimeoutError:
            return "stopped"
        return "answered"

    server.fail(Trouble(429, retry_after="30"))
    done = asyncio.run(ledger.aexecute(program))

    assert done.result == "stopped"
    assert len(server.calls) == 1
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


@EVERY
def test_heard_while_it_comes(
    spoken: dict[str, Any], server: ModelServer, ledger: Ledger
) -> None:
    """A listener hears the parts of a stream live, and the whole in a replay."""
    heard: list[list[str]] = []

    def program(run: Lane) -> str:
        heard.append([])
        more = {"stream": True, **spoken}
        return complete(run, prompt="a ü c", on_text=heard[-1].append, **more).text

    answer_of(ledger, server, program)

    assert heard == [["echo:", " a", " ü", " c"], ["echo: a ü c"]]


def attempts_of(ledger: Ledger, run: str) -> list[tuple[object, ...]]:
    """Return number and status of each attempt that was recorded."""
    found = ledger.events(run=run, type="llm.attempted")
    return [(one.data["attempt"], one.data.get("status"), one.scope) for one in found]


@EVERY
def test_attempts(spoken: dict[str, Any], server: ModelServer, ledger: Ledger) -> None:
    """What may be better later is tried again, and every attempt is an event."""
    server.fail(Trouble(429, retry_after="0.01"), Trouble(503, retry_after="0"))

    def program(run: Lane) -> str:
        return complete(run, prompt="hello", **spoken).text

    assert answer_of(ledger, server, program) == "echo: hello"
    run = next(ledger.events(type="run.started")).run
    assert run is not None
    assert attempts_of(ledger, run) == [
        (1, 429, "@llm.1"),
        (2, 503, "@llm.1"),
        (3, 200, "@llm.1"),
    ]
    keys = {call.headers["idempotency-key"] for call in server.calls}
    assert len(keys) == 1


@pytest.mark.parametrize(
    "trouble", [Trouble(delay=0.6), Trouble(cut=1), Trouble(cut=0)], ids=str
)
def test_wire_trouble(trouble: Trouble, server: ModelServer, ledger: Ledger) -> None:
    """Timeouts and broken streams are attempts like any other."""
    server.fail(trouble)
    more = {"stream": True, "timeout_s": 0.3, **SPOKEN[0]}

    def program(run: Lane) -> str:
        return complete(run, prompt="hello", **more).text

    assert answer_of(ledger, server, program) == "echo: hello"
    assert len(server.calls) == 2


def test_no_more_attempts(server: ModelServer, ledger: Ledger) -> None:
    """After the last attempt the effect fails, and a resume asks again."""
    server.fail(Trouble(500, retry_after="0"), Trouble(500, say="out of order"))

    def program(run: Lane) -> str:
        return complete(run, prompt="hello", attempts=2, **SPOKEN[0]).text

    done = ledger.execute(program)

    assert isinstance(done.error, EffectFailed)
    assert done.error.error_type == "CompletionFailed"
    assert done.error.data == {"status": 500, "attempts": 2}
    assert "out of order" in str(done.error)
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    assert ledger.resume(done.run_id, program=program).result == "echo: hello"
    assert len(server.calls) == 3


@EVERY
@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_no_is_a_no(
    status: int, spoken: dict[str, Any], server: ModelServer, ledger: Ledger
) -> None:
    """What will not be better later is tried once, and the key is in no message."""
    server.fail(Trouble(status, say="the key {key} is wrong"))
    done = ledger.execute(lambda run: complete(run, prompt="hello", **spoken).text)

    assert isinstance(done.error, EffectFailed)
    assert f"status {status}" in str(done.error)
    assert "[redacted]" in str(done.error)
    assert KEY not in str(done.error)
    assert len(server.calls) == 1


def test_no_key_is_kept(
    server: ModelServer,
    ledger: Ledger,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A key is in no byte of the ledger, wherever servers and prompts repeat it."""
    said: list[str] = []

    def program(run: Lane) -> None:
        for spoken in SPOKEN:
            for stream in (False, True):
                prompt = f"my key is {KEY}, ({KEY})"
                said.append(complete(run, prompt=prompt, stream=stream, **spoken).text)
            for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
                monkeypatch.setenv(variable, f"{KEY}\nx")
            try:
                complete(run, prompt="hello", **spoken)
            except EffectFailed as error:
                said.append(str(error))
            for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
                monkeypatch.setenv(variable, KEY)
            server.fail(Trouble(401, say="bad: {key}"))
            try:
                complete(run, prompt="hello", **spoken)
            except EffectFailed as error:
                said.append(str(error))

    done = ledger.execute(program)
    files = [one for top in (ledger.path.parent, home) for one in top.rglob("*")]
    kept = [one.read_bytes() for one in files if one.is_file()]
    kept += [
        ledger.get_blob(value)
        for event in ledger.events()
        for value in event.raw.values()
        if isinstance(value, dict) and "$blob" in value
    ]

    assert done.ok
    assert len(said) == 12
    assert all(call.headers.get("x-api-key", KEY) == KEY for call in server.calls)
    assert KEY[3:].encode() not in b"\n".join(kept)
    assert KEY[3:] not in "".join([*said, *capfd.readouterr()])


def test_no_key(
    ledger: Ledger, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key a server of one's own is asked, and the provider's is not."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name)
    assert ledger.execute(lambda run: complete(run, "openai:m", "hi").text).ok
    assert "authorization" not in server.calls[0].headers

    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name)
    for model, variable in (("openai:m", "OPENAI"), ("anthropic:m", "ANTHROPIC")):
        done = ledger.execute(lambda run, model=model: complete(run, model, "hi").text)
        assert f"set {variable}_API_KEY" in str(done.error)


def test_base_url_of_the_prompt(
    ledger: Ledger, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base URL in the prompt counts before the environment's."""
    place = f"{server.url}/v1/"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    done = ledger.execute(
        lambda run: complete(run, "openai:m", "hi", base_url=place, max_tokens=3).text
    )

    assert done.result == "echo: hi"
    assert server.calls[0].body["max_tokens"] == 3


def test_missing_packages(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has to be installed is said, as the command that does it."""
    for name in ("httpx", "httpx2", "llm"):
        monkeypatch.setitem(sys.modules, name, None)
    for extra in ("openai", "anthropic", "llm"):
        done = ledger.execute(
            lambda run, extra=extra: complete(run, f"{extra}:m", "hi").text
        )
        assert f"pip install 'muniment[{extra}]'" in str(done.error)


def test_models_of_nobody(ledger: Ledger) -> None:
    """A model whose provider nobody is, is said to be."""
    done = ledger.execute(lambda run: complete(run, "nobody:m", "hi").text)

    assert isinstance(done.error, EffectFailed)
    assert done.error.error_type == CannotTellError.__name__
    assert "no active plugin answers complete_prompt" in str(done.error)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"temprature": 1}, "did you mean temperature"),
        ({"api": "assistants"}, "chat and responses"),
        ({"messages": []}, "either a prompt or messages"),
        ({"prompt": [{"role": "wizard"}]}, "one of the roles"),
        ({"tools": 3}, "a int is no list"),
    ],
)
def test_prompts(more: dict[str, Any], message: str, ledger: Ledger) -> None:
    """A prompt that is off is refused before anything is recorded."""
    asked = {"prompt": "hi", **more}
    done = ledger.execute(lambda run: complete(run, "openai:m", **asked).text)

    assert isinstance(done.error, UsageError)
    assert message in str(done.error)
    assert list(ledger.events(type="llm.requested")) == []


@pytest.mark.parametrize(
    ("spoken", "name"), [(SPOKEN[1], "seed"), (SPOKEN[1], "stop"), (SPOKEN[2], "seed")]
)
def test_what_a_format_cannot_say(
    spoken: dict[str, Any], name: str, server: ModelServer, ledger: Ledger
) -> None:
    """What a provider would not hear is refused, not left out."""
    more = {name: 7 if name == "seed" else ["x"], **spoken}
    done = ledger.execute(lambda run: complete(run, prompt="hi", **more).text)

    assert f"knows no {name}" in str(done.error)
    assert server.calls == []


def test_members(server: ModelServer, ledger: Ledger) -> None:
    """Every member of a prompt arrives where its format has it."""
    common: dict[str, Any] = {
        "prompt": "hi",
        "system": "Be brief.",
        "temperature": 0.5,
        "max_tokens": 7,
        "tools": [TOOL],
        "tool_choice": "weather",
        "options": {"metadata": {"a": "b"}},
    }

    def program(run: Lane) -> None:
        complete(run, **common, **SPOKEN[0], stop="x", seed=1)
        complete(run, **common, **SPOKEN[1])
        complete(run, **common, **SPOKEN[2], stop=["x"])

    ledger.execute(program).raise_failure()
    chat, responses, messages = (call.body for call in server.calls)

    assert chat["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (chat["stop"], chat["seed"], chat["max_tokens"]) == (["x"], 1, 7)
    assert chat["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert responses["instructions"] == "Be brief."
    assert (responses["max_output_tokens"], responses["store"]) == (7, False)
    assert responses["tool_choice"] == {"type": "function", "name": "weather"}
    assert (messages["system"], messages["stop_sequences"]) == ("Be brief.", ["x"])
    assert messages["tools"][0]["input_schema"] == TOOL["parameters"]
    assert messages["tool_choice"] == {"type": "tool", "name": "weather"}
    for body in (chat, responses, messages):
        assert body["temperature"] == 0.5
        assert body["metadata"] == {"a": "b"}


def test_answers_of_another_format(server: ModelServer, ledger: Ledger) -> None:
    """A server that speaks something else is named as such."""
    place = f"{server.url}/echo"
    done = ledger.execute(
        lambda run: complete(run, "openai:m", "hi", base_url=place).text
    )

    assert "not in the format of /chat/completions" in str(done.error)


def test_answer() -> None:
    """An answer is what was recorded of it, and its text."""
    told = {"text": "x", "tool_calls": [{"id": "1", "name": "f", "arguments": {}}]}
    answer = Answer.from_json({**told, "more": 1})

    assert str(answer) == "x"
    assert Answer.from_json(answer.to_json()) == answer
    assert answer.message["tool_calls"] == told["tool_calls"]
