"""Recording clients themselves: what is an effect, what is kept, what is raised."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import httpx
import httpx2
import pytest

import muniment_plugins.providers as plugin
from model_server import ModelServer, Trouble
from muniment.errors import EffectFailed, UsageError
from muniment.events.effect_kinds import EffectKind
from muniment.formats.statement import BlobRef
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import async_http_client, http_client
from muniment_plugins.providers.clients.exchange import Exchange, Sent

CANARY = "canary-7d6c5b4a39281706f5e4d3c2b1a09f8e"
ASK = {"model": "gpt-test", "messages": [{"role": "user", "content": "hi"}]}


def requests_of(ledger: Ledger, run: str, kind: str) -> list[Any]:
    """Return what the effects of *kind* asked for."""
    found = ledger.events(run=run, type=f"{kind}.requested")
    return [ledger.value(cast("BlobRef", one.data["request"])) for one in found]


@pytest.mark.parametrize("library", ["httpx2", "httpx"])
def test_both_libraries(library: Any, server: ModelServer, ledger: Ledger) -> None:
    """Clients are those of the library that was asked for, and record alike."""
    module: Any = {"httpx2": httpx2, "httpx": httpx}[library]

    def program(run: Run) -> object:
        with http_client(run, library=library) as http:
            assert isinstance(http, module.Client)
            return http.post(f"{server.url}/v1/chat/completions", json=ASK).json()

    async def aprogram(run: Run) -> object:
        async with async_http_client(run, library=library) as http:
            assert isinstance(http, module.AsyncClient)
            said = await http.post(f"{server.url}/v1/chat/completions", json=ASK)
            return said.json()

    one, other = ledger.execute(program), asyncio.run(ledger.aexecute(aprogram))

    assert one.result == other.result
    for done, how in ((one, program), (other, aprogram)):
        assert replay(ledger, done.run_id, program=how).verdict == "acceptable"
    assert len(server.calls) == 2


def test_library_that_is_missing(ledger: Ledger) -> None:
    """A library that is not installed is named, with what installs it."""
    with ledger.run("r") as run, pytest.raises(UsageError, match="pip install nothing"):
        http_client(run, library="nothing")  # type: ignore[call-overload]


def test_other_requests(server: ModelServer, ledger: Ledger) -> None:
    """What is not a model call is an effect of kind http, hops of redirects included."""

    def program(run: Run) -> object:
        with http_client(run) as http:
            return http.post(f"{server.url}/moved", content=b"\xff\x00").json()["path"]

    done = ledger.execute(program)
    asked = requests_of(ledger, done.run_id, "http")

    assert done.result == "/echo"
    assert [one["url"] for one in asked] == [
        f"{server.url}/moved",
        f"{server.url}/echo",
    ]
    assert asked[0]["body"] == {"bytes": b"\xff\x00"}
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


def test_credentials_live(server: ModelServer, ledger: Ledger) -> None:
    """A program gets the credential that it asked for, and the ledger does not."""
    got: list[str] = []

    def program(run: Run) -> None:
        with http_client(run) as http:
            token = http.post(f"{server.url}/token").json()["access_token"]
            got.append(token)
            http.get(f"{server.url}/me", headers={"authorization": f"Bearer {token}"})

    done = ledger.execute(program)

    assert done.ok
    assert server.calls[1].headers["authorization"] == f"Bearer token-{'4f' * 12}"
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    assert got[0] == "token-" + "4f" * 12
    assert re.fullmatch("secret_access_token_[0-9a-f]{12}", got[1])


def every_byte(ledger: Ledger, home: Path) -> bytes:
    """Return all that is on disk of *ledger*, its contents decompressed as well."""
    contents = [
        ledger.get_blob(cast("BlobRef", value))
        for event in ledger.events()
        for value in event.data.values()
        if hasattr(value, "digest")
    ]
    folder = Path(str(ledger.path)).parent
    files = [
        file for top in (folder, home) for file in top.rglob("*") if file.is_file()
    ]
    return b"\n".join([*contents, *(file.read_bytes() for file in files)])


def leaks(run: Run, server: ModelServer) -> list[str]:
    """Send a key in every place that there is, and provoke errors about it."""
    said: list[str] = []
    with http_client(run) as http:
        key = {"authorization": f"Bearer {CANARY}", "x-api-key": CANARY}
        tries: list[Callable[[], Any]] = [
            lambda: http.post(f"{server.url}/echo", json={"k": CANARY}, headers=key),
            lambda: http.get(f"{server.url}/echo?key={CANARY}"),
            lambda: http.get(server.url.replace("//", f"//me:{CANARY}@") + "/echo"),
            lambda: http.get(f"{server.url}/echo", headers={"cookie": f"s={CANARY}"}),
            lambda: http.post(
                f"{server.url}/v1/chat/completions", json=ASK, headers=key
            ),
            lambda: http.get("http://127.0.0.1:1/", headers=key),
            lambda: http.get(
                server.url, headers={"authorization": f"Bearer {CANARY}\n"}
            ),
            lambda: http.get(f"http://[{CANARY}]/", headers=key),
        ]
        for one in tries:
            try:
                one().raise_for_status()
            except Exception as error:  # noqa: BLE001 - all of them are looked at
                said.append("".join(traceback.format_exception(error)))
    return said


def test_no_key_is_kept(
    server: ModelServer,
    ledger: Ledger,
    home: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A key is in no byte of the ledger, in no log, in no error."""
    caplog.set_level(logging.DEBUG, "muniment")
    server.fail(*[Trouble()] * 4, Trouble(401, say="bad key: {key}"))
    said: list[str] = []

    def program(run: Run) -> None:
        said.extend(leaks(run, server))

    done = ledger.execute(program)
    asked = requests_of(ledger, done.run_id, "http")
    assert [one["url"].removeprefix(server.url) for one in asked] == [
        "/echo",
        "/echo?key=redacted",
        server.url.replace("//", "//redacted@") + "/echo",
        "/echo",
        "http://127.0.0.1:1/",
        "",
    ]
    assert len(server.calls) == 5
    assert len(said) == 4  # refused, not connected, no header, no URL

    assert CANARY.encode() not in every_byte(ledger, home)
    assert CANARY not in caplog.text + "".join(capfd.readouterr())
    # The library itself says an invalid URL before anything is sent.
    assert [one for one in said if CANARY in one and "InvalidURL" not in one] == []


