"""Listening to a model while it answers, which changes nothing in the record.

    complete(run, "openai:gpt-…", "Tell a story.", on_text=print)

Rules: text is passed on once; after an attempt that was cut off, the next one passes on
its text from the beginning. A replay passes on nothing.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from muniment.runs.lanes.listening import Listener
from muniment_plugins.providers.wire_formats.sse import events

__all__ = ["Ear"]


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
