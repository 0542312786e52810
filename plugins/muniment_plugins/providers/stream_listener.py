"""Listening to a model while it answers, which changes nothing in the record.

    complete(run, "openai:gpt-…", "Tell a story.", on_text=print)

Rules: text is passed on once; after an attempt that was cut off, the next one passes on
its text from the beginning. A replay passes on the whole text at once.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from muniment_plugins.providers.wire_formats.sse import events

__all__ = ["LISTENER", "Ear", "Listener"]


@dataclass(slots=True)
class Listener:
    """The receiver of the text of one completion."""

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


def _silence(_: Any) -> str:
    return ""


@dataclass(slots=True)
class Ear:
    """Turns the chunks of a stream into the text that they add."""

    listener: Listener | None = None
    spoken: Callable[[Any], str] = _silence
    """Gives the text of one event, by the format of the stream."""
    _rest: str = ""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def again(self) -> None:
        """Begin a new stream."""
        self._rest = ""
        self._decoder.reset()

    def hear(self, chunk: bytes) -> None:
        """Pass on the text that *chunk* adds."""
        if self.listener is None:
            return
        self._rest += self._decoder.decode(chunk).replace("\r\n", "\n")
        *whole, self._rest = self._rest.split("\n\n")
        for one in whole:
            for _, data in events(f"{one}\n\n"):
                text = self._text(data)
                if text:
                    self.listener(text)

    def _text(self, data: str) -> str:
        try:
            return self.spoken(json.loads(data))
        except (LookupError, TypeError, ValueError):
            return ""  # [DONE], or what the answer itself will be refused for
