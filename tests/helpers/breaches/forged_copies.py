"""A real fork of a real run, written again event by event, with lies of a writer in it.

Every event is signed and chained anew by the writer's key, and the end of the run counts
what is there: what a lie breaks is what a fork has to say of its origin, and nothing else.
"""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pluggy

from forge import Forge, keyid, root
from muniment.errors import EffectFailed
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment.runs.seams import GateAnswer
from muniment.verification.verify import Report, verify

__all__ = ["Entry", "ForkedRuns", "forked_runs", "members", "runs_in"]

hookimpl = pluggy.HookimplMarker("muniment")
LARGE = "x" * 5_000


@dataclass
class Entry:
    """One event to be written."""

    seq: int
    kind: str
    data: dict[str, Any]
    chain: dict[str, Any]
    subject: list[dict[str, Any]]
    """What it is about beside its own data."""


Lie = Callable[["ForkedRuns", list[Entry]], None]


@dataclass
class ForkedRuns:
    """The events of a ledger with a fork, and the blobs that they refer to."""

    entries: list[Entry]
    blobs: dict[str, bytes]
    leaves: list[str]
    origin: str
    fork: str
    written: int = field(default=0)

    def of_fork(self, kind: str = "") -> Iterator[Entry]:
        """Yield the events of the fork, or those of one type."""
        for entry in self.entries:
            if entry.chain.get("run") == self.fork and kind in ("", entry.kind):
                yield entry

    @property
    def answered(self) -> list[Entry]:
        """The events of the fork that the origin answered."""
        return [
            one
            for one in self.of_fork()
            if one.data.get("answered_by", {}).get("who") in ("record", "change")
        ]

    def request_of(self, entry: Entry) -> Entry:
        """Return the request of an outcome."""
        place = entry.chain["scope"], entry.chain["ordinal"]
        return next(
            one
            for one in self.of_fork(f"{entry.kind.rpartition('.')[0]}.requested")
            if (one.chain["scope"], one.chain["ordinal"]) == place
        )

    def content(self, reference: dict[str, Any]) -> bytes:
        """Return the content of a reference."""
        return self.blobs[reference["$blob"]][32:]

    def refer(self, content: bytes) -> dict[str, Any]:
        """Return a reference to *content*, behind a salt of its own."""
        forge = Forge()
        found = forge.blob(content)
        kept = forge.blobs[0][2]
        assert kept is not None
        self.blobs[found["$blob"]] = kept
        return found

    def judge(
        self, folder: Path, lie: Lie | None = None, *, erased: bool = False
    ) -> Report:
        """Write all with the *lie*, and return what the verifier says.

        With *erased*, without the blobs that an event says were erased.
        """
        entries = copy.deepcopy(self.entries)
        if lie is not None:
            lie(self, entries)
        forge, leaves = Forge("one").open(), {self.leaves[0]: ""}
        leaves[self.leaves[0]] = forge.rows[0].hash.hex()
        for entry in entries:
            self._write(forge, entry, leaves)
        if erased:
            gone = {
                bytes.fromhex(tag[7:])
                for entry in entries
                if entry.kind == "blob.erased"
                for tag in entry.data["blobs"]
            }
            forge.blobs = [
                (digest, seq, None if digest in gone else kept)
                for digest, seq, kept in forge.blobs
            ]
        self.written += 1
        file = forge.write(folder / f"{self.written}.db")
        return verify(file, keys=[keyid(forge.key("root"))])

    def _write(self, forge: Forge, entry: Entry, leaves: dict[str, str]) -> None:
        data, subject = replaced(entry.data, leaves), replaced(entry.subject, leaves)
        run = entry.chain.get("run")
        if "root" in data and "counts" in data:
            data |= counted(forge, str(run))
        known = {one[0].hex() for one in forge.blobs}
        for value in data.values():
            tag = value.get("$blob") if isinstance(value, dict) else None
            if tag in self.blobs and tag[7:] not in known:
                kept = self.blobs[tag]
                forge.blobs.append((bytes.fromhex(tag[7:]), len(forge.rows), kept))
        told = forge.statement(entry.kind, data, subject=subject, **entry.chain)
        version = told["predicate"]["muniment"]["version"]
        told["predicateType"] = f"urn:muniment:event:{entry.kind}:v{version}"
        row = forge.add(told, forge.key("writer"))
        if 0 < entry.seq < len(self.leaves):
            leaves[self.leaves[entry.seq]] = row.hash.hex()


def replaced(value: Any, leaves: dict[str, str]) -> Any:
    """Return *value* with the leaf hashes that the new ledger has."""
    if isinstance(value, dict):
        return {name: replaced(one, leaves) for name, one in value.items()}
    if isinstance(value, list):
        return [replaced(one, leaves) for one in value]
    return leaves.get(value, value) if isinstance(value, str) else value


def counted(forge: Forge, run: str) -> dict[str, Any]:
    """Return what the end of *run* has to say."""
    mine = [row for row in forge.rows if row.run == run]
    counts: dict[str, int] = {}
    for row in mine:
        scope = json.loads(row.payload)["predicate"]["muniment"]["scope"]
        counts[scope] = counts.get(scope, 0) + 1
    return {"counts": counts, "root": root([row.hash for row in mine]).hex()}


