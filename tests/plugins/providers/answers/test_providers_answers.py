"""What a program gets of an answer, and when it is asked for again."""

from __future__ import annotations

from typing import Any, cast

import httpx2
import pytest

from model_server import ModelServer, Trouble
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import http_client


def test_bodies(server: ModelServer, ledger: Ledger) -> None:
    """Answers are decoded once, whatever they were packed in, and errors come whole."""
    seen: list[list[Any]] = []

    def program(run: Run) -> None:
        with http_client(run) as http:
            packed = http.get(f"{server.url}/gzip")
            head = http.head(f"{server.url}/echo")
            broken = http.get(f"{server.url}/echo")
        got = [
            (one.status_code, one.content, dict(one.headers))
            for one in (packed, head, broken)
        ]
        got[1][2].pop("set-cookie")
        seen.append(got)

    server.fail(Trouble(), Trouble(), Trouble(404, raw=b"\xff\x00{"))
    done = ledger.execute(program)
    report = replay(ledger, done.run_id, program=program)

    assert report.verdict == "acceptable", str(report)
    packed, head, broken = seen[0]
    assert packed[1] == b'{"text": "packed"}'
    assert "content-encoding" not in packed[2]
    assert int(head[2]["content-length"]) > 100
    assert broken[:2] == (404, b"\xff\x00{")
    assert seen[0] == seen[1]


def test_inside_an_effect(server: ModelServer, ledger: Ledger) -> None:
    """A tool that asks a model is one effect, and what it asked belongs to it."""

    def tool(_: object) -> object:
        with http_client() as http:
            ask = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            return http.post(f"{server.url}/v1/messages", json=ask).json()["id"]

    def program(run: Run) -> object:
        return run.effect("tool", {"name": "t"}, tool)

    done = ledger.execute(program)
    (asked,) = ledger.events(run=done.run_id, type="llm.requested")

    assert (done.result, asked.scope) == ("msg_1", "@tool.1")
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    assert len(server.calls) == 1


class Stopping(httpx2.BaseTransport):
    """Sends, but for the second request, which somebody interrupts."""

    def __init__(self) -> None:
        self.asked = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send *request*, unless it is the second."""
        self.asked += 1
        if self.asked == 2:
            raise KeyboardInterrupt
        with httpx2.HTTPTransport() as wire:
            answer = wire.handle_request(request)
            answer.read()
        return answer


@pytest.mark.parametrize("path", ["/v1/messages", "/gzip"])
def test_resumed(path: str, server: ModelServer, ledger: Ledger) -> None:
    """A resume asks a model for what is not answered, and others only when told to."""
    wire = Stopping()

    def asked(text: str) -> object:
        said = {"messages": [{"role": "user", "content": text}]}
        return {"text": text} if path == "/gzip" else {"model": "m", **said}

    def program(run: Run) -> list[int]:
        with http_client(run, transport=wire) as http:
            return [
                http.post(
                    server.url + path,
                    json=asked(one),
                ).status_code
                for one in ("first", "second", "third")
            ]

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program)
    run = cast("str", next(ledger.events(type="run.started")).run)
    if path == "/gzip":
        with pytest.raises(RefusedError, match="its outcome is unknown"):
            ledger.resume(run, program=program)
        assert len(server.calls) == 1
        return

    assert ledger.resume(run, program=program).result == [200, 200, 200]
    said = [one.body["messages"][0]["content"] for one in server.calls]
    assert said == ["first", "second", "third"]
