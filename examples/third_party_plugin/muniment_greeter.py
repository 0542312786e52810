"""A plugin that greets: words, a policy, an answer, a format and a command.

greeting.requested  {"request": {"name": "Ada"}}
greeting.completed  {"value": "Good day, Ada.", "answered_by": {"name": "greeter", …}}
greeting.received   {"name": "Ada", "text": "Good day, Ada."}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

import click

import muniment
from muniment import Answer
from muniment.event_types import BLOB, EventData, EventType
from muniment.hookspecs import hookimpl
from muniment.kinds import EffectKind
from muniment.ledger import Ledger

__all__ = [
    "GreetingReceived",
    "before_append",
    "before_effect",
    "effect_kinds",
    "event_types",
    "exporters",
    "greetings",
]


class GreetingReceived(EventData):
    """Somebody was greeted, and heard it."""

    name: str
    text: Annotated[str, BLOB]


@hookimpl
def event_types() -> Iterable[EventType]:
    """Add ``greeting.received``."""
    return [EventType("greeting.received", GreetingReceived)]


@hookimpl
def effect_kinds() -> Iterable[EffectKind]:
    """Add ``greeting``; repeating one does no harm."""
    return [EffectKind("greeting", magnitude="low", on_doubt="repeat")]


@hookimpl
def before_effect(kind: str, request: object) -> Answer | str | None:
    """Answer greetings, refuse commands, and let everything else happen."""
    if kind == "command":
        return "a greeter runs no commands"
    if kind == "greeting" and isinstance(request, dict):
        return Answer(f"Good day, {request['name']}.")
    return None


@hookimpl
def before_append(event_type: str, data: Mapping[str, object]) -> str | None:
    """Refuse notes that shout."""
    if event_type == "note.added" and str(data.get("text")).isupper():
        return "please do not shout"
    return None


@hookimpl
def exporters() -> Mapping[str, Callable[[Ledger, str], bytes]]:
    """Add the format ``greetings``."""
    return {"greetings": _greetings_of}


def _greetings_of(ledger: Ledger, run: str | None = None) -> bytes:
    received = ledger.events(run=run, type="greeting.received")
    texts = [str(ledger.resolve(event)["text"]) for event in received]
    return "".join(f"{text}\n" for text in texts).encode()


@click.command()
def greetings() -> None:
    """Print every greeting of the ledger."""
    with muniment.open(readonly=True) as ledger:
        click.echo(_greetings_of(ledger), nl=False)
