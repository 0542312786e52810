"""The third part of the standalone verifier: envelopes, and the record of a run."""

from __future__ import annotations

import hashlib
import re
import sys
from typing import Any, NamedTuple, cast

from muniment.verification.page.run_marks import RunMarks
from muniment.verification.page.run_view import RunView
from muniment_plugins.evidence.standalone.bundle_files import Files
from muniment_plugins.evidence.standalone.formats import (
    KEY_TYPES,
    LedgerKeys,
    b64,
    canonical,
    keyid,
    parse,
    require,
    root_of,
    sha256,
    signed,
    spki,
    unbase64,
    within,
)
from muniment_plugins.evidence.standalone.kin import Kin

__all__ = [
    "BLOB",
    "EVENTS",
    "WITHHELD",
    "BundleLines",
    "EnvelopedEvent",
    "Hidden",
    "RunEvents",
]

EVENTS, WITHHELD = "events.intoto.jsonl", "withheld.jsonl"
TAG = re.compile(r"sha256:[0-9a-f]{64}")
BLOB = re.compile(r"blobs/sha256-([0-9a-f]{64})")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
MOST_PAYLOAD = 64 * 1024
AFTER_END = ("decision.", "policy.amended", "replay.judged")


class EnvelopedEvent:
    """One event in its envelope: the one form that it has."""

    def __init__(self, line: bytes, keys: LedgerKeys, name: str) -> None:
        envelope = parse(line, name)
        (one,) = envelope["signatures"]
        told = {"payload", "payloadType", "signatures"}
        require(envelope.keys() == told and one.keys() == {"keyid", "sig"}, name, "odd")
        kind = envelope["payloadType"]
        require(kind == "application/vnd.in-toto+json", name, "another payload type")
        self.payload = unbase64(envelope["payload"], None, name)
        self.signature = unbase64(one["sig"], None, name)
        self.line = line
        large = len(self.payload) > MOST_PAYLOAD
        require(not large, name, "its payload is too large")
        statement: Any = parse(self.payload, name)
        self.statement = statement
        predicate = statement["predicate"]
        self.data, self.chain = predicate["data"], predicate["muniment"]
        self.seq, self.kind = self.chain["seq"], self.chain["type"]
        self.run = self.chain.get("run")
        if not keys.ledger:
            keys.ledger = f"sha256:{sha256(self.payload).hex()}"
        self.place = f"{name}, event {self.seq}"
        self.shape(keys)
        self.keyid = sys.intern(one["keyid"])
        self.key = self.signer(keys, self.keyid)
        pae = b"DSSEv1 28 application/vnd.in-toto+json %d " % len(self.payload)
        self.judge(keys, pae + self.payload)
        self.leaf = sha256(b"\0" + self.entry(pae + self.payload))

    def forget(self) -> None:
        """Keep what the events after it, proofs and series are compared with."""
        kept = ("prev", "series", "time")
        self.chain = {name: self.chain[name] for name in kept if name in self.chain}
        self.data = {name: self.data[name] for name in ("status",) if name in self.data}
        self.payload = self.line = self.signature = b""
        self.statement = cast("Any", {})

    def shape(self, keys: LedgerKeys) -> None:
        """Require the members of a statement of this ledger."""
        statement, chain = self.statement, self.chain
        top = {"_type", "predicate", "predicateType", "subject"}
        wanted = {"actor", "seq", "tenant", "time", "type", "version"}
        wanted |= {"ledger", "prev"} if self.seq else set()
        wanted |= {"run", "scope", "ordinal"} if self.run is not None else set()
        wanted |= chain.keys() & {"series"} if self.seq else set()
        urn = f"urn:muniment:event:{self.kind}:v{chain['version']}"
        own = sha256(canonical(self.data)).hex()
        about = statement["subject"]
        good = (
            statement.keys() == top
            and statement["_type"] == "https://in-toto.io/Statement/v1"
            and statement["predicate"].keys() == {"data", "muniment"}
            and statement["predicateType"] == urn
            and chain.keys() == wanted
            and type(self.seq) is int
            and isinstance(self.data, dict)
            and chain.get("ledger", keys.ledger) == keys.ledger
            and TIME.fullmatch(chain["time"])
            and about
            and all(one.keys() == {"digest", "name"} for one in about)
            and all(
                one["digest"]["sha256"] == own
                for one in about
                if one["name"] == "data.json"
            )
        )
        require(good, self.place, "not a statement of this ledger")

    def signer(self, keys: LedgerKeys, name: str) -> bytes:
        """Return the key whose fingerprint the envelope states."""
        listed = [self.data.get("new", self.data)] if self.kind in KEY_TYPES else []
        if self.kind == "ledger.opened":
            listed = self.data["keys"]
        for entry in listed:
            if entry.get("keyid") == name:
                raw = unbase64(entry["public"], None, self.place)
                require(keyid(raw) == name, self.place, "a key has another fingerprint")
                return raw
        found = keys.raw(name)
        require(found, self.place, f"{name} is not a key of this ledger")
        return found or b""

    def judge(self, keys: LedgerKeys, message: bytes) -> None:
        """Require the signature, by a key that may sign such an event here."""
        require(signed(self.key, self.signature, message), self.place, "not signed")
        if self.kind in KEY_TYPES:
            keys.fold(self.seq, self.kind, self.data, self.key, self.place)
        else:
            writer = keys.holds(self.key, "writer", self.seq)
            require(writer, self.place, "its key is not a writer here")

    def entry(self, message: bytes) -> bytes:
        """Return the event's entry in the log."""
        key = {"rawBytes": b64(spki(self.key))}
        name, details = "SHA2_512", "PKIX_ED25519_PH"
        digest = b64(hashlib.sha512(message).digest())
        if len(self.key) == 65:
            name, details = "SHA2_256", "PKIX_ECDSA_P256_SHA_256"
            digest = b64(sha256(message))
        verifier = {"keyDetails": details, "publicKey": key}
        spec = {
            "data": {"algorithm": name, "digest": digest},
            "signature": {"content": b64(self.signature), "verifier": verifier},
        }
        body = {"hashedRekordV002": spec}
        return canonical({"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": body})

    def message_entry(self) -> bytes:
        """Return the entry again, for the Sigstore bundle."""
        pae = b"DSSEv1 28 application/vnd.in-toto+json %d " % len(self.payload)
        return self.entry(pae + self.payload)


