"""What is a call to a model, however it is spelled, and whoever sends it."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import http_client
from muniment_plugins.providers.clients import exchange
from muniment_plugins.providers.clients.exchange import Exchange, Sent
from muniment_plugins.providers.wire_formats import dialects
from muniment_plugins.providers.wire_formats.dialects import about
from muniment_plugins.providers.wire_formats.model_calls import model_call

SAID = [{"role": "user", "content": "hi"}]
ASKED: dict[str, object] = {"model": "m", "messages": SAID}
PATHS = [
    *("/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/embeddings"),
    *("/v1/messages", "/v1/complete", "/api/chat", "/api/generate", "/v2/chat"),
    *("/openai/deployments/d/chat/completions", "/v1beta/models/g:generateContent"),
    *("/v1beta/models/g:streamGenerateContent", "/model/a.b-3/invoke"),
    *("/model/a.b-3/invoke-with-response-stream", "/model/a.b-3/converse"),
    *("/model/a.b-3/converse-stream", "/v1/publishers/anthropic/models/c:rawPredict"),
    *("/v1/publishers/anthropic/models/c:streamRawPredict",),
    *("/v1/projects/p/locations/l/publishers/google/models/g:generateContent",),
    *("/v1/projects/p/locations/l/endpoints/7:predict",),
    *("/v1/projects/p/locations/l/endpoints/openapi/chat/completions",),
]
SPELLED: dict[str, Callable[[str], str]] = {
    "as it is": lambda path: path,
    "closed": lambda path: path + "/",
    "closed twice": lambda path: path + "//",
    "doubled": lambda path: path.replace("/", "//"),
    "encoded slashes": lambda path: "/" + path[1:].replace("/", "%2F"),
    "lower encoded slashes": lambda path: "/" + path[1:].replace("/", "%2f"),
    "encoded twice": lambda path: "/" + path[1:].replace("/", "%252F"),
    "encoded letters": lambda path: path.replace("e", "%65").replace("o", "%6F"),
    "dots": lambda path: path.replace("/", "/./"),
    "a way back": lambda path: path.replace("/", "/x/../"),
    "an encoded way back": lambda path: path.replace("/", "/x/%2E%2E/"),
    "parameters": lambda path: path + ";version=1",
    "a query": lambda path: path + "?api-version=1",
    "a fragment": lambda path: path + "#x",
    "capitals": lambda path: path.upper(),
    "behind a gateway": lambda path: f"/gateway/7{path}",
    "backslashes": lambda path: "/" + path[1:].replace("/", "%5C"),
}
BODIES: dict[str, tuple[str, bytes]] = {
    "JSON": ("application/json", json.dumps(ASKED).encode()),
    "text": ("text/plain", json.dumps(ASKED).encode()),
    "no type": ("", json.dumps(ASKED).encode()),
    "UTF-16": ("application/json", json.dumps(ASKED).encode("utf-16")),
    "packed": ("application/json", gzip.compress(json.dumps(ASKED).encode())),
    "unread": ("application/octet-stream", b"\x00\xff\x01"),
}


def kind_of(url: str, media: str, body: bytes) -> str:
    """Return the kind of the effect that this request is."""
    headers = [("content-type", media)] if media else []
    if body.startswith(b"\x1f\x8b"):
        headers.append(("content-encoding", "gzip"))
    return Exchange.of(Sent("POST", url, tuple(headers), body)).kind


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("spelling", SPELLED)
def test_however_it_is_spelled_it_is_counted(spelling: str, body: str) -> None:
    """A server that takes the request answers it; so a budget has to count it."""
    urls = ["https://Models.Example" + SPELLED[spelling](path) for path in PATHS]
    assert [url for url in urls if kind_of(url, *BODIES[body]) != "llm"] == []


@pytest.mark.parametrize(
    "body",
    [
        ASKED,
        {"messages": SAID},
        {"model": "m", "prompt": "hi"},
        {"model": "m", "input": ["hi"]},
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    ],
)
def test_an_unknown_path_is_counted_by_its_body(body: dict[str, object]) -> None:
    """Whatever has the shape of what models are asked is a call to one."""
    found = model_call("POST", "https://anywhere.example/ask", body)
    assert found is not None
    assert found.provider == "unknown"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/chat/completions", ASKED),
        ("DELETE", "/v1/responses", None),
        ("POST", "/v1/messages/count_tokens", ASKED),
        ("POST", "/v1/messages/count_tokens/", ASKED),
        ("POST", "/v1beta/models/g:countTokens", {"contents": [{"parts": []}]}),
        ("POST", "/v1/responses/input_tokens", ASKED),
        ("POST", "/v1/moderations", {"model": "m", "input": "hi"}),
        ("POST", "/v1/messages", {"text": "to a colleague"}),
        ("POST", "/messages", {"messages": [{"text": "to a colleague"}]}),
        ("POST", "/cars", {"model": "T", "colour": "black"}),
        ("POST", "/search", {"query": "responses"}),
        ("POST", "/search", None),
    ],
)
def test_what_asks_no_model_is_none(method: str, path: str, body: object) -> None:
    """Counting tokens, and messages to people, spend nothing of a model's budget."""
    assert model_call(method, f"https://anywhere.example{path}", body) is None


