"""Each strategy leaves a summary, an event and the archived original; limits hold."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.encoding.canonical import JsonValue
from muniment.errors import MunimentError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment.programs.awaiting import driven
from muniment_plugins.workflow.sessions import (
    RunSession,
    agent_session_compact,
    agent_session_inject,
    agent_session_open,
    agent_session_snapshot,
    compact_policy,
)
from muniment_plugins.workflow.sessions.compaction import Kept, plans_for, total
from muniment_plugins.workflow.sessions.messages import spoken
from muniment_plugins.workflow.sessions.streams import steps_of
from muniment_plugins.workflow.sessions.views import archived_by

LONG = "word " * 200


def filled(ledger: Ledger, turns: int = 4) -> None:
    """Have a session with calls of tools and their results."""
    agent_session_open(ledger, "desk")
    for message in conversation(turns):
        agent_session_inject(ledger, "desk", message)


def conversation(turns: int) -> list[dict[str, Any]]:
    """Return a conversation of so many questions."""
    told: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for number in range(turns):
        call = {"id": f"c{number}", "name": "look", "arguments": {"n": number}}
        told += [
            {"role": "user", "content": f"question {number}"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": LONG},
            {"role": "assistant", "content": f"answer {number}"},
        ]
    return told


def shown(ledger: Ledger) -> list[dict[str, Any]]:
    """Return the messages."""
    found = agent_session_snapshot(ledger, "desk")
    assert found is not None
    return cast("list[dict[str, Any]]", found["messages"])


def test_p21_each_strategy(book: Ledger) -> None:
    """A summary, an event, and an archive that has the originals whole."""
    asked: list[Any] = []
    after: list[dict[str, Any]] = []

    def custom(messages: Any) -> str:
        asked.append(messages)
        return "in short"

    for strategy in ("truncate", "observation_mask", "custom"):
        filled(book)
        before = {one["id"]: one["content"] for one in shown(book)}
        options = {
            "keep_last": 4,
            "compact_strategy": strategy,
            "custom_compactor": custom,
        }
        left = agent_session_compact(book, "desk", options)
        after = shown(book)
        step = steps_of(book, "desk")[-1]
        assert step.kind == "session.compacted"
        assert (step.data["strategy"], step.data["kept"]) == (strategy, left)
        assert left == len(after)
        assert after[0]["content"] == "Be brief."
        assert after[1]["is_summary"]
        archive = {one["id"]: one["content"] for one in archived_by(book, step)}
        gone = before.keys() - {one["id"] for one in after}
        assert archive == {key: before[key] for key in archive}
        assert archive.keys() == gone
        assert agent_session_snapshot(book, "desk")["assets"][-1]["storage"]["blob"]  # type: ignore[index]
    assert len(asked) == 1
    assert LONG not in after[1]["content"]


def test_masks(book: Ledger) -> None:
    """The strategy observation_mask keeps what people and models said, and no results."""
    filled(book)
    agent_session_compact(book, "desk", {"keep_last": 4})
    summary = shown(book)[1]["content"]
    assert "user: question 0" in summary
    assert "look(" in summary
    assert f"[a result of {len(LONG)} characters]" in summary
    assert "word word" not in summary


def test_callbacks(book: Ledger) -> None:
    """Functions say what stands for a masked result, and shorten one that stays."""
    filled(book)
    options = {
        "keep_last": 4,
        "tool_output_max_chars": 50,
        "mask_callback": lambda message: f"masked {message['tool_call_id']}",
        "compress_callback": lambda text: f"{len(text)} characters",
    }
    agent_session_compact(book, "desk", options)
    found = shown(book)
    assert "masked c0" in found[1]["content"]
    assert [one["content"] for one in found if one["role"] == "tool"] == [
        f"{len(LONG)} characters"
    ]
    assert len(list(book.events(type="compaction.completed"))) == 4


def test_long_results_are_cut(book: Ledger) -> None:
    """Results that stay are cut in the middle, and are in the archive."""
    filled(book, 1)
    agent_session_compact(book, "desk", {"tool_output_max_chars": 40})
    (result,) = [one for one in shown(book) if one["role"] == "tool"]
    assert result["shortened"]
    assert f"[{len(LONG) - 40} characters left out]" in result["content"]
    (original,) = archived_by(book, steps_of(book, "desk")[-1])
    assert original["content"] == LONG


def test_hard_limits(book: Ledger) -> None:
    """Above a hard limit a second strategy has its turn, until the limit holds."""
    filled(book, 12)
    options = {
        "compact_strategy": "truncate",
        "hard_limit_tokens": 200,
        "hard_limit_strategy": "truncate",
    }
    agent_session_compact(book, "desk", options)
    assert agent_session_snapshot(book, "desk")["tokens"] <= 200  # type: ignore[index]
    reasons = [
        one.data["reason"]
        for one in steps_of(book, "desk")
        if one.kind == "session.compacted"
    ]
    assert reasons[0] == "asked"
    assert set(reasons[1:]) == {"hard_limit"}


def test_a_limit_that_cannot_hold(book: Ledger) -> None:
    """If not even the last message fits, nothing is changed."""
    filled(book)
    agent_session_inject(book, "desk", {"role": "user", "content": LONG * 10})
    before = agent_session_snapshot(book, "desk")
    with pytest.raises(RefusedError, match="hard-limit"):
        agent_session_compact(
            book, "desk", {"hard_limit_tokens": 50, "hard_limit_strategy": "truncate"}
        )
    assert agent_session_snapshot(book, "desk") == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"keep_lats": 3}, "keep_last"),
        ({"compact_strategy": "best"}, "truncate"),
        ({"keep_last": 0}, "keep_last"),
        ({"compact_strategy": "llm"}, "summarize_model"),
        ({"hard_limit_tokens": 9}, "summarize_model"),
        ({"compact_strategy": "custom"}, "custom_compactor"),
        ({"token_threshold": 1, "compact_threshold": 2}, "another name"),
    ],
)
def test_options_that_cannot_be(
    book: Ledger, options: dict[str, Any], says: str
) -> None:
    """An option that is unknown, wrong or incomplete is refused, and nothing is written."""
    filled(book)
    size = book.head.size
    with pytest.raises(MunimentError, match=says):
        agent_session_compact(book, "desk", options)
    assert book.head.size == size


def test_other_names() -> None:
    """The chapter's names of the keys are other names of ours."""
    ours = {"enabled": True, "token_threshold": 9, "keep_last": 3}
    theirs = {"auto_compact": True, "compact_threshold": 9, "compact_keep_last": 3}
    assert compact_policy(ours) == compact_policy(theirs)
    assert compact_policy(None).token_threshold == 48_000


