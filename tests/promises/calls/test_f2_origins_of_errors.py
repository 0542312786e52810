"""An error is what it is alone, and so is all that it comes from, in each way of reading.

Each library meets each kind of failure in three processes: alone, recorded, replayed. The
program prints of each error, and of all behind it, class, text, `args` and numbers, and
what it was given before. What is not the same is in a table of the how-to page.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from failing_calls import ANSWERS, FAILING, Failing
from recording import PYTHON, Desk
from thrice import Key, thrice

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "record-programs.md"
KINDS = ("refused", "unknown-host", "tls-self-signed", "tls-plain", "odd-url", *ANSWERS)

HELD_BODIES = [one for one in ANSWERS if one.startswith("held-") and one != "held-head"]


def keys(ways: Iterable[str], kinds: Iterable[str]) -> set[Key]:
    """Return each of *ways* with each of *kinds*."""
    return {(f"by_{way}", kind) for way, kind in itertools.product(ways, kinds)}


CHANGED = {
    "`urllib3` with `retries`": keys(
        ["urllib3_retries"],
        [
            *("too-short", "chunk-bad", "chunk-cut", "chunk-none", "gzip-cut"),
            *("404-cut", "reset-sized", "reset-chunked", *HELD_BODIES),
        ],
    ),
    "`urllib3`, `urllib`": keys(
        ["urllib3", "requests_raw", "urllib", "urllib_parts"],
        ["chunk-bad", "chunk-cut", "chunk-none"],
    )
    | keys(["urllib3_stream", "requests_sized"], ["chunk-cut"]),
    "`aiohttp`": keys(["aiohttp"], ["deflate-bad"]),
    "`urllib3` at once": keys(["urllib3"], HELD_BODIES),
}
"""By the first cell of the page's table: what its row speaks of."""

TEXT_ONLY = {
    "`aiohttp`": keys(
        ["aiohttp"],
        [
            *("half-a-head", "status-line", "no-http", "protocol", "404-cut"),
            *("header", "header-null", "header-long", "too-short", "gzip-cut"),
            *("chunk-bad", "chunk-cut", "chunk-none", "reset-sized", "reset-chunked"),
        ],
    ),
    "`requests`": keys(["requests", "requests_none"], ["chunk-cut"]),
    "`urllib3` with `retries`": keys(
        ["urllib3_retries"],
        [
            *("nothing", "status-line", "no-http", "protocol", "header-long"),
            *("reset", "reset-head"),
        ],
    ),
}
"""The same for the table of errors whose ``args`` a replay makes of their text."""


def bare(saw: object) -> list[object]:
    """Return what the program *saw*, of errors all but ``args``."""
    given, *told = cast("list[Any]", saw)
    return [given, *(one[:-1] if isinstance(one, list) else one for one in told)]


@pytest.mark.slow
def test_errors_are_what_they_are_alone(desk: Desk) -> None:
    """Class, text, numbers, origins, and what came before, live and in a replay."""
    desk.write("agent.py", FAILING)
    with Failing(desk.place) as server:
        line = (server.url, server.tls, server.plain, str(server.sent), *KINDS)
        told = thrice(desk, PYTHON, "agent.py", *line)
    assert len(told.alone) == 13 * len(KINDS) + 3
    assert told.verdict == "acceptable"
    known = set[Key]().union(*CHANGED.values())
    without = set[Key]().union(*TEXT_ONLY.values())
    assert known | without < told.alone.keys()
    alone = {key: bare(saw) for key, saw in told.alone.items() if key in without}
    replayed = {key: bare(told.replayed[key]) for key in alone}
    assert alone == replayed
    different = [
        f"{key}\n  alone    {saw}\n  {how} {found.get(key)}"
        for how, found in (("recorded", told.recorded), ("replayed", told.replayed))
        for key, saw in told.alone.items()
        if key not in known and found.get(key) != saw
        if key not in without or how == "recorded"
    ]
    assert not different, "\n".join(different)
    for way in ("httpx", "openai"):
        assert "Connection refused" in str(told.alone[f"by_{way}", "refused"])


def test_what_is_not_the_same_is_on_the_page() -> None:
    """Each exception that the test makes is a row of the table, and the other way round."""
    for head, known in (("what breaks", CHANGED), ("what it fails by", TEXT_ONLY)):
        _, _, table = PAGE.read_text().partition(f"| Who reads | {head} |")
        rows = re.findall(r"^\| (`.*?) \|", table.partition("\n\n")[0], re.MULTILINE)
        assert rows == [*known]
