"""Completions by our own code: every provider, whole and streamed, with tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from model_prompts import EVERY, SPOKEN, answer_of
from model_server import ModelServer
from muniment.errors import CannotTellError, EffectFailed, UsageError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import Answer, acomplete, complete

pytestmark = pytest.mark.usefixtures("places")

TOOL = {
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@EVERY
@STREAMED
def test_text(
    spoken: dict[str, Any], stream: bool, server: ModelServer, ledger: Ledger
) -> None:
    """A prompt gives text, reason, tokens and cost, in the same words everywhere."""

    def program(run: Run) -> object:
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
    (event,) = ledger.events(type="llm.completed")
    about = event.data["about"]
    assert isinstance(about, dict)
    assert about["cost"] == told["cost"]
    assert bool(server.calls[0].body.get("stream")) == stream


@EVERY
@STREAMED
def test_tools(
    spoken: dict[str, Any], stream: bool, server: ModelServer, ledger: Ledger
) -> None:
    """A model calls a tool, is told the result, and answers."""

    def program(run: Run) -> object:
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

    async def program(run: Run) -> object:
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
def test_heard_while_it_comes(
    spoken: dict[str, Any], server: ModelServer, ledger: Ledger
) -> None:
    """A listener hears the parts of a stream live, and nothing in a replay."""
    heard: list[list[str]] = []

    def program(run: Run) -> str:
        heard.append([])
        more = {"stream": True, **spoken}
        return complete(run, prompt="a ü c", on_text=heard[-1].append, **more).text

    answer_of(ledger, server, program)

    assert heard == [["echo:", " a", " ü", " c"], []]


def test_models_of_nobody(ledger: Ledger) -> None:
    """A model whose provider nobody is, is said to be."""
    done = ledger.execute(lambda run: complete(run, "nobody:m", "hi").text)

    assert isinstance(done.error, EffectFailed)
    assert done.error.error_type == CannotTellError.__name__
    assert "nobody:m: no provider answers for this model" in str(done.error)
    assert "begin it with one of openai: anthropic: llm: scripted:" in str(done.error)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"temprature": 1}, "did you mean temperature"),
        ({"api": "assistants"}, "chat and responses"),
        ({"messages": []}, "either a prompt or messages"),
        ({"prompt": [{"role": "wizard"}]}, "one of the roles"),
        ({"tools": 3}, "a value of type int is not a list"),
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

    def program(run: Run) -> None:
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


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"options": {"metadata": {"password": "hunter2hunter2"}}}, "options"),
        ({"options": {"api_key": "hunter2hunter2"}}, "options"),
        ({"base_url": "http://ann:hunter2hunter2@127.0.0.1:9/v1"}, "base_url"),
        ({"base_url": "http://127.0.0.1:9/v1?api_key=hunter2hunter2"}, "base_url"),
    ],
    ids=str,
)
def test_a_secret_that_could_not_be_sent(
    more: dict[str, Any], place: str, server: ModelServer, ledger: Ledger
) -> None:
    """It is refused before anything is asked, and is in no event."""
    done = ledger.execute(lambda run: complete(run, "openai:m-1", "hi", **more).text)
    assert isinstance(done.error, UsageError)
    assert (done.error.rule, done.error.place) == ("provider/secret", place)
    assert server.calls == []
    assert "hunter2" not in str([event.raw for event in ledger.events()])


def test_options_without_secrets(server: ModelServer, ledger: Ledger) -> None:
    """What holds none is sent as it is, tuples as lists; a secret in a text is replaced."""
    key = "sk-proj-" + "OTHERKEYabcdefgh1234567890ABCDEFGH"

    def program(run: Run) -> object:
        more: dict[str, Any] = {"options": {"metadata": {"tags": ("a", "b")}}}
        return complete(run, "openai:m-1", f"what is {key}?", **more).to_json()

    answer_of(ledger, server, program)
    (call,) = server.calls
    assert call.body["metadata"] == {"tags": ["a", "b"]}
    assert call.body["messages"][0]["content"] == "what is [redacted]?"
