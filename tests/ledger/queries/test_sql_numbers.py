"""Numbers in views: whatever JSON must spell otherwise, SQL adds up and compares."""

from __future__ import annotations

from typing import Annotated

import pytest

from attacking import tampering
from muniment import TEXT, EventType, PlainData
from muniment.ledger import Ledger
from muniment.queries.sql import run_sql

NUMBERS = (2.25, 1.0, 3.0, -0.0, 1e22, 1e-7, 5e-324, 2.0**53, float("inf"))


class Weighed(PlainData):
    """A number, and a text beside it."""

    grams: float
    note: Annotated[str, TEXT]


def test_numbers_of_events_are_numbers(ledger: Ledger) -> None:
    """A float without fraction adds up and compares like any other number."""
    ledger.register(EventType("acme.weighed", Weighed))
    note = 'as text: {"$float":"7.0"}'
    for grams in NUMBERS:
        ledger.append("acme.weighed", {"grams": grams, "note": note})
    where = "FROM events WHERE type = 'acme.weighed'"
    found = run_sql(ledger.path, f"SELECT data->>'grams', data->>'note' {where}").rows
    assert found == [*((one, note) for one in NUMBERS[:-1]), ('{"$float":"inf"}', note)]
    assert {type(grams) for grams, _ in found[:-1]} == {float}
    few = run_sql(
        ledger.path, f"SELECT sum(data->>'grams') {where} AND data->>'grams' < 4"
    ).rows
    assert few == [(2.25 + 1.0 + 3.0 + 1e-7,)]
    whole = run_sql(ledger.path, f"SELECT json_group_array(json(data)) {where}").rows
    assert str(whole[0][0]).startswith('[{"grams":2.25,')


ODD = (
    *("007", "+1", "1.", ".5", "1e", "-", "", "\u0663", "nan", "0x1", "1e999"),
    *(b"\xff", b'1"}, "x": "', b"\xed\xa0\x80"),
)


@pytest.mark.parametrize("told", ODD, ids=repr)
def test_no_odd_number_hides_another_row(ledger: Ledger, told: str | bytes) -> None:
    """Who has a key writes what he likes: the other rows are read all the same."""
    ledger.register(EventType("acme.weighed", Weighed))
    for grams in (1.0, 2.0):
        ledger.append("acme.weighed", {"grams": grams, "note": "x"})
    raw = told if isinstance(told, bytes) else told.encode()
    with tampering(ledger.path) as file:
        (text,) = file.execute(
            "SELECT payload FROM event WHERE type = 'acme.weighed'"
        ).fetchone()
        odd = bytes(text).replace(b'{"$float":"1.0"}', b'{"$float":"' + raw + b'"}')
        assert odd != text
        file.execute("UPDATE event SET payload = ? WHERE payload = ?", (odd, text))
    where = "FROM events WHERE type = 'acme.weighed'"
    found = run_sql(ledger.path, f"SELECT typeof(data->>'grams') {where}").rows
    assert len(found) == 2
    assert found[1] == ("real",)
    heavy = run_sql(ledger.path, f"SELECT seq {where} AND data->>'grams' = 2").rows
    assert len(heavy) == 1
