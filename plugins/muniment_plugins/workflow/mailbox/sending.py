"""Sending mail to a run, from any process that may write to its ledger.

    workflow_signal(ledger, run, "go", {"by": "lena"})
    workflow_update(ledger, run, "budget", {"calls": 40}, timeout_s=30)
    workflow_pause(ledger, run, "the data are late")

Rules:

- A letter is durable when these return; the run takes it at its next step, or where a
  handler waits for it. If it cannot be taken any more, that is said, and the letter stays.
- The answer to an update is recorded by the run. Who waits for it reads the ledger; who
  gives up waiting takes nothing back.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import CannotTellError, RefusedError
from muniment_plugins.workflow.artifacts.plain_json import plain_json
from muniment_plugins.workflow.mailbox.letters import (
    SENT,
    Mail,
    MailKind,
    mail_of,
    require_name,
    require_seconds,
)
from muniment_plugins.workflow.mailbox.pending import ends_of
from muniment_plugins.workflow.mailbox.views import (
    answer_to,
    last_of,
    over_at,
    require_workflow,
)
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "SentMail",
    "send_control",
    "workflow_pause",
    "workflow_signal",
    "workflow_update",
]

_MOST = 1 << 20
"""The most bytes of a payload."""
_EVERY = 0.05
_SERIES = 3
"""Events of earlier versions belong to no series."""


@dataclass(frozen=True, slots=True)
class SentMail:
    """A letter that is in the ledger, and whether it can still be taken."""

    mail: Mail
    state: str
    """``waiting``; ``passed_on`` to the run that goes on as new; ``undelivered``, if the
    last of these had ended before."""
    to: str
    """The run that takes it."""


def workflow_signal(
    ledger: Ledger, run: str, name: str, payload: object = None
) -> SentMail:
    """Send the signal *name* to *run*, an id or a unique prefix of one.

    Raises:
        UsageError: there is no such run, it walks no graph, or the payload is no JSON.

    """
    return _send(ledger, run, "signal", name, payload)


def workflow_pause(ledger: Ledger, run: str, reason: str = "") -> SentMail:
    """Let *run*, and what it called, pause at its next step.

    Raises:
        UsageError: there is no such run, or it walks no graph.

    """
    return send_control(ledger, run, "pause", {"reason": reason})


def send_control(
    ledger: Ledger, run: str, name: str, payload: object = None
) -> SentMail:
    """Send one of the words that runs themselves understand."""
    return _send(ledger, run, "control", name, payload)


def workflow_update(
    ledger: Ledger,
    run: str,
    name: str,
    payload: object = None,
    *,
    timeout_s: float = 30.0,
) -> object:
    """Send the update *name* to *run*, and return its answer.

    Args:
        ledger: where the run is recorded.
        run: its id, or a unique prefix of it.
        name: what is to be updated.
        payload: what is said; JSON.
        timeout_s: how many seconds to wait for the answer.

    Raises:
        UsageError: there is no such run, it walks no graph, or the payload is no JSON.
        RefusedError: the run refused it, or ended without an answer.
        CannotTellError: there is no answer yet; the update waits on.

    """
    seconds = require_seconds(timeout_s, "timeout_s")
    sent = _send(ledger, run, "update", name, payload)
    end = time.monotonic() + seconds
    while True:
        said = answer_to(ledger, sent.mail.run, sent.mail.hash)
        if said["state"] != "waiting":
            return _answered(sent.mail, said)
        if time.monotonic() >= end:
            raise CannotTellError(
                f"nobody has answered {name} within {timeout_s:g} seconds",
                rule="workflow/update-open",
                place=f"run {sent.mail.run}, event {sent.mail.seq}",
                remedy="it waits on: `muniment workflow mail RUN` shows what came of it",
            )
        time.sleep(_EVERY)


def _answered(mail: Mail, said: dict[str, Any]) -> object:
    place = f"run {mail.run}, event {mail.seq}"
    if said["state"] == "undelivered":
        raise RefusedError(
            f"the run ended, and did not answer {mail.name}",
            rule="workflow/undelivered",
            place=place,
            remedy="`muniment workflow mail RUN` lists what was not delivered",
        )
    if "error" in said:
        raise RefusedError(
            f"the run refused {mail.name}: {said['error']}",
            rule="workflow/update-refused",
            place=place,
        )
    return said["value"]


def _send(
    ledger: Ledger, run: str, kind: MailKind, name: str, payload: object
) -> SentMail:
    chosen = require_workflow(ledger, run)
    require_name(name, kind)
    said = _payload(payload)
    if ledger.keys.event_format < _SERIES:
        raise RefusedError(
            "the events of this ledger cannot be counted, so mail could be lost",
            rule="workflow/no-series",
            place=f"run {chosen}",
            remedy="go on in a successor: `muniment init DIR --continues LEDGER "
            "--reason R`",
        )
    data = EngineFact(run=chosen, kind=kind, name=name, payload=said)
    event = ledger.append(SENT, data)
    mail = mail_of(ledger, event)
    takes = chosen if kind == "control" else last_of(ledger, chosen)
    end = over_at(ledger, takes) if kind != "control" else ends_of(ledger, chosen)
    if end is not None and end.seq < event.seq:
        return SentMail(mail, "undelivered", takes)
    return SentMail(mail, "waiting" if takes == chosen else "passed_on", takes)


def _payload(value: object) -> JsonValue:
    at = At("the payload", "workflow")
    said = plain_json(value, at)
    size = len(canonical(said))
    if size > _MOST:
        raise at.wrong(
            f"it has {size} bytes, and at most {_MOST} can be sent",
            "mail-size",
            "send the digest of a file, or its path",
        )
    return said
