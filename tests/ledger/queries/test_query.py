"""Every filter against the list that it should give; times; pages; limits."""

from __future__ import annotations

import fnmatch
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import UsageError
from muniment.events.readable import readable
from muniment.formats.statement import Event, timestamp
from muniment.formats.tables import SCHEMA
from muniment.ledger import Ledger
from muniment.queries.filters import moment
from muniment.storage import lookup
from muniment.storage.lookup import events_of_run

NOW = datetime(2026, 11, 20, 7, 23, 41, 96123, tzinfo=UTC)
DIGESTS = [f"sha256:{digit * 64}" for digit in "abc"]
ACTORS, TENANTS = ["ada", "bob"], ["default", "other"]


@pytest.fixture(scope="module")
def filled(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Ledger, list[Event]]]:
    """Give a ledger with a little of everything, and all its events."""
    directory = tmp_path_factory.mktemp("query")

    def program(run: Any, number: int) -> int:
        run.record("claim.stated", {"id": f"c{number}", "text": "t", "acceptance": {}})
        run.effect("tool", {"name": "n", "query": number}, perform=lambda _: number)
        return number

    with pytest.MonkeyPatch.context() as patch:
        clock = iter(range(10_000))
        patch.setattr(
            "muniment.storage.sealing.timestamp",
            lambda _: timestamp(NOW + timedelta(seconds=next(clock) // 3)),
        )
        ledger = Ledger.create(
            directory / "ledger.db", home=directory / "home", plugins=(), actor="ada"
        )
        for number in range(12):
            ledger.append(
                "note.added",
                {"text": f'n{number} "ü" \n'},
                subject=[("s", DIGESTS[number % 3])] if number % 4 else [],
                actor=ACTORS[number % 2],
                tenant=TENANTS[number % 3 == 0],
            )
            if number % 3 == 0:
                ledger.execute(program, params={"number": number}, name=f"r{number}")
    yield ledger, list(ledger.events())
    ledger.close()


def _naive(events: list[Event], wanted: dict[str, Any]) -> list[Event]:
    kinds = (
        [*map(str.strip, wanted["type"].split(","))]
        if wanted["type"] is not None
        else None
    )
    found = [
        one
        for one in events
        if (kinds is None or any(fnmatch.fnmatchcase(one.type, k) for k in kinds))
        and (wanted["run"] is None or one.run == wanted["run"])
        and (wanted["since"] is None or one.when >= wanted["since"])
        and (wanted["until"] is None or one.when < wanted["until"])
        and (
            wanted["subject"] is None
            or any(subject.digest == wanted["subject"] for subject in one.subject)
        )
        and (wanted["actor"] is None or one.actor == wanted["actor"])
        and (wanted["tenant"] is None or one.tenant == wanted["tenant"])
        and (wanted["grep"] is None or wanted["grep"] in one.payload.decode())
        and one.seq >= wanted["from_seq"]
        and (wanted["to_seq"] is None or one.seq < wanted["to_seq"])
    ]
    if wanted["order"] == "desc":
        found.reverse()
    return found[: wanted["limit"]]


TYPES = [
    *("note.added", "tool.*", "*.started", "*", "run.*,note.added", "none.such"),
    *("r*n.s*", "t*", "tool.requested,tool.completed", "ledger.opened", ""),
    *("tool.requested, note.added,tool.requested", "no[st]e.?dded", "r*,*.added"),
]
MOMENTS = st.integers(-3, 40).map(lambda seconds: NOW + timedelta(seconds=seconds))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), page=st.sampled_from([1, 2, 7, 500]))
def test_filters_are_a_list_comprehension(
    filled: tuple[Ledger, list[Event]], data: st.DataObject, page: int
) -> None:
    """Any combination of filters, any order, any limit, any size of page."""
    ledger, events = filled
    runs = sorted({one.run for one in events if one.run})
    optional = {
        "type": st.sampled_from(TYPES),
        "run": st.sampled_from(runs),
        "since": MOMENTS,
        "until": MOMENTS,
        "subject": st.sampled_from([*DIGESTS, "sha256:" + "0" * 64]),
        "actor": st.sampled_from([*ACTORS, "nobody"]),
        "tenant": st.sampled_from(TENANTS),
        "grep": st.sampled_from(["n1", "ü", "claim", "zzz"]),
        "to_seq": st.integers(0, len(events) + 3),
        "limit": st.integers(0, len(events) + 3),
    }
    chosen = data.draw(st.sets(st.sampled_from(sorted(optional)), max_size=4))
    wanted: dict[str, Any] = {
        name: data.draw(one) if name in chosen else None
        for name, one in optional.items()
    }
    wanted["from_seq"] = data.draw(st.integers(0, len(events) + 3))
    wanted["order"] = data.draw(st.sampled_from(["asc", "desc"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "PAGE", page)
        patch.setattr(lookup, "_APART", data.draw(st.sampled_from([0, 2, 50])))
        found = list(ledger.events(**wanted))
    assert [one.seq for one in found] == [one.seq for one in _naive(events, wanted)]


def test_pages_go_beyond_one(ledger: Ledger) -> None:
    """More than a page of events comes whole, both ways."""
    for _ in range(3):
        ledger.append_many([("note.added", {"text": "x"})] * 400)
    seqs = list(range(1201))
    assert [one.seq for one in ledger.events()] == seqs
    assert [one.seq for one in ledger.events(order="desc")] == seqs[::-1]
    assert [one.seq for one in ledger.events(type="note.*", limit=700)] == seqs[1:701]


def test_what_is_appended_meanwhile_is_not_half_there(ledger: Ledger) -> None:
    """A reader that began before an append gets what was there when it began."""
    ledger.append("note.added", {"text": "a"})
    reader = ledger.events()
    assert next(reader).seq == 0
    ledger.append("note.added", {"text": "b"})
    assert [one.seq for one in reader] == [1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("today", NOW.replace(hour=0, minute=0, second=0, microsecond=0)),
        ("yesterday", datetime(2026, 11, 19, tzinfo=UTC)),
        ("90s", NOW - timedelta(seconds=90)),
        ("15m", NOW - timedelta(minutes=15)),
        ("2h", NOW - timedelta(hours=2)),
        ("3d", NOW - timedelta(days=3)),
        ("1w", NOW - timedelta(weeks=1)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T07:00:00Z", datetime(2026, 11, 20, 7, tzinfo=UTC)),
        ("2026-11-20T07:00:00+02:00", datetime(2026, 11, 20, 5, tzinfo=UTC)),
        ("2026-11-20T07:00:00", datetime(2026, 11, 20, 7, tzinfo=UTC)),
    ],
)
def test_times(text: str, expected: datetime) -> None:
    """A time may be an age, a day's name, or RFC 3339."""
    assert moment(text, NOW) == expected


@given(text=st.text(max_size=12) | st.from_regex(r"[0-9]{1,12}[smhdw]", fullmatch=True))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    """No text makes `since` fail with anything but a usage error."""
    try:
        assert moment(text, NOW).tzinfo is not None
    except UsageError as error:
        assert "is not a time" in str(error)  # noqa: PT017 - either way is right


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"order": "up"}, "asc or desc"),
        ({"since": "soon"}, "not a time"),
        ({"subject": "sha256:12"}, "no digest begins"),
        ({"subject": "sha256:xy"}, "64 hex"),
        ({"subject": "sha256:"}, "64 hex"),
        ({"subject": "sha256:" + "a" * 65}, "64 hex"),
        ({"run": "01ZZ"}, "no run"),
        ({"limit": -1}, "limit"),
    ],
)
def test_what_cannot_be_asked(
    ledger: Ledger, wanted: dict[str, Any], message: str
) -> None:
    """A filter that means nothing is a usage error."""
    with pytest.raises(UsageError, match=message):
        ledger.events(**wanted)


