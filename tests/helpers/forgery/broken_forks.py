"""Forks that break what the specification says of them, signed by the writer's own key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from forge import RUN, Forge, Row

__all__ = ["BREACHES", "CHANGED", "ForkedWorld", "forked"]

FORK = "01JD3Z8M6Q4W0V9K2T7N5RYXCC"
CHANGED = b'["Rome"]'


@dataclass
class ForkedWorld:
    """A run of two effects and a clock, and a fork that it answers, with one change."""

    forge: Forge
    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    spoil: Callable[[str, dict[str, Any]], None] = lambda *_: None
    last: int = 0
    """Changes the data of an event of the fork before it is signed."""

    def add(
        self, name: str, run: str, kind: str, data: dict[str, Any], **chain: Any
    ) -> None:
        """Write an event, and remember it by *name*."""
        self.spoil(name, data)
        chain |= {key: data.pop(key) for key in ("subject",) if key in data}
        row = self.rows[name] = self.forge.append(kind, data, run=run, **chain)
        self.last = json.loads(row.payload)["predicate"]["muniment"]["ordinal"]

    def end(self, name: str, run: str, kind: str, data: dict[str, Any]) -> None:
        """Write the outcome of what was asked for last."""
        self.add(name, run, kind, data, ordinal=self.last)

    def blob(self, content: bytes, salt: str) -> dict[str, Any]:
        """Refer to *content* behind a commitment of its own."""
        kept = hashlib.sha256(salt.encode()).digest() + content
        digest = hashlib.sha256(kept).digest()
        self.forge.blobs.append((digest, len(self.forge.rows), kept))
        return {"$blob": f"sha256:{digest.hex()}", "size": len(content)}

    def origin(self) -> None:
        """Write the run that answers."""
        self.add("start", RUN, "run.started", {"name": "x", "seed": "0"})
        self.add("clock", RUN, "clock.read", {"time": "2026-11-20T07:23:41.096123Z"})
        for number in (2, 3):
            asked = {"request": self.blob(b'"ask %d"' % number, f"q{number}")}
            self.add(f"asked {number}", RUN, "tool.requested", asked)
            told = {"value": self.blob(b'"told %d"' % number, f"a{number}")}
            self.end(f"told {number}", RUN, "tool.completed", told)
        self.add("asked 4", RUN, "tool.requested", {"request": self.blob(b"4", "q4")})
        failed = {"error_type": "E", "message": self.blob(b'"down"', "m")}
        self.end("told 4", RUN, "tool.failed", failed)
        self.add("note", RUN, "note.added", {"text": "the end"})
        self.add("late", RUN, "tool.requested", {"request": self.blob(b"5", "q5")})
        late = {"value": self.blob(b"5", "a5")}
        self.end("told late", RUN, "tool.completed", late)

    def named(self, name: str, who: str = "record") -> dict[str, Any]:
        """Return how an event of the fork names what answered it."""
        row = self.rows[name]
        return {"who": who, "run": RUN, "seq": row.seq, "leaf": row.hash.hex()}

    def fork(self) -> None:
        """Write the fork."""
        at, changed = self.rows["note"], self.rows["told 3"]
        leaf, change = at.hash.hex(), {"seq": changed.seq, "leaf": changed.hash.hex()}
        told = {"run": RUN, "at": at.seq, "leaf": leaf, "changes": [change]}
        self.add(
            "fork",
            FORK,
            "run.started",
            {
                "name": "x",
                "seed": "0",
                "fork": told,
                "changed": self.blob(CHANGED, "changed"),
            },
            subject=[{"digest": {"sha256": leaf}, "name": "fork"}],
        )
        time = json.loads(self.rows["clock"].payload)["predicate"]["data"]["time"]
        read = {"time": time, "answered_by": self.named("clock")}
        self.add("fork clock", FORK, "clock.read", read)
        values = {2: ("record", b'"told 2"'), 3: ("change", b'"Rome"')}
        for number, (who, value) in values.items():
            asked = {"request": self.blob(b'"ask %d"' % number, f"fq{number}")}
            self.add(f"fork asked {number}", FORK, "tool.requested", asked)
            answer = {
                "answered_by": self.named(f"told {number}", who),
                "value": self.blob(value, f"fa{number}"),
            }
            name = f"fork told {number}"
            self.end(name, FORK, "tool.completed", answer)
        self.add(
            "fork asked 4", FORK, "tool.requested", {"request": self.blob(b"4", "f")}
        )
        failed = {
            "answered_by": self.named("told 4"),
            "error_type": "E",
            "message": self.blob(b'"down"', "fm"),
        }
        self.end("fork told 4", FORK, "tool.failed", failed)
        self.add("last", FORK, "note.added", {"text": "the end"})


Spoil = Callable[[ForkedWorld, dict[str, Any]], None]


def forked(event: str = "", spoil: Spoil = lambda *_: None) -> Callable[[Forge], None]:
    """Return what writes origin and fork, with the data of one *event* spoiled."""

    def breaks(forge: Forge) -> None:
        world = ForkedWorld(forge)

        def one(name: str, data: dict[str, Any]) -> None:
            if name == event:
                spoil(world, data)

        world.spoil = one
        world.origin()
        world.fork()

    return breaks


def _fork(**changes: Any) -> Spoil:
    return lambda _, data: data["fork"].update(changes)


def _by(**changes: Any) -> Spoil:
    return lambda _, data: data["answered_by"].update(changes)


def _named(name: str, **changes: Any) -> Spoil:
    def spoil(world: ForkedWorld, data: dict[str, Any]) -> None:
        data["answered_by"] = world.named(name, **changes)

    return spoil


def _content(name: str, content: bytes) -> Spoil:
    def spoil(world: ForkedWorld, data: dict[str, Any]) -> None:
        world.forge.blobs.pop()  # that nobody refers to any more
        data[name] = world.blob(content, "another")

    return spoil


def _change(name: str, **changes: Any) -> Spoil:
    def spoil(world: ForkedWorld, data: dict[str, Any]) -> None:
        row = world.rows[name]
        told = {"seq": row.seq, "leaf": row.hash.hex()} | changes
        data["fork"]["changes"] = [told]

    return spoil


def _at(name: str, **changes: Any) -> Spoil:
    def spoil(world: ForkedWorld, data: dict[str, Any]) -> None:
        row = world.rows[name]
        data["fork"] |= {"at": row.seq, "leaf": row.hash.hex()} | changes

    return spoil


def _lacking(name: str) -> Spoil:
    return lambda _, data: data["fork"].pop(name)


def _put(**fields: Any) -> Spoil:
    return lambda _, data: data.update(fields)


START = "the event `at` MUST be an event of the origin before the fork"
LEAF = "MUST have that leaf hash, and the fork MUST be about it"
CHANGE = "each change MUST name an outcome of the origin up to `at`"
IN_FORK = "an answer from a record MUST be in a fork"
ANSWER = "MUST name an outcome of its origin up to `at`, in the same scope"
FACT = "any other event of a run MUST NOT have an `answered_by` with these four members"
NAME = "its name, params, labels and tenant MUST be those of the origin"
REQUEST = "its request MUST repeat the origin's request"
FIRST = "it MUST answer the first attempt, of which nothing MUST have been streamed"
CONTENT = "it MUST repeat the outcome that it names"
MORE = "its data MUST NOT have other members"
PERFORMED = "an effect that the origin answers MUST NOT be performed"
DECLARED = "where `who` is `change`, a change MUST name that outcome"
VALUE = "the value MUST be the declared one"
OTHERWISE = "an outcome that is changed MUST NOT answer otherwise"
CLOCK = "a `clock.read` MUST repeat the one that it names"
OTHER = "ab" * 32

BREACHES: dict[str, tuple[str, str, Spoil, str]] = {
    "a fork of an event that is not there": (START, "fork", _fork(at=99), "origin"),
    "a fork of the genesis": (START, "fork", _fork(at=0), "origin"),
    "a fork without a number": (START, "fork", _lacking("at"), "origin"),
    "a fork of an odd run": (START, "fork", _fork(run=FORK), "origin"),
    "a fork of another leaf": (LEAF, "fork", _fork(leaf=OTHER), "origin"),
    "a fork about something else": (
        LEAF,
        "fork",
        _put(subject=[{"digest": {"sha256": OTHER}, "name": "fork"}]),
        "origin",
    ),
    "a change of a request": (CHANGE, "fork", _change("asked 2"), "origin"),
    "a change of a later outcome": (CHANGE, "fork", _change("told late"), "origin"),
    "a change of another leaf": (
        CHANGE,
        "fork",
        _change("told 3", leaf=OTHER),
        "origin",
    ),
    "a fact with an answer": (FACT, "last", _named("told 2"), "answer"),
    "a fork of another name": (NAME, "fork", _put(name="y"), "origin"),
    "an answer to a further attempt": (
        FIRST,
        "fork asked 2",
        _put(attempt=2),
        "answer",
    ),
    "a change with a reason": (MORE, "fork told 3", _put(reason="x"), "answer"),
    "an answer that was performed": (
        PERFORMED,
        "fork told 2",
        _put(answered_by={"who": "performer"}),
        "answer",
    ),
    "an answer in no fork": (
        IN_FORK,
        "told 3",
        _named("told 2"),
        "answer",
    ),
    "an answer of another run": (ANSWER, "fork told 2", _by(run=FORK), "answer"),
    "an answer after the event": (ANSWER, "fork told 2", _named("told late"), "answer"),
    "an answer of another leaf": (ANSWER, "fork told 2", _by(leaf=OTHER), "answer"),
    "an answer with an odd number": (ANSWER, "fork told 2", _by(seq="6"), "answer"),
    "an answer out of the fork itself": (
        ANSWER,
        "fork told 3",
        _named("fork told 2"),
        "answer",
    ),
    "an answer to another request": (
        REQUEST,
        "fork asked 2",
        _content("request", b'"ask 9"'),
        "answer",
    ),
    "an answer that is another's": (REQUEST, "fork told 2", _named("told 3"), "answer"),
    "another answer": (
        CONTENT,
        "fork told 2",
        _content("value", b'"told 9"'),
        "answer",
    ),
    "another failure": (CONTENT, "fork told 4", _put(error_type="F"), "answer"),
    "another message": (
        CONTENT,
        "fork told 4",
        _content("message", b'"up!!"'),
        "answer",
    ),
    "an undeclared change": (DECLARED, "fork told 2", _by(who="change"), "answer"),
    "another change": (VALUE, "fork told 3", _content("value", b'"Bari"'), "answer"),
    "a change that is not said": (
        OTHERWISE,
        "fork told 3",
        _by(who="record"),
        "answer",
    ),
    "another time": (
        CLOCK,
        "fork clock",
        _put(time="2026-11-20T07:23:41.096124Z"),
        "answer",
    ),
}
"""What is broken → the sentence, the event, what spoils it, and the rule."""
