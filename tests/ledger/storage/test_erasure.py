"""After an erasure the bytes are nowhere, the chain holds, and no guess is confirmed."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.encoding.canonical import JsonValue
from muniment.errors import (
    CannotTellError,
    ErasedError,
    StoreError,
    UsageError,
    WrongError,
)
from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.queries.projections import Projection
from muniment.storage import erasure
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify

SECRET = b"Grace Hopper, born 1906-12-09, of New York City"
SIZES = (len(SECRET), 300, 5_000, 70_000, 1_048_000, 1_200_000)


class Everything(Projection[list[JsonValue]]):
    """Every event's position, type and data as recorded."""

    name = "everything"

    def initial(self) -> JsonValue:
        """Return nothing."""
        return []

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Add the event."""
        assert isinstance(state, list)
        return [*state, [event.seq, event.type, event.raw]]

    def view(self, state: JsonValue) -> list[JsonValue]:
        """Return the list."""
        assert isinstance(state, list)
        return state


def _secret(size: int, which: bytes = SECRET) -> bytes:
    return (which * (size // len(which) + 1))[:size]


def _note(ledger: Ledger, content: object) -> str:
    event = ledger.append("note.added", {"text": "about", "details": content})
    return _ref(event, "details")


def _ref(event: Event, name: str) -> str:
    tag = event.raw[name]
    assert isinstance(tag, dict)
    return str(tag["$blob"])


def _files(ledger: Ledger) -> Iterator[Path]:
    return (path for path in ledger.path.parent.rglob("*") if path.is_file())


def _found(ledger: Ledger, needle: bytes) -> list[str]:
    return [path.name for path in _files(ledger) if needle in path.read_bytes()]


@pytest.mark.parametrize("size", SIZES)
def test_the_bytes_are_nowhere(ledger: Ledger, size: int) -> None:
    """Database, write-ahead log, cache and directory: none holds the content."""
    ref = _note(ledger, _secret(size).decode())
    before = ledger.project(Everything)
    assert _found(ledger, SECRET)
    ledger.erase(ref, reason="asked to", legal_basis="GDPR 17(1)(a)")
    assert _found(ledger, SECRET) == []
    with pytest.raises(ErasedError, match="erased"):
        ledger.get_blob(ref)
    after = ledger.project(Everything)
    assert after[: len(before)] == before
    report = verify(ledger.path)
    assert (report.ok, report.erased) == (True, 1), report
    ledger.close()
    assert _found(ledger, SECRET) == []


def test_a_guess_cannot_be_confirmed(ledger: Ledger) -> None:
    """Whoever guesses the content finds no digest of it in anything that is left."""
    ref = _note(ledger, SECRET.decode())
    ledger.erase(ref, reason="asked to")
    ledger.close()
    guess = b'"' + SECRET + b'"'
    left = b"".join(path.read_bytes() for path in _files(ledger))
    for content in (SECRET, guess, guess + b"\n", b"application/json\0" + guess):
        for name in ("sha256", "sha512", "sha1", "md5", "blake2b"):
            digest = hashlib.new(name, content).digest()
            assert digest not in left
            assert digest.hex().encode() not in left


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    sizes=st.lists(st.integers(min_value=20, max_value=9_000), min_size=2, max_size=30),
    order=st.randoms(use_true_random=False),
)
def test_no_page_keeps_a_ghost(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], order: object
) -> None:
    """Contents of any size, erased in any order: pages that moved keep no copy."""
    place = tmp_path_factory.mktemp("ghost") / "ledger.db"
    with Ledger.create(place, plugins=()) as ledger:
        refs = {}
        for number, size in enumerate(sizes):
            which = b"<%05d secret>" % number
            refs[which] = _note(ledger, _secret(size, which).decode())
        waiting = list(refs)
        order.shuffle(waiting)  # type: ignore[attr-defined] # a random.Random
        for count, which in enumerate(waiting):
            ledger.erase(refs[which], reason="asked to")
            for gone in waiting[: count + 1]:
                assert _found(ledger, gone) == []
            for kept in waiting[count + 1 :]:
                assert kept in ledger.get_blob(refs[kept])
    assert verify(place).ok


def test_erasing_twice_says_so(ledger: Ledger) -> None:
    """The second erasure of a content is refused, and writes nothing."""
    ref = _note(ledger, SECRET.decode())
    ledger.erase(ref, reason="asked to")
    size = ledger.head.size
    with pytest.raises(ErasedError, match="erased already"):
        ledger.erase(ref, reason="asked to")
    assert ledger.head.size == size


def test_the_rest_is_erased_where_a_part_is_gone(ledger: Ledger) -> None:
    """Of several contents, those that are left are erased."""
    first, second = _note(ledger, "one"), _note(ledger, "two")
    ledger.erase(first, reason="asked to")
    event = ledger.erase([first, second], reason="asked to")
    assert event.raw["blobs"] == [second]
    assert verify(ledger.path).erased == 2


def test_unknown_contents_are_refused(ledger: Ledger) -> None:
    """A commitment or run that the ledger does not know is a usage error."""
    with pytest.raises(UsageError, match="no such blob"):
        ledger.erase("sha256:" + "0" * 64, reason="asked to")
    with pytest.raises(UsageError, match="64 hex"):
        ledger.erase("sha256:12", reason="asked to")
    with pytest.raises(UsageError, match="nothing to erase"):
        ledger.erase("01JD3Z8M6Q4W0V9K2T7N5RYXCB", reason="asked to")
    assert ledger.head.size == 1


def test_the_contents_of_a_run(ledger: Ledger) -> None:
    """Naming a run erases all its contents, also one that it shares with itself."""

    def program(run: object, who: str) -> str:
        for number in range(2):
            run.effect(  # type: ignore[attr-defined] # a Lane
                "tool",
                {"name": "look", "query": who, "n": number},
                perform=lambda request: {"about": who, "n": request["n"]},
            )
        return who

    done = ledger.execute(program, params={"who": SECRET.decode()}, name="p")
    assert done.status == "completed"
    other = _note(ledger, "kept")
    assert _found(ledger, SECRET)
    ledger.erase(done.run_id, reason="asked to")
    assert _found(ledger, SECRET) == []
    assert ledger.get_blob(other) == b'"kept"'
    report = verify(ledger.path)
    assert report.ok, report


def test_a_restored_copy_loses_it_again(ledger: Ledger) -> None:
    """An older copy that still has the content loses it when it is opened."""
    ref = _note(ledger, SECRET.decode())
    place = ledger.path
    ledger.close()
    backup = place.with_suffix(".bak")
    shutil.copy(place, backup)
    with Ledger.open(place, plugins=()) as again:
        again.erase(ref, reason="asked to")
    assert not any("erased" in note for note in verify(place).notes)
    shutil.move(backup, place)
    assert any("1 of the blobs that were erased" in n for n in verify(place).notes)
    with Ledger.open(place, plugins=()) as restored:
        assert _found(restored, SECRET) == []
        assert restored.head.size == 2
    assert not any("erased" in note for note in verify(place).notes)
    assert "rolled-back" in [finding.kind for finding in verify(place).findings] or (
        verify(place).exit_code == 1
    )


def test_a_restored_file_of_a_large_content_goes_again(ledger: Ledger) -> None:
    """A large content's file that came back is removed when the ledger is opened."""
    ref = _note(ledger, _secret(1_200_000).decode())
    (file,) = Path(f"{ledger.path}.blobs").iterdir()
    kept = file.read_bytes()
    ledger.erase(ref, reason="asked to")
    assert not file.exists()
    ledger.close()
    file.write_bytes(kept)
    with Ledger.open(ledger.path, plugins=()) as again:
        assert not file.exists()
        assert again.head.size == 3
    assert verify(ledger.path).ok


