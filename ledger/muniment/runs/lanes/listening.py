"""Listening to a performer while it answers, which changes nothing in the record.

    token = LISTENER.set(Listener(Receiver(print)))     in the performer, around its calls

Rules:

- Text is passed on once. Whoever answers without streaming passes on the whole of it, once
  it is recorded.
- A listener is no part of a request: with one, without one, the record is the same. So what
  it raises fails nothing: that is said once, on stderr, and it is told nothing more. Ctrl-C
  stays what it is.
- It states nothing and performs nothing in a run; that is refused, as anything it raises.
- It hears what is said live. A replay and a dry run tell nobody: `Run.performs`.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import cast

from muniment.errors import UsageError, printable
from muniment.runs.owner import LISTENING

__all__ = ["LISTENER", "Listener", "Receiver"]


@dataclass(slots=True)
class Receiver:
    """Who listens: called until it raises."""

    tell: Callable[..., object]
    is_deaf: bool = False
    """Whether it raised, and is told nothing more."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(
        cls, tell: Callable[..., object], place: str, takes: tuple[str, ...]
    ) -> Receiver:
        """Return who listens by *tell*, which *takes* arguments of these names.

        Raises:
            UsageError: it cannot be called like that, or must be awaited.

        """
        wrong = _fault(tell, takes)
        if wrong is not None:
            raise UsageError(
                wrong,
                rule="run/listener",
                place=place,
                remedy=f"give a plain function of ({', '.join(takes)}), such as one that "
                "puts it into a queue",
            )
        return cls(tell)

    def __call__(self, *said: str) -> None:
        """Pass on what is *said*."""
        if self.is_deaf:
            return
        token = LISTENING.set(True)
        try:
            _drop(self.tell(*said))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - it is outside of the record
            self._fall_silent(error)
        finally:
            LISTENING.reset(token)

    def _fall_silent(self, error: BaseException) -> None:
        with self._lock:
            was_deaf, self.is_deaf = self.is_deaf, True
        if not was_deaf:
            told = f"{type(error).__name__}: {printable(error)}"
            with suppress(Exception):  # nobody is there to hear of it
                sys.stderr.write(
                    f"muniment: a listener raised {told}; it is told nothing more\n"
                )


@dataclass(slots=True)
class Listener:
    """The receiver of the text of one answer."""

    tell: Callable[[str], object] | None
    told: bool = False

    def __call__(self, text: str) -> None:
        """Pass *text* on."""
        if self.tell is not None:
            self.told = True
            self.tell(text)

    def whole(self, text: str) -> None:
        """Pass on all of *text*, unless some of it was passed on already."""
        if text and not self.told:
            self(text)


LISTENER: ContextVar[Listener | None] = ContextVar("muniment_listener", default=None)
"""The listener for the text that the calling code asks for."""


def _drop(value: object) -> None:
    """Refuse a *value* that nobody awaits."""
    if inspect.iscoroutine(value):
        value.close()
    if inspect.isawaitable(value):
        raise TypeError("it has to be awaited, and nobody awaits who listens")


def _fault(tell: object, takes: tuple[str, ...]) -> str | None:
    """Return why *tell* cannot be told anything, None if it can."""
    if not callable(tell):
        return f"a {type(tell).__name__} cannot be called"
    call = cast("object", getattr(tell, "__call__", None))  # noqa: B004 - it is inspected
    if inspect.iscoroutinefunction(tell) or inspect.iscoroutinefunction(call):
        return "it has to be awaited, and nobody awaits who listens"
    try:
        inspect.signature(tell).bind(*takes)
    except TypeError as error:
        return f"it is told ({', '.join(takes)}): {error}"
    except ValueError:  # a builtin without a signature
        return None
    return None
