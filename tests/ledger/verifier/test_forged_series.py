"""Series that somebody made up who signs correctly, and what is left of damaged ones."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacking import again, check, tampering
from forge import RUN, Forge, keyid
from muniment.ledger import Ledger
from muniment.verification.verify import verify

KEYS: tuple[str, ...] = ("a", "b", "claim/c1", "Nächte", "\U0001f600", "\ufeff")


# --- somebody who signs correctly ----------------------------------------------------


def forged(
    kinds: list[list[str]],
    change: Callable[[int, dict[str, Any], Forge], None],
    name: str = "one",
) -> Forge:
    """Return a signed ledger of events of these series, changed before they are signed."""
    forge = Forge(name).open()
    last: dict[str, tuple[int, str]] = {}
    for number, keys in enumerate(kinds):
        links: dict[str, Any] = {}
        for key in keys:
            count, prev = last.get(key, (0, ""))
            links[key] = {"count": count + 1} | ({"prev": prev} if prev else {})
        change(number, links, forge)
        more: dict[str, Any] = {"series": links} if links else {}
        row = forge.append("note.added", {"text": f"{number}"}, **more)
        last |= {key: (one["count"], row.hash.hex()) for key, one in links.items()}
    return forge


def left(_: int, __: dict[str, Any], ___: Forge) -> None:
    """Change nothing."""


def renumbered(by: int) -> Callable[[dict[str, Any], Forge], None]:
    """Return what gives an event another number."""

    def change(link: dict[str, Any], _: Forge) -> None:
        link["count"] += by

    return change


def follows(where: Callable[[Forge], str]) -> Callable[[dict[str, Any], Forge], None]:
    """Return what names another event as the one before."""

    def change(link: dict[str, Any], forge: Forge) -> None:
        link["prev"] = where(forge)

    return change


def begun_again(link: dict[str, Any], _: Forge) -> None:
    """Begin the series as if nothing had been."""
    link.clear()
    link["count"] = 1


def forked(link: dict[str, Any], forge: Forge) -> None:
    """Take the number and the predecessor of the event before."""
    link["count"] -= 1
    link["prev"] = forge.rows[1].hash.hex()


def of_another(_: Forge) -> str:
    """Return the hash of the second event of the same series in another ledger."""
    return forged([["a"]] * 3, left, "two").rows[2].hash.hex()


TAMPERINGS: dict[str, Callable[[dict[str, Any], Forge], None]] = {
    "dropped": renumbered(1),
    "renumbered": renumbered(7),
    "counted back": renumbered(-1),
    "a fork": forked,
    "begun again": begun_again,
    "of a foreign series": follows(lambda forge: forge.rows[2].hash.hex()),
    "of no event": follows(lambda _: "ab" * 32),
    "of another ledger": follows(of_another),
    "of its own future": follows(lambda forge: f"{len(forge.rows):064x}"),
}


@pytest.mark.parametrize("name", sorted(TAMPERINGS))
def test_each_tampering_is_found(name: str, tmp_path: Path) -> None:
    """Signed by the writer, chained and hashed as it must be: the series still tells."""
    kinds = [["a"], ["b"], ["a", "b"], ["a"], ["b"], ["a"]]
    assert check(forged(kinds, left), tmp_path / "l.db").ok

    def change(number: int, links: dict[str, Any], forge: Forge) -> None:
        if number == 3:
            TAMPERINGS[name](links["a"], forge)

    made = forged(kinds, change)
    for fast in (False, True):
        report = check(made, tmp_path / "l.db", fast=fast)
        assert report.exit_code == 1, str(report)
        assert {one.kind for one in report.findings} == {"series"}
        assert report.findings[0].seq == 4


def test_a_member_that_is_left_out_of_a_new_history_is_missed(tmp_path: Path) -> None:
    """Whoever signs the log again without one member leaves a number that is missing."""

    def change(number: int, links: dict[str, Any], forge: Forge) -> None:
        if number == 1:
            links.clear()  # the event stays, and says no more that it is of the series
        if number == 2:
            links["a"] = {"count": 3, "prev": forge.rows[1].hash.hex()}

    report = check(forged([["a"]] * 4, change), tmp_path / "l.db")
    assert [one.rule for one in report.findings] == ["series/count"]
    assert "number 3" in report.findings[0].message


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_false_place_is_found_wherever_it_is(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any honest series verifies; another number or predecessor anywhere does not."""
    some = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)
    kinds = data.draw(st.lists(some, min_size=2, max_size=10))
    file = tmp_path_factory.mktemp("false") / "l.db"
    assert check(forged(kinds, left), file).ok
    at = data.draw(st.integers(0, len(kinds) - 1))
    key = data.draw(st.sampled_from(kinds[at]))
    count = data.draw(st.integers(1, 12))
    prev = data.draw(st.sampled_from(range(len(kinds) + 1)))

    def change(number: int, links: dict[str, Any], forge: Forge) -> None:
        if number == at:
            told = forge.rows[min(prev, len(forge.rows) - 1)].hash.hex()
            links[key] = {"count": count} | ({"prev": told} if count > 1 else {})

    true = [key in one for one in kinds[:at]]
    before = [number for number, one in enumerate(true, 1) if one]
    honest = count == len(before) + 1 and (not before or min(prev, at) == before[-1])
    report = check(forged(kinds, change), file)
    assert report.ok is honest, str(report)
    if not honest:
        assert {one.kind for one in report.findings} == {"series"}


