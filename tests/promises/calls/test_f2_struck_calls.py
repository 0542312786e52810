"""A record says what the program got: an answer that it never had is not in it.

Timeouts and Ctrl-C strike calls at every point where they wait for something, in the same
turn of the loop as what they wait for. What the program saw is recorded, and replayed. Where
a server holds its answer, so that the point does not depend on time, a program alone sees
the same. What is not the same is in a table of the how-to page.
"""

from __future__ import annotations

import itertools
import json
import re
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from held_calls import BEGINNINGS, HELD_ASYNC, HELD_SYNC, LEAVING, STOPS, Holding
from recording import PYTHON, Desk
from struck_calls import ASYNC, SYNC
from thrice import Key, Thrice, thrice

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "record-programs.md"

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
KINDS: dict[str, list[bytes]] = {
    "sized": [HEAD + b"Content-Length: 6\r\n\r\n", b"one", b"two"],
    "chunked": [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
        b"3\r\none\r\n",
        b"3\r\ntwo\r\n",
        b"0\r\n\r\n",
    ],
}
Saw = dict[str, list[Any]]


@pytest.fixture
def url() -> Iterator[str]:
    """Serve each kind of answer, one piece after the other."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:

        def serve() -> None:
            while True:
                try:
                    stream, _ = server.accept()
                except OSError:  # the test is over
                    return
                threading.Thread(target=send, args=(stream,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def send(stream: socket.socket) -> None:
    """Send an answer in its pieces."""
    with stream, suppress(OSError):
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = stream.recv(65536)
        if not asked:  # it was struck before
            return
        (kind,) = (one for one in KINDS if b"/%b/" % one.encode() in asked)
        for part in KINDS[kind]:
            stream.sendall(part)
        stream.shutdown(socket.SHUT_WR)
        while stream.recv(65536):
            pass


def saw(text: str) -> Saw:
    """Return what was printed: what each call saw, by its address."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("[[")]
    return {"/".join(map(str, key)): until_the_end(seen) for key, seen, *_ in lines}


def until_the_end(seen: list[Any]) -> list[Any]:
    """Return what a call saw of its answer, but not what struck the program later."""
    return seen[: seen.index("end") + 1] if "end" in seen else seen


def recorded(desk: Desk, run: str) -> dict[str, tuple[str, list[str]]]:
    """Return how each call ended in the record, and with which parts of the body."""
    found: dict[str, tuple[str, list[str]]] = {}
    with desk.open() as ledger:
        places = dict[tuple[str | None, int | None], str]()
        for event in ledger.events(run=run, type="http.*"):
            data: dict[str, Any] = {**ledger.resolve(event)}
            place = event.scope, event.ordinal
            if event.type == "http.requested":
                places[place] = data["request"]["url"].split("/", 3)[3]
            elif event.type == "http.completed":
                value = data["value"]
                how = "left" if value.get("closed") else "end"
                found[places[place]] = how, value["chunks"]
            elif event.type == "http.failed":
                told = data.get("data") or {}
                how = data.get("reason") or told["fault"]["name"]
                found[places[place]] = how, told.get("chunks", [])
    return found


def test_a_timeout_strikes_wherever_a_task_waits(desk: Desk, url: str) -> None:
    """What a call saw is a beginning of the answer; the record has that, and no more."""
    desk.write("agent.py", ASYNC)
    line = (PYTHON, "agent.py", url, "live.json", *KINDS)
    done = desk.record(*line)
    assert done.code == 0, done.err
    live, record = saw(done.out), recorded(desk, done.run)
    assert {one[-1] == "end" for one in live.values()} == {True, False}
    for call, seen in live.items():
        if call not in record:  # it was struck before it asked
            assert len(seen) == 1, call
            continue
        how, chunks = record[call]
        body = "".join(one for one in seen if one != "end" and isinstance(one, str))
        assert "onetwo".startswith(body), call
        assert (how == "end") == ("end" in seen), (call, seen, how)
        assert how in ("end", "cancelled"), (call, seen, how)
        if how == "end" or "/parts/" in call:
            assert "".join(chunks) == body, (call, seen, chunks)
    again = desk.replay(done.run, *line)
    replayed = saw(again.err)
    different = {k: (live[k], replayed[k]) for k in replayed if live[k] != replayed[k]}
    assert different == {}
    assert replayed.keys() == record.keys()
    assert json.loads(again.out)["verdict"] == "acceptable", again.out


def test_what_a_signal_raises_strikes_wherever_a_call_waits(
    desk: Desk, url: str
) -> None:
    """So do Ctrl-C and the errors of handlers, which a replay raises by itself."""
    struck(desk, url)


def test_so_it_strikes_on_a_loop_without_readers(desk: Desk, url: str) -> None:
    """A recorder whose loop is as that of Windows hears of each strike, too."""
    desk.has_no_readers()
    struck(desk, url)


def struck(desk: Desk, url: str) -> None:
    """Strike calls that threads wait for; compare program, record and replay."""
    desk.write("agent.py", SYNC)
    line = (PYTHON, "agent.py", url, "live.json", *KINDS)
    done = desk.record(*line)
    assert done.code == 0, done.err
    live, record = saw(done.out), recorded(desk, done.run)
    assert live.keys() == record.keys()
    assert {one[-1] for one in live.values()} >= {"end", "TimeUp", "KeyboardInterrupt"}
    for call, seen in live.items():
        how, _ = record[call]
        assert (how == "end") == ("end" in seen), (call, seen, how)
    again = desk.replay(done.run, *line)
    assert saw(again.err) == live
    assert json.loads(again.out)["verdict"] == "acceptable", again.out


def keys(libraries: Iterable[str], hows: Iterable[str]) -> set[Key]:
    """Return what strikes each of *libraries* in an answer of known length."""
    names = [name for name in BEGINNINGS if name.startswith("sized")]
    ways = (f"by_{one}_parts" for one in libraries)
    return {*itertools.product(ways, hows, names)}


IN_ASYNC = {
    "`httpx`, `httpx2` on a loop": keys(
        ["httpx", "httpx2"], ["cancelled", "limited", "waited_for"]
    )
    | {
        (f"by_{one}_parts", how, "sized-3")
        for one in ("httpx", "httpx2")
        for how in LEAVING
    }
}
IN_SYNC = {
    "`httpx`, `httpx2`, `urllib3`, `requests`, `urllib`": keys(
        ["httpx", "httpx2", "urllib3", "requests", "urllib"], ["KeyboardInterrupt"]
    )
    | {
        (f"by_{one}_parts", how, "sized-3")
        for one in ("httpx", "httpx2", "urllib3", "requests", "urllib")
        for how in STOPS
    }
}
"""By the first cell of the page's table: what its row speaks of."""


def held(desk: Desk, program: str) -> Thrice:
    """Return what *program* sees of calls whose answers are held."""
    desk.write("agent.py", program)
    sent = desk.place / "sent"
    with Holding(sent) as server:
        return thrice(desk, PYTHON, "agent.py", server.url, str(sent), *BEGINNINGS)


@pytest.mark.slow
def test_what_strikes_a_task_is_what_strikes_it_alone(desk: Desk) -> None:
    """The same error, with all behind it, after the same part of the answer."""
    told = held(desk, HELD_ASYNC)
    assert len(told.alone) == (6 * 3 + 2) * len(BEGINNINGS) + 6 * len(LEAVING)
    assert told.alone["by_httpx2_parts", "cancelled", "chunked-3"] == [
        [200, "one"],
        ["asyncio.exceptions", "CancelledError", "()"],
    ]
    (known,) = IN_ASYNC.values()
    known &= told.alone.keys()
    different = told.different(known, known)
    assert not different, "\n".join(different)
    assert told.verdict == "acceptable"


@pytest.mark.slow
def test_what_strikes_a_call_is_what_strikes_it_alone(desk: Desk) -> None:
    """So it is with Ctrl-C, and with errors that a handler raises."""
    told = held(desk, HELD_SYNC)
    assert len(told.alone) == 10 * (2 * len(BEGINNINGS) + len(STOPS))
    assert told.alone["by_urllib_parts", "TimeUp", "sized-3"] == [
        [200, "one"],
        ["__main__", "TimeUp", "('time is up',)"],
    ]
    (known,) = IN_SYNC.values()
    known &= told.alone.keys()
    as_text = {one for one in told.alone if one[1] == "exit-list"}
    different = told.different(known, known | as_text)
    assert not different, "\n".join(different)
    assert told.verdict == "acceptable"


def test_what_is_struck_elsewhere_than_alone_is_on_the_page() -> None:
    """Each exception that the tests make is a row of the table, and the other way round."""
    _, _, table = PAGE.read_text().partition("| Who reads | what strikes |")
    rows = re.findall(r"^\| (`.*?) \|", table.partition("\n\n")[0], re.MULTILINE)
    assert rows == [*IN_ASYNC, *IN_SYNC]
