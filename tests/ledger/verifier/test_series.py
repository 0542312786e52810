"""Series: each event of one says how many there were, and which came before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muniment
from editions import first_edition
from muniment.errors import RefusedError
from muniment.formats.series import series_digest, series_key
from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.verification.verify import verify

KEYS = ("a", "b", "claim/c1", "Nächte", "\U0001f600", "\ufeff")


def places(event: Event) -> dict[str, tuple[int, str | None]]:
    """Return the series of *event*: number, and hash of the event before."""
    return {one.key: (one.count, one.prev) for one in event.series}


def sound(ledger: Ledger) -> bool:
    """Tell whether what the ledger holds by now verifies."""
    report = verify(ledger.path, home=ledger.home)
    return report.integrity == "intact" and not report.findings


# --- what a writer writes ------------------------------------------------------------


def test_an_event_is_counted_in_each_of_its_series(ledger: Ledger) -> None:
    """Number and predecessor are those of the series, whatever stands between."""
    one = ledger.append("note.added", {"text": "1"}, series=["a"])
    ledger.append("note.added", {"text": "2"})
    two = ledger.append("note.added", {"text": "3"}, series=["b", "a", "a"])
    assert places(one) == {"a": (1, None)}
    assert places(two) == {"a": (2, one.hash), "b": (1, None)}
    assert ledger.event(two.seq) == two
    assert sound(ledger)


def test_a_claim_is_counted_wherever_it_is_stated(ledger: Ledger) -> None:
    """Each ``claim.stated`` is of the series of its id: in a run, beside it, in one commit."""
    first = ledger.append("claim.stated", {"id": "c1", "text": "x"})
    with ledger.run("triage") as run:
        facts = [
            run.record("claim.stated", {"id": "c1", "text": f"{n}"}, series=["night"])
            for n in range(3)
        ]
    stated = [first, *(one.event for one in facts)]
    hashes = [None, *(one.hash for one in stated[:-1])]
    numbered = [places(one)["claim/c1"] for one in stated]
    assert numbered == list(enumerate(hashes, 1))
    assert [one.event.series[1].count for one in facts] == [1, 2, 3]
    assert list(ledger.events(series="claim/c1")) == stated
    assert sound(ledger)


@pytest.mark.parametrize("key", ["", "x" * 257, "ü" * 129, "\ud800", 7, None])
def test_what_is_no_key_is_refused(ledger: Ledger, key: Any) -> None:
    """A key is a text of 1 to 256 bytes; nothing is written for another."""
    size = ledger.head.size
    with pytest.raises(RefusedError, match=r"1 to 256 bytes.*event/series"):
        ledger.append("note.added", {"text": "x"}, series=[key])
    assert ledger.head.size == size


def test_one_key_need_not_stand_in_a_list(ledger: Ledger) -> None:
    """A text is one key, and not its letters."""
    event = ledger.append("note.added", {"text": "x"}, series="ab")
    assert places(event) == {"ab": (1, None)}


def test_names_that_are_too_long_are_known_by_their_digest() -> None:
    """A name that no key can hold has one all the same, another for each."""
    keys = {
        series_key("claim", name) for name in ("x" * 250, "x" * 251, "\ud800", "c1")
    }
    assert len(keys) == 4
    assert {one[:13] for one in keys} == {"claim/xxxxxxx", "claim/sha256:", "claim/c1"}


def test_a_failed_append_counts_nothing(ledger: Ledger) -> None:
    """What was not committed is of no series."""
    ledger.append("note.added", {"text": "1"}, series=["a"])

    def fail(step: str) -> None:
        if step == "inserted":
            raise KeyboardInterrupt

    ledger.store.step = fail
    with pytest.raises(KeyboardInterrupt):
        ledger.append("note.added", {"text": "2"}, series=["a"])
    ledger.store.step = lambda _: None
    again_ = ledger.append("note.added", {"text": "2"}, series=["a"])
    assert places(again_)["a"][0] == 2
    assert sound(ledger)


def test_a_payload_has_room_for_its_series_or_is_refused_early(ledger: Ledger) -> None:
    """A fact with more series than fit is refused when it is stated."""
    with ledger.run("wide") as run:
        with pytest.raises(RefusedError, match="event/size"):
            run.record(
                "note.added", {"text": "x"}, series=[f"k{n}" for n in range(999)]
            )
        run.record("note.added", {"text": "x"}, series=[f"k{n}" for n in range(99)])
    assert sound(ledger)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.lists(st.sampled_from(KEYS), max_size=4)),
        min_size=1,
        max_size=12,
    )
)
def test_honest_series_verify(
    tmp_path_factory: pytest.TempPathFactory, appends: list[tuple[int, list[str]]]
) -> None:
    """Whoever of two writers appends what: numbers have no gaps, and all verifies."""
    folder = tmp_path_factory.mktemp("honest")
    Ledger.create(folder / "l.db", home=folder / "home", plugins=()).close()
    writers = [
        Ledger.open(folder / "l.db", home=folder / "home", plugins=()) for _ in "ab"
    ]
    last: dict[str, tuple[int, str | None]] = {}
    for number, keys in appends:
        event = writers[number].append("note.added", {"text": "x"}, series=keys)
        due = {
            key: (last.get(key, (0, None))[0] + 1, last.get(key, (0, None))[1])
            for key in keys
        }
        assert places(event) == due
        last |= {key: (count, event.hash) for key, (count, _) in due.items()}
    for key, (count, leaf) in last.items():
        found = list(writers[0].events(series=key))
        assert [one.hash for one in found][-1] == leaf
        assert len(found) == count
        (newest,) = writers[0].events(
            series=key, tenant="default", order="desc", limit=1
        )
        assert newest.hash == leaf
    for writer in writers:
        writer.close()
    report = verify(folder / "l.db", home=folder / "home")
    assert report.integrity == "intact", report.findings
    assert (
        verify(folder / "l.db", home=folder / "home", fast=True).integrity == "intact"
    )


def test_a_series_is_no_wider_than_its_key(ledger: Ledger) -> None:
    """An event that is about the digest of a key is of no series for it."""
    decoy = ("decoy", f"sha256:{series_digest('a').hex()}")
    ledger.append("note.added", {"text": "1"}, series=["a"])
    ledger.append("note.added", {"text": "2"}, subject=[decoy])
    third = ledger.append("note.added", {"text": "3"}, subject=[decoy], series=["a"])
    assert places(third)["a"][0] == 2
    assert [one.seq for one in ledger.events(series="a")] == [1, 3]
    assert [one.seq for one in ledger.events(series="a", limit=1)] == [1]
    assert sound(ledger)


# --- ledgers of earlier versions -----------------------------------------------------


def test_older_ledgers_have_no_series(tmp_path: Path) -> None:
    """There a claim is stated as ever, and what is asked for expressly is refused."""
    kept = first_edition("kernel", tmp_path)
    with muniment.open(kept.path) as ledger:
        stated = ledger.append("claim.stated", {"id": "c1", "text": "x"})
        assert stated.series == ()
        with pytest.raises(RefusedError, match=r"knows no series.*successor"):
            ledger.append("note.added", {"text": "x"}, series=["a"])
        with ledger.run("triage") as run:
            run.record("claim.stated", {"id": "c1", "text": "x"})
            with pytest.raises(RefusedError, match="knows no series"):
                run.record("note.added", {"text": "x"}, series=["a"])
        assert list(ledger.events(series="claim/c1")) == []
    assert verify(kept.path).integrity == "intact"