SHAPES: dict[str, Any] = {
    "null": None,
    "empty": {},
    "a list": ["a"],
    "no place": {"a": {}},
    "a number alone": {"a": 1},
    "no number": {"a": {"prev": "ab" * 32}},
    "zero": {"a": {"count": 0}},
    "true": {"a": {"count": True}},
    "a text": {"a": {"count": "1"}},
    "a first with one before": {"a": {"count": 1, "prev": "ab" * 32}},
    "a second without": {"a": {"count": 2}},
    "no hash": {"a": {"count": 2, "prev": "AB" * 32}},
    "null before": {"a": {"count": 1, "prev": None}},
    "a member more": {"a": {"count": 1, "more": 1}},
    "no key": {"": {"count": 1}},
    "a long key": {"x" * 257: {"count": 1}},
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_odd_shapes_are_found(name: str, tmp_path: Path) -> None:
    """What is not a key with its place is a finding, and no reader stumbles over it."""
    forge = Forge("one").open()
    forge.append("note.added", {"text": "x"}, series=SHAPES[name])
    report = check(forge, tmp_path / "l.db")
    assert report.exit_code == 1, str(report)
    assert "event/shape" in {one.rule for one in report.findings}


def test_a_genesis_is_of_no_series(tmp_path: Path) -> None:
    """Nothing can have come before it."""
    opening = json.loads(Forge("one").open().rows[0].payload)
    opening["predicate"]["muniment"]["series"] = {"a": {"count": 1}}
    forge = Forge("one")
    forge.add(opening, forge.key("root"))
    report = verify(forge.write(tmp_path / "l.db"), keys=[keyid(forge.key("root"))])
    assert "event/shape" in {one.rule for one in report.findings}


@pytest.mark.parametrize("version", [1, 2])
def test_no_event_of_an_older_ledger_may_have_one(version: int, tmp_path: Path) -> None:
    """It would be a member that no verifier of that version knows."""
    forge = Forge("one").open(event=version)
    forge.append("note.added", {"text": "x"}, series={"a": {"count": 1}})
    report = check(forge, tmp_path / "ledger.db")
    assert {one.rule for one in report.findings} >= {"event/shape"}
    assert report.exit_code == 1


# --- somebody without a key, and damage ----------------------------------------------


@pytest.mark.parametrize(
    "sql", ["DELETE FROM subject", "UPDATE subject SET digest = zeroblob(32)"]
)
def test_the_index_of_series_is_compared(sql: str, ledger: Ledger) -> None:
    """What a writer finds the last event of a series by is in the file, and judged."""
    ledger.append("note.added", {"text": "x"}, series=["a"])
    ledger.close()
    with tampering(ledger.path) as connection:
        connection.execute(sql)
    report = verify(ledger.path, home=ledger.home)
    assert "subject/row" in {one.rule for one in report.findings}


def test_damage_is_not_held_against_what_follows(tmp_path: Path) -> None:
    """A row that cannot be read may have been of the series: the next is not blamed."""
    made = forged([["a"]] * 5, left)
    file = made.write(tmp_path / "l.db")
    with tampering(file) as connection:
        connection.execute("UPDATE event SET payload = x'00' WHERE seq = 3")
    report = again(file)
    assert report.exit_code == 1
    assert {one.seq for one in report.findings} == {3}
    with tampering(file) as connection:
        connection.execute("DELETE FROM event WHERE seq = 3")
    report = again(file)
    assert "series" not in {one.kind for one in report.findings}


def test_a_changed_place_is_found_without_a_key(tmp_path: Path) -> None:
    """Every number and every hash of a series is covered by the signature."""
    made = forged([["a"]] * 3, left)
    file = made.write(tmp_path / "l.db")
    with tampering(file) as connection:
        connection.execute(
            "UPDATE event SET payload = CAST(replace(CAST(payload AS TEXT), "
            "'\"count\":2', '\"count\":9') AS BLOB) WHERE seq = 2"
        )
    report = again(file)
    assert report.exit_code == 1
    assert report.findings[0].seq == 2


def test_places_are_counted(tmp_path: Path) -> None:
    """A verification says how many places it compared."""
    report = check(forged([["a", "b"], [], ["a"]], left), tmp_path / "l.db")
    (count,) = (one for one in report.counts if one.what == "places in series")
    assert (count.compared, count.total) == (3, 3)


def test_a_reader_is_given_what_is_there(tmp_path: Path) -> None:
    """Odd series of one event hide no other, and say what they are."""
    forge = Forge("one").open()
    forge.append("note.added", {"text": "odd"}, run=None, series={"a": {"count": 0}})
    forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
    file = forge.write(tmp_path / "l.db")
    with Ledger.open(file, readonly=True, home=tmp_path / "home", plugins=()) as ledger:
        odd, fine = list(ledger.events())[1:]
    assert odd.fault
    assert not fine.fault
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM subject").fetchone() == (1,)