def test_numbers_beyond_sqlite(ledger: Ledger) -> None:
    """Positions that no database has are simply not there."""
    assert list(ledger.events(from_seq=2**70)) == []
    assert list(ledger.events(to_seq=-(2**70))) == []
    assert [one.seq for one in ledger.events(to_seq=2**70)] == [0]
    for seq in (-1, 1, 2**70):
        with pytest.raises(UsageError, match="no event"):
            ledger.event(seq)


def test_a_row_that_claims_another_place(ledger: Ledger, tmp_path: Path) -> None:
    """A forged position does not send a reader in circles."""

    def program(run: Any) -> None:
        run.record("claim.stated", {"id": "c", "text": "t", "acceptance": {}})

    run = ledger.execute(program, name="p").run_id
    count = len(list(ledger.events()))
    ledger.close()
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute("DROP TRIGGER event_no_update")
        connection.execute(
            "UPDATE event SET payload = CAST(replace(CAST(payload AS TEXT), "
            "'\"seq\":' || seq, '\"seq\":0') AS BLOB)"
        )
        connection.execute(SCHEMA["event_no_update"])
    home = tmp_path / "nobody"
    with (
        pytest.MonkeyPatch.context() as patch,
        Ledger.open(ledger.path, home=home, plugins=(), readonly=True) as forged,
    ):
        patch.setattr(lookup, "PAGE", 1)
        assert len(list(forged.events())) == count
        assert len(list(events_of_run(forged.store.database, run))) == count - 1


def test_grep_finds_what_was_written(ledger: Ledger) -> None:
    """Quotes, line ends and other scripts are found as the program wrote them."""
    ledger.append("note.added", {"text": 'say "ü" \n and \\ go'})
    for text in ('"ü"', "\n and", "\\ go", 'say "'):
        assert [one.seq for one in ledger.events(grep=text)] == [1]
    assert list(ledger.events(grep="\\n")) == []


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_limit_is_what_is_read(
    filled: tuple[Ledger, list[Event]],
    order: Literal["asc", "desc"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who asks for one event of a long run does not wait for the others to be read."""
    ledger, events = filled
    run = next(one.run for one in events if one.run)
    read: list[Any] = []

    def counted(*row: Any, **known: Any) -> Event:
        read.append(row)
        return readable(*row, **known)

    monkeypatch.setattr(lookup, "readable", counted)
    (found,) = ledger.events(run=run, limit=1, order=order)
    assert found.run == run
    assert len(read) == 1