def members(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each member in *value*, at whatever depth."""
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in named:
            yield (*path, name)
            yield from members(one, *path, name)


class Sensors:
    """A plugin with an effect kind that says much of requests and answers."""

    @hookimpl
    def effect_kinds(self) -> list[EffectKind]:
        """Declare it."""
        return [
            EffectKind(
                "sensor.read",
                about_request=lambda _: {"line": LARGE},
                about_response=lambda value: {"unit": "K", "read": value},
            )
        ]

    @hookimpl
    def before_effect(self, request: object) -> GateAnswer | str | None:
        """Answer what is known, and refuse what is dear."""
        if request == "known":
            return GateAnswer("from the cache")
        return "over budget" if request == "dear" else None


def _streamed(run: Run) -> object:
    """Read parts, with a fact between them."""
    stream, given, told = run.open("llm", {"prompt": "p"}), list[object](), [0]
    if stream.answered:
        run.scope("beside").record("note.added", {"text": "between"})
        return stream.answer()

    def taken() -> dict[str, object] | None:
        parts, told[0] = given[told[0] :], len(given)
        return {"parts": parts} if parts else None

    stream.begin(taken, lambda: stream.complete([*given]))
    given.append("one")
    run.scope("beside").record("note.added", {"text": "between"})
    given.append("two")
    return stream.complete([*given])


def _called(run: Run, number: int) -> object:
    """Answer with a number."""
    return run.effect("data", number, lambda request: request)


class Trip:
    """A program with every kind of effect; its answers are numbered."""

    __name__ = "trip"

    def __init__(self) -> None:
        self.count = 0

    def answer(self, _: object) -> object:
        """Answer with a number that no other answer has."""
        self.count += 1
        return {"n": self.count, "model": "m", "usage": {"input_tokens": self.count}}

    def fail(self, _: object) -> object:
        """Fail."""
        error = OSError("down")
        error.data = {"code": 7}  # type: ignore[attr-defined]
        raise error

    def __call__(self, run: Run, place: str) -> object:
        """Travel."""
        run.record("note.added", {"text": "packing"})
        times = [str(run.now()), str(run.now())]
        told = [run.effect("tool", {"name": "same"}, self.answer) for _ in range(2)]
        told += [
            run.effect(kind, {"model": "m", "ask": kind}, self.answer)
            for kind in ("llm", "command", "data", "human", "execution", "sensor.read")
        ]
        for kind in ("tool", "sensor.read"):
            with suppress(EffectFailed):
                run.effect(kind, {"badly": place}, self.fail)
        with suppress(EffectFailed):
            run.effect("tool", "dear", self.answer)
        told.append(run.effect("tool", "known", self.answer))
        with run.scope("hotel") as lane:
            room = lane.effect("tool", {"room": times}, self.answer)
            lane.effect("tool", {"keys": room}, self.answer)
        with run.scope("bar/below") as bar:
            told.append(bar.effect("tool", {"drink": bar.random()}, self.answer))
            bar.now()
        run.sleep(0.001)
        told += [run.call(_called, {"number": 7}), _streamed(run)]
        return told


def forked_runs(folder: Path) -> ForkedRuns:
    """Return a run with everything, and a fork of it with one change, as entries."""
    trip, place = Trip(), folder / "real" / "ledger.db"
    plugins = Plugins((), extra={"sensors": Sensors()})
    with Ledger.create(place, plugins=plugins) as ledger:
        done = ledger.execute(trip, params={"place": "Rome"}, labels={"of": "h"})
        assert done.ok
        events = list(ledger.events(run=done.run_id))
        changed = next(
            one.seq
            for one in events
            if one.scope == "hotel" and one.type == "tool.completed"
        )
        changes = {changed: {"another": "room"}}
        fork = ledger.fork(
            done.run_id, at=events[-1].seq, changes=changes, program=trip
        )
        assert fork.ok, fork.error
    return runs_in(place, done.run_id, fork.run_id)


def runs_in(place: Path, origin: str, fork: str) -> ForkedRuns:
    """Return what the ledger at *place* holds, as entries."""
    with closing(sqlite3.connect(place)) as file:
        rows = file.execute("SELECT payload, hash FROM event ORDER BY seq").fetchall()
        kept = file.execute("SELECT digest, data FROM blob").fetchall()
    entries = [_entry(seq, json.loads(row[0])) for seq, row in enumerate(rows)]
    blobs = {f"sha256:{digest.hex()}": data for digest, data in kept}
    leaves = [leaf.hex() for _, leaf in rows]
    return ForkedRuns(entries[1:], blobs, leaves, origin, fork)


def _entry(seq: int, statement: dict[str, Any]) -> Entry:
    predicate = statement["predicate"]
    data, chain = predicate["data"], dict(predicate["muniment"])
    for name in ("ledger", "prev", "seq", "time", "type"):
        chain.pop(name, None)
    own = {one.get("$blob") for one in data.values() if isinstance(one, dict)}
    subject = [
        one
        for one in statement["subject"]
        if one["name"] != "data.json" and f"sha256:{one['digest']['sha256']}" not in own
    ]
    return Entry(seq, predicate["muniment"]["type"], data, chain, subject)
