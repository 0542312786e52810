"""Runs of graphs as whoever holds a key can write them: another run's facts, altered.

    facts = facts_of(ledger, run)
    forged = write_run(ledger, altered(facts, Random(7)))

What is written is signed, in a run of its own, below everything that refuses a fact.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from muniment.encoding.canonical import canonical, parse
from muniment.events.types import Content, Prepared
from muniment.formats.statement import BlobRef, Place
from muniment.ledger import Ledger
from muniment.runs.owner import ulid
from muniment.storage.sealing import Draft
from muniment_plugins.workflow.vocabulary import TYPES

__all__ = ["ODD", "ForgedFact", "altered", "facts_of", "write_run"]

NAMES = [one.name for one in TYPES if one.name.partition(".")[0] != "workflow"]
ODD: list[Any] = [
    None, True, -1, 0, 1, 7, 2**53 - 1, 1.5, "", "x", "act", "\n", "a/b", [], [None],
    ["x"], [1], [[]], {}, {"a": 1}, {"node": {}}, {"$float": "nan"}, {"$blob": 1},
    {"$blob": "sha256:" + "0" * 64, "size": 1}, {"$set": [1]},
]  # fmt: skip
SCOPES = ["", "act.1", "act.1/@stage.2", "act.0", "ask.1", "x", "a/b", "m.1/0", "f.1"]


@dataclass(frozen=True)
class ForgedFact:
    """An event of a run, with its contents at hand."""

    type: str
    scope: str
    ordinal: int
    inline: dict[str, Any]
    contents: dict[str, Any] = field(default_factory=dict[str, Any])


def facts_of(ledger: Ledger, run: str) -> list[ForgedFact]:
    """Return the events of *run*."""
    found: list[ForgedFact] = []
    for event in ledger.events(run=run):
        inline, contents = dict(event.raw), dict[str, Any]()
        for name, value in event.raw.items():
            if isinstance(value, dict) and "$blob" in value:
                contents[name] = parse(ledger.get_blob(BlobRef.from_json(value)))
                del inline[name]
        place = event.scope or "", event.ordinal or 0
        found.append(ForgedFact(event.type, *place, inline, contents))
    return found


def write_run(ledger: Ledger, facts: list[ForgedFact]) -> str:
    """Write *facts* as a run of its own, and return its id."""
    run, drafts = ulid(), list[Draft]()
    for one in facts:
        prepared = Prepared(
            ledger.port.types.get(one.type),
            dict(one.inline),
            {name: Content(canonical(value)) for name, value in one.contents.items()},
            (),
        )
        place = Place(run, one.scope, one.ordinal)
        drafts.append(Draft(prepared, place=place))
    ledger.store.append(drafts)
    return run


def altered(facts: list[ForgedFact], dice: Random) -> list[ForgedFact]:
    """Return *facts* with a few of them dropped, doubled, moved, renamed or changed."""
    made = copy.deepcopy(facts)
    for _ in range(dice.randint(1, 4)):
        if len(made) > 1:
            # The start stays the first: without it there is no run.
            number = dice.randrange(len(made))
            dice.choice(_WAYS)(made, number, dice)
    return made


def _drop(facts: list[ForgedFact], number: int, _: Random) -> None:
    if number:
        del facts[number]


def _double(facts: list[ForgedFact], number: int, dice: Random) -> None:
    if number:
        facts.insert(dice.randint(1, len(facts)), facts[number])


def _move(facts: list[ForgedFact], number: int, dice: Random) -> None:
    if number:
        facts.insert(dice.randint(1, len(facts) - 1), facts.pop(number))


def _rename(facts: list[ForgedFact], number: int, dice: Random) -> None:
    if number:
        facts[number] = replace(facts[number], type=dice.choice(NAMES))


def _rescope(facts: list[ForgedFact], number: int, dice: Random) -> None:
    if number:
        known = [*SCOPES, *(one.scope for one in facts)]
        facts[number] = replace(facts[number], scope=dice.choice(known))


def _remove(facts: list[ForgedFact], number: int, dice: Random) -> None:
    one = facts[number]
    for part in (one.inline, one.contents):
        if part and dice.random() < 0.7:
            part.pop(dice.choice([*part]))


def _change(facts: list[ForgedFact], number: int, dice: Random) -> None:
    part = facts[number].inline
    if part:
        part[dice.choice([*part])] = dice.choice(ODD)


def _change_inside(facts: list[ForgedFact], number: int, dice: Random) -> None:
    """Change something at any depth of a content."""
    part: Any = facts[number].contents or facts[number].inline
    while part:
        key: Any = (
            dice.choice([*part])
            if isinstance(part, dict)
            else dice.randrange(len(part))
        )
        inner = part[key]
        if not isinstance(inner, dict | list) or not inner or dice.random() < 0.3:
            part[key] = dice.choice(ODD)
            return
        part = inner


def _borrow(facts: list[ForgedFact], number: int, dice: Random) -> None:
    """Take a member from another fact."""
    other = dice.choice(facts).inline
    if other:
        name = dice.choice([*other])
        facts[number].inline[name] = other[name]


_WAYS = (
    _drop, _double, _move, _rename, _rescope, _remove, _change, _change, _change_inside,
    _borrow,
)  # fmt: skip
