"""A compaction makes a session smaller, or it is not done; forks keep calls with results."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import replay
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.workflow.session_types import session_name
from muniment_plugins.workflow.sessions import (
    RunSession,
    agent_session_ancestry,
    agent_session_compact,
    agent_session_exists,
    agent_session_fork_at,
    agent_session_inject,
    agent_session_length,
    agent_session_open,
    agent_session_snapshot,
)
from muniment_plugins.workflow.sessions.streams import steps_of
from muniment_plugins.workflow.sessions.transcript import TranscriptEntry, first_ones
from muniment_plugins.workflow.sessions.views import session_rows

LONG = "word " * 300


def filled(ledger: Ledger, *texts: str, name: str = "desk") -> None:
    """Have a session that says these *texts*."""
    agent_session_open(ledger, name)
    for text in texts:
        agent_session_inject(ledger, name, {"role": "user", "content": text})


def tokens(ledger: Ledger) -> int:
    """Return how large the session is."""
    found: Any = agent_session_snapshot(ledger, "desk")
    return int(found["tokens"])


def kinds(ledger: Ledger) -> list[str]:
    """Return what happened to the session, but for what was said."""
    found = [one.kind.removeprefix("session.") for one in steps_of(ledger, "desk")]
    return [one for one in found if one not in ("opened", "message_appended")]


@pytest.mark.parametrize(
    "policy",
    [
        {"compact_strategy": "truncate"},
        {"compact_strategy": "observation_mask"},
        {"compact_strategy": "custom", "custom_compactor": lambda _: LONG * 9},
    ],
)
def test_a_summary_that_is_longer(book: Ledger, policy: dict[str, Any]) -> None:
    """A compaction that saves nothing is not done, and that is stated with both sizes."""
    filled(book, *"abcdef")
    before = agent_session_snapshot(book, "desk")
    assert agent_session_compact(book, "desk", {"keep_last": 1, **policy}) == 6
    after: Any = agent_session_snapshot(book, "desk")
    assert kinds(book) == ["compaction_declined"]
    assert after["messages"] == before["messages"]  # type: ignore[index]
    data = steps_of(book, "desk")[-1].data
    assert data["tokens_before"] == tokens(book) < data["tokens_after"]


@settings(max_examples=12, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 400), min_size=4, max_size=14),
    threshold=st.integers(1, 200),
    keep=st.integers(1, 3),
    how=st.sampled_from(["truncate", "observation_mask"]),
)
def test_again_and_again(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    threshold: int,
    keep: int,
    how: str,
) -> None:
    """By itself it is never larger, and is tried again only when a quarter was added."""
    place = tmp_path_factory.mktemp("again")
    policy = {
        "enabled": True,
        "token_threshold": threshold,
        "keep_last": keep,
        "compact_strategy": how,
    }
    tried: list[tuple[int, int]] = []

    def main(run: Run) -> object:
        tried.clear()
        with RunSession.join(run, "desk") as session:
            for size in sizes:
                session.inject({"role": "user", "content": "x" * size})
                before, attempt = session.tokens, session.transcript.position
                session.compact_if_due(policy)
                assert session.tokens <= before
                if session.transcript.position > attempt:
                    tried.append((before, session.tokens))
        return len(tried)

    with Ledger.create(
        place / "l.db", home=place / "home", plugins=("workflow",)
    ) as book:
        done = book.execute(main)
        assert done.error is None
        for (_, after), (before, _) in pairwise(tried):
            assert before > after * 1.25
        assert replay(book, done.run_id, program=main).verdict == "acceptable"


def test_the_next_run_knows(book: Ledger) -> None:
    """That it was not worth it is known to the next run, and forgotten with what was said."""
    filled(book, *["x" * 60] * 6)
    policy = {
        "enabled": True,
        "token_threshold": 10,
        "keep_last": 5,
        "compact_strategy": "truncate",
    }

    def due(run: Run) -> object:
        with RunSession.join(run, "desk") as session:
            return [session.compact_if_due(policy), session.transcript.tried_at]

    assert book.execute(due).value == [False, 90]
    assert kinds(book) == ["compaction_declined"]
    assert book.execute(due).value == [False, 90]
    assert kinds(book) == ["compaction_declined"]
    filled(book, LONG, LONG, *["x"] * 5)
    assert book.execute(due).value[0]  # type: ignore[index]
    assert kinds(book)[-1] == "compacted"


def test_over_its_hard_limit(book: Ledger) -> None:
    """What is over its hard limit is compacted each time, or refused each time."""
    filled(book, *[LONG] * 6)
    policy = {
        "enabled": True,
        "token_threshold": 10,
        "keep_last": 1,
        "hard_limit_tokens": 100,
        "hard_limit_strategy": "truncate",
    }

    def due(run: Run) -> object:
        with RunSession.join(run, "desk") as session:
            for _ in range(2):
                with pytest.raises(RefusedError, match="hard-limit"):
                    session.compact_if_due(policy)
        return None

    assert book.execute(due).error is None


ROLES = st.lists(st.sampled_from(["user", "assistant", "tool"]), max_size=12)


@given(roles=ROLES, keep=st.integers(0, 14))
def test_first_ones(roles: list[str], keep: int) -> None:
    """The first messages end where no result follows, and are no fewer than asked for."""
    entries = [
        TranscriptEntry(f"m{n}", role, "public", 1, n) for n, role in enumerate(roles)
    ]
    kept = first_ones(entries, keep)
    assert min(keep, len(entries)) <= kept <= len(entries)
    between = roles[min(keep, len(entries)) : kept]
    assert set(between) <= {"tool"}
    if 0 < kept < len(entries):
        assert entries[kept].role != "tool"


def test_a_fork_keeps_results(book: Ledger) -> None:
    """A fork that would end between calls and results has the results, too."""
    agent_session_open(book, "desk")
    names = ("c1", "c2")
    rows = [{"id": one, "name": "look", "arguments": {}} for one in names]
    said: Any = (
        {"role": "user", "content": "?"},
        {"role": "assistant", "tool_calls": rows},
        *({"role": "tool", "tool_call_id": one, "content": "ok"} for one in names),
        {"role": "assistant", "content": "."},
    )
    for message in said:
        agent_session_inject(book, "desk", message)
    for first, kept in ((0, 0), (1, 1), (2, 4), (3, 4), (4, 4), (5, 5), (9, 5)):
        agent_session_fork_at(book, "desk", first, f"fork-{first}")
        assert agent_session_length(book, f"fork-{first}") == kept
        data = steps_of(book, f"fork-{first}")[0].data
        assert (data["kept"], data["keep_first"]) == (kept, kept)


NAME = "caf\u00e9"


def test_names_that_look_alike(book: Ledger) -> None:
    """Composed or not, a name is one session: to open, write, read, fork and join."""
    apart = unicodedata.normalize("NFD", NAME)
    assert apart != NAME
    assert agent_session_open(book, apart) == NAME
    assert agent_session_exists(book, NAME)
    assert agent_session_exists(book, apart)
    filled(book, "one", name=apart)
    filled(book, "two", name=NAME)
    assert agent_session_length(book, apart) == 2
    agent_session_fork_at(book, apart, 1, "fork")
    assert agent_session_ancestry(book, "fork")["parent_id"] == NAME  # type: ignore[index]
    assert agent_session_ancestry(book, apart)["child_ids"] == ["fork"]  # type: ignore[index]

    def both(run: Run) -> object:
        with RunSession.join(run, apart) as session:
            with pytest.raises(RefusedError, match="session/open"):
                RunSession.join(run, NAME)
            session.inject({"role": "user", "content": "three"})
            return session.id

    assert book.execute(both).value == NAME
    assert {str(one["id"]) for one in session_rows(book)} == {NAME, "fork"}


@given(text=st.text(max_size=12))
def test_a_name_in_its_form(text: str) -> None:
    """To put a name in its form once is to put it so for good."""
    assert session_name(session_name(text)) == session_name(text)
