"""Mail to a run: what somebody outside sends it, as a signed event of its own.

    mail.sent    {"run": "01JD…", "kind": "signal", "name": "go", "payload": {…}}

Rules:

- Mail belongs to no run: whoever holds a writer key sends it, whoever runs or owns the run
  then. The series ``workflow.mail/<run>`` counts it, so that none is lost unseen.
- A signal says something, an update asks for an answer. A control is one of three words:
  ``pause``, ``resume``, which takes pauses back, and ``continue_as_new``.
- What is sent may be personal: it is a blob, and can be erased.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from muniment.documents.places import At
from muniment.documents.shapes import Numeric
from muniment.encoding.canonical import JsonValue
from muniment.errors import ErasedError, UsageError
from muniment.formats.series import series_key
from muniment.formats.statement import BlobRef, Event
from muniment_plugins.workflow.mail_types import MAILS

if TYPE_CHECKING:
    from muniment.hookspecs import ReadableLedger

__all__ = [
    "CONTROLS",
    "MAIL",
    "SENT",
    "Mail",
    "MailKind",
    "mail_of",
    "mail_series",
    "require_name",
    "require_seconds",
]

MailKind: TypeAlias = Literal["signal", "update", "control"]
CONTROLS = ("pause", "resume", "continue_as_new")
SENT = "mail.sent"
"""The type of the event that mail is."""
MAIL = "mail"
"""The kind of the effects by which a run takes its mail."""
_NAME = re.compile(r"[^\s/@$*]{1,200}")
_WAIT = Numeric(0, 31_536_000)


@dataclass(frozen=True, slots=True)
class Mail:
    """One letter."""

    hash: str
    """The leaf hash of the event that it is."""
    seq: int
    """The number of that event."""
    run: str
    """The run that it was sent to."""
    kind: MailKind
    name: str
    sender: str
    """The writer that the event claims."""
    sent_at: str
    """RFC 3339."""
    payload: JsonValue = None
    """What it says; None if that was erased."""

    def row(self) -> dict[str, JsonValue]:
        """Return the letter as the outcome of an effect has it."""
        return {
            "hash": self.hash,
            "seq": self.seq,
            "run": self.run,
            "kind": self.kind,
            "name": self.name,
            "sender": self.sender,
            "sent_at": self.sent_at,
            "payload": self.payload,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, JsonValue]) -> Mail:
        """Return the letter that `row` wrote."""
        return cls(**row)  # type: ignore[arg-type]  # by `row`


def mail_series(run: str) -> str:
    """Return the key of the series of the mail to *run*."""
    return series_key(MAILS, run)


def mail_of(ledger: ReadableLedger, event: Event) -> Mail:
    """Return the letter that *event* is."""
    said = event.data
    payload = said.get("payload")
    if isinstance(payload, BlobRef):
        try:
            payload = ledger.value(payload)
        except ErasedError:
            payload = None
    return Mail(
        hash=event.hash,
        seq=event.seq,
        run=str(said["run"]),
        kind=cast("MailKind", said["kind"]),
        name=str(said["name"]),
        sender=event.actor,
        sent_at=event.time,
        payload=cast("JsonValue", payload),
    )


def require_name(name: object, what: str) -> str:
    """Return *name* if it can name *what*.

    Raises:
        UsageError: it cannot.

    """
    if isinstance(name, str) and _NAME.fullmatch(name) and name.isprintable():
        return name
    raise UsageError(
        f"{name!r:.80} is not the name of a {what}",
        rule="workflow/mail-name",
        place=f"the {what}",
        remedy="write one word that can be printed, such as go, without / and *",
    )


def require_seconds(seconds: object, place: str) -> float:
    """Return *seconds* if one can wait so long: from none to a year.

    Raises:
        UsageError: it is no such number, or none at all.

    """
    _WAIT.check(cast("JsonValue", seconds), At(place, "workflow"))
    return cast("float", seconds)