def test_volatile_headers(server: ModelServer) -> None:
    """Requests that differ in what is volatile, or in the key alone, are one request."""
    place = f"{server.url}/v1/messages"

    def asked(**headers: str) -> object:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        told = (("content-type", "application/json"), *named.items())
        return Exchange.of(
            Sent("POST", place, told, b'{"model":"m"}'), ("x-mine",)
        ).request

    plain = asked()
    assert plain == asked(
        user_agent="a/1",
        X_Stainless_Retry_Count="2",
        date="now",
        idempotency_key="i",
        X_Request_ID="r",
        authorization="Bearer x",
        x_api_key="k",
        X_Mine="1",
    )
    assert plain != asked(anthropic_version="2023-06-01")


def test_bodies() -> None:
    """JSON is matched by what it says, uploads by what is in them."""

    def body(content: bytes, media: str) -> object:
        sent = Sent("POST", "http://h/", (("Content-Type", media),), content)
        return Exchange.of(sent).request["body"]

    json = "application/json"
    assert body(b'{"b": 1, "a": [2]}', json) == body(b'{"a":[2],"b":1}', json)
    assert body(b'{"big": 1' + b"0" * 400 + b".5e999}", json) is not None
    assert body(b"{broken", json) == {"text": "{broken"}
    assert body(b"[" * 100 + b"]" * 100, json) == {"text": "[" * 100 + "]" * 100}
    one = body(b"--aaa\r\nx\r\n--aaa--", 'multipart/form-data; boundary="aaa"')
    assert one == body(b"--bbb\r\nx\r\n--bbb--", "multipart/form-data; boundary=bbb")


