"""Sessions of agents, outside of runs: open, inject, trim, fork, compact, look.

    desk = agent_session_open(ledger, "desk")
    agent_session_inject(ledger, desk, {"role": "user", "content": "Where is it?"})
    agent_session_compact(ledger, desk, {"keep_last": 6, "compact_strategy": "truncate"})
    agent_session_snapshot(ledger, desk)["messages"]

Rules:

- Within a run a session is written by `RunSession`, so that what is done belongs to the
  run. While a run has a session, these refuse to write it.
- Nothing is taken out of a ledger: what a verb takes from the transcript is in its
  earlier moments, and in `agent_session_archive_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from muniment import current_run
from muniment.errors import RefusedError, UsageError
from muniment.programs.awaiting import driven
from muniment_plugins.workflow.sessions.asking import require_askable
from muniment_plugins.workflow.sessions.inside import RunSession
from muniment_plugins.workflow.sessions.outside import (
    OutsideSession,
    append,
    opened_rows,
    require_name,
    require_series,
)
from muniment_plugins.workflow.sessions.policies import compact_policy
from muniment_plugins.workflow.sessions.streams import folded, is_session
from muniment_plugins.workflow.sessions.transcript import require_keep
from muniment_plugins.workflow.sessions.views import ancestry, snapshot

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "agent_session_abandon",
    "agent_session_ancestry",
    "agent_session_archive",
    "agent_session_close",
    "agent_session_compact",
    "agent_session_current_id",
    "agent_session_exists",
    "agent_session_fork",
    "agent_session_fork_at",
    "agent_session_inject",
    "agent_session_length",
    "agent_session_open",
    "agent_session_reset",
    "agent_session_restore",
    "agent_session_resume",
    "agent_session_snapshot",
    "agent_session_trim",
]


def agent_session_open(ledger: Ledger, session: str | None = None) -> str:
    """Open *session*, or a new one; one that is there stays as it is. Return its id.

    Raises:
        UsageError: nothing can be called so.

    """
    name = require_name(session or f"session-{uuid4()}")
    require_series(ledger)
    if not is_session(ledger, name):
        try:
            append(ledger, name, opened_rows(name), 0)
        except RefusedError as error:
            if error.rule != "session/written-meanwhile":
                raise
    return name


def agent_session_exists(ledger: Ledger, session: str) -> bool:
    """Tell whether there is such a session."""
    return is_session(ledger, session)


def agent_session_current_id() -> str | None:
    """Return the id of the session that the calling run opened last; None without one."""
    try:
        run = current_run()
    except UsageError:
        return None
    opened = RunSession.opened_in(run)
    return opened[-1] if opened else None


def agent_session_length(ledger: Ledger, session: str) -> int:
    """Return how many messages *session* has.

    Raises:
        CannotTellError: there is none.

    """
    return len(folded(ledger, session).entries)


def agent_session_snapshot(
    ledger: Ledger, session: str, *, at: int | None = None, private: bool = False
) -> dict[str, Any] | None:
    """Return *session* as it is, or was after its *at*-th event; None if there is none.

    Args:
        ledger: an open ledger.
        session: its id; ``<id>@<run>`` is what a run had.
        at: a moment.
        private: whether to show what is private, too.

    """
    if not is_session(ledger, session):
        return None
    return snapshot(ledger, session, at, private=private)


def agent_session_ancestry(ledger: Ledger, session: str) -> dict[str, Any] | None:
    """Return ``parent_id``, ``child_ids`` and ``root_id``; None if there is no session."""
    return ancestry(ledger, session) if is_session(ledger, session) else None


def agent_session_inject(
    ledger: Ledger, session: str, message: Mapping[str, Any]
) -> str:
    """Add *message* to *session*; return the message's id.

    Raises:
        UsageError: it has no role, or a member that is not known.
        RefusedError: a run has the session, or somebody wrote it meanwhile.

    """
    return OutsideSession.of(ledger, session).inject(message)


def agent_session_trim(ledger: Ledger, session: str, keep_last: int) -> int:
    """Keep the last messages of *session*; return how many stayed."""
    return OutsideSession.of(ledger, session).trim(keep_last)


def agent_session_reset(ledger: Ledger, session: str) -> None:
    """Begin *session* anew, under its id."""
    OutsideSession.of(ledger, session).reset()


def agent_session_restore(ledger: Ledger, session: str, at: int) -> int:
    """Have the messages that *session* had after its *at*-th event; return how many."""
    return OutsideSession.of(ledger, session).restore(at)


def agent_session_fork(
    ledger: Ledger, source: str, target: str | None = None, *, at: int | None = None
) -> str:
    """Begin a session as *source* is, or was after its *at*-th event; return its id.

    Raises:
        CannotTellError: there is no source.
        RefusedError: there is a session *target*.

    """
    return _forked(ledger, source, target, at, None)


def agent_session_fork_at(
    ledger: Ledger, source: str, keep_first: int, target: str | None = None
) -> str:
    """Begin a session with the first messages of *source*; return its id.

    A call of a tool is not parted from its results: it has more messages then.
    """
    require_keep(keep_first, "keep_first")
    return _forked(ledger, source, target, None, keep_first)


def agent_session_archive(ledger: Ledger, session: str, reason: str = "") -> None:
    """Let *session* take no messages until `agent_session_resume`."""
    OutsideSession.of(ledger, session).change_state("archived", reason)


def agent_session_abandon(ledger: Ledger, session: str, reason: str = "") -> None:
    """Give *session* up; it takes no messages until `agent_session_resume`."""
    OutsideSession.of(ledger, session).change_state("abandoned", reason)


def agent_session_close(ledger: Ledger, session: str) -> None:
    """Do as `agent_session_archive` does: nothing is evicted here."""
    agent_session_archive(ledger, session, "closed")


def agent_session_resume(ledger: Ledger, session: str) -> None:
    """Take up an archived or abandoned *session* again."""
    OutsideSession.of(ledger, session).change_state("active")


def agent_session_compact(
    ledger: Ledger, session: str, options: Mapping[str, Any] | None = None
) -> int:
    """Compact *session*; return how many messages it has then.

    What models and functions make is an effect, so with these it is done in a run.

    Raises:
        UsageError: an option is unknown, or nobody is named who makes the summary.
        EffectFailed: the model or the function failed.
        RefusedError: what has to stay does not fit the hard limit.

    """
    policy = compact_policy(options)
    if policy.is_pure:
        return cast(
            "int",
            driven(OutsideSession.of(ledger, session).compacted(policy, _nobody)),
        )
    require_askable(policy)
    OutsideSession.of(ledger, session)  # nothing is asked for what nobody may write
    with (
        ledger.run(f"compact {session}") as run,
        RunSession.join(run, session) as joined,
    ):
        return joined.compact(policy)


async def _nobody(what: str, given: object) -> str:
    raise AssertionError(f"a pure policy asks for {what} of {type(given)}")


def _forked(
    ledger: Ledger,
    source: str,
    target: str | None,
    at: int | None,
    keep_first: int | None,
) -> str:
    made = require_name(target or f"session-{uuid4()}")
    require_series(ledger)
    found = folded(ledger, source, at)
    try:
        append(ledger, made, opened_rows(made, found, source, keep_first), 0)
    except RefusedError as error:
        if error.rule != "session/written-meanwhile":
            raise
        raise RefusedError(
            "there is such a session",
            rule="session/exists",
            place=made,
            remedy="give the fork another id",
        ) from error
    return made