class Hidden(NamedTuple):
    """An event that the bundle withholds: its place, and its leaf hash."""

    seq: int
    scope: str
    leaf: bytes


def read_withheld(files: Files) -> tuple[list[Hidden], set[str]]:
    """Return the events and the blobs that the bundle withholds."""
    hidden: list[Hidden] = []
    blobs: list[str] = []
    for line in files.lines(WITHHELD) if WITHHELD in files else ():
        told = parse(line, WITHHELD)
        require(isinstance(told, dict), WITHHELD, "no object")
        if told.keys() == {"blob"} and TAG.fullmatch(str(told["blob"])):
            require(not blobs or told["blob"] > blobs[-1], WITHHELD, "not in order")
            blobs.append(told["blob"])
            continue
        good = told.keys() == {"leaf", "ordinal", "scope", "seq"} and not blobs
        good = good and type(told["seq"]) is type(told["ordinal"]) is int
        good = good and type(told["scope"]) is str and 0 <= told["ordinal"] < 2**53
        good = good and (hidden[-1].seq if hidden else 0) < told["seq"] < 2**53
        require(good, WITHHELD, "not an event or a blob that is withheld, in its order")
        leaf = unbase64(told["leaf"], 32, WITHHELD)
        hidden.append(Hidden(told["seq"], told["scope"], leaf))
    require(hidden or blobs or WITHHELD not in files, WITHHELD, "it withholds nothing")
    return hidden, set(blobs)


