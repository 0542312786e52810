"""What breaks a sentence of the specification in a ledger, and how that is called.

Each case quotes its sentence, which must stand on the page; the ledger is sound but for
the one event that breaks it, signed by the writer's own key.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broken_decisions import BREACHES, deciding
from broken_forks import BREACHES as OF_FORKS
from broken_forks import forked
from broken_keys import by_checkpoint_key, enrolled, revoked_root
from broken_runs import effect, in_run, superseding
from forge import RUN, Forge, raw
from muniment.events.effect_kinds import KERNEL_KINDS

__all__ = ["CASES", "effect"]


@dataclass(frozen=True)
class Case:
    """A sentence, what breaks it, and how the verifier calls that."""

    page: str
    sentence: str
    breaks: Callable[[Forge], None]
    rule: str
    exit_code: int = 1
    genesis: Callable[[], dict[str, Any]] = dict


def two_sizes_in_one(forge: Forge) -> None:
    """Refer to one blob with two sizes in one event."""
    first = forge.blob(b"content")
    forge.append("note.added", {"text": "x", "a": first, "b": first | {"size": 9}})


def two_sizes(forge: Forge) -> None:
    """Refer to one blob with another size later."""
    first = forge.blob(b"content")
    forge.append("note.added", {"text": "x", "a": first})
    forge.append("note.added", {"text": "x", "a": first | {"size": 9}})


def two_sizes_of_an_erased_one(forge: Forge) -> None:
    """Do so with a content that is gone."""
    two_sizes(forge)
    tag = "sha256:" + forge.blobs[-1][0].hex()
    forge.blobs[-1] = (*forge.blobs[-1][:2], None)
    forge.append("blob.erased", {"blobs": [tag], "reason": "x"})


def two_sizes_of_a_file(forge: Forge) -> None:
    """Do so with a content that stands in a file."""
    first = forge.blob(b"content", file=True)
    forge.append("note.added", {"text": "x", "a": first})
    forge.append("note.added", {"text": "x", "a": first | {"size": 9}})


def no_subject(forge: Forge) -> None:
    """Refer to a blob, and be about something else only."""
    data = {"text": "x", "a": forge.blob(b"content")}
    statement = forge.statement("note.added", data)
    statement["subject"] = [{"digest": {"sha256": "ab" * 32}, "name": "other"}]
    forge.add(statement, forge.key("writer"))


def erase_all(forge: Forge) -> None:
    """Erase "all"."""
    forge.append("blob.erased", {"blobs": "all", "reason": "x"})


def erase_what_is_none(forge: Forge) -> None:
    """Erase something that is not a tag."""
    forge.append("blob.erased", {"blobs": ["all"], "reason": "x"})


def one_place_twice(forge: Forge) -> None:
    """Record two facts at one ordinal."""
    forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
    forge.append("note.added", {"text": "a"}, run=RUN)
    forge.append("note.added", {"text": "b"}, run=RUN, ordinal=1)


def an_outcome_of_another(forge: Forge) -> None:
    """End an effect under the place of another kind of effect."""
    forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
    forge.append("tool.requested", {}, run=RUN)
    forge.append("llm.completed", {}, run=RUN, ordinal=1)


def an_end_of_no_run(forge: Forge) -> None:
    """End nothing."""
    forge.append("run.interrupted", {"reason": "x"})


def nothing(forge: Forge) -> None:
    """Leave it at the genesis."""


def large(forge: Forge) -> None:
    """Write more than a payload may have."""
    forge.append("note.added", {"text": "x" * 65_536})


def spaced(forge: Forge) -> None:
    """Write a statement with a space that canonical JSON has not."""
    statement = forge.statement("note.added", {"text": "x"})
    payload = json.dumps(statement, sort_keys=True).encode()
    forge.add_bytes(payload, statement, forge.key("writer"))


def one_member_more(forge: Forge) -> None:
    """Add a member to a statement."""
    statement = forge.statement("note.added", {"text": "x"}) | {"more": 1}
    forge.add(statement, forge.key("writer"))


def appended(data: dict[str, Any], **chain: Any) -> Callable[[Forge], None]:
    """Return what appends one note by the writer."""

    def breaks(forge: Forge) -> None:
        forge.append("note.added", data, **chain)

    return breaks


def lost(forge: Forge) -> None:
    """Lose a content, and say nothing."""
    forge.append("note.added", {"text": "x", "details": forge.blob(b"gone")})
    forge.blobs[-1] = (*forge.blobs[-1][:2], None)


def kept(forge: Forge) -> None:
    """Say that a content is erased, and keep it."""
    reference = forge.blob(b"kept")
    forge.append("note.added", {"text": "x", "details": reference})
    forge.append("blob.erased", {"blobs": [reference["$blob"]], "reason": "x"})


def other_data(forge: Forge) -> None:
    """Be about data that the event has not."""
    about = [{"digest": {"sha256": "ab" * 32}, "name": "data.json"}]
    forge.append("note.added", {"text": "x"}, subject=about)


def other_code(forge: Forge) -> None:
    """State the digest of other code."""
    about = [{"digest": {"sha256": "ab" * 32}, "name": "code"}]
    forge.append("synthesis.attempted", {"code": "1", "accepted": True}, subject=about)


def end(**changes: Any) -> Callable[[Forge], None]:
    """Return what ends a run with something false."""

    def breaks(forge: Forge) -> None:
        forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
        forge.end_run(RUN, **changes)

    return breaks


def noted(note: Callable[[Forge], bytes]) -> Callable[[Forge], None]:
    """Return what puts a note into the file."""
    return lambda forge: forge.notes.append((len(forge.rows), note(forge)))


def extended(forge: Forge) -> bytes:
    """Return a signed note with a line after its root."""
    key = forge.key("checkpoint")
    text = forge.note().partition(b"\n\n")[0] + b"\nmore\n"
    origin = text.split(b"\n")[0].decode()
    mark = hashlib.sha256(origin.encode() + b"\n\1" + raw(key)).digest()[:4]
    line = f"— {origin} {base64.b64encode(mark + key.sign(text)).decode()}\n"
    return text + b"\n" + line.encode()


def continues(note: Callable[[Forge], str]) -> Callable[[], dict[str, Any]]:
    """Return a genesis that quotes a note of a ledger that is continued."""

    def changes() -> dict[str, Any]:
        old = Forge("old").open()
        quoted = {"checkpoint": note(old), "ledger": old.ledger, "reason": "x"}
        return {"continues": quoted}

    return changes


def formats(**versions: int) -> Callable[[], dict[str, Any]]:
    """Return a genesis of other formats."""
    return lambda: {"formats": {"checkpoint": 1, "event": 4, "layout": 1} | versions}


SIZES = "All references to one blob MUST state the size that it has"
LISTED = "An erasure MUST be an event `blob.erased` that lists the tags"
PLACES = "no two facts or requests MUST have one ordinal in one scope"
QUOTED = "`checkpoint` MUST be a checkpoint of the ledger that is named"
NO_NOTES: dict[str, Callable[[Forge], str]] = {
    "no note": lambda _: "none",
    "an empty text": lambda _: "",
    "of another ledger": lambda _: Forge("two").open().note().decode(),
}
KNOWN = "A verifier MUST NOT judge a ledger of a version that it does not know"

STARTS = "the first event of a run MUST be `run.started`, and no other of its"
FOLLOWING = "what may follow an end MUST stand in the scope"
OUTSIDE = "`run.canceled` MUST stand there wherever it comes"
CANCELED_LANE = in_run("run.started", "run.canceled", scope="a")
FINAL = "no event of the run's life (its start, a `run.resumed`, an end) MUST follow"
LANE = in_run("run.started", "run.interrupted", "decision.made", scope="a")
BELOW = "MUST NOT stand in the scope of an effect, or below it, before"
AGAIN = "an effect that completed MUST NOT be requested"
SUPERSEDED = (
    "each effect that `supersedes` names MUST have been requested",
    "and its last attempt MUST have failed.",
)
ATTEMPTS = "From version 2 on, parts and an outcome MUST belong to an attempt"

PAYLOAD = "The payload MUST be the canonical bytes of a statement, at most 65,536 bytes"
SIGNERS = "MUST be signed by a key with the role `root`, every other event by one with"
COMPARED = "A verifier MUST compare both"
BY_LOG = "MUST require a signature by a key that was enrolled for the role `checkpoint`"

CASES = {
    "a large payload": Case("event", PAYLOAD, large, "event/size"),
    "a space": Case("event", PAYLOAD, spaced, "event/canonical"),
    "a member more": Case(
        "event", "A statement MUST have exactly these", one_member_more, "event/shape"
    ),
    "a member more of the chain's": Case(
        "event",
        "It MUST have exactly the members below",
        appended({"text": "x"}, more=1),
        "event/shape",
    ),
    "time goes back": Case(
        "event",
        "`time` MUST NOT be earlier than that of the event before",
        appended({"text": "x"}, time="2000-01-01T00:00:00.000000Z"),
        "event/time",
    ),
    "a content is lost": Case(
        "event", "MUST call a blob that is missing", lost, "blob/missing"
    ),
    "an erased content is there": Case(
        "event", "MUST call a blob that is present", kept, "blob/erased"
    ),
    "other data": Case(
        "event", "`data.json` MUST have that digest", other_data, "event/subject"
    ),
    "other code": Case(
        "event",
        "a verifier MUST compare the first of these",
        other_code,
        "event/subject",
    ),
    "enrolled by a writer": Case(
        "event", SIGNERS, enrolled(["writer"], signer="writer"), "key/role"
    ),
    "signed by a checkpoint key": Case("event", SIGNERS, by_checkpoint_key, "key/role"),
    "a root enrolled": Case(
        "event", "A root MUST NOT be enrolled", enrolled(["root"]), "key/root"
    ),
    "a root revoked": Case(
        "event", "A root MUST NOT be enrolled or revoked", revoked_root, "key/root"
    ),
    "a key enrolled again": Case(
        "event",
        "once enrolled MUST NOT be enrolled again",
        enrolled(["writer"], name="writer"),
        "key/duplicate",
    ),
    "false counts": Case("event", COMPARED, end(counts={"": 9}), "run/counts"),
    "no counts": Case(
        "event", "an end MUST NOT leave out", end(counts=None), "run/counts"
    ),
    "a false root": Case("event", COMPARED, end(root="ab" * 32), "run/root"),
    "a checkpoint of another ledger": Case(
        "checkpoint",
        "MUST refuse a checkpoint of another origin",
        noted(lambda _: Forge("two").open().note()),
        "checkpoint/origin",
    ),
    "a checkpoint by a writer": Case(
        "checkpoint",
        BY_LOG,
        noted(lambda forge: forge.note(signer=forge.key("writer"))),
        "checkpoint/unsigned",
    ),
    "a checkpoint with an extension": Case(
        "checkpoint",
        "There MUST NOT be extension lines",
        noted(extended),
        "checkpoint/extension",
    ),
    "two sizes in one event": Case("event", SIZES, two_sizes_in_one, "blob/size"),
    "two sizes": Case("event", SIZES, two_sizes, "blob/size"),
    "two sizes, erased": Case("event", SIZES, two_sizes_of_an_erased_one, "blob/size"),
    "two sizes, in a file": Case("event", SIZES, two_sizes_of_a_file, "blob/size"),
    "unnamed": Case("event", "MUST be among the subjects", no_subject, "blob/subject"),
    "erase all": Case("event", LISTED, erase_all, "blob/erased"),
    "erase no tag": Case("event", LISTED, erase_what_is_none, "blob/erased"),
    "a lane after an end": Case("event", FOLLOWING, LANE, "run/scope"),
    "canceled in a lane": Case("event", OUTSIDE, CANCELED_LANE, "run/scope"),
    **{
        f"{kind} after a cancellation": Case(
            "event", FINAL, in_run("run.started", "run.canceled", kind), "run/after-end"
        )
        for kind in ("run.resumed", "run.paused", "run.canceled", "run.interrupted")
    },
    "one place twice": Case("event", PLACES, one_place_twice, "run/ordinal"),
    "another's outcome": Case("event", PLACES, an_outcome_of_another, "run/ordinal"),
    "an end of no run": Case(
        "event",
        "their requests, and the events of a run's life MUST stand in a run",
        an_end_of_no_run,
        "run/order",
    ),
    "a run without a start": Case(
        "event", STARTS, in_run("x.noted", "x.noted"), "run/start"
    ),
    "a run that starts again": Case(
        "event", STARTS, in_run("run.started", "x.noted", "run.started"), "run/start"
    ),
    **{
        f"an event in {scope}": Case(
            "event", BELOW, in_run("run.started", scope=scope), "run/scope"
        )
        for scope in ("@llm.9", "@llm.9/x", "map/@llm.9")
    },
    "an effect that completed twice": Case(
        "event",
        AGAIN,
        effect("requested", "completed", "requested", "completed"),
        "run/order",
    ),
    **{
        f"an effect that is {' '.join(verbs)}": Case(
            "event", ATTEMPTS, effect(*verbs), "run/order"
        )
        for verbs in (
            ("streamed",),
            ("completed",),
            ("failed",),
            ("failed", "requested", "completed"),
            ("streamed", "requested", "completed"),
            ("requested", "completed", "streamed"),
            ("requested", "failed", "streamed"),
            ("requested", "completed", "completed"),
            ("requested", "failed", "completed"),
            ("requested", "failed", "requested", "completed", "streamed"),
        )
    },
    **{
        f"{kind.name}.{verb} of what nobody asked for": Case(
            "event", ATTEMPTS, in_run("run.started", f"{kind.name}.{verb}"), "run/order"
        )
        for kind in KERNEL_KINDS
        for verb in ("streamed", "completed", "failed")
    },
    "superseded, and not requested": Case(
        "event", SUPERSEDED[0], superseding(), "run/order"
    ),
    **{
        f"superseded, though {' '.join(verbs)}": Case(
            "event", SUPERSEDED[1], superseding(*verbs), "run/order"
        )
        for verbs in (
            ("requested", "completed"),
            ("requested", "failed", "requested", "completed"),
        )
    },
    **{
        name: Case("event", sentence, deciding(breaks), rule)
        for name, (sentence, breaks, rule) in BREACHES.items()
    },
    **{
        name: Case("event", sentence, forked(event, spoil), f"fork/{rule}")
        for name, (sentence, event, spoil, rule) in OF_FORKS.items()
    },
    **{
        f"continues: {what}": Case(
            "event", QUOTED, nothing, "key/continues", genesis=continues(note)
        )
        for what, note in NO_NOTES.items()
    },
    **{
        f"a later {name} format": Case(
            "event", KNOWN, nothing, "key/formats", 3, formats(**{name: 9})
        )
        for name in ("checkpoint", "event", "layout")
    },
}
