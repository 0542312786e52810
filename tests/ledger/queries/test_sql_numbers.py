"""Numbers in views: whatever JSON must spell otherwise, SQL adds up and compares."""

from __future__ import annotations

from typing import Annotated

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
