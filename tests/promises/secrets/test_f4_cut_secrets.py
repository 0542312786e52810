"""A secret that spans two parts of a stream is not written in halves, wherever it is cut."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import muniment
from muniment.ledger import Ledger
from muniment_plugins.providers import http_client

SECRET = "Zq7-tr0ub4dor-and-3"  # noqa: S105 - of nobody
KEY = "sk-proj-Zq7AbCdEfGhIjKlMnOp"
BODIES = {
    "json": json.dumps({"a": 1, "access_token": SECRET, "b": [2]}),
    "json in json": json.dumps({"a": json.dumps({"password": SECRET})}),
    "list": json.dumps({"password": [SECRET]}),
    "event": f"data: {json.dumps({'clientSecret': SECRET})}\n\ndata: x\n\n",
    "python": repr({"password": SECRET}),
    "pair": json.dumps([{"name": "password", "value": SECRET}]),
    "form": f"a=1&password={SECRET}&b=2",
    "xml": f"<a><password>{html.escape(SECRET)}</password></a>",
    "multipart": (
        f'--b\r\ncontent-disposition: form-data; name="password"\r\n\r\n{SECRET}\r\n--b--'
    ),
    "sent": f"you said {SECRET} to me",
    "shape": f"use {KEY} here",
    "bearer": f"Authorization: Bearer {SECRET} was sent",
    "pem": f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n\n{SECRET}\n-----END PRIVATE KEY-----\n",
}


class Cut(httpx.SyncByteStream):
    """A body in two parts, without a length."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts

    def __iter__(self) -> Iterator[bytes]:
        """Give the parts."""
        yield from self.parts


class Cutting(httpx.BaseTransport):
    """Answers with a body that is cut where the request's path says."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer."""
        at = int(request.url.path[1:])
        return httpx.Response(200, stream=Cut(self.body[:at], self.body[at:]))


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("form", BODIES)
def test_every_cut(tmp_path: Path, form: str, leaves: bool) -> None:
    """What is written before the rest comes, or since it never comes, tells nothing."""
    body = BODIES[form].encode()
    got: list[bytes] = []

    def program(run: muniment.Run) -> None:
        client = http_client(run, library="httpx", transport=Cutting(body))
        headers = {"x-api-key": SECRET} if form == "sent" else {}
        for at in range(1, len(body)):
            with client.stream("GET", f"http://h/{at}", headers=headers) as answer:
                parts = answer.iter_raw()
                read = next(parts)
                run.record("note.added", {"text": f"read {at}"})
                read += b"" if leaves else b"".join(parts)
            got.append(read)

    with Ledger.create(tmp_path / "ledger.db") as ledger:
        done = ledger.execute(program)
        assert done.ok, done.error
        written = [
            json.dumps(ledger.resolve(event), default=repr)
            for event in ledger.events(run=done.run_id)
        ]
        assert muniment.replay(ledger, done.run_id, program).verdict == "acceptable"
    ends = range(1, len(body))
    assert got[: len(ends)] == [body[:at] if leaves else body for at in ends]
    assert not [one for one in written if SECRET[:6] in one or "Zq7-t" in one]
    assert not [one for one in written if "Zq7A" in one]
    assert any("read 5" in one for one in written)
