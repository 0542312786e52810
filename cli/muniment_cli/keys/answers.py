"""Signing for ``muniment approve`` and ``deny``, and the place of the answer.

Rules: the approver's key is ``--key``, else ``approver.pem`` of the trust home; it
signs no event. With ``-o`` nothing is written to the ledger, so a copy of it is enough.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import KeyRefused, UsageError
from muniment_cli.shell.new_places import write_or_refuse
from muniment_cli.terminal.advice import quoted
from muniment_cli.terminal.output import complain, count, fields, hint, say, show_json
from muniment_cli.views.event_view import subject_of

if TYPE_CHECKING:
    from muniment import PendingDecision
    from muniment.formats.dsse import Signer
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment_cli.shell.context import Session

__all__ = ["answer", "approver_key", "asked", "decided_run", "told"]

_LISTED = 5
"""How many open questions are named."""


def answer(  # noqa: PLR0913 - what the two commands are given
    session: Session,
    what: str,
    outcome: str,
    *,
    reason: str,
    meaning: str,
    key: str | None,
    output: Path | None,
    resume: bool,
    as_json: bool,
) -> str | None:
    """Answer the question *what* with *outcome*; return the run that this decides."""
    if resume and output is not None:
        raise UsageError(
            "an answer in a file continues no run",
            rule="inbox/resume",
            place="--resume",
            remedy="leave out -o, or resume once the file was added",
        )
    decided: str | None = None
    with session.open(write=output is None) as ledger:
        pending = asked(ledger, what)
        signer = approver_key(ledger, key)
        _show(ledger, pending)
        if output is not None:  # a ledger refuses such an answer by itself
            _warn_of(ledger, pending, signer)
        signed = pending.sign(signer, outcome, reason=reason, meaning=meaning)
        if output is None:
            event = ledger.answer(signed)
            decided = decided_run(ledger, event)
            if not (resume and as_json):  # then the document is about the run
                told(ledger, event, as_json=as_json)
    if output is None:
        return decided
    write_or_refuse(output, signed + b"\n")
    if as_json:
        document = {"asked": pending.asked, "key": signer.public.keyid}
        show_json({**document, "outcome": outcome, "output": output})
        return None
    say(output)
    hint(
        f"`muniment inbox add {quoted(str(output))}` appends it, where there is a "
        "writer's key"
    )
    return None


def _show(ledger: Ledger, pending: PendingDecision) -> None:
    """Say what is signed, before it is."""
    pairs = (
        ("asked by", f"event {pending.seq} of run {pending.run}"),
        ("prompt", pending.prompt),
        ("subject", subject_of(ledger, pending)),
    )
    hint(*(f"{name} {value}" for name, value in pairs if value))


def _warn_of(ledger: Ledger, pending: PendingDecision, signer: Signer) -> None:
    """Say if an answer by this key would not count, as far as this ledger knows."""
    key = signer.public.keyid
    if pending.of and key not in pending.of:
        named = ", ".join(pending.of)
        complain("warning", f"{key} may not answer this; those who may are {named}")
    elif signer.public not in ledger.keys.current("approver"):
        complain(
            "warning",
            f"{key} is no approver's key in this ledger: the answer counts only once the "
            "key is enrolled; `muniment keys request --role approver --key FILE` asks for "
            "that, `muniment keys enrol` does it",
        )


def asked(ledger: Ledger, what: str) -> PendingDecision:
    """Return the pending decision of a run, or that of an event's number.

    Raises:
        UsageError: there is none, or more than one.

    """
    waiting = ledger.pending()
    if what.isdecimal() and len(what) < 20:  # noqa: PLR2004 - a run id has 26 letters
        found = [one for one in waiting if one.seq == int(what)]
    else:
        run = ledger.run_id(what)
        found = [one for one in waiting if run in (one.run, _root_of(ledger, one.run))]
    if len(found) == 1:
        return found[0]
    many = count(len(found), "decision")
    raise UsageError(
        f"{what} waits for {many if found else 'no decision'}",
        rule="inbox/unknown",
        place=what,
        remedy="`muniment inbox` lists them; name one by its event",
    )


def decided_run(ledger: Ledger, event: Event) -> str | None:
    """Return the run that may be resumed after the answer in *event*, if one may."""
    ask, left = _question(ledger, event)
    return None if left else _root_of(ledger, str(ask.run))


def _question(ledger: Ledger, event: Event) -> tuple[Event, list[PendingDecision]]:
    """Return the question that *event* answered, and itself again while it is pending."""
    about = event.subject[0].digest.removeprefix("sha256:")
    (ask,) = (one for one in ledger.events(type="decision.asked") if one.hash == about)
    return ask, [one for one in ledger.pending() if one.asked == about]


def told(ledger: Ledger, event: Event, *, as_json: bool) -> None:
    """Say what *event* answered, and what may follow."""
    ask, left = _question(ledger, event)
    root = decided_run(ledger, event)
    others = _others(ledger, ask)
    if as_json:
        show_json(
            {
                "seq": event.seq,
                "run": ask.run,
                "asked": ask.seq,
                "waits": bool(left),
                "open": others,
                "resume": root,
            }
        )
        return
    fields(
        [
            ("run", str(ask.run)),
            ("asked", f"event {ask.seq}"),
            ("answered", f"event {event.seq}"),
        ]
    )
    if left:
        hint(f"{_lacks(left[0])}; the run still waits")
    elif others:
        listed = (
            f"event{'s' * (len(others) > 1)} {', '.join(map(str, others[:_LISTED]))}"
        )
        more = len(others) - _LISTED
        listed += f" and {more} more" if more > 0 else ""
        hint(
            f"decided; open questions of the run: {listed}. `muniment resume {root}` goes "
            "on as far as it can without them"
        )
    else:
        hint(f"decided: `muniment resume {root}` continues the run")


def _others(ledger: Ledger, ask: Event) -> list[int]:
    """Return the events that ask something else for the same run, or one it called."""
    root = _root_of(ledger, str(ask.run))
    found = (one for one in ledger.pending() if one.asked != ask.hash)
    return [one.seq for one in found if _root_of(ledger, one.run) == root]


def _lacks(pending: PendingDecision) -> str:
    approved = sum(one.outcome == "approved" for one in pending.answers)
    return f"{approved} of {pending.quorum} approved"


def _root_of(ledger: Ledger, run: str) -> str:
    """Return the run to resume so that *run* continues."""
    started = next(ledger.events(run=run))
    parent = started.raw.get("parent")
    return str(parent["root"]) if isinstance(parent, dict) else run


def approver_key(ledger: Ledger, key: str | None) -> Signer:
    """Return the approver's key that *key* names, or that of the trust home.

    Raises:
        KeyRefused: there is none here.

    """
    from muniment.formats.dsse import signer_from_uri
    from muniment.trust.signing_key import kept_key

    signer = kept_key(ledger.home, ledger.id, "approver") if key is None else None
    if key is not None:
        signer = signer_from_uri(key)
    if signer is None:
        raise KeyRefused(
            "there is no approver's key of this ledger here",
            rule="key/none",
            place=str(ledger.path),
            remedy="give one with --key; `muniment keys request --role approver` makes "
            "one, which a root enrols",
        )
    return signer
