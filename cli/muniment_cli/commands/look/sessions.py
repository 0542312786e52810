"""``muniment sessions``: list conversations, and show one as it is or was.

Rules: what is private is shown with ``--private`` only; what a session no longer says, with
``--all``, or by a moment of it (``--at``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.group import DefaultGroup
from muniment_cli.shell.options import examples, json_option, private_option
from muniment_cli.terminal.output import hint, show_json

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["command"]


@click.group(cls=DefaultGroup, epilog=examples("muniment sessions"))
def command() -> None:
    """List sessions of agents, and show their transcripts."""


@command.command(
    "list", epilog=examples("muniment sessions", "muniment sessions --all --json")
)
@click.option("--all", "parts", is_flag=True, help="Also what each run wrote of one.")
@json_option
@pass_session
def list_sessions(session: Session, *, parts: bool, as_json: bool) -> int:
    """List sessions, the one that was written last at the end."""
    from muniment_cli.views.sessions import show_sessions
    from muniment_plugins.workflow.sessions.views import session_rows

    with session.open() as ledger:
        rows = session_rows(ledger, parts=parts)
    if as_json:
        show_json(rows)
    elif rows:
        show_sessions(rows)
    else:
        hint(
            "no session was opened yet: agent_session_open does, and nodes that name one"
        )
    return 0


@command.command(
    "show",
    epilog=examples(
        "muniment sessions show desk",
        "muniment sessions show desk --at 7",
        "muniment sessions show desk --all --private",
    ),
)
@click.argument("name", metavar="SESSION")
@click.option("--at", type=click.IntRange(1), help="As it was after so many events.")
@click.option("--all", "whole", is_flag=True, help="Also what it no longer says.")
@private_option
@json_option
@pass_session
def show(
    session: Session,
    name: str,
    *,
    at: int | None,
    whole: bool,
    private: bool,
    as_json: bool,
) -> int:
    """Show SESSION: who said what, calls of tools, summaries, and what was archived."""
    from muniment_cli.views.sessions import show_session
    from muniment_plugins.workflow.sessions.views import history, snapshot

    with session.open() as ledger:
        chosen = _chosen(ledger, name)
        found = snapshot(ledger, chosen, at, private=private)
        if whole:
            found["history"] = history(ledger, chosen, at, private=private)
    if as_json:
        show_json(found)
    else:
        show_session(found)
    return 0


def _chosen(ledger: Ledger, name: str) -> str:
    """Return the session that *name* names, whole or by a beginning that only it has."""
    import difflib

    from muniment.errors import CannotTellError
    from muniment_plugins.workflow.sessions.views import SessionNames

    known = ledger.project(SessionNames)
    if name in known:
        return name
    begun = [one for one in known if one.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    near = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]}?" if near else "`muniment sessions` lists them"
    if begun:
        remedy = f"it may be {' or '.join(begun[:3])}"
    raise CannotTellError(
        "there is no such session" if not begun else "several sessions begin so",
        rule="session/unknown",
        place=name,
        remedy=remedy,
    )