def test_amazons_answers_tell_their_tokens() -> None:
    """Whole, and in the frames of an event stream, bare or packed."""
    usage = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
    whole = json.dumps({"stopReason": "end_turn", "usage": usage})
    counted = {"input_tokens": 3, "output_tokens": 2}
    told = {"finish_reason": "end_turn", "usage": counted}
    assert about("application/json", whole) == told
    stream = "application/vnd.amazon.eventstream"
    frame = "\x00\x00\x01{:event-type\x07messageStop"
    assert about(stream, f"{frame}{whole}\x00\x1f") == told
    inner = {"message": {"usage": {"input_tokens": 3, "output_tokens": 2}}}
    packed = base64.b64encode(json.dumps(inner).encode()).decode()
    assert about(stream, f'{frame}{{"bytes":"{packed}"}}')["usage"] == counted


ANSWERS: dict[str, dict[str, Any]] = {
    "anthropic": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "openai": {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "g",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "hi"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    },
    "google": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
    },
}


def _vertex(http: Any) -> None:
    client = anthropic.AnthropicVertex(
        region="r",
        project_id="p",
        access_token="x",  # noqa: S106 - of nobody
        http_client=http,
        max_retries=0,
    )
    client.messages.create(model="c", max_tokens=5, messages=SAID)  # type: ignore[arg-type]


def _bedrock(http: Any) -> None:
    pytest.importorskip("botocore")
    client = anthropic.AnthropicBedrock(
        aws_region="eu-west-1",
        aws_access_key="x",
        aws_secret_key="y",  # noqa: S106 - of nobody
        http_client=http,
        max_retries=0,
    )
    client.messages.create(model="a.b-3", max_tokens=5, messages=SAID)  # type: ignore[arg-type]


def _openai(base: str) -> Callable[[Any], None]:
    def use(http: Any) -> None:
        client = openai.OpenAI(api_key="x", base_url=base, http_client=http)
        client.chat.completions.create(model="m", messages=SAID)  # type: ignore[arg-type]

    return use


def _azure(http: Any) -> None:
    client = openai.AzureOpenAI(
        api_key="x",
        api_version="1",
        azure_endpoint="https://azure.example/",
        http_client=http,
    )
    client.chat.completions.create(model="m", messages=SAID)  # type: ignore[arg-type]


def _genai(http: Any) -> None:
    genai: Any = pytest.importorskip("google.genai")
    options = genai.types.HttpOptions(httpx_client=http)
    client = genai.Client(api_key="x", http_options=options)
    client.models.generate_content(model="g", contents="hi")


SDKS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "anthropic on vertex": ("anthropic", _vertex),
    "anthropic on bedrock": ("anthropic", _bedrock),
    "openai": ("openai", _openai("https://models.example/v1")),
    "openai, doubled": ("openai", _openai("https://models.example/v1//")),
    "openai, elsewhere": ("openai", _openai("https://models.example/a%2Fb/")),
    "azure": ("openai", _azure),
    "google": ("google", _genai),
}


@pytest.mark.parametrize("sdk", SDKS)
def test_the_sdks_of_providers_are_counted(ledger: Ledger, sdk: str) -> None:
    """Each call is of the kind llm, tells its tokens, and replays."""
    speaks, use = SDKS[sdk]

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=ANSWERS[speaks])

    def program(run: Run) -> None:
        with http_client(run, transport=httpx2.MockTransport(answer)) as http:
            use(http)

    done = ledger.execute(program)
    done.raise_failure()
    (ended,) = ledger.events(run=done.run_id, type="llm.completed")
    told: Any = ended.raw["about"]
    assert told["usage"] == {"input_tokens": 3, "output_tokens": 2}
    assert not [*ledger.events(run=done.run_id, type="http.requested")]
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


@pytest.mark.parametrize("path", ["/v1/chat/completions/", "/model/a.b-3/converse"])
def test_a_record_from_before_replays(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """What was recorded as http is answered as http, although it is llm by now."""

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=ANSWERS["openai"])

    def program(run: Run) -> list[int]:
        with http_client(run, transport=httpx2.MockTransport(answer)) as http:
            return [
                http.post(f"https://models.example{path}", json=ASKED).status_code
                for _ in range(2)
            ]

    def then(sent: Sent, read: object, _: object) -> object:
        return dialects.recognise(sent.method, path, read)

    with monkeypatch.context() as patch:
        patch.setattr(exchange, "_dialect", then)
        done = ledger.execute(program)
    assert len([*ledger.events(run=done.run_id, type="http.requested")]) == 2
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    again = ledger.execute(program)
    assert len([*ledger.events(run=again.run_id, type="llm.requested")]) == 2
