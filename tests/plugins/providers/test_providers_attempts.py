"""When completions do not come at once, or not at all: attempts, waits, keys."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from model_prompts import EVERY, KEY, SPOKEN, answer_of
from model_server import ModelServer, Trouble
from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import acomplete, complete

pytestmark = pytest.mark.usefixtures("places")


@EVERY
def test_cancelled(spoken: dict[str, Any], server: ModelServer, ledger: Ledger) -> None:
    """Whoever stops waiting stops the request, the waits between attempts too."""

    async def program(run: Run) -> object:
        waiting = asyncio.ensure_future(acomplete(run, prompt="hello", **spoken))
        await asyncio.to_thread(server.asked.wait, 60)
        await asyncio.sleep(0.1)  # an answer, and 30 seconds to the next attempt
        waiting.cancel()
        await asyncio.wait([waiting])
        return waiting.cancelled()

    server.fail(Trouble(429, retry_after="30"))
    done = asyncio.run(ledger.aexecute(program))

    assert done.result is True
    assert len(server.calls) == 1
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


def attempts_of(ledger: Ledger, run: str) -> list[tuple[object, ...]]:
    """Return number and status of each attempt that was recorded."""
    found = ledger.events(run=run, type="llm.attempted")
    return [(one.data["attempt"], one.data.get("status"), one.scope) for one in found]


@EVERY
def test_attempts(spoken: dict[str, Any], server: ModelServer, ledger: Ledger) -> None:
    """What may be better later is tried again, and every attempt is an event."""
    server.fail(Trouble(429, retry_after="0.01"), Trouble(503, retry_after="0"))

    def program(run: Run) -> str:
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
    "trouble", [Trouble(held=True), Trouble(cut=1), Trouble(cut=0)], ids=str
)
def test_wire_trouble(trouble: Trouble, server: ModelServer, ledger: Ledger) -> None:
    """Timeouts and broken streams are attempts like any other."""
    server.fail(trouble)
    more = {"stream": True, "timeout_s": 5.0, **SPOKEN[0]}

    def program(run: Run) -> str:
        return complete(run, prompt="hello", **more).text

    assert answer_of(ledger, server, program) == "echo: hello"
    assert len(server.calls) == 2


def test_no_more_attempts(server: ModelServer, ledger: Ledger) -> None:
    """After the last attempt the effect fails, and a resume asks again."""
    server.fail(Trouble(500, retry_after="0"), Trouble(500, say="out of order"))

    def program(run: Run) -> str:
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

    def program(run: Run) -> None:
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
