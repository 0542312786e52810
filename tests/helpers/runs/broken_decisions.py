"""Decisions that break what the specification says of them, by holders of writer keys.

Each has an honest twin: the same events, with nothing changed, verify.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forge import RUN, Forge, Row, entry, keyid
from forged import b64

__all__ = [
    "BREACHES",
    "TYPE",
    "Asked",
    "deciding",
    "envelope_of",
    "honest",
    "rotated",
    "said",
]

TYPE = "application/vnd.muniment.decision+json"


def pae_of(payload: bytes) -> bytes:
    """Return what is signed of an answer (DSSE)."""
    return b"DSSEv1 %d %b %d %b" % (len(TYPE), TYPE.encode(), len(payload), payload)


def envelope_of(
    payload: bytes, signer: Ed25519PrivateKey, **changes: Any
) -> dict[str, Any]:
    """Return the envelope of *payload*, with *changes*."""
    sig = {"keyid": keyid(signer), "sig": b64(signer.sign(pae_of(payload)))}
    whole = {"payload": b64(payload), "payloadType": TYPE, "signatures": [sig]}
    return whole | changes


@dataclass
class Asked:
    """A ledger with two approvers, in which a run has asked."""

    forge: Forge
    quorum: int = 1
    of: list[str] = field(default_factory=list[str])
    run: str = RUN
    row: Row = field(init=False)
    subject: str = field(init=False)

    def __post_init__(self) -> None:
        """Ask."""
        for name in ("ann", "bob"):
            self.forge.enrol(name, ["approver"])
        self.forge.append("run.started", {"name": "x", "seed": "0"}, run=self.run)
        self.ask()

    def ask(self, **changes: Any) -> Row:
        """Ask, with *changes* of the data."""
        reference = self.forge.blob(b'"what"%d' % len(self.forge.rows))
        data = {"subject": reference, "quorum": self.quorum, "of": self.of}
        self.row = self.forge.append("decision.asked", data | changes, run=self.run)
        self.subject = str(reference["$blob"])
        return self.row

    def payload(self, **changes: Any) -> dict[str, Any]:
        """Return what an approver signs, with *changes*."""
        return {
            "ask": self.row.hash.hex(),
            "ledger": self.forge.ledger,
            "meaning": "I have read it",
            "nonce": f"{len(self.forge.rows):032x}",
            "outcome": "approved",
            "reason": "it is right",
            "subject": self.subject,
        } | changes

    def give(self, who: str = "ann", **changes: Any) -> Row:
        """Append an answer by *who*, with *changes* of its payload."""
        told = self.payload(**changes)
        whole = envelope_of(rfc8785.dumps(told), self.forge.key(who))
        return self.append(whole, str(told["ask"]))

    def append(self, envelope: Any, ask: str = "", **rest: Any) -> Row:
        """Append any envelope."""
        about = [{"digest": {"sha256": ask or self.row.hash.hex()}, "name": "asked"}]
        data = {"envelope": envelope}
        return self.forge.append("decision.given", data, **{"subject": about} | rest)

    def reach(self, outcome: str, *given: Row, scope: str = "", **changes: Any) -> Row:
        """Go on with *outcome*, by the answers *given*."""
        data = {
            "asked": self.row.hash.hex(),
            "outcome": outcome,
            "answers": [said(one) for one in given],
        }
        return self.forge.append(
            "decision.reached", data | changes, run=self.run, scope=scope
        )


def said(given: Row) -> dict[str, Any]:
    """Return what a run is told of an answer."""
    data = json.loads(given.payload)["predicate"]["data"]
    envelope = data["envelope"]
    told = json.loads(base64.b64decode(envelope["payload"]))
    return {
        "event": given.hash.hex(),
        "key": envelope["signatures"][0]["keyid"],
        **{name: told[name] for name in ("meaning", "outcome", "reason")},
    }


def honest(forge: Forge) -> None:
    """Ask, answer, go on, and complete."""
    asked = Asked(forge)
    asked.reach("approved", asked.give())
    forge.end_run(RUN)


Break = Callable[[Asked], object]


def deciding(breaks: Callable[[Asked], object]) -> Callable[[Forge], None]:
    """Return what has people asked, and then *breaks* a rule of decisions."""
    return lambda forge: (breaks(Asked(forge)), None)[1]


def changed(**changes: Any) -> Break:
    """Return what answers with *changes* of the payload, signed as they are."""
    return lambda asked: asked.give(**changes)


def asking(**changes: Any) -> Break:
    """Return what asks with *changes* of the data."""
    return lambda asked: asked.ask(**changes)


def in_a_run(asked: Asked) -> None:
    """Answer from inside of the run."""
    whole = envelope_of(rfc8785.dumps(asked.payload()), asked.forge.key("ann"))
    asked.append(whole, run=RUN)


def about_another_name(asked: Asked) -> None:
    """Be about what was asked, under another name."""
    whole = envelope_of(rfc8785.dumps(asked.payload()), asked.forge.key("ann"))
    about = {"digest": {"sha256": asked.row.hash.hex()}, "name": "ask"}
    asked.append(whole, subject=[about])


def about_more(asked: Asked) -> None:
    """Be about something else, too."""
    whole = envelope_of(rfc8785.dumps(asked.payload()), asked.forge.key("ann"))
    about = [
        {"digest": {"sha256": one}, "name": "asked"}
        for one in (asked.row.hash.hex(), "ab" * 32)
    ]
    asked.append(whole, subject=about)


def outside(kind: str) -> Break:
    """Return what states a fact of runs in none."""

    def breaks(asked: Asked) -> None:
        row = asked.row if kind == "decision.asked" else asked.give()
        data = json.loads(row.payload)["predicate"]["data"]
        if kind == "decision.reached":
            told = {"asked": asked.row.hash.hex(), "outcome": "approved"}
            data = told | {"answers": [said(row)]}
        asked.forge.append(kind, data)

    return breaks


def late(kind: str) -> Break:
    """Return what states a fact of runs after the end of its own."""

    def breaks(asked: Asked) -> None:
        given = asked.give()
        asked.forge.append("run.paused", {"reason": "x"}, run=RUN)
        if kind == "decision.asked":
            asked.ask()
        else:
            asked.reach("approved", given)

    return breaks


def revoked(asked: Asked) -> None:
    """Answer with a key that ended."""
    gone = {"keyid": keyid(asked.forge.key("ann")), "reason": "x"}
    asked.forge.append("key.revoked", gone, signer=asked.forge.key("root"))
    asked.give()


def early(asked: Asked) -> None:
    """Answer with a key that is enrolled afterwards."""
    asked.give("cyd")
    asked.forge.enrol("cyd", ["approver"])


def twice(asked: Asked, who: str = "ann", **changes: Any) -> None:
    """Answer twice, where two have to approve."""
    asked.quorum = 2
    asked.ask()
    asked.give(nonce="ab" * 16)
    asked.give(who, **changes)


def rotated(asked: Asked, old: str, new: str) -> None:
    """Replace the key *old* by the key *new*."""
    forge = asked.forge
    told = entry(forge.key(new), ["approver"], forge.ledger)
    data = {"new": told, "old": keyid(forge.key(old))}
    forge.append("key.rotated", data, signer=forge.key("root"))


def succeeding(asked: Asked) -> None:
    """Answer with a key and with the one that replaces it, where two have to approve."""
    asked.quorum = 2
    asked.ask()
    asked.give()
    rotated(asked, "ann", "ann2")
    asked.give("ann2")


def after(*kinds: str) -> Break:
    """Return what answers after the run went on by *kinds*."""

    def breaks(asked: Asked) -> None:
        data = {"generation": 1, "reason": "x", "supersedes": [["", 1]]}
        for kind in kinds:
            asked.forge.append(kind, data, run=RUN)
        asked.give()

    return breaks


def superseded(asked: Asked) -> None:
    """Answer what was asked after a failure that is performed again."""
    forge = asked.forge
    requested = forge.append("llm.requested", {}, run=RUN)
    at = json.loads(requested.payload)["predicate"]["muniment"]["ordinal"]
    forge.append("llm.failed", {}, run=RUN, ordinal=at)
    asked.ask()
    forge.append("run.interrupted", {"reason": "x"}, run=RUN)
    resumed = {"generation": 1, "supersedes": [["", at]]}
    forge.append("run.resumed", resumed, run=RUN)
    asked.give()


def reached(outcome: str, **changes: Any) -> Break:
    """Return what goes on with *outcome* after an approval, with *changes*."""
    return lambda asked: asked.reach(outcome, asked.give(), **changes)


def reached_twice(asked: Asked) -> None:
    """Go on twice with one decision."""
    given = asked.give()
    asked.reach("approved", given)
    asked.reach("approved", given)


def reached_without(asked: Asked) -> None:
    """Go on without any answer."""
    asked.reach("approved")


def reached_elsewhere(asked: Asked) -> None:
    """Go on in another scope."""
    asked.reach("approved", asked.give(), scope="map/1")


def completed(asked: Asked) -> None:
    """Complete, and go by nothing."""
    asked.give()
    asked.forge.end_run(RUN)


def spaced(asked: Asked) -> None:
    """Sign a payload with a space."""
    payload = json.dumps(asked.payload(), sort_keys=True).encode()
    asked.append(envelope_of(payload, asked.forge.key("ann")))


PLACE = "`decision.asked` and `decision.reached` MUST stand in a run"
END = "and MUST NOT follow its end."
OF = "`of` MUST NOT have more than 16 keys"
QUORUM = "`quorum` MUST be at least 1"
PAYLOAD = "Its payload MUST be the canonical bytes of an object with exactly these"
TEXTS = "`meaning` and `reason` MUST NOT have more than 1,000 bytes"
OUTSIDE = "it MUST NOT stand in a run"
ABOUT = "and MUST be about `ask`, under the name `asked`, and nothing else"
NAMED = "`ask` MUST be the leaf hash of an earlier `decision.asked`"
SIGNED = "The signature MUST be that of a key with the role `approver`"
ONCE = "Neither this key nor this `nonce` MUST be that of an earlier answer"
HOLDER = "Nor MUST a key be that replaced this one by `key.rotated`"
OPEN = "It MUST NOT follow once this was decided"
REACHED = "These MUST be what the answers before it decide."
STATED = "There MUST be only one for each `decision.asked`"
LEFT = "A run MUST NOT complete while something is left that it asked"

A_KEY = "SHA256:" + "a" * 43

BREACHES: dict[str, tuple[str, Break, str]] = {
    "a question in no run": (PLACE, outside("decision.asked"), "decision/place"),
    "an outcome in no run": (PLACE, outside("decision.reached"), "decision/place"),
    "a question after the end": (END, late("decision.asked"), "run/after-end"),
    "an outcome after the end": (END, late("decision.reached"), "run/after-end"),
    "seventeen keys": (
        OF,
        asking(of=[f"SHA256:{n:043}" for n in range(17)]),
        "decision/quorum",
    ),
    "a key twice": (OF, asking(of=[A_KEY, A_KEY]), "decision/quorum"),
    "a quorum of none": (QUORUM, asking(quorum=0), "decision/quorum"),
    "a quorum of seventeen": (QUORUM, asking(quorum=17), "decision/quorum"),
    "a quorum of two of one": (
        QUORUM,
        asking(quorum=2, of=[A_KEY]),
        "decision/quorum",
    ),
    "a payload with a space": (PAYLOAD, spaced, "decision/payload"),
    "a payload with a member more": (PAYLOAD, changed(more="x"), "decision/payload"),
    "an outcome that is none": (PAYLOAD, changed(outcome="maybe"), "decision/payload"),
    "a long reason": (TEXTS, changed(reason="x" * 1001), "decision/payload"),
    "a long meaning": (TEXTS, changed(meaning="ä" * 501), "decision/payload"),
    "a bell": (TEXTS, changed(reason="\a"), "decision/payload"),
    "an answer in a run": (OUTSIDE, in_a_run, "decision/place"),
    "an answer about more": (ABOUT, about_more, "decision/place"),
    "an answer about another name": (ABOUT, about_another_name, "decision/place"),
    "nothing was asked": (NAMED, changed(ask="ab" * 32), "decision/ask"),
    "another ledger": (NAMED, changed(ledger="sha256:" + "ab" * 32), "decision/ledger"),
    "another subject": (
        NAMED,
        changed(subject="sha256:" + "ab" * 32),
        "decision/subject",
    ),
    "by a writer": (SIGNED, lambda asked: asked.give("writer"), "decision/key"),
    "by a stranger": (SIGNED, lambda asked: asked.give("eve"), "decision/key"),
    "by a key that ended": (SIGNED, revoked, "decision/key"),
    "by a key that comes later": (SIGNED, early, "decision/key"),
    "a key again": (ONCE, twice, "decision/repeated"),
    "a nonce again": (
        ONCE,
        lambda asked: twice(asked, "bob", nonce="ab" * 16),
        "decision/repeated",
    ),
    "a key and its successor": (HOLDER, succeeding, "decision/repeated"),
    "decided already": (
        OPEN,
        lambda asked: (asked.give(), asked.give("bob")),
        "decision/closed",
    ),
    "after a cancellation": (OPEN, after("run.canceled"), "decision/closed"),
    "after it was superseded": (OPEN, superseded, "decision/closed"),
    "another outcome": (REACHED, reached("denied"), "decision/reached"),
    "other answers": (REACHED, reached("approved", answers=[]), "decision/reached"),
    "an outcome of nothing": (REACHED, reached_without, "decision/reached"),
    "an outcome twice": (STATED, reached_twice, "decision/reached"),
    "an outcome elsewhere": (REACHED, reached_elsewhere, "decision/reached"),
    "an unknown question": (
        REACHED,
        reached("approved", asked="ab" * 32),
        "decision/reached",
    ),
    "a run that did not wait": (LEFT, completed, "decision/open"),
}
"""Name → the sentence that is broken, what breaks it, and the verifier's rule."""
