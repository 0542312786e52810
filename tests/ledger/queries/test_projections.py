"""Projections: remembered or folded anew, whatever the cache holds, equal."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.encoding.canonical import JsonValue
from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.queries.projections import Projection, fold
from muniment.storage.cache import Cache
from muniment.trust.home import TrustHome


class Census(Projection[str]):
    """What there is, with everything that JSON and a cache could lose on the way."""

    name = "census"

    def initial(self) -> JsonValue:
        """Return nothing counted."""
        return {"order": {}, "mean": 1.0, "large": 2**70, "texts": []}

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Count, keeping the order of first sight."""
        assert isinstance(state, dict)
        order, texts = state["order"], state["texts"]
        assert isinstance(order, dict)
        assert isinstance(texts, list)
        seen = order.setdefault(f"z{9 - event.seq % 7}{event.type}", 0)
        assert isinstance(seen, int)
        order[f"z{9 - event.seq % 7}{event.type}"] = seen + 1
        texts.append(event.raw.get("text"))
        return state

    def view(self, state: JsonValue) -> str:
        """Return all of it, in its order."""
        return repr(state)


class Later(Census):
    """The same under a newer version."""

    version = 2

    def view(self, state: JsonValue) -> str:
        """Return another view."""
        return f"2 {state!r}"


def _afresh(ledger: Ledger, kind: type[Census] = Census) -> str:
    return fold(kind(), lambda start: ledger.events(from_seq=start), None)


STEPS = st.lists(
    st.sampled_from(["note", "many", "run", "project", "delete", "garble", "reopen"])
    | st.tuples(st.just("flip"), st.integers(0, 20_000), st.integers(1, 255)),
    min_size=1,
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_incremental_equals_from_event_0(steps: list[Any]) -> None:
    """Random histories with a cache that is used, deleted, garbled and flipped."""
    directory = Path(tempfile.mkdtemp())
    home = TrustHome(directory / "home")
    ledger = Ledger.create(directory / "ledger.db", home=home, plugins=())
    for number, step in enumerate(steps):
        if step == "note":
            ledger.append("note.added", {"text": f"ü{number}"})
        elif step == "many":
            ledger.append_many([("note.added", {"text": str(number)})] * 3)
        elif step == "run":
            ledger.execute(lambda run: run.uuid(), name="p")
        elif step == "reopen":
            ledger.close()
            ledger = Ledger.open(directory / "ledger.db", home=home, plugins=())
        elif step == "delete":
            ledger.cache.clear()
        elif step == "garble":
            (directory / "cache.db").write_bytes(b"garbage" * 1000)
        elif step != "project":
            _flip(directory / "cache.db", step[1], step[2])
        assert ledger.project(Census) == _afresh(ledger)
        assert ledger.project(Census) == _afresh(ledger)
        assert ledger.project(Later) == _afresh(ledger, Later)
    ledger.close()
    shutil.rmtree(directory)


def _flip(path: Path, place: int, bits: int) -> None:
    if not path.exists():
        return
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= bits
    path.write_bytes(data)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE projection SET state = replace(CAST(state AS TEXT), 'a', 'b')",
        "UPDATE projection SET state = 7",
        "UPDATE projection SET state = NULL",
        "UPDATE projection SET size = size - 1",
        "UPDATE projection SET size = 'x'",
        "UPDATE projection SET head = 'x'",
        "DROP TABLE projection",
        "DROP TABLE projection; CREATE TABLE projection (a)",
    ],
)
def test_a_cache_that_says_something_else(ledger: Ledger, harm: str) -> None:
    """What somebody wrote into the cache is not believed."""
    ledger.append("note.added", {"text": "aaa"})
    expected = ledger.project(Census)
    with closing(sqlite3.connect(ledger.path.with_name("cache.db"))) as connection:
        connection.executescript(harm)
        connection.commit()
    assert ledger.project(Census) == expected
    ledger.append("note.added", {"text": "bbb"})
    assert ledger.project(Census) == _afresh(ledger)


def test_a_cache_is_used(ledger: Ledger) -> None:
    """A state that was remembered is not folded again."""
    for number in range(5):
        ledger.append("note.added", {"text": str(number)})
    starts: list[int] = []

    def events(start: int) -> Any:
        starts.append(start)
        return ledger.events(from_seq=start)

    for _ in range(2):
        fold(Census(), events, ledger.cache)
    assert starts == [0, 6]


