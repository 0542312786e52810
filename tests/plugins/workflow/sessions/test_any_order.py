"""Whatever is done to sessions, in whatever order, every moment of them can be rebuilt."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow.sessions import (
    agent_session_archive,
    agent_session_compact,
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
from muniment_plugins.workflow.sessions.streams import folded, steps_of
from muniment_plugins.workflow.sessions.views import archived_by

Shown = list[tuple[str, str]]
ROLES = st.sampled_from(["system", "user", "assistant", "tool"])
STRATEGIES = st.sampled_from(["truncate", "observation_mask"])


def shown(ledger: Ledger, name: str, at: int | None = None) -> Shown:
    """Return ids and texts of a session, now or at a moment."""
    found = agent_session_snapshot(ledger, name, at=at)
    assert found is not None
    return [(one["id"], one["content"]) for one in found["messages"]]


class Sessions(RuleBasedStateMachine):
    """Does anything to sessions, and remembers each moment and each text by itself."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
        self.ledger = Ledger.create(
            self.place / "l.db", home=self.place / "home", plugins=("workflow",)
        )
        self.moments: dict[tuple[str, int], Shown] = {}
        self.said_at: dict[tuple[str, int], dict[str, str]] = {}
        self.texts: dict[tuple[str, str], str] = {}
        self.said: dict[str, dict[str, str]] = {}
        self.names = 0

    def teardown(self) -> None:
        """Close the ledger."""
        self.ledger.close()
        shutil.rmtree(self.place)

    def keep(self, name: str) -> None:
        """Remember what the session is after its last event."""
        position = folded(self.ledger, name).position
        self.moments[name, position] = shown(self.ledger, name)
        self.said_at[name, position] = dict(self.said[name])

    @initialize(target=sessions)
    def first(self) -> str:
        """Open a session."""
        agent_session_open(self.ledger, "s0")
        self.said["s0"] = {}
        self.keep("s0")
        return "s0"

    @rule(session=sessions, role=ROLES, text=st.text(max_size=60))
    def inject(self, session: str, role: str, text: str) -> None:
        """Say something."""
        answers = {"tool_call_id": "c1"} if role == "tool" else {}
        message = {"role": role, "content": text, **answers}
        key = agent_session_inject(self.ledger, session, message)
        assert key not in self.said[session]
        self.said[session][key] = text
        self.keep(session)

    @rule(session=sessions, last=st.integers(0, 6))
    def trim(self, session: str, last: int) -> None:
        """Keep the last ones."""
        kept = agent_session_trim(self.ledger, session, last)
        assert (
            kept == agent_session_length(self.ledger, session) <= last or kept <= last
        )
        self.keep(session)

    @rule(session=sessions)
    def reset(self, session: str) -> None:
        """Begin anew."""
        agent_session_reset(self.ledger, session)
        assert agent_session_length(self.ledger, session) == 0
        self.keep(session)

    @rule(
        session=sessions,
        last=st.integers(1, 4),
        how=STRATEGIES,
        most=st.integers(1, 40),
    )
    def compact(self, session: str, last: int, how: str, most: int) -> None:
        """Compact it."""
        before = dict(shown(self.ledger, session))
        agent_session_compact(
            self.ledger,
            session,
            {"keep_last": last, "compact_strategy": how, "tool_output_max_chars": most},
        )
        after = dict(shown(self.ledger, session))
        last_step = steps_of(self.ledger, session)[-1]
        if before != after:
            archive = {
                one["id"]: one["content"] for one in archived_by(self.ledger, last_step)
            }
            gone = {key: text for key, text in before.items() if after.get(key) != text}
            assert archive == gone
            self.said[session] |= {
                key: text for key, text in after.items() if key not in before
            }
        self.keep(session)

    @rule(session=sessions, pick=st.integers(0, 200))
    def restore(self, session: str, pick: int) -> None:
        """Go back to an earlier moment."""
        known = [at for name, at in self.moments if name == session]
        at = known[pick % len(known)]
        agent_session_restore(self.ledger, session, at)
        assert shown(self.ledger, session) == self.moments[session, at]
        self.keep(session)

    @rule(
        target=sessions,
        session=sessions,
        pick=st.integers(0, 200),
        first=st.none() | st.integers(0, 4),
    )
    def fork(self, session: str, pick: int, first: int | None) -> Any:
        """Fork it, as it is, as it was, or its first messages."""
        self.names += 1
        if self.names > 4:
            return multiple()
        name = f"s{self.names}"
        if first is None:
            known = [at for one, at in self.moments if one == session]
            at = known[pick % len(known)]
            agent_session_fork(self.ledger, session, name, at=at)
            assert shown(self.ledger, name) == self.moments[session, at]
            self.said[name] = dict(self.said_at[session, at])
        else:
            agent_session_fork_at(self.ledger, session, first, name)
            assert shown(self.ledger, name) == shown(self.ledger, session)[:first]
            self.said[name] = dict(self.said[session])
        self.keep(name)
        return name

    @rule(session=sessions)
    def archive(self, session: str) -> None:
        """Archive it, see that it takes nothing, and take it up again."""
        agent_session_archive(self.ledger, session)
        self.keep(session)
        with pytest.raises(RefusedError, match="session/closed"):
            agent_session_inject(self.ledger, session, {"role": "user", "content": "?"})
        agent_session_resume(self.ledger, session)
        self.keep(session)

    @rule(
        session=sessions,
        texts=st.lists(st.text(max_size=20), max_size=3),
        last=st.integers(0, 3),
    )
    def by_a_run(self, session: str, texts: list[str], last: int) -> None:
        """Let a run write it."""
        with (
            self.ledger.run("r") as run,
            RunSession.join(run, session) as joined,
        ):
            assert [one["content"] for one in joined.messages()] == [
                text for _, text in shown(self.ledger, session)
            ]
            for text in texts:
                key = joined.inject({"role": "user", "content": text})
                assert key not in self.said[session]
                self.said[session][key] = text
            joined.trim(last)
            mine = [
                (one.id, joined.texts[one.id]["content"])
                for one in joined.transcript.entries
            ]
        assert shown(self.ledger, session) == mine
        self.keep(session)

    @invariant()
    def nothing_is_lost(self) -> None:
        """Each moment is what it was, and each id names what it named."""
        for (name, at), known in self.moments.items():
            assert shown(self.ledger, name, at) == known


TestAnyOrder = Sessions.TestCase
TestAnyOrder.settings = settings(max_examples=12, stateful_step_count=14, deadline=None)
