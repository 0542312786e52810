"""Clients for SDKs of other providers, where these are installed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from model_server import ModelServer
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import async_http_client, http_client

SAID: Any = [{"role": "user", "content": "hi"}]
KEY = "sk-of-nobody-at-all-0000"


@pytest.fixture
def mistral() -> Callable[..., Any]:
    """Return the class of Mistral's client."""
    found: Any = pytest.importorskip("mistralai")
    if not hasattr(found, "Mistral"):
        found = pytest.importorskip("mistralai.client")
    client: Callable[..., Any] = found.Mistral
    return client


def test_mistral(ledger: Ledger, mistral: Callable[..., Any]) -> None:
    """Whole, streamed and awaited answers come again from the record."""
    asked = {"model": "m-1", "messages": SAID}

    async def awaited(run: Run, place: dict[str, str]) -> str:
        async with async_http_client(run) as http:
            done = await mistral(**place, async_client=http).chat.complete_async(
                **asked
            )
        return str(done.choices[0].message.content)

    def program(run: Run, url: str) -> list[str]:
        place = {"api_key": KEY, "server_url": url}
        with http_client(run) as http:
            chat = mistral(**place, client=http).chat
            whole = chat.complete(**asked).choices[0].message.content
            parts = [one.data.choices[0].delta.content for one in chat.stream(**asked)]
        told = "".join(one or "" for one in parts)
        return [whole, told, asyncio.run(awaited(run, place))]

    with ModelServer() as server:
        done = ledger.execute(program, params={"url": server.url})
        assert len(server.calls) == 3
    assert done.result == ["echo: hi"] * 3
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


def test_google(ledger: Ledger) -> None:
    """Whole and streamed answers come again, and tell model, reason and tokens."""
    genai: Any = pytest.importorskip("google.genai")
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2}
    content = {"role": "model", "parts": [{"text": "Hi."}]}
    told = {
        "candidates": [{"content": content, "finishReason": "STOP"}],
        "usageMetadata": usage,
        "modelVersion": "m-1",
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        if "stream" not in request.url.path:
            return httpx2.Response(200, json=told)
        sort = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=sort, text=f"data: {json.dumps(told)}\n\n")

    def program(run: Run) -> list[str]:
        asked = {"model": "m-1", "contents": "hi"}
        with http_client(run, transport=httpx2.MockTransport(answer)) as http:
            options = genai.types.HttpOptions(httpx_client=http)
            models = genai.Client(api_key=KEY, http_options=options).models
            whole = models.generate_content(**asked).text
            parts = [one.text or "" for one in models.generate_content_stream(**asked)]
        return [whole, "".join(parts)]

    done = ledger.execute(program)
    assert done.result == ["Hi.", "Hi."]
    counted = {"input_tokens": 3, "output_tokens": 2}
    for event in ledger.events(type="llm.completed"):
        about = event.data["about"]
        assert isinstance(about, dict)
        assert (about["model"], about["usage"]) == ("m-1", counted)
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