def test_a_damaged_cache_is_replaced(ledger: Ledger) -> None:
    """A cache of ours that was damaged is a cache again after the next projections."""
    ledger.project(Census)
    place = ledger.path.with_name("cache.db")
    whole = place.read_bytes()
    place.write_bytes(whole[:100] + b"garbage" * 1000)
    for number in range(3):
        ledger.append("note.added", {"text": str(number)})
        assert ledger.project(Census) == _afresh(ledger)
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("SELECT count(*) FROM projection").fetchone() == (1,)


def test_a_file_of_others_is_left_alone(ledger: Ledger) -> None:
    """What is not a cache of ours is neither written nor deleted, whatever it holds."""
    place = ledger.path.with_name("cache.db")
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.commit()
    for theirs in (place.read_bytes(), b"garbage" * 1000):
        place.write_bytes(theirs)
        assert ledger.project(Census) == _afresh(ledger)
        assert not ledger.cache.clear()
        assert place.read_bytes() == theirs


@pytest.mark.parametrize("block", [lambda p: p.mkdir(), lambda p: p.symlink_to(p)])
def test_a_cache_that_cannot_be(
    ledger: Ledger, block: Callable[[Path], object]
) -> None:
    """Where no cache can be made, answers take longer, and are the same."""
    block(ledger.path.with_name("cache.db"))
    ledger.append("note.added", {"text": "a"})
    assert ledger.project(Census) == _afresh(ledger)
    ledger.cache.clear()


def test_a_rolled_back_ledger_does_not_reuse_a_newer_state(ledger: Ledger) -> None:
    """A state over events that are gone, or differ, is thrown away."""
    ledger.append("note.added", {"text": "a"})
    ledger.close()
    kept = ledger.path.read_bytes()
    with Ledger.open(ledger.path, plugins=()) as newer:
        newer.append("note.added", {"text": "b"})
        newer.project(Census)
    ledger.path.write_bytes(kept)
    with Ledger.open(ledger.path, readonly=True, plugins=()) as older:
        assert "'b'" not in older.project(Census)
        assert older.project(Census) == _afresh(older)
    head = TrustHome().keys_directory(ledger.id).with_name("head")
    head.unlink()
    with Ledger.open(ledger.path, plugins=()) as forked:
        forked.append("note.added", {"text": "c"})
        assert forked.project(Census) == _afresh(forked)


def test_ledgers_in_one_directory_share_a_cache(ledger: Ledger) -> None:
    """A state belongs to one ledger, one projection, one version and one run."""
    with Ledger.create(ledger.path.with_name("other.db"), plugins=()) as other:
        other.append("note.added", {"text": "other"})
        ledger.append("note.added", {"text": "mine"})
        for _ in range(2):
            assert "'mine'" in ledger.project(Census)
            assert "'other'" in other.project(Census)


def test_one_run_alone(ledger: Ledger) -> None:
    """A projection of a run sees that run's events."""
    runs = [ledger.execute(lambda run: run.uuid(), name="p").run_id for _ in range(2)]
    for run in runs:
        count = len(list(ledger.events(run=run)))
        for _ in range(2):
            state = ledger.project(Census, run=run)
            assert state.count("None") == count


def test_the_state_keeps_its_types(tmp_path: Path) -> None:
    """What comes back from the cache has the types and the order that went in."""
    cache = Cache(tmp_path / "cache.db", "sha256:0", b"s" * 32)
    state = {"b": 1.0, "a": 2**70, "c": [None, True, "ü"]}
    cache.save(Census(), "", 3, "head", json.dumps(state).encode())
    size, head, found = cache.load(Census(), "")
    assert (size, head) == (3, "head")
    assert repr(json.loads(found)) == repr(state)
    assert cache.load(Later(), "") == (0, "", b"")


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_what_is_remembered_is_not_for_everybody(tmp_path: Path) -> None:
    """Only its owner reads the cache: it quotes a ledger that may be as private."""
    cache = Cache(tmp_path / "cache.db", "sha256:0", b"s" * 32)
    cache.save(Census(), "", 3, "head", b"{}")
    assert stat.S_IMODE((tmp_path / "cache.db").stat().st_mode) == 0o600
