"""What mail to runs adds to the vocabulary.

    mail.sent              {"run": "01JD…", "kind": "signal", "name": "go", …}
    mail.undelivered       {"mail": ["9f86…"], "names": ["go"]}
    update.answered        {"mail": "9f86…", "name": "budget", "value": {…}}
    query.published        {"query": "progress", "value": {…}}

Rule: the facts are the engine's own, as those of graphs are: `vocabulary`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, cast

from muniment.events.types import BLOB, LARGE, VOLATILE, PlainData
from muniment.formats.series import series_key
from muniment.formats.statement import Data

__all__ = [
    "MAILS",
    "MailSent",
    "MailUndelivered",
    "QueryPublished",
    "UpdateAnswered",
    "letters_of",
    "mail_series",
]

MAILS = "workflow.mail"
"""Prefix of the keys of series that count the mail to a run."""


class MailSent(PlainData):
    """Somebody outside sent a run a letter; the event belongs to no run."""

    run: str
    kind: str
    """``signal``, ``update`` or ``control``."""
    name: str
    """What it is called: of a control ``pause``, ``resume`` or ``continue_as_new``."""
    payload: Annotated[object, BLOB] = None


class MailUndelivered(PlainData):
    """A run is about to be completed, and these letters to it were taken by nobody."""

    mail: Annotated[list[str], LARGE]
    """Leaf hashes of the events that they are."""
    names: Annotated[list[str], LARGE]


class UpdateAnswered(PlainData):
    """A run answered an update, or refused it."""

    mail: str
    """The leaf hash of the event that the update is."""
    name: str
    value: Annotated[object, BLOB] = None
    error: Annotated[str | None, BLOB] = None
    """Why it was refused; None if it was not."""
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class QueryPublished(PlainData):
    """A run says something to whoever asks for it, until it says something else."""

    query: str
    value: Annotated[object, BLOB] = None
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


def mail_series(data: Data) -> tuple[str, ...]:
    """Return the series of the mail to a run."""
    return (series_key(MAILS, str(data["run"])),)


def letters_of(answer: object) -> Mapping[str, object]:
    """Return which letters a run took, which is no secret."""
    rows = cast("list[Mapping[str, object]]", answer)
    return {"mail": [str(one["hash"]) for one in rows]} if rows else {}
