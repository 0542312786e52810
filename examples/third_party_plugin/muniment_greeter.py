"""A plugin that greets: words, a policy, an answer, an executor, a format, a command.

greeting.requested  {"request": {"name": "Ada"}}
greeting.completed  {"value": "Good day, Ada.", "answered_by": {"name": "greeter", …}}
greeting.received   {"name": "Ada", "text": "Good day, Ada."}
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Annotated, ClassVar

import click

import muniment
from muniment import Executor, GateAnswer, Run, hookimpl, hookspec
from muniment.events.effect_kinds import EffectKind
from muniment.events.types import BLOB, EventData, EventType
from muniment.ledger import Ledger
from muniment.runs.executors import Reach, Send

__all__ = [
    "Errands",
    "GreetingReceived",
    "Words",
    "before_append",
    "before_effect",
    "effect_kinds",
    "event_types",
    "executors",
    "exporters",
    "greeting_words",
    "greetings",
    "hookspecs",
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


class Words:
    """What this plugin asks others."""

    @hookspec(firstresult=True)
    def greeting_words(self, name: str) -> str | None:
        """Return what to say to *name*, or None."""


@hookimpl
def hookspecs() -> Iterable[type]:
    """Declare a hook that any plugin may answer."""
    return [Words]


@hookimpl(trylast=True)
def greeting_words(name: str) -> str:
    """Say what is said where nobody else knows better."""
    return f"Good day, {name}."


@hookimpl
def before_effect(
    run: Run, kind: EffectKind, request: object
) -> GateAnswer | str | None:
    """Answer greetings, refuse commands, and let everything else happen."""
    if kind.name == "command":
        return "a greeter runs no commands"
    if kind.name == "greeting" and isinstance(request, dict):
        return GateAnswer(run.hook("greeting_words", name=request["name"]))
    return None


@hookimpl
def before_append(event_type: str, data: Mapping[str, object]) -> str | None:
    """Refuse notes that shout."""
    if event_type == "note.added" and str(data.get("text")).isupper():
        return "please do not shout"
    return None


_ONCE = """
import importlib, sys
module, _, name = sys.argv[1].partition(":")
serve = getattr(importlib.import_module(module), name)
sys.stdout.buffer.write(serve(sys.stdin.buffer.read()))
"""


class Errands:
    """An executor: each call of a function is a process of its own."""

    name: ClassVar[str] = "errands"
    reach: ClassVar[Reach] = "process"
    lanes = 2

    def require(self) -> None:
        """Need nothing that is not here."""

    @contextmanager
    def host(self, serve: str) -> Generator[Send]:
        """Give what carries bytes to the function *serve*, and its bytes back."""

        def send(sent: bytes) -> bytes:
            command = [sys.executable, "-c", _ONCE, serve]
            done = subprocess.run(command, input=sent, stdout=-1, check=True)  # noqa: S603 - this very interpreter
            return done.stdout

        yield send


@hookimpl
def executors() -> Mapping[str, Callable[[], Executor]]:
    """Add ``errands``."""
    return {"errands": Errands}


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