def test_threads(server: ModelServer, ledger: Ledger) -> None:
    """Each thread uses the lane that it was given, whichever is first."""

    def program(run: Run) -> None:
        def one(number: int) -> None:
            with run.scope(f"map/{number}") as lane, http_client() as http:
                assert lane.id == run.id
                http.get(f"{server.url}/echo/{number}")

        threads = [threading.Thread(target=one, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    done = ledger.execute(program)
    places = {
        asked["url"][-1]: event.scope
        for asked, event in zip(
            requests_of(ledger, done.run_id, "http"),
            ledger.events(run=done.run_id, type="http.requested"),
            strict=True,
        )
    }

    assert places == {str(n): f"map/{n}" for n in range(4)}
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


def test_refused_by_a_plugin(server: ModelServer, tmp_path: Path) -> None:
    """A policy that refuses a call is heard, and nothing is sent."""

    class Policy:
        @hookimpl
        def before_effect(self, kind: EffectKind) -> str | None:
            return "no models on Sundays" if kind.name == "llm" else None

    def program(run: Run) -> None:
        with http_client(run) as http:
            http.post(f"{server.url}/v1/chat/completions", json=ASK)

    plugins = Plugins(extra={"policy": Policy()})
    with Ledger.create(tmp_path / "l.db", plugins=plugins) as ledger:
        done = ledger.execute(program)

    assert isinstance(done.error, EffectFailed)
    assert done.status == "refused"
    assert server.calls == []


def test_cancelled(server: ModelServer, ledger: Ledger) -> None:
    """A program that stops waiting is recorded as such, and replays so."""
    tasks: list[asyncio.Task[None]] = []

    async def stop(limit: asyncio.Timeout) -> None:
        await asyncio.to_thread(server.asked.wait, 60)
        limit.reschedule(0)

    async def program(run: Run) -> object:
        is_asked = server.asked.is_set()  # in the replay, when nobody is
        async with async_http_client(run) as http:
            try:
                async with asyncio.timeout(0.1 if is_asked else None) as limit:
                    if not is_asked:
                        tasks.append(asyncio.create_task(stop(limit)))
                    await http.post(f"{server.url}/v1/chat/completions", json=ASK)
            except TimeoutError:
                return "too slow"
        return "in time"

    server.fail(Trouble(held=True))
    done = asyncio.run(ledger.aexecute(program))
    (failed,) = ledger.events(run=done.run_id, type="llm.failed")

    assert done.result == "too slow"
    assert failed.data["reason"] == "cancelled"
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


def test_timeout(server: ModelServer, ledger: Ledger) -> None:
    """A timeout of the library is raised again from the record."""

    def program(run: Run) -> object:
        with http_client(run, timeout=httpx2.Timeout(30, read=0.1)) as http:
            try:
                http.get(f"{server.url}/echo")
            except httpx2.ReadTimeout as error:
                return str(error)
        return "in time"

    server.fail(Trouble(held=True))
    done = ledger.execute(program)

    assert done.result == "timed out"
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    assert len(server.calls) == 1


def test_proxy(
    server: ModelServer, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy of the environment is asked, as it is without recording."""
    monkeypatch.setenv("http_proxy", server.url)

    def program(run: Run) -> object:
        with http_client(run) as http:
            return http.get("http://nowhere.invalid/echo").json()["path"]

    assert ledger.execute(program).result == "http://nowhere.invalid/echo"


def test_own_transport(ledger: Ledger) -> None:
    """A transport of the caller's own sends."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, text=f"mock of {request.url.path}")

    def program(run: Run) -> str:
        with http_client(run, transport=httpx2.MockTransport(answer)) as http:
            return http.get("http://nowhere.invalid/x").text

    assert ledger.execute(program).result == "mock of /x"


def test_is_light() -> None:
    """Importing the package loads neither an HTTP library nor the kernel's store."""
    code = "import muniment_plugins.providers, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {
        "httpx",
        "httpx2",
        "ssl",
        "asyncio",
        "sqlmodel",
        "pydantic",
        "muniment.storage.append",
    }

    assert heavy & set(done.stdout.split()) == set()
    assert inspect.ismodule(plugin)


def test_a_program_that_is_stopped_while_a_body_comes(ledger: Ledger) -> None:
    """Ctrl-C in the middle of an answer is recorded, and raised again in a replay."""

    class Stopped(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            yield b'{"half":'
            raise KeyboardInterrupt

    def answer(_: Any) -> Any:
        return httpx2.Response(200, headers={"content-length": "20"}, stream=Stopped())

    def program(run: Run) -> str:
        wire = httpx2.MockTransport(answer)
        with http_client(run, transport=wire) as http:
            try:
                http.get("http://localhost/x")
            except KeyboardInterrupt:
                return "went on"
        return "was answered"

    done = ledger.execute(program)
    assert done.result == "went on"
    (failed,) = ledger.events(run=done.run_id, type="http.failed")
    assert failed.data["error_type"] == "KeyboardInterrupt"
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
