"""No connection is left open: not by what fails, nor by what was closed."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import CodeType, FrameType

import pytest

import muniment
from muniment.copies.backup import copy_ledger
from muniment.copies.successor import predecessor
from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.queries.run_summary import RunSummaries
from muniment.queries.sql import run_sql
from muniment.replays.excerpt import excerpt, open_excerpt
from muniment.replays.judge import Judge
from muniment.runs.run import Run
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify
from steps import echo, last_run

PACKAGE = str(Path(muniment.__file__).parent)
UNTRIED = {"__enter__", "__exit__", "_close_idle", "_give_back", "close", "dispose"}
"""The names of functions that hand over what is open, or close it."""

Way = Callable[[Ledger, Path], object]


class _Fault(BaseException):
    """Such as no handler expects, like an interrupt."""


class Connections:
    """All connections that were made, and which of them nobody has closed."""

    def __init__(self) -> None:
        self.made: list[sqlite3.Connection] = []
        self._connect = sqlite3.connect

    def connect(self, *arguments: object, **options: object) -> sqlite3.Connection:
        """Connect as SQLite does, and remember it."""
        self.made.append(self._connect(*arguments, **options))  # type: ignore[call-overload]
        return self.made[-1]

    def close(self) -> int:
        """Close and forget all; return how many were open."""
        still = 0
        for one in self.made:
            with suppress(sqlite3.ProgrammingError):  # it was closed
                one.total_changes  # noqa: B018 - asks it
                still += 1
            one.close()
        self.made.clear()
        return still


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connections]:
    """Watch what is connected to."""
    watched = Connections()
    monkeypatch.setattr(sqlite3, "connect", watched.connect)
    yield watched
    watched.close()


@pytest.fixture
def closed(ledger: Ledger) -> Ledger:
    """Give a ledger of one run, after its end."""

    def program(run: Run) -> object:
        return run.effect("data", 1, echo)

    ledger.execute(program)
    ledger.close()
    return ledger


def _opened(ledger: Ledger) -> None:
    """Close *ledger*, undisturbed."""
    sys.setprofile(None)
    ledger.close()


def _excerpt(ledger: Ledger, _: Path) -> None:
    with Ledger.open(ledger.path, plugins=(), readonly=True) as one:
        data = excerpt(one, Judge(one, last_run(one), "strict").record)
    _opened(open_excerpt(data, path=one.path, ledger_id=one.id, plugins=Plugins(())))


WAYS: dict[str, Way] = {
    "open": lambda it, _: _opened(Ledger.open(it.path, plugins=())),
    "found": lambda it, _: _opened(muniment.open(it.path, plugins=())),
    "made": lambda _, new: _opened(Ledger.create(new, plugins=())),
    "copied": lambda it, new: copy_ledger(it.path, new),
    "verified": lambda it, _: verify(it.path),
    "asked": lambda it, _: run_sql(it.path, "SELECT count(*) FROM events"),
    "succeeded": lambda it, _: predecessor(str(it.path), "lost", TrustHome()),
    "excerpt": _excerpt,
}


def _called(connections: Connections, what: Callable[[], object]) -> list[CodeType]:
    """Return the functions of the package that *what* calls once it has connected."""
    found: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(PACKAGE) and code.co_name not in UNTRIED
        if event == "call" and ours and connections.made:
            found[code] = None

    sys.setprofile(note)
    try:
        what()
    finally:
        sys.setprofile(None)
    return list(found)


def _failing(code: CodeType, what: Callable[[], object]) -> None:
    """Do *what*, and raise when it first calls the function of *code*."""

    def fail(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is code:
            sys.setprofile(None)
            raise _Fault

    sys.setprofile(fail)
    try:
        with suppress(_Fault, MunimentError):  # SQLite makes an error of its own of it
            what()
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("way", WAYS)
def test_whatever_fails(
    closed: Ledger, tmp_path: Path, connections: Connections, way: str
) -> None:
    """Each function that is called on the way fails once; nothing stays open."""
    go, number = WAYS[way], count()
    codes = _called(connections, lambda: go(closed, tmp_path / f"{next(number)}.db"))
    assert codes
    assert connections.close() == 0
    left: list[str] = []
    for code in codes:
        _failing(code, lambda: go(closed, tmp_path / f"{next(number)}.db"))
        left += [code.co_name] * connections.close()
    assert left == []


def test_a_closed_ledger_that_is_read(closed: Ledger, connections: Connections) -> None:
    """It can be read after its close, and each reading closes what it opened."""
    events = closed.events()
    assert [next(events).seq, next(events).seq] == [0, 1]
    assert closed.head.size == len([*events]) + 2
    assert closed.project(RunSummaries, run=last_run(closed)).status == "completed"
    assert connections.made
    assert connections.close() == 0