class RunEvents:
    """The events of one run, as far as its end says something of them."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.leaves: list[bytes] = []
        self.complete = self.final = False
        self.asked: set[str] = set()

    def count(self, scope: str, leaf: bytes) -> None:
        """Count an event in its place."""
        self.counts[scope] = self.counts.get(scope, 0) + 1
        self.leaves.append(leaf)

    def follow(self, event: EnvelopedEvent, version: int) -> None:
        """Count an event; compare what it says if it is an end."""
        first = not self.leaves
        starts = event.kind == "run.started"
        require(starts == first, event.place, "a run starts once, at its beginning")
        ends = event.kind in ("run.completed", "run.failed")
        if self.final:
            goes_on = event.kind.startswith(AFTER_END) or version < 2
            require(goes_on, event.place, "it follows the end of the run")
        else:
            self.complete = ends
            self.final = event.kind == "run.completed"
        if ends:
            rooted = event.data["root"] == root_of(self.leaves).hex()
            counted = event.data.get("counts", self.counts) == self.counts
            require(rooted and counted, event.place, "events of the run are missing")
        if event.kind == "decision.asked":
            self.asked.add(event.leaf.hex())
        self.count(event.chain["scope"], event.leaf)


class BundleLines:
    """The events of the bundle, in order, and what they refer to."""

    def __init__(self, files: Files) -> None:
        self.keys, self.run = LedgerKeys(), ""
        self.events: list[EnvelopedEvent] = []
        self.blobs: dict[str, tuple[int, int]] = {}
        self.erased: dict[str, int] = {}
        self.own, self.kin, self.marks = RunEvents(), Kin(files), RunMarks()
        self.view = RunView()
        with within(WITHHELD):
            self.hidden, self.kept = read_withheld(files)
        left = self.hidden[::-1]
        for at, line in enumerate(files.lines(EVENTS), 1):
            with within(f"{EVENTS}:{at}"):
                event = EnvelopedEvent(line, self.keys, f"{EVENTS}:{at}")
                self.withhold(left, event)
                self.add(event)
                event.forget()
        self.withhold(left, None)
        require(self.run, EVENTS, "no event of a run")

    def withhold(self, left: list[Hidden], event: EnvelopedEvent | None) -> None:
        """Count the withheld events before *event*, each by its leaf hash."""
        while left and (event is None or left[-1].seq <= event.seq):
            one = left.pop()
            twice = event is not None and one.seq == event.seq
            good = self.own.leaves and not self.own.final and not twice
            require(good, WITHHELD, f"event {one.seq} is here, or is not of the run")
            self.own.count(one.scope, one.leaf)
            self.own.complete = False
            if event is not None and one.seq + 1 == event.seq:
                chained = event.chain["prev"] == one.leaf.hex()
                require(chained, event.place, "another prev")

    def add(self, event: EnvelopedEvent) -> None:
        """Take the next event."""
        place, last = event.place, self.events[-1] if self.events else None
        if last is None:
            require(event.kind == "ledger.opened", place, "not the opening of a ledger")
        else:
            later = event.seq > last.seq and event.chain["time"] >= last.chain["time"]
            require(later, place, "it does not come after the event before")
            chained = event.chain["prev"] == last.leaf.hex()
            require(chained or event.seq > last.seq + 1, place, "another prev")
        require(self.belongs(event), place, "not of this run, nor about its keys")
        self.events.append(event)
        if event.run is not None:
            self.own.follow(event, self.keys.format)
            self.view.take(event.run, event.kind, event.chain, event.data)
        self.refer(event)

    def refer(self, event: EnvelopedEvent) -> None:
        """Keep what an event refers to, and what it says of other runs."""
        self.kin.take(event)
        self.marks.take(event.run, event.kind, event.seq, event.data)
        place = event.place
        subjects = {one["digest"]["sha256"] for one in event.statement["subject"]}
        for value in event.data.values():
            if isinstance(value, dict) and "$blob" in value:
                told = cast("dict[str, Any]", value)
                tag, size = told["$blob"], told["size"]
                named = tag.removeprefix("sha256:") in subjects
                good = self.blobs.setdefault(tag, (size, event.seq))[0] == size
                require(named and good, place, "an odd reference to a blob")

    def belongs(self, event: EnvelopedEvent) -> bool:
        """Tell whether an event belongs into this bundle."""
        if event.kind == "blob.erased":
            for tag in event.data["blobs"]:
                self.erased.setdefault(tag, event.seq)
        if event.run is not None:
            self.run = self.run or event.run
            return bool(event.run == self.run)
        if event.kind == "decision.given":
            about = event.statement["subject"]
            return any(one["digest"]["sha256"] in self.own.asked for one in about)
        if event.kind == "blob.erased":
            return any(tag in self.blobs for tag in event.data["blobs"])
        return event.kind in KEY_TYPES

    def compare_blobs(self, files: Files) -> None:
        """Require every blob that was not erased, and no other."""
        for tag, (size, seq) in self.blobs.items():
            name = f"blobs/{tag.replace(':', '-')}"
            if self.erased.get(tag, -1) > seq:
                gone = name not in files and tag not in self.kept
                require(gone, name, "it was erased, and is here or withheld")
                continue
            if tag in self.kept:
                require(name not in files, name, "it is withheld, and is here")
                continue
            good = name in files and files.size(name) == size + 32
            good = good and f"sha256:{files.digest(name).hex()}" == tag
            require(good, name, "missing, or not what its commitment says")
        for tag in self.kept:
            require(tag in self.blobs, WITHHELD, f"no event refers to {tag}")
        for name in files:
            match = BLOB.fullmatch(name)
            known = match is None or f"sha256:{match[1]}" in self.blobs
            require(known, name, "no event refers to it")
