"""Clients whose calls degrade get a real HTTP answer, and the record holds just that."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from governed_programs import policy
from muniment import Run
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.governance.governed import governed
from muniment_plugins.providers import http_client

SAID = [{"role": "user", "content": "hm?"}]


def chat(http: Any, stream: bool) -> str:
    """Ask by chat completions."""
    client = openai.OpenAI(api_key="k", http_client=http, max_retries=0)
    made: Any = client.chat.completions.create
    got = made(model="m", messages=SAID, stream=stream)
    if not stream:
        return str(got.choices[0].message.content)
    return "".join(one.choices[0].delta.content or "" for one in got)


def responses(http: Any, stream: bool) -> str:
    """Ask by the responses API."""
    client = openai.OpenAI(api_key="k", http_client=http, max_retries=0)
    made: Any = client.responses.create
    got = made(model="m", input="hm?", stream=stream)
    if not stream:
        return str(got.output_text)
    return "".join(one.delta for one in got if one.type.endswith("text.delta"))


def messages(http: Any, stream: bool) -> str:
    """Ask by the messages API."""
    client = anthropic.Anthropic(api_key="k", http_client=http, max_retries=0)
    made: Any = client.messages.create
    got = made(model="m", max_tokens=9, messages=SAID, stream=stream)
    if not stream:
        return str(got.content[0].text)
    return "".join(one.delta.text for one in got if one.type == "content_block_delta")


def embeddings(http: Any, stream: bool) -> str:
    """Ask for what no text can stand in for."""
    client = openai.OpenAI(api_key="k", http_client=http, max_retries=0)
    return str(client.embeddings.create(model="m", input="hm?", user=str(stream)))


def plain(http: Any, stream: bool) -> str:
    """Ask a server that is no model."""
    got = http.post("https://desk.example/tickets", json={"stream": stream})
    got.raise_for_status()
    return str(got.text)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fallback", "text"),
    [
        ("skip", None),
        ({"answer": "use a default"}, "use a default"),
        ({"answer": {"n": [1, "\u00fc"]}}, '{"n": [1, "\u00fc"]}'),
        ("echo", '"model"'),
    ],
)
@pytest.mark.parametrize("ask", [chat, responses, messages, embeddings, plain])
def test_a_client_gets_an_answer_or_an_error_of_its_own(
    tmp_path: Path,
    ask: Callable[[Any, bool], str],
    fallback: object,
    text: str | None,
    stream: bool,
) -> None:
    """Whatever the fallback, the format and the way of answering; replays are equal."""
    budget = {"effect_limit": 0, "exhaustion_action": "degrade", "fallback": fallback}

    def never(_: object) -> httpx2.Response:
        raise AssertionError("nothing is sent")

    def program(run: Run) -> list[str]:
        with http_client(run, transport=httpx2.MockTransport(never)) as http:
            try:
                return ["got", ask(http, stream)]
            except (openai.APIStatusError, anthropic.APIStatusError) as error:
                return [type(error).__name__, str(error.status_code)]
            except httpx2.HTTPStatusError as error:
                return ["PermissionDeniedError", str(error.response.status_code)]

    path = tmp_path / "l.db"
    with Ledger.create(
        path, home=tmp_path / "h", plugins=("governance", "providers")
    ) as ledger:
        with governed(ledger, policy(execution_budget=budget)):
            done = ledger.execute(program)
        result: Any = done.result
        how, got = result
        if text is None or ask is embeddings:
            assert (how, got) == ("PermissionDeniedError", "403")
        elif ask is plain:
            spelled = json.dumps("use a default") if text == "use a default" else text
            assert how == "got"
            assert (spelled in got) or fallback == "echo"
        else:
            assert how == "got"
            assert text in got
        (ended,) = [
            one
            for one in ledger.events(run=done.run_id)
            if one.type
            in ("llm.completed", "llm.failed", "http.completed", "http.failed")
        ]
        told = ledger.resolve(ended)
        held: Any = told.get("value") or told.get("data")
        assert held["status"] == (200 if how == "got" else 403)
        assert ended.raw["answered_by"]["who"] == "plugin"  # type: ignore[index, call-overload]
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
