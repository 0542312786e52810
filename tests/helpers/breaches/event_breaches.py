"""What breaks the sentences of ``event.md``: an event, signed by those who may."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from typing import Any

from attacking import tampering
from families import CHILD, OTHER, Data, Family
from forge import RUN, Forge, entry, keyid
from forged import b64, named
from worlds import World, breaks

__all__ = ["Data"]


# --- claims, types and data ----------------------------------------------------------


@breaks(
    "event",
    "a verifier MUST NOT conclude anything from them except that a writer made them",
    rule="key/role",
)
def an_actor_who_says_to_be_the_root(world: World, wrong: bool) -> None:
    """Enrol a key in the name of the root."""
    signer = "writer" if wrong else "root"
    data = entry(world.forge.key("third"), ["writer"], world.forge.ledger)
    actor = keyid(world.forge.key("root"))
    world.forge.append(
        "key.enrolled", data, signer=world.forge.key(signer), actor=actor
    )


@breaks(
    "event", "MUST compare the known fields of the kernel's types", rule="event/data"
)
def a_field_that_is_left_out(world: World, wrong: bool) -> None:
    """Start a run without a seed."""
    data = {"name": "x"} | ({} if wrong else {"seed": "0"})
    world.forge.append("run.started", data, run=RUN)


@breaks(
    "event", "MUST compare the known fields of the kernel's types", rule="event/data"
)
def a_field_of_another_type(world: World, wrong: bool) -> None:
    """Have a number for a text."""
    world.forge.append("note.added", {"text": 7 if wrong else "7"})


@breaks(
    "event",
    "An integer or a number with a tag MUST have the one spelling",
    rule="event/data",
)
def a_number_that_is_none(world: World, wrong: bool) -> None:
    """Have something else in the tag of a number."""
    tested = {"name": "x", "transform": "y", "passed": True}
    difference = {"$float": True if wrong else "3.0"}
    world.forge.append("property.tested", tested | {"difference": difference})


@breaks("event", "what may follow an end MUST stand in the scope", rule="run/scope")
def a_resumption_in_a_lane(world: World, wrong: bool) -> None:
    """Resume a run elsewhere than in its own scope."""
    world.start()
    world.forge.append("run.interrupted", {"reason": "x"}, run=RUN)
    resumed = {"generation": 1}
    world.forge.append("run.resumed", resumed, run=RUN, scope="a" if wrong else "")


@breaks("event", "says who answered it. It MUST be an object", rule="fork/answer")
def an_answer_of_nobody(world: World, wrong: bool) -> None:
    """Say that nothing answered."""
    world.start()
    world.forge.append("tool.requested", {}, run=RUN, ordinal=1)
    by = None if wrong else {"who": "performer"}
    world.forge.append("tool.completed", {"answered_by": by}, run=RUN, ordinal=1)


@breaks(
    "event",
    "A reader MUST keep events of types and versions that it does not know, and MUST "
    "judge them like all others",
    rule="event/subject",
)
def a_type_that_nobody_knows(world: World, wrong: bool) -> None:
    """Be about other data, in an event of the future."""
    about = [{"digest": {"sha256": "ab" * 32}, "name": "data.json"}]
    more: dict[str, Any] = {"subject": about} if wrong else {}
    world.forge.append("acme.future", {"from": "2030"}, **more)


@breaks(
    "event",
    "Content that may be personal MUST NOT stand in the payload",
    rule="event/data",
)
def a_message_in_the_payload(world: World, wrong: bool) -> None:
    """Say why a run failed where no erasure can reach."""
    world.start()
    message = "Ms Doe was here" if wrong else world.forge.blob(b'"Ms Doe was here"')
    world.forge.end_run(RUN, "run.failed", error_type="E", message=message)


@breaks(
    "event",
    "MUST NOT call an event wrong because its blob was erased",
    rule="blob/missing",
)
def a_blob_that_is_gone(world: World, wrong: bool) -> None:
    """Have an erasure for it, or none."""
    reference = world.forge.blob(b"gone")
    world.forge.append("note.added", {"text": "x", "details": reference})
    world.forge.blobs[-1] = (*world.forge.blobs[-1][:2], None)
    if not wrong:
        erased = {"blobs": [reference["$blob"]], "reason": "x"}
        world.forge.append("blob.erased", erased)


@breaks("event", "same run, and MUST NOT from another one", rule="blob/run")
def a_blob_of_two_runs(world: World, wrong: bool) -> None:
    """Refer from one run to what another one has."""
    world.start("OTHER")
    world.start()
    data = {"text": "x", "details": world.forge.blob(b"content")}
    world.forge.append("note.added", data, run=RUN)
    world.forge.append("note.added", data, run="OTHER" if wrong else RUN)


# --- series ---------------------------------------------------------------------------


@breaks("event", "Its `count` MUST be one more", rule="series/count")
def a_number_left_out(world: World, wrong: bool) -> None:
    """Count from one to three."""
    first = world.note(series={"a": {"count": 1}})
    second = {"count": 3 if wrong else 2, "prev": first.hash.hex()}
    world.note(series={"a": second})


@breaks("event", "and its `prev` MUST be that event's leaf hash", rule="series/prev")
def another_predecessor(world: World, wrong: bool) -> None:
    """Follow an event of another series."""
    first = world.note(series={"a": {"count": 1}})
    other = world.note(series={"b": {"count": 1}})
    before = other if wrong else first
    world.note(series={"a": {"count": 2, "prev": before.hash.hex()}})


# --- keys -----------------------------------------------------------------------------

_IDENTITY = b"\1" + bytes(31)
_ANYTHING = _IDENTITY + bytes(32)
"""A signature by the point of order one: it holds for every message, by the equation."""


def _enrolled(world: World, public: bytes, proof: bytes) -> None:
    data = {
        "keyid": named(public),
        "possession": {"writer": b64(proof)},
        "public": b64(public),
        "roles": ["writer"],
    }
    world.forge.append("key.enrolled", data, signer=world.forge.key("root"))


def _known_key(world: World) -> None:
    world.forge.enrol("third", ["writer"])


@breaks("event", "Public keys MUST be 32 bytes", rule="key/length")
def a_key_of_31_bytes(world: World, wrong: bool) -> None:
    """Enrol what is too short."""
    if wrong:
        _enrolled(world, bytes(range(31)), bytes(64))
    else:
        _known_key(world)


@breaks("event", "Readers MUST refuse the 14 encodings", rule="key/low-order")
def a_key_for_which_everybody_signs(world: World, wrong: bool) -> None:
    """Enrol the point of order one; its proof of possession holds."""
    if wrong:
        _enrolled(world, _IDENTITY, _ANYTHING)
    else:
        _known_key(world)


@breaks("event", "Readers MUST refuse the 14 encodings", rule="key/non-canonical")
def a_coordinate_above_the_prime(world: World, wrong: bool) -> None:
    """Enrol a coordinate that is not below the prime, and of no low order."""
    if wrong:
        _enrolled(world, (2**255 - 19 + 3).to_bytes(32, "little"), bytes(64))
    else:
        _known_key(world)


@breaks(
    "event", "From version 4 on, these events MUST NOT stand in a run", rule="run/order"
)
def a_key_in_a_run(world: World, wrong: bool) -> None:
    """Enrol a key as an event of a run."""
    world.start()
    more: dict[str, Any] = {"run": RUN} if wrong else {}
    world.forge.enrol("third", ["writer"], **more)


@breaks(
    "event", "From version 4 on, these events MUST NOT stand in a run", rule="run/order"
)
def a_revocation_in_a_run(world: World, wrong: bool) -> None:
    """Revoke a key as an event of a run."""
    world.start()
    _known_key(world)
    data = {"keyid": keyid(world.forge.key("third")), "reason": "x"}
    more: dict[str, Any] = {"run": RUN, "scope": "a"} if wrong else {}
    world.forge.append("key.revoked", data, signer=world.forge.key("root"), **more)


# --- runs -----------------------------------------------------------------------------


@breaks(
    "event",
    "From version 2 on, no event of the run MUST follow an end at all",
    rule="run/after-end",
)
def a_fact_after_an_interruption(world: World, wrong: bool) -> None:
    """Go on without having been resumed."""
    world.start()
    world.forge.append("run.interrupted", {"reason": "x"}, run=RUN)
    if not wrong:
        world.forge.append("run.resumed", {"generation": 1}, run=RUN)
    world.note(run=RUN)


@breaks("event", "a segment MUST NOT begin with `$`", rule="run/scope")
def a_scope_with_a_dollar_sign(world: World, wrong: bool) -> None:
    """Record a fact below a scope that no program can open."""
    world.start()
    world.note(run=RUN, scope="map/$x/0" if wrong else "map/x$/0")


def _family(event: str = "", *path: Any, to: Any = None, content: bytes = b"7") -> Any:
    """Return what writes a family, with one member of one event changed."""

    def spoil(data: Data) -> None:
        inside: Any = data
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = to

    def case(world: World, wrong: bool) -> None:
        told = Family(world.forge)
        if wrong and event:
            told.event, told.spoil = event, spoil
        told.write(content if wrong else b"7")

    return case


for _name, _sentence, _case, _rules in (
    (
        "a parent that had not started",
        "the `run` of `parent` MUST have started before the child",
        _family("child", "parent", "run", to="01JD3Z8M6Q4W0V9K2T7N5RYXCE"),
        {"child/parent", "child/result"},
    ),
    (
        "another root",
        "`root` MUST be the root of that run",
        _family("child", "parent", "root", to=OTHER),
        {"child/parent"},
    ),
    (
        "a child about nothing",
        "the start of a child MUST be about its call and its parent",
        _family("child", "subject", to=[]),
        {"child/parent"},
    ),
    (
        "another child",
        "of a call that was performed MUST name a child whose `parent` names",
        _family("called", "about", "leaf", to="ab" * 32),
        {"child/result"},
    ),
    (
        "another value",
        "its `value` MUST have the content of the `result` there",
        _family(content=b"9"),
        {"child/result"},
    ),
):
    _case.__name__ = _name
    breaks("event", _sentence, rule=_rules)(_case)


@breaks(
    "event",
    "of a call that was performed MUST name a child whose `parent` names",
    rule="child/result",
)
def a_child_of_another_call(world: World, wrong: bool) -> None:
    """Answer two calls with one child."""
    told = Family(world.forge)

    def first(data: Data) -> None:
        leaf = told.rows["ended"].hash.hex()
        world.forge.blobs.pop()
        data |= {"about": {"run": CHILD, "leaf": leaf}, "value": told.blob(b"7", "z")}

    if wrong:
        told.event, told.spoil = "called again", first
    told.write()


# --- the file -------------------------------------------------------------------------


@breaks("event", "It MUST have exactly these objects", rule="schema/object")
def a_planted_table(world: World, wrong: bool) -> None:
    """Plant a table beside those of the ledger."""
    world.note()
    with closing(sqlite3.connect(world.write())) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("CREATE TABLE planted (x)" if wrong else "SELECT 1")


@breaks("event", "It MUST have exactly these objects", rule="schema/object")
def a_trigger_that_is_gone(world: World, wrong: bool) -> None:
    """Drop what guards against accidents."""
    world.note()
    with closing(sqlite3.connect(world.write())) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("DROP TRIGGER event_no_update" if wrong else "SELECT 1")


def _column(sql: str, rules: str | set[str]) -> None:
    """Enter a case in which *sql* changes a column."""

    def case(world: World, wrong: bool) -> None:
        world.start()
        reference = world.forge.blob(b"content")
        world.forge.append("note.added", {"text": "x", "details": reference}, run=RUN)
        world.forge.checkpoint()
        with tampering(world.write()) as connection:
            connection.execute(sql if wrong else "SELECT 1")

    case.__name__ = sql
    sentence = "and a verifier MUST recompute it"
    breaks("event", sentence, rule=rules)(case)


_column("UPDATE event SET type = 'note.edited' WHERE seq = 2", "event/column")
_column("UPDATE event SET run = NULL WHERE seq = 2", "event/column")
_column(
    "UPDATE event SET hash = zeroblob(32) WHERE seq = 2",
    {"checkpoint/root", "event/leaf-hash"},
)
_column("UPDATE subject SET digest = zeroblob(32)", "subject/row")
_column("UPDATE blob SET seq = 1", "blob/unreferenced")
_column("UPDATE blob SET data = zeroblob(length(data))", "blob/commitment")
_column("UPDATE checkpoint SET size = 2", "checkpoint/size")


@cache
def _long() -> Forge:
    """Return a ledger with a tile."""
    forge = Forge("one").open()
    while len(forge.rows) < 256:
        forge.append("note.added", {"text": "x"})
    return forge


@breaks("event", "and a verifier MUST recompute it", rule="tile/hash")
def another_tile(world: World, wrong: bool) -> None:
    """Have another root for the first 256 events."""
    world.forge = _long().copy()
    with tampering(world.write()) as connection:
        connection.execute(
            "UPDATE tile SET hash = zeroblob(32)" if wrong else "SELECT 1"
        )
