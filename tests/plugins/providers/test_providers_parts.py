"""The parts that know no wire: waits, streams, dialects, prices."""

from __future__ import annotations

import json
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_wire import anthropic, chat, responses
from muniment.runs.lanes.listening import Listener
from muniment_plugins.providers.clients.exchange import Fault, Outcome, Received
from muniment_plugins.providers.prices import cost
from muniment_plugins.providers.refusals import CompletionFailed
from muniment_plugins.providers.retries import (
    LONGEST_WAIT,
    PATIENCE,
    Send,
    Wait,
    attempts,
    backoff,
)
from muniment_plugins.providers.secrets.redaction import Redaction
from muniment_plugins.providers.stream_listener import Ear
from muniment_plugins.providers.wire_formats import dialects, sse
from muniment_plugins.providers.wire_formats.answer_flaws import (
    Flaw,
    flaw_of,
    retry_after,
)

OK = Received(200, (), (b"{}",))


def judged(outcome: Outcome) -> Flaw | None:
    """Return the flaw of *outcome*, a stream of which ends with ``{"end": true}``."""
    return flaw_of(outcome, Redaction(), lambda event: "end" in event)


@given(st.integers(1, 60), st.floats(0, 1, exclude_max=True))
def test_backoff(attempt: int, drawn: float) -> None:
    """A wait is never longer than the longest, and jitter takes at most a half."""
    wait = backoff(attempt, lambda: drawn)

    assert 0 < wait <= LONGEST_WAIT
    assert wait <= backoff(attempt, lambda: 0.0) <= 2 * wait


