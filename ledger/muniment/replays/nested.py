"""What a recorded effect holds: effects that its performer asked for, and a child run.

    lanes_of(record, item)           {"": [Item …], "map/0": [Item …]}, by the lane inside
    child_called(ledger, record, item)  "01JD3…", the run that a call came to

Rules:

- Only a performer asks for something. Where a plugin, another record or a change answered
  instead, it cannot be known what would have been asked: that is None, and not nothing.
- Facts that a performer states are not listed: they say how it went, such as how often a
  provider was tried, and differ between honest runs.
- What is asked for inside an effect inside is that one's, and not listed twice.
- A call that failed names no run: its child is the one that started under its key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from muniment.recorded.compare import EFFECT_SCOPE
from muniment.recorded.descent import child_of
from muniment.recorded.items import Item
from muniment.recorded.match_keys import effect_scope, nth_key
from muniment.recorded.run import Recorded

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["child_called", "lanes_of", "was_performed"]


def was_performed(item: Item) -> bool:
    """Tell whether the effect was performed, and not answered by somebody else."""
    if not item.is_gated or item.outcome is None:
        return True
    by = cast("dict[str, object]", item.outcome.raw["answered_by"])
    return by.get("performed") is True  # its outcome was refused


def lanes_of(record: Recorded, item: Item) -> dict[str, list[Item]] | None:
    """Return the effects inside *item*, by lane; None where nobody performed it."""
    if not was_performed(item):
        return None
    own = effect_scope(item.scope, item.kind, item.ordinal)
    found: dict[str, list[Item]] = {}
    for scope in record.inside(item):
        effects = [one for one in scope.items if one.kind]
        lane = effects[0].scope.removeprefix(own).lstrip("/") if effects else ""
        if effects and EFFECT_SCOPE not in {part[:1] for part in lane.split("/")}:
            found[lane] = effects
    return found


def child_called(ledger: Ledger, record: Recorded, item: Item) -> str | None:
    """Return the child run that the effect *item* called; None if it called none here."""
    if item.kind != "child" or not was_performed(item):
        return None
    about = None if item.outcome is None else item.outcome.raw.get("about")
    run = about.get("run") if isinstance(about, dict) else None
    if not isinstance(run, str):
        alike = [one for one in record.scopes[item.scope].items if one.key == item.key]
        nth = next(at for at, one in enumerate(alike) if one is item)
        counted, place = {(item.scope, item.key): nth}, (item.scope, item.ordinal)
        parent = str(record.events[0].run)
        key = nth_key(parent, place, item.key, counted)
        run = child_of(ledger.store.database, parent, key)
    known = run is not None and any(ledger.events(run=run, limit=1))
    return run if known else None
