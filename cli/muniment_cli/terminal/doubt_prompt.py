"""Asking the person who resumes a run on a terminal about an effect in doubt.

    a human effect was requested, and its outcome is unknown
      request  {"approve":"invoice 7"}
    perform it again? [repeat/refuse]:

Rules: the question goes to stderr, if a person can see it and type; otherwise nobody is
asked, and the effect is refused. The end of input refuses; Ctrl-C interrupts the run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

import click

from muniment.programs.stable_names import stable_name

__all__ = ["DoubtPrompt", "can_ask", "question"]

Pause = Callable[[], AbstractContextManager[object]]


@stable_name("muniment:terminal/1")
class DoubtPrompt:
    """Asks on this terminal, while any display there is paused."""

    def __init__(self, pause: Pause) -> None:
        self._pause = pause

    def __call__(self, kind: str, request: object) -> str:
        """Return ``repeat`` or ``refuse``."""
        from muniment.encoding.codec import encode
        from muniment.encoding.visible import clean
        from muniment_cli.views.event_view import short

        with self._pause():
            about = f"a {kind} effect was requested, and its outcome is unknown"
            told = f"  request  {short(encode(request), 1000)}"
            click.echo(clean(f"{about}\n{told}"), err=True)
            try:
                answer: str = click.prompt(
                    "perform it again?",
                    type=click.Choice(["repeat", "refuse"]),
                    err=True,
                )
            except click.Abort as end:
                if isinstance(end.__context__, EOFError):
                    return "refuse"
                raise KeyboardInterrupt from end
            return answer


def question(pause: Pause) -> DoubtPrompt | None:
    """Return a prompt, or None if nobody can be asked."""
    if can_ask():
        return DoubtPrompt(pause)
    return None


def can_ask() -> bool:
    """Tell whether somebody at this terminal can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