def test_backoff_grows() -> None:
    """Waits double."""
    assert [backoff(n, lambda: 0.0) for n in range(1, 9)] == [
        *(0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
        *(30.0, 30.0),
    ]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        (formatdate(1_000_060, usegmt=True), 60.0),
        (formatdate(999_000, usegmt=True), 0.0),
        ("", None),
        ("soon", None),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    """Seconds and dates are understood, anything else is not there."""
    assert retry_after(value, lambda: 1_000_000.0) == seconds


def test_plan() -> None:
    """The plan asks, waits as told, and gives the answer; each attempt is noted."""
    noted: list[object] = []
    plan = attempts(3, "p:m", judged, lambda one: noted.append(one["attempt"]))

    assert isinstance(next(plan), Send)
    assert plan.send(Received(429, (("Retry-After", "9"),), ())) == Wait(9.0)
    assert isinstance(next(plan), Send)
    waited = plan.send(Fault("ConnectError", "refused"))
    assert isinstance(waited, Wait)
    assert 0.5 <= waited.seconds <= 1.0
    assert isinstance(next(plan), Send)
    with pytest.raises(StopIteration) as end:
        plan.send(OK)
    assert end.value.value is OK
    assert noted == [1, 2, 3]


def test_no_patience() -> None:
    """A server that wants to be left alone for long is not waited for."""
    plan = attempts(3, "p:m", judged, lambda _: None)
    next(plan)
    named = (("retry-after", str(PATIENCE + 1)),)

    with pytest.raises(CompletionFailed, match="attempt 1 of 3"):
        plan.send(Received(429, named, ()))


def streamed(*events: str) -> Received:
    """Return an answer that streams *events*."""
    body = "".join(f"data: {one}\n\n" for one in events).encode()
    return Received(200, (("Content-Type", "text/event-stream"),), (body,))


@pytest.mark.parametrize(
    ("outcome", "passing", "message"),
    [
        (OK, None, ""),
        (streamed("{}", '{"end": true}', "[DONE]"), None, ""),
        (streamed("{}"), True, "stopped before its end"),
        (streamed("{}", "", '{"end": true}', " [DONE] "), None, ""),
        (streamed('{"a": "b', '{"end": true}'), True, 'no JSON: \'{"a": "b\''),
        (streamed('{"end": true}', "<html>"), True, "no JSON: '<html>'"),
        (Received(200, (), (b'{"error": null, "status": "completed"}',)), None, ""),
        (Received(200, (), (b'{"error": {"code": "server_error"}}',)), True, "server"),
        (Received(200, (), (b'{"error": "no such model"}',)), False, "no such model"),
        (streamed('{"error": {"type": "overloaded_error"}}'), True, "overloaded"),
        (streamed('{"type": "error", "code": "bad", "message": "x"}'), False, "bad: x"),
        (
            streamed('{"response": {"error": {"code": "rate_limit_exceeded"}}}'),
            True,
            "rate_limit",
        ),
        (Received(418, (("retry-after", "1"),), ()), False, "status 418"),
        (Fault("ReadTimeout", "timed out"), True, "timed out"),
        (
            Received(200, (), (), Fault("ReadError", "eof")),
            True,
            "cut off by ReadError",
        ),
    ],
)
def test_flaws(outcome: Outcome, passing: bool | None, message: str) -> None:
    """What is wrong with an answer is found wherever servers say it."""
    flaw = judged(outcome)

    assert (flaw and flaw.passing) == passing
    assert message in (flaw.message if flaw else "")


def test_precise_wait() -> None:
    """Milliseconds count before seconds."""
    named = (("Retry-After", "1"), ("Retry-After-Ms", "250"))
    flaw = judged(Received(429, named, ()))

    assert flaw is not None
    assert flaw.after == 0.25


def test_events() -> None:
    """Streams are read with any line end, comments left out, the cut end too."""
    body = ":hi\r\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\ndata:3\n\nid: 7\n\ndata: cut"

    assert list(sse.events(body)) == [("a", "1\n2"), ("message", "3")]


@given(st.lists(st.integers(0, 400), max_size=12))
def test_hearing(cuts: list[int]) -> None:
    """However a stream is cut, the same text is heard."""
    said = {"model": "m", "messages": [{"role": "user", "content": "a ü 漢 c"}]}
    body = "".join(chat(said).stream).encode()
    at = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    heard: list[str] = []

    def delta(event: dict[str, object]) -> str:
        return str(event["choices"][0]["delta"].get("content", ""))  # type: ignore[index]

    ear = Ear(Listener(heard.append), delta)
    for start, end in zip(at, at[1:], strict=False):  # noqa: RUF007 - as bytes go
        ear.hear(body[start:end])

    assert "".join(heard) == "echo: a ü 漢 c"


def test_hearing_anew() -> None:
    """What a stream that was cut off left behind is not heard with the next one."""
    heard: list[str] = []
    ear = Ear(Listener(heard.append), lambda event: str(event["say"]))
    ear.hear(b'data: {"say": "a"}\n\ndata: {"say": "\xc3')
    ear.again()
    ear.hear(b'data: {"say": "b"}\n\n')

    assert heard == ["a", "b"]


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v1/chat/completions", {"model": "m"}, ("openai", "m")),
        ("/openai/deployments/x/chat/completions", {"model": "m"}, ("openai", "m")),
        ("/v1/responses", {"model": "m"}, ("openai", "m")),
        ("/v1/messages", {"model": "m"}, ("anthropic", "m")),
        ("/api/chat", {"model": "m"}, ("ollama", "m")),
        ("/v1beta/models/gem%2Dini:generateContent", {}, ("google", "gem-ini")),
        ("/v1/models/g:streamGenerateContent", {}, ("google", "g")),
        ("/v1/messages", {"text": "to a colleague"}, None),
        ("/v1/messages/count_tokens", {"model": "m"}, None),
        ("/chat", {"model": "m"}, None),
    ],
)
def test_dialects(
    path: str, body: dict[str, object], expected: tuple[str, str] | None
) -> None:
    """Model calls are known by path and model, and nothing else is one."""
    found = dialects.recognise("POST", path, body)

    assert (found and (found.provider, found.model)) == expected
    assert dialects.recognise("GET", path, body) is None
    assert dialects.recognise("POST", path, None) is None


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("speak", "reason"),
    [(chat, "stop"), (responses, "completed"), (anthropic, "end_turn")],
)
def test_about(speak: object, reason: str, streamed: bool) -> None:
    """Model, reason and tokens are read from answers and from streams alike."""
    said: dict[str, object] = {
        "model": "m",
        "input": "hi",
        "messages": [{"role": "user", "content": "hi"}],
        "stream_options": {"include_usage": True},
    }
    spoken = speak(said)  # type: ignore[operator]
    media = "text/event-stream" if streamed else "application/json"
    body = "".join(spoken.stream) if streamed else json.dumps(spoken.whole)
    found = dialects.about(media, body)

    assert (found["model"], found["finish_reason"]) == ("m", reason)
    usage = found["usage"]
    assert isinstance(usage, dict)
    assert (usage["input_tokens"], usage["output_tokens"]) == (9, 4)


def test_about_other_dialects() -> None:
    """Google's and Ollama's answers are read too, as lists and as lines."""
    google = [
        {
            "candidates": [{"finishReason": "STOP"}],
            "modelVersion": "g",
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
        }
    ]
    lines = (
        '{"model":"l"}\n{"done_reason":"stop","eval_count":2,"prompt_eval_count":3}\n'
    )
    counted = {"input_tokens": 3, "output_tokens": 2}

    told = {"model": "g", "finish_reason": "STOP", "usage": counted}
    assert dialects.about("application/json", json.dumps(google)) == told
    told = {"model": "l", "finish_reason": "stop", "usage": counted}
    assert dialects.about("application/x-ndjson", lines) == told
    assert dialects.about("text/html", "<html>") == {}


def test_prices() -> None:
    """What is known has a price with its table, what is not has none."""
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    found = cost("openai", "gpt-4o-mini", usage)

    assert found is not None
    assert found["usd"] == found["input_usd"] == "0.15"
    assert found["table"].startswith("genai-prices ")
    assert cost("openai", "a-model-of-nobody", usage) is None
    assert cost("nobody", "gpt-4o-mini", {}) is None
    half = {"input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 1_000_000}
    cached = cost("anthropic", "claude-3-haiku-20240307", half)
    assert cached is not None
    assert 0 < float(cached["usd"]) < 0.1
