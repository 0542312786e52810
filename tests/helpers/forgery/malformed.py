"""Malformed data of the kernel's event types, as a writer with a key could sign it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from forge import RUN, Forge
from misshapen import sound
from muniment.events.effect_kinds import KERNEL_KINDS
from muniment.events.effect_types import effect_types
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import EventType

__all__ = ["TYPES", "ledger_with", "variants"]

_KEYS = ("ledger.opened", "key.enrolled", "key.revoked", "key.rotated")
TYPES: dict[str, EventType] = {
    one.name: one
    for one in (
        *KERNEL_TYPES,
        *(made for kind in KERNEL_KINDS for made in effect_types(kind.name)),
    )
    if one.name not in _KEYS  # no writer may sign those
}

_GONE = object()
_OTHERS: tuple[Any, ...] = (
    _GONE,
    None,
    True,
    -1,
    2**53 - 1,
    0.5,
    "",
    "x" * 70,
    "\x1b[31m\u202e",
    "sha256:" + "0" * 64,
    [],
    [[]],
    ["x", 1, None],
    {},
    {"a": {"b": []}},
    {"$float": "nan"},
    {"$float": "3"},
    {"$none": 1},
    {"$object": ["acme.Ticket", {}]},
    {"$blob": 5},
    {"$blob": "sha256:" + "0" * 64, "size": -1},
    {"$blob": "sha256:" + "0" * 64},
)


def variants(one: EventType) -> Iterator[dict[str, Any]]:
    """Yield data with members dropped, retyped and added."""
    whole = sound(one)
    yield {}
    yield whole | {"unknown": [1, {"a": None}]}
    for name in whole:
        for other in _OTHERS:
            made = copy.deepcopy(whole)
            if other is _GONE:
                del made[name]
            else:
                made[name] = other
            yield made
    for other in _OTHERS[1:]:
        yield dict.fromkeys(whole, other)


def ledger_with(one: EventType) -> Forge:
    """Return a sound run among runs with one malformed event of the type each."""
    forge = Forge("one").open()
    started = {"name": "sound", "seed": "0" * 16, "labels": {"a": "b"}}
    forge.append("run.started", started, run=RUN)
    forge.append("note.added", {"text": "a sound note"}, run=RUN)
    for number, data in enumerate(variants(one)):
        if number % 3 == 2 and not one.name.startswith("run."):
            forge.append(one.name, data)
            continue
        run = f"01JD3Z8M6Q4W0V9K2T{number:08d}"
        if one.name != "run.started" and number % 3 == 0:
            forge.append("run.started", started | {"name": f"r{number}"}, run=run)
        forge.append(one.name, data, run=run)
    forge.end_run(RUN)
    forge.append("note.added", {"text": "after all of them"})
    return forge
