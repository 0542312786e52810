"""Asking people: a fact asks, the run pauses, and continues with their answer.

    decision.asked      subject, prompt, quorum, of       in the scope that asks
    run.paused          waits_for: ["<its leaf hash>"]
    decision.given      in no run: appended by whoever holds a writer key
    run.resumed
    decision.reached    asked, outcome, answers           in the scope that asks

Rules:

- Only a durable event asks: people sign its leaf hash. Nothing polls; a resume looks at
  the answers that are there then, and pauses again if they do not decide.
- ``decision.reached`` holds what the program is told, so that the record alone answers a
  replay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import CannotTellError, RefusedError, RunPaused, UsageError
from muniment.formats.decisions import (
    ASKED,
    MAX_KEYS,
    REACHED,
    Decision,
    DecisionAnswer,
)
from muniment.formats.statement import Event
from muniment.recorded.divergence import Divergence

if TYPE_CHECKING:
    from muniment.runs.recording import Handle, Recording

__all__ = ["ask", "asking", "decide"]

_KEYID = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


def asking(
    subject: object, prompt: object, quorum: object, of: object
) -> dict[str, object]:
    """Return the data of the event that asks.

    Raises:
        UsageError: nobody could decide it.

    """
    keys = _keys(of)
    if len(keys) > MAX_KEYS:
        raise UsageError(
            f"{len(keys)} keys are named, and at most {MAX_KEYS} can be",
            rule="decision/quorum",
            remedy="name fewer, or none: then every approver may answer",
        )
    most = len(keys) if keys else MAX_KEYS
    if type(quorum) is not int or not 1 <= quorum <= most:
        big = type(quorum) is int and abs(quorum) > 1 << 32
        told = "that many" if big else repr(quorum)[:20]
        raise UsageError(
            f"a quorum of {told} cannot be reached by {most}",
            rule="decision/quorum",
            remedy="ask for 1 approval" if most == 1 else f"ask for 1 to {most}",
        )
    if not isinstance(prompt, str):
        raise UsageError(
            f"the prompt is not a text but {type(prompt).__name__}",
            rule="decision/subject",
            remedy="give the prompt as a text, and values as the subject",
        )
    odd = [one for one in keys if not _KEYID.fullmatch(str(one))]
    if odd or len({*keys}) != len(keys):
        raise UsageError(
            f"{odd[0]!r:.80} is not the id of a key" if odd else "a key is named twice",
            rule="decision/key",
            remedy="give ids as `muniment keys list --json` prints them: SHA256:…",
        )
    if subject is None:
        raise UsageError(
            "there is nothing to decide on",
            rule="decision/subject",
            remedy="give a value that says it, such as a text",
        )
    return {"subject": subject, "prompt": prompt or None, "quorum": quorum, "of": keys}


def _keys(of: object) -> list[object]:
    if isinstance(of, str):
        return [of]
    try:
        return [*cast("Iterable[object]", of)]
    except TypeError:
        raise UsageError(
            f"{of!r:.80} names no keys",
            rule="decision/key",
            remedy="give a list of ids of keys, or leave it out for every approver",
        ) from None


def ask(recording: Recording, scope: str, asked: Mapping[str, object]) -> Handle:
    """Ask people in *scope*; return the event that asks, written with the next that is."""
    if recording.mode.writes:
        recording.port.inbox.require_format()
    return recording.record(scope, ASKED, asked)


def decide(recording: Recording, scope: str, handle: Handle) -> Decision:
    """Return what people decided on what was asked, or pause the run until they do."""
    mode, inbox = recording.mode, recording.port.inbox
    recording.owner.require()
    with recording.lock:
        recording.require_going(scope)
        if mode.replays:
            return _replayed(recording, scope, handle.written)
        if not mode.writes:
            end = RefusedError(
                "the dry run ends here: nobody can be asked to decide",
                rule="run/dry-end",
                place=f"run {recording.run_id}",
            )
            raise recording.stop(scope, end)
        event = handle.event
        decision = inbox.decision(event)
        if decision is None:
            reason = f"a decision that event {event.seq} asks for"
            raise recording.stop(scope, RunPaused(reason, (event.hash,)))
        answers = [one.to_json() for one in decision.answers]
        told = {"asked": event.hash, "outcome": decision.outcome, "answers": answers}
        recording.record(scope, REACHED, told)
        return decision


def _replayed(recording: Recording, scope: str, asked: Event | None) -> Decision:
    """Return what people decided, as the record says."""
    reached = _recorded(recording, scope, asked)
    if reached is None and asked is None:  # it asks what nobody was asked
        found = Divergence("extra", scope, None, "type", None, ASKED)
        raise recording.stop(scope, found.error(recording.run_id))
    if reached is None:
        end = CannotTellError(
            "the record ends before people decided",
            rule="replay/open",
            place=f"run {recording.run_id}",
            remedy="`muniment inbox` lists what is waited for",
        )
        raise recording.stop(scope, end)
    told = cast("dict[str, Any]", reached.raw)
    recording.record(scope, REACHED, told)
    answers = tuple(DecisionAnswer.from_json(one) for one in told["answers"])
    return Decision(told["outcome"], answers)


def _recorded(recording: Recording, scope: str, asked: Event | None) -> Event | None:
    """Return the recorded decision on *asked*; without that, the next decision."""
    record = recording.mode.record
    here = None if record is None else record.scopes.get(scope)
    reached = [
        item
        for item in ([] if here is None else here.items)
        if item.event.type == REACHED and item.waits
    ]
    return next(
        (
            item.event
            for item in reached
            if asked is None or item.event.raw.get("asked") == asked.hash
        ),
        None,
    )
