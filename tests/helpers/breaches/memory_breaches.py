"""What breaks the sentences of ``trust-home.md`` on what is remembered of ledgers."""

from __future__ import annotations

import json
from typing import Any

from forge import Forge, keyid, make_key
from remembering import EVENTS, known, older, told
from worlds import World, breaks

# --- what was seen --------------------------------------------------------------------


def _seen(world: World, forge: Forge, **at: Any) -> None:
    """Have *forge* in the place where the ledger of the world was verified."""
    while len(world.forge.rows) < EVENTS:
        world.note(str(len(world.forge.rows)))
    assert world.verified(remember=True).ok
    world.place.unlink()
    world.place = at.get("place", world.place)
    forge.write(world.place)


_WRONG = (
    "A verifier MUST report as wrong - a ledger that has another root than an entry"
)


@breaks("trust-home", _WRONG, rule="head/forked")
def another_root_than_was_seen(world: World, wrong: bool) -> None:
    """Tell another history, just as long, at another place."""
    story = older(story="other" if wrong else "")
    _seen(world, story, place=world.folder / "copy.db")


@breaks("trust-home", _WRONG, rule="head/truncated")
def fewer_events_than_were_seen_here(world: World, wrong: bool) -> None:
    """Put an older copy into the place."""
    _seen(world, older(EVENTS - 2 if wrong else EVENTS))


@breaks("trust-home", _WRONG, rule="head/truncated")
def fewer_events_than_an_anchor(world: World, wrong: bool) -> None:
    """Have an anchor of more events than there are."""
    world.note()
    whole = older(len(world.forge.rows) + 1)
    world.anchor = world.folder / "anchor"
    world.anchor.write_bytes((whole if wrong else world.forge).note())


@breaks(
    "trust-home",
    "a verifier MUST say so, and MUST call its completeness unchecked",
    rule={"an older copy", "unchecked"},
)
def fewer_events_elsewhere(world: World, wrong: bool) -> set[str]:
    """Have an older copy at a place that nobody knows."""
    copy = older(EVENTS - 2 if wrong else EVENTS)
    _seen(world, copy, place=world.folder / "copy.db")
    said = any("this is an older copy" in one for one in world.verified().notes)
    return told(world) | ({"an older copy"} if said else set())


@breaks(
    "trust-home",
    "It MUST NOT replace an entry by one of another ledger or of fewer events",
    rule={"an older copy", "unchecked"},
)
def an_entry_of_less(world: World, wrong: bool) -> set[str]:
    """Remember what was seen of an older copy, in the place of the whole."""
    _seen(world, older(EVENTS - 2 if wrong else EVENTS))
    world.verified(remember=True)
    said = json.loads((world.home.path / "seen.json").read_bytes())
    assert [one["size"] for one in said.values()] == [EVENTS] * len(said)
    copy = world.place.rename(world.folder / "copy.db")
    world.place = copy
    said = any("this is an older copy" in one for one in world.verified().notes)
    return told(world) | ({"an older copy"} if said else set())


@breaks(
    "trust-home",
    "A verifier that cannot write it MUST say so, and MUST NOT judge",
    rule={"not remembered"},
)
def a_home_that_takes_nothing(world: World, wrong: bool) -> set[str]:
    """Have something in the place of the lock."""
    known(world)
    if wrong:
        (world.home.path / "lock").unlink()
        (world.home.path / "lock").mkdir()
    report = world.verified(remember=True)
    assert report.ok, str(report)
    return {"not remembered" for one in report.notes if one.startswith("not rememb")}


# --- pins -----------------------------------------------------------------------------


@breaks(
    "trust-home",
    "A verifier MUST NOT call a ledger pinned unless a root of it is",
    rule={"self-asserted"},
)
def a_pin_of_a_writer(world: World, wrong: bool) -> set[str]:
    """Pin a key of the ledger that is no root."""
    world.keys = [keyid(world.forge.key("writer" if wrong else "root"))]
    return {world.verified().authenticity} - {"pinned"}


@breaks(
    "trust-home",
    "It MUST report a pin that is not a key of the ledger as wrong",
    rule="key/pin",
)
def a_pin_of_a_stranger(world: World, wrong: bool) -> None:
    """Pin a key that the ledger never had, beside its root."""
    known(world)
    other = make_key("stranger" if wrong else "one/writer")
    world.home.pin(world.forge.ledger, keyid(other))


@breaks(
    "trust-home",
    "A verifier MUST NOT write a pin that no person gave",
    rule={"self-asserted"},
)
def no_pin_at_all(world: World, wrong: bool) -> set[str]:
    """Trust on first use: the second verification knows no more than the first."""
    world.keys = None
    if not wrong:
        world.home.pin(world.forge.ledger, keyid(world.forge.key("root")))
    world.verified(trust_on_first_use=True, remember=True)
    return {world.verified().authenticity} - {"pinned"}


# --- notes ----------------------------------------------------------------------------


def _anchored(world: World, note: bytes) -> None:
    world.anchor = world.folder / "anchor"
    world.anchor.write_bytes(note)


_UNCOUNTED = "If anchors are given and none of them counts, it MUST report"


@breaks("trust-home", _UNCOUNTED, rule="anchor/unsigned")
def an_anchor_by_a_stranger(world: World, wrong: bool) -> None:
    """Give a note that no key of the ledger signed."""
    known(world)
    signer = make_key("stranger") if wrong else None
    _anchored(world, world.forge.note(signer=signer))


@breaks("trust-home", _UNCOUNTED, rule="anchor/format")
def an_anchor_of_no_events(world: World, wrong: bool) -> None:
    """Give a note of size 0, with which every log agrees."""
    known(world)
    _anchored(world, world.forge.note(0 if wrong else None))


@breaks("trust-home", _UNCOUNTED, rule="anchor/format")
def a_file_without_anchors(world: World, wrong: bool) -> None:
    """Give a file that is empty."""
    known(world)
    _anchored(world, b"" if wrong else world.forge.note())


@breaks(
    "trust-home",
    "a verifier MUST NOT take any other for a sign that events are missing or differ",
    rule="head/rolled-back",
)
def a_longer_note_in_the_home(world: World, wrong: bool) -> None:
    """Remember more events: by the log, or by a stranger, which says nothing."""
    known(world)
    longer = older(EVENTS + 2)
    signer = None if wrong else make_key("stranger")
    world.home.remember(world.place, world.forge.ledger)
    world.home.anchor(world.forge.ledger, longer.note(signer=signer))


@breaks(
    "trust-home",
    "then a verifier MUST NOT call completeness checked, unless the head memory agrees",
    rule={"unchecked"},
)
def a_longer_note_by_a_key_that_may_come(world: World, wrong: bool) -> set[str]:
    """Remember more events by an unknown key, without a head that says otherwise."""
    folder = known(world)
    longer = older(EVENTS + 2).note(signer=make_key("stranger"))
    world.home.anchor(world.forge.ledger, longer)
    if wrong:
        (folder / "head").unlink()
    return told(world)
