"""Regular expressions of suites, whose search ends: a text of a model may take one years.

    PATTERNS.search("^Refund", text)          True
    PATTERNS.search("(a+)+$", "a" * 40 + "b") raises TookTooLong

Rules:

- They are Python's, compiled when a suite is loaded: one that is none is refused there.
- They are matched by a process of their own, which is ended after `SECONDS`. What took
  longer decides nothing: nobody can tell. The answer is recorded, so that a replay agrees.
- One that finds something in whatever text there is holds nothing, and is refused.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from contextlib import suppress
from typing import cast

from muniment.documents.places import At

__all__ = [
    "PATTERNS",
    "SECONDS",
    "Patterns",
    "TookTooLong",
    "compiled",
    "require_narrow",
]

SECONDS = 2.0
"""Wall-clock time: most searches take microseconds."""
_SAMPLES = ("", "\0", "\n", "z", "7 .", "-_/", "Größe\n\n[{")
"""Texts that have no character in common."""
_WORK = """
import json, re, sys
for line in sys.stdin:
    pattern, new, text = json.loads(line)
    found = re.compile(pattern)
    said = found.search(text) is not None if new is None else found.sub(new, text)
    print(json.dumps(said), flush=True)
"""


class TookTooLong(Exception):
    """A search did not come to its end in time."""

    def __init__(self, pattern: str) -> None:
        """Keep the *pattern*."""
        super().__init__(f"the pattern {pattern!r:.80} took longer than {SECONDS:g} s")


def compiled(pattern: str, new: str, at: At) -> re.Pattern[str]:
    """Return *pattern*, at the place *at*, by which *new* is written.

    Raises:
        UsageError: it is no regular expression, or *new* is no replacement for it.

    """
    try:
        found = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise at.wrong(
            f"it is no regular expression: {error}", "value", "mend it"
        ) from None
    try:
        found.sub(new, "")
    except (re.error, IndexError) as error:
        raise at.wrong(
            f"{new!r:.80} is no replacement for it: {error}",
            "value",
            "name groups that the pattern has",
        ) from None
    return found


def require_narrow(pattern: re.Pattern[str], at: At) -> None:
    """Refuse a *pattern* that finds something in every text.

    Raises:
        UsageError: it does.

    """
    if all(map(pattern.search, _SAMPLES)):
        raise at.wrong(
            "it finds something in every text", "asserts-nothing", "ask for more"
        )


class Patterns:
    """A process that searches; it is started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def search(self, pattern: str, text: str) -> bool:
        """Tell whether *pattern* finds something in *text*.

        Raises:
            TookTooLong: nobody knows.

        """
        return self._asked(pattern, None, text) is True

    def replaced(self, pattern: str, new: str, text: str) -> str:
        """Return *text* with *new* for all that *pattern* finds.

        Raises:
            TookTooLong: nobody knows.

        """
        return cast("str", self._asked(pattern, new, text))

    def _asked(self, pattern: str, new: str | None, text: str) -> object:
        with self._lock:
            for _ in range(2):  # one that had ended meanwhile is started again
                line, late = self._answer(json.dumps([pattern, new, text]))
                if line:
                    return json.loads(line)
                if late:
                    break
        raise TookTooLong(pattern)

    def _answer(self, question: str) -> tuple[str, bool]:
        """Return the line that answers, and whether it was waited for too long."""
        if self._process is None or self._process.poll() is not None:
            self._process = _started()
        process, late = self._process, threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(SECONDS, end)
        timer.daemon = True
        timer.start()
        line = ""
        try:
            with suppress(OSError):
                assert process.stdin is not None  # noqa: S101 - it has pipes
                assert process.stdout is not None  # noqa: S101 - the same
                process.stdin.write(f"{question}\n")
                process.stdin.flush()
                line = process.stdout.readline()
        finally:
            timer.cancel()
            if not line:
                self._ended()
        return line, late.is_set()

    def _ended(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            process.wait()

    def close(self) -> None:
        """End the process; it is started again when it is needed."""
        with self._lock:
            self._ended()


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own words
        [sys.executable, "-I", "-S", "-c", _WORK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="ascii",
    )


PATTERNS = Patterns()
"""The one of this process; it ends with it, since its input does."""