def test_a_lost_content_is_not_called_erased(ledger: Ledger) -> None:
    """A file that somebody removed is missing; only an event makes it erased."""
    ref = _note(ledger, _secret(1_200_000).decode())
    (file,) = Path(f"{ledger.path}.blobs").iterdir()
    file.unlink()
    with pytest.raises(CannotTellError, match="no event says") as caught:
        ledger.get_blob(ref)
    assert caught.value.exit_code == 3
    assert not isinstance(caught.value, ErasedError)


def test_altered_content_is_wrong(ledger: Ledger) -> None:
    """Bytes that are not those committed to are refused."""
    ref = _note(ledger, _secret(1_200_000).decode())
    (file,) = Path(f"{ledger.path}.blobs").iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(WrongError, match="blob/commitment"):
        ledger.get_blob(ref)


def test_a_reader_of_the_old_pages_is_named(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a snapshot holds the log, an erasure says that the bytes are left."""
    monkeypatch.setattr(erasure, "READER_SECONDS", 0.1)
    ref = _note(ledger, SECRET.decode())
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM event").fetchone()
        with pytest.raises(StoreError, match=r"write-ahead log.*erase/wal") as caught:
            ledger.erase(ref, reason="asked to")
        assert caught.value.exit_code == 3
        assert _found(ledger, SECRET)
        with pytest.raises(StoreError, match="erase/wal"):
            ledger.erase(ref, reason="asked to")
    with pytest.raises(ErasedError, match="already"):
        ledger.erase(ref, reason="asked to")
    assert _found(ledger, SECRET) == []
    assert verify(ledger.path).ok


def test_the_list_is_kept_in_the_trust_home(ledger: Ledger) -> None:
    """What was erased is remembered outside of the ledger."""
    ref = _note(ledger, "x")
    ledger.erase(ref, reason="asked to")
    assert TrustHome().erasures(ledger.id) == {ref}
