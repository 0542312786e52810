"""Sessions: conversations with models, as streams of events that lose nothing.

    from muniment_plugins.workflow.sessions import RunSession, agent_session_open

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.lazy import lazy

if TYPE_CHECKING:
    from muniment_plugins.workflow.sessions.api import (
        agent_session_abandon,
        agent_session_ancestry,
        agent_session_archive,
        agent_session_close,
        agent_session_compact,
        agent_session_current_id,
        agent_session_exists,
        agent_session_fork,
        agent_session_fork_at,
        agent_session_inject,
        agent_session_length,
        agent_session_open,
        agent_session_reset,
        agent_session_restore,
        agent_session_resume,
        agent_session_snapshot,
        agent_session_trim,
    )
    from muniment_plugins.workflow.sessions.inside import RunSession
    from muniment_plugins.workflow.sessions.policies import (
        CompactPolicy,
        compact_policy,
    )

__all__ = [
    "CompactPolicy",
    "RunSession",
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
    "compact_policy",
]

_VERBS = __all__[2:-1]

__getattr__ = lazy(
    __name__,
    {
        "CompactPolicy": ".policies",
        "RunSession": ".inside",
        "compact_policy": ".policies",
        **dict.fromkeys(_VERBS, ".api"),
    },
)
