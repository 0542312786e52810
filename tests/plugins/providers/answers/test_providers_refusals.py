"""A model that refuses, and an answer that does not say which model gave it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from model_prompts import EVERY, answer_of
from model_server import ModelServer
from model_wire import Json, Spoken, anthropic, chat, event, responses
from muniment.formats.statement import BlobRef
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.harness import (
    Experiment,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    specify_claim,
)
from muniment_plugins.providers import complete
from muniment_plugins.providers.wire_formats.dialects import about

pytestmark = pytest.mark.usefixtures("places")
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
CLAIM = {"id": "c", "text": "t", "acceptance": {"metric": "m", "max_value": 9}}
WORDS = ["I will NEVER", 'Nein, »niemals«: {"a": 1}\n```python\nno\n```', "x" * 5000]


def refused_chat(body: Json, words: str) -> Spoken:
    """Refuse as OpenAI does: no content, and the words beside it."""
    whole = chat(body).whole
    head = {name: whole[name] for name in ("id", "model")}
    message = {"role": "assistant", "content": None, "refusal": words}
    parts = [words[:3], words[3:]]
    deltas: list[Json] = [{"refusal": one} for one in parts]
    choices = [[{"delta": one, "finish_reason": None}] for one in deltas]
    ended = [{"delta": {}, "finish_reason": "stop"}]
    stream = [event({**head, "choices": one}) for one in (*choices, ended)]
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return Spoken({**whole, "choices": [choice]}, [*stream, "data: [DONE]\n\n"])


def refused_responses(body: Json, words: str) -> Spoken:
    """Refuse in the part of a message that is for it."""
    whole = responses(body).whole
    item = {**whole["output"][0], "content": [{"type": "refusal", "refusal": words}]}
    whole = {**whole, "output": [item]}
    kind = "response.completed"
    return Spoken(whole, [event({"type": kind, "response": whole}, kind)])


def refused_messages(body: Json, words: str) -> Spoken:
    """Refuse as Anthropic does: the reason to stop says it, and details say why."""
    why = {"type": "refusal", "category": "cyber", "explanation": words}
    said = {"stop_reason": "refusal", "stop_details": why, "content": []}
    whole = {**anthropic(body).whole, **said}
    begun = {**whole, "stop_reason": None, "stop_details": None}
    delta = {"stop_reason": "refusal", "stop_details": why}
    events: list[Json] = [
        {"type": "message_start", "message": begun},
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]
    return Spoken(whole, [event(one, one["type"]) for one in events])


REFUSING: dict[str, Callable[..., Spoken]] = {
    "/v1/chat/completions": refused_chat,
    "/v1/responses": refused_responses,
    "/v1/messages": refused_messages,
}


def refuse(server: ModelServer, words: str) -> None:
    """Let every model of *server* refuse in these *words*."""
    for path, spoken in REFUSING.items():
        server.speakers[path] = partial(spoken, words=words)


@EVERY
@STREAMED
@pytest.mark.parametrize("words", WORDS, ids=["plain", "odd", "long"])
def test_refusal_is_recorded_in_its_words(
    spoken: dict[str, Any],
    stream: bool,
    words: str,
    server: ModelServer,
    ledger: Ledger,
) -> None:
    """Every format has the words, and a reason to end that says that it is no answer."""
    refuse(server, words)

    def program(run: Run) -> object:
        return complete(run, prompt="hi", stream=stream, **spoken).to_json()

    told = answer_of(ledger, server, program)
    assert told["refusal"] == words
    assert told["finish_reason"] == "content_filter"
    (done,) = ledger.events(type="llm.completed")
    assert (
        json.loads(ledger.get_blob(cast("BlobRef", done.data["value"])))["refusal"]
        == words
    )


@EVERY
def test_answer_that_is_none_of_that(
    spoken: dict[str, Any], server: ModelServer, ledger: Ledger
) -> None:
    """An answer as ever has no refusal: what was recorded before is what is recorded."""
    told = answer_of(
        ledger, server, lambda run: complete(run, prompt="hi", **spoken).to_json()
    )
    assert "refusal" not in told


@EVERY
@STREAMED
def test_answer_that_does_not_say_its_model(
    spoken: dict[str, Any], stream: bool, server: ModelServer, ledger: Ledger
) -> None:
    """The record says that a model was asked for, and not that it answered."""
    for path, speaker in list(server.speakers.items()):
        server.speakers[path] = partial(_unsigned, speaker)
    told = answer_of(
        ledger,
        server,
        lambda run: complete(run, prompt="hi", stream=stream, **spoken).to_json(),
    )
    assert told["model"] == ""
    (done,) = ledger.events(type="llm.completed")
    about = done.data["about"]
    assert isinstance(about, dict)
    assert "model" not in about
    assert told["cost"] is not None  # by the price of what was asked


def _unsigned(speaker: Callable[[Json], Spoken], body: Json) -> Spoken:
    spoken = speaker(body)

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: without(v) for k, v in value.items() if k != "model"}
        return [without(one) for one in value] if isinstance(value, list) else value

    def lines(text: str) -> str:
        found = [
            f"data: {json.dumps(without(json.loads(one[6:])))}"
            if one.startswith("data: {")
            else one
            for one in text.split("\n")
        ]
        return "\n".join(found)

    return Spoken(without(spoken.whole), [lines(one) for one in spoken.stream])


def test_experiment_says_that_the_model_refused(
    server: ModelServer, ledger: Ledger
) -> None:
    """The attempt, what the model is told next, and the failure have its words."""
    refuse(server, "I will NEVER")
    experiment = (
        Experiment.builder("e")
        .datasource(lambda _: [1, 2])
        .add_step(specify_claim(claim=CLAIM))
        .add_step(generate_spec(spec={}))
        .add_step(bounded_synthesis(llm="openai:gpt-4o-mini", attempts=2))
        .add_step(execute_capsule())
        .hypothesis("h", verifier=meets_claim)
        .build()
    )
    result = experiment.run(ledger=ledger)
    assert "the model refused: I will NEVER [harness/llm-refused]" in "".join(
        map(str, result.errors)
    )
    tried = list(ledger.events(type="synthesis.attempted"))
    assert [one.data["rule"] for one in tried] == ["harness/llm-refused"] * 2
    assert "I will NEVER" in json.dumps(server.calls[1].body)
    assert "Entrypoint missing" not in str(result.errors)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "SAFETY"),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "SAFETY"),
        ({"promptFeedback": {}, "candidates": [{"finishReason": "STOP"}]}, "STOP"),
        ({"choices": [{"finish_reason": "content_filter"}]}, "content_filter"),
    ],
)
def test_what_is_recorded_on_the_wire(body: Json, reason: str) -> None:
    """Where Google blocks a question there is no candidate: the reason says it."""
    assert about("application/json", json.dumps(body))["finish_reason"] == reason
