"""Trust homes that know a ledger, and what a verifier says beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forge import Forge, keyid
from worlds import World

__all__ = ["EVENTS", "known", "older", "told"]

EVENTS = 5
"""How many events the worlds have."""


def known(world: World) -> Path:
    """Have a home that knows key, head and end of a ledger; return its folder there."""
    while len(world.forge.rows) < EVENTS:
        world.note(str(len(world.forge.rows)))
    ledger = world.forge.ledger
    world.home.pin(ledger, keyid(world.forge.key("root")))
    world.home.anchor(ledger, world.forge.note())
    with world.home.head_memory(ledger) as memory:
        memory.advance(EVENTS, world.forge.rows[-1].hash)
    world.keys = None
    return world.known


def told(world: World, **options: Any) -> set[str]:
    """Return what is found, and that completeness is not checked."""
    report = world.verified(**options)
    found = {one.rule for one in report.findings}
    unchecked = report.completeness == "unchecked"
    return found | ({"unchecked"} if unchecked else set())


def older(length: int = EVENTS, story: str = "") -> Forge:
    """Return *length* events of the ledger; a *story* tells another history."""
    forge = Forge("one").open()
    while len(forge.rows) < length:
        forge.append("note.added", {"text": story or str(len(forge.rows))})
    return forge
