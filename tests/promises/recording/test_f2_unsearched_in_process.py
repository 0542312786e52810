"""Clients of a run name the bodies that they record and do not search for secrets.

What unpacks answers there is the library; requests are unpacked by Python.
"""

from __future__ import annotations

import asyncio
import gzip
import warnings
from typing import Any, cast

import pytest

from muniment.formats.statement import BlobRef
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import UnsearchedWarning, async_http_client, http_client
from odd_answers import packed
from servers import Answering

ODD = {
    f"{sized}-{name}": packed(name.encode(), b"uryyb", sized=sized == "whole")
    for sized in ("whole", "stream")
    for name in ("rot13", "compress")
}
ALONE = {"connection": "close"}
UNPACKS = "nothing here unpacks "
SEARCHED = {
    "gzip": packed(b"gzip", gzip.compress(b"hello")),
    "plain": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "empty": packed(b"rot13", b"", sized=True),
    "none": b"HTTP/1.1 204 No Content\r\nContent-Encoding: rot13\r\n\r\n",
}


def of_run(ledger: Ledger, run: str) -> list[Any]:
    """Return the bodies that the record names."""
    facts = [
        ledger.resolve(one)
        for one in ledger.events(run=run, type="recording.unsearched")
    ]
    return [body for fact in facts for body in cast("Any", fact["bodies"])]


@pytest.mark.parametrize("library", ["httpx2", "httpx"])
@pytest.mark.parametrize("is_async", [False, True])
def test_bodies_that_are_not_searched_are_named(
    ledger: Ledger, library: Any, *, is_async: bool
) -> None:
    """By a warning and a fact, once each; those that were searched are not named."""
    rot = {"content-encoding": "rot13", "content-type": "text/plain"}

    def program(run: Run, base: str) -> None:
        with http_client(run, library=library, headers=ALONE) as http:
            for name in [*ODD, *SEARCHED, next(iter(ODD))]:
                http.get(f"{base}/{name}").read()
            http.post(f"{base}/plain", content=b"uryyb", headers=rot)

    async def aprogram(run: Run, base: str) -> None:
        async with async_http_client(run, library=library, headers=ALONE) as http:
            for name in [*ODD, *SEARCHED, next(iter(ODD))]:
                await (await http.get(f"{base}/{name}")).aread()
            await http.post(f"{base}/plain", content=b"uryyb", headers=rot)

    how: Any = aprogram if is_async else program
    with (
        Answering({**ODD, **SEARCHED}) as server,
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        base = {"base": server.url}
        if is_async:
            done = asyncio.run(ledger.aexecute(how, params=base))
        else:
            done = ledger.execute(how, params=base)
    assert done.error is None
    expected = [
        *(
            ("answer", f"GET {base['base']}/{name}", UNPACKS + name.partition("-")[2])
            for name in ODD
        ),
        ("request", f"POST {base['base']}/plain", UNPACKS + "rot13"),
    ]
    assert [tuple(one) for one in of_run(ledger, done.run_id)] == expected
    said = [str(one.message) for one in warned if one.category is UnsearchedWarning]
    assert len(said) == len(expected)
    for text, (_, call, why) in zip(said, expected, strict=True):
        assert text.startswith("not searched for secrets: the ")
        assert text.endswith(f" of {call} ({why})")
    completed = ledger.events(run=done.run_id, type="http.completed")
    values = [ledger.value(cast("BlobRef", one.data["value"])) for one in completed]
    odd = [one for one in values if cast("Any", one).get("unsearched")]
    assert len(odd) == len(ODD) + 1
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert replay(ledger, done.run_id, program=how).verdict == "acceptable"
    assert [one for one in warned if one.category is UnsearchedWarning] == []


def test_a_warning_that_is_an_error_fails_the_call(ledger: Ledger) -> None:
    """Whoever wants no such body gets the error, and the record has it as the call's."""

    def program(run: Run, base: str) -> str:
        with http_client(run) as http:
            try:
                http.get(f"{base}/whole-rot13")
            except UnsearchedWarning as error:
                return str(error)
        return ""

    with Answering(ODD) as server, warnings.catch_warnings():
        warnings.simplefilter("error", UnsearchedWarning)
        done = ledger.execute(program, params={"base": server.url})
    assert str(done.result).endswith("(nothing here unpacks rot13)")
    assert len([*ledger.events(run=done.run_id, type="http.failed")]) == 1
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