def test_a_summary_of_something_private_is_private(book: Ledger) -> None:
    """What nobody was to see is in no summary that everybody sees, and in no archive."""
    agent_session_open(book, "desk")
    agent_session_inject(
        book,
        "desk",
        {"role": "user", "content": "secret " * 200, "visibility": "private"},
    )
    for number in range(3):
        agent_session_inject(book, "desk", {"role": "user", "content": str(number)})
    agent_session_compact(
        book, "desk", {"keep_last": 1, "compact_strategy": "truncate"}
    )
    assert "secret" not in json.dumps(agent_session_snapshot(book, "desk"))
    step = steps_of(book, "desk")[-1]
    assert "secret" not in json.dumps(archived_by(book, step))
    assert "secret" in json.dumps(archived_by(book, step, private=True))
    assert "secret" in json.dumps(agent_session_snapshot(book, "desk", private=True))


ROLE = st.sampled_from(["system", "user", "assistant", "tool"])


@settings(max_examples=150)
@given(
    told=st.lists(
        st.tuples(ROLE, st.text(max_size=40), st.sampled_from([1, 90])), max_size=24
    ),
    keep=st.integers(1, 8),
    limit=st.none() | st.integers(1, 200),
    strategy=st.sampled_from(["truncate", "observation_mask"]),
)
def test_plans(
    told: list[tuple[str, str, int]], keep: int, limit: int | None, strategy: str
) -> None:
    """Whatever is said, what stays is the end of it, shorter, and no result lost its call."""
    messages = [
        Kept(
            str(n),
            role,
            {"role": role, "content": text * times},
            -(-len(text.encode()) * times // 4),
        )
        for n, (role, text, times) in enumerate(told)
    ]
    policy = compact_policy(
        {
            "keep_last": keep,
            "compact_strategy": strategy,
            "hard_limit_strategy": "truncate",
            **({} if limit is None else {"hard_limit_tokens": limit}),
        }
    )

    async def nobody(what: str, given: object) -> str:
        raise AssertionError((what, given))

    refused: list[str] = []
    plans: list[Any] = []
    declined: Any = None
    try:
        found: Any = driven(plans_for(messages, policy, "asked", nobody))
        plans, declined = found
        assert declined is None or declined.after >= declined.before
        assert all(one.after < one.before for one in plans)
    except RefusedError as error:
        refused.append(error.rule)
    if refused:
        assert refused == ["session/hard-limit"]
        return
    if limit is not None:
        assert (plans[-1].after if plans else total(messages)) <= limit
    if plans and limit is None:
        (plan,) = plans
        assert declined is None
        stays = messages[plan.pinned + plan.archived :]
        assert len(stays) >= min(keep, len(messages) - plan.pinned)
        if stays and plan.archived:
            assert stays[0].role != "tool"
        assert all(one.role == "system" for one in messages[: plan.pinned])
        assert [one["id"] for one in plan.archive] == [
            str(n) for n in range(plan.pinned, plan.pinned + plan.archived)
        ]


@pytest.mark.parametrize(
    "message",
    [
        "hi",
        {},
        {"role": "boss", "content": "hi"},
        {"role": "user", "contents": "hi"},
        {"role": "user", "content": 7},
        {"role": "user", "content": "hi", "visibility": "secret"},
    ],
)
def test_messages_that_are_none(book: Ledger, message: JsonValue) -> None:
    """A message has a known role, known members, and a content."""
    agent_session_open(book, "desk")
    with pytest.raises(UsageError):
        agent_session_inject(book, "desk", cast("Any", message))
    assert shown(book) == []


@pytest.mark.parametrize(
    "hidden",
    [
        {"reasoning": "secret"},
        {"thinking": "secret"},
        {"reasoning_content": "secret"},
        {"provider_payload": {"raw": "secret"}},
        {"private": ["secret"]},
        {
            "content": [
                {"type": "thinking", "thinking": "secret"},
                {"type": "text", "text": "hi"},
            ]
        },
        {"content": [{"type": "redacted_thinking", "data": "secret"}]},
    ],
)
def test_private_parts_have_a_blob_of_their_own(
    book: Ledger, hidden: dict[str, Any]
) -> None:
    """Whatever a provider calls its thoughts, they are apart; erased, the rest stays."""
    told = spoken({"role": "assistant", "content": "hi", **hidden})
    assert "secret" not in json.dumps(told.message)
    assert "secret" in json.dumps(told.private)
    agent_session_open(book, "desk")
    agent_session_inject(book, "desk", {"role": "assistant", "content": "hi", **hidden})
    (event,) = book.events(type="session.message_appended")
    blob = cast("dict[str, str]", event.raw["private"])["$blob"]
    book.erase(blob, reason="thoughts are nobody's business")
    (one,) = agent_session_snapshot(book, "desk", private=True)["messages"]  # type: ignore[index]
    assert one["private"] == {"private": "[erased]"}
    assert one["content"] != "[erased]"


def test_erased_texts_are_marked(book: Ledger) -> None:
    """An erased message is marked, and the transcript is what it was."""
    agent_session_open(book, "desk")
    agent_session_inject(book, "desk", {"role": "user", "content": "mine"})
    agent_session_inject(book, "desk", {"role": "user", "content": "yours"})
    event = next(book.events(type="session.message_appended"))
    book.erase(cast("dict[str, str]", event.raw["message"])["$blob"], reason="asked to")
    assert [one["content"] for one in shown(book)] == ["[erased]", "yours"]
    with book.run("r") as run, RunSession.join(run, "desk") as desk:
        assert [one["content"] for one in desk.messages()] == ["[erased]", "yours"]
