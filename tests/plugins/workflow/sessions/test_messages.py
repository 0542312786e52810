"""Messages: what is private by whatever name, calls in a known shape, texts that are texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import MunimentError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow.session_types import SessionFact
from muniment_plugins.workflow.sessions import (
    agent_session_compact,
    agent_session_fork_at,
    agent_session_inject,
    agent_session_open,
    agent_session_restore,
    agent_session_snapshot,
    agent_session_trim,
)
from muniment_plugins.workflow.sessions.messages import (
    said,
    spoken,
    visible_text,
)
from muniment_plugins.workflow.sessions.parts.calls import (
    call_text,
    calls_of,
    open_calls,
)
from muniment_plugins.workflow.sessions.parts.private_parts import VISIBLE_TYPES
from muniment_plugins.workflow.sessions.views import history

WORD = "zweiundvierzig"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(-9, 9)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
SPELLINGS = st.sampled_from([str.lower, str.upper, str.title])
MARKS = st.sampled_from(["_", "-", "", " ", "."])
THOUGHTS = st.sampled_from(
    [
        ["thinking"],
        ["thought"],
        ["redacted", "thinking"],
        ["reasoning"],
        ["reasoning", "summary"],
        ["reasoning", "details"],
        ["encrypted", "reasoning"],
        ["analysis"],
        ["thinking", "blocks"],
        ["chain", "of", "thought"],
        ["scratchpad"],
        ["inner", "monologue"],
    ]
)


@st.composite
def thoughtful(draw: st.DrawFn) -> str:
    """Draw a name of thoughts, in any spelling."""
    words = draw(THOUGHTS)
    return draw(SPELLINGS)(draw(MARKS).join(words))


@settings(max_examples=300)
@given(name=thoughtful(), as_flag=st.booleans(), deep=st.booleans(), text=st.booleans())
def test_thoughts_by_any_name(
    name: str, *, as_flag: bool, deep: bool, text: bool
) -> None:
    """A part by its type or by a member, and a member of the message: none is visible."""
    parts: list[dict[str, Any]] = [
        {"type": name, "text": WORD},
        {"type": name, name: WORD},
        {"type": "text", "text": WORD, name: True},
        {"type": "text", "text": WORD, name: {"of": WORD}},
        {"text": WORD, name: True},
        {name: WORD},
    ]
    if as_flag:
        parts = parts[2:3]
    shown = {"type": "text", "text": "visible"}
    content: Any = [*parts, shown]
    if deep:
        content = [{"type": "tool_result", "content": content}]
    members = {name: WORD} if text else {"content": content, name: WORD}
    told = spoken({"role": "assistant", **members})
    assert WORD not in json.dumps(told.message)
    assert WORD not in visible_text(told.message)
    assert WORD in json.dumps(told.private)
    if not text:
        assert "visible" in visible_text(told.message)


@settings(max_examples=300)
@given(kind=st.text(max_size=20) | thoughtful(), member=st.text(max_size=20))
def test_visible_is_what_is_known(kind: str, member: str) -> None:
    """Of whatever type a part is: it is shown if that is known, and kept apart if not."""
    told = spoken(
        {"role": "user", "content": [{"type": kind, "text": WORD}], f"x-{member}": WORD}
    )
    plain = "".join(one for one in kind.casefold() if one.isalnum())
    assert (WORD in visible_text(told.message)) == (plain in VISIBLE_TYPES)
    assert WORD in json.dumps(told.private)


@pytest.mark.parametrize("said", ["private", "Private", "", True, None])
@pytest.mark.parametrize("deep", [True, False])
def test_a_part_that_is_not_public(said: object, *, deep: bool) -> None:
    """A part says itself that it is private; whatever else it says but *public* is that, too."""
    parts: list[Any] = [
        {"type": "text", "text": WORD, "visibility": said},
        {"type": "text", "text": "shown", "visibility": "public"},
    ]
    if deep:
        parts = [{"type": "tool_result", "content": parts}]
    told = spoken({"role": "user", "content": parts})
    assert WORD not in json.dumps(told.message)
    assert WORD in json.dumps(told.private)
    assert "shown" in visible_text(told.message)


def test_parts_that_are_known() -> None:
    """Texts, pictures, files, calls and results are visible, and nothing of them is lost."""
    parts = [
        "plain",
        {"text": "no type"},
        {"type": "text", "text": "typed", "cache_control": {"type": "ephemeral"}},
        {"type": "image_url", "image_url": {"url": "data:,"}},
        {"type": "Input_Audio", "input_audio": {}},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
    ]
    told = spoken({"role": "user", "content": parts})
    assert (told.message["content"], told.private) == (parts, None)


def test_signatures_are_taken_off() -> None:
    """The signature of a thought beside a visible text goes; the text stays."""
    part = {"text": "Hi.", "thoughtSignature": WORD}
    told = spoken({"role": "assistant", "content": [part]})
    assert told.message["content"] == [{"text": "Hi."}]
    assert told.private == {"thoughts": [{"thoughtSignature": WORD}]}


@pytest.mark.parametrize(
    ("member", "meant"),
    [
        ("visiblity", "visibility"),
        ("Visibility", "visibility"),
        ("contents", "content"),
        ("tool-calls", "tool_calls"),
        ("tool_call", "tool_calls"),
    ],
)
def test_mistyped_members(member: str, meant: str) -> None:
    """A member that was meant to be another one is refused: else it would be lost."""
    with pytest.raises(UsageError, match=f"did you mean {meant}"):
        spoken({"role": "user", "content": "hi", member: "private"})


def test_members_that_are_not_known() -> None:
    """Whatever else a provider sends with a message is kept apart, and not refused."""
    beside = {"annotations": [1], "reasoning_details": {"a": 1}, "id": "msg_1"}
    told = spoken({"role": "assistant", "content": "hi", **beside})
    assert told.message == {"role": "assistant", "content": "hi"}
    assert told.private == beside


CALL = {"id": "c1", "name": "look", "arguments": {"n": 1}}
NESTED = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_calls_in_their_shapes() -> None:
    """Both shapes of calls are taken; what is beside them is kept apart."""
    told = spoken(
        {"role": "assistant", "tool_calls": [CALL, NESTED, {**CALL, "extra": WORD}]}
    )
    assert told.message["tool_calls"] == [CALL, NESTED, CALL]
    assert told.private == {"tool_calls": [{"id": "c1", "extra": WORD}]}


@pytest.mark.parametrize(
    ("calls", "place"),
    [
        ("x", "tool_calls"),
        (5, "tool_calls"),
        ({"id": "a"}, "tool_calls"),
        (["a"], "tool_calls[0]"),
        ([CALL, None], "tool_calls[1]"),
        ([{}], "tool_calls[0].id"),
        ([{"id": "a"}], "tool_calls[0].name"),
        ([{"id": 5, "name": "f"}], "tool_calls[0].id"),
        ([{"id": "a", "function": "f"}], "tool_calls[0].function"),
        ([{"id": "a", "function": {}}], "tool_calls[0].function.name"),
    ],
)
def test_calls_that_are_none(book: Ledger, calls: object, place: str) -> None:
    """A call of another shape is refused, with its place and what to write."""
    agent_session_open(book, "desk")
    with pytest.raises(UsageError) as caught:
        agent_session_inject(book, "desk", {"role": "assistant", "tool_calls": calls})
    assert caught.value.rule == "session/message"
    assert caught.value.place == f"message.{place}"
    assert "arguments" in caught.value.remedy
    assert agent_session_snapshot(book, "desk")["messages"] == []  # type: ignore[index]


@pytest.mark.parametrize("more", [{}, {"tool_call_id": None}, {"tool_call_id": ""}])
def test_a_result_says_which_call_it_answers(
    book: Ledger, more: dict[str, object]
) -> None:
    """A tool's message without the id of a call is refused: no provider would take it."""
    agent_session_open(book, "desk")
    with pytest.raises(UsageError) as caught:
        agent_session_inject(book, "desk", {"role": "tool", "content": "x", **more})
    assert (caught.value.rule, caught.value.place) == (
        "session/message",
        "message.tool_call_id",
    )


@settings(max_examples=300)
@given(message=st.dictionaries(st.sampled_from(["content", "tool_calls", "x"]), JSON))
def test_any_json_is_taken_or_refused(message: dict[str, Any]) -> None:
    """Whatever JSON is given as a message, it is one, or it is refused with a remedy."""
    told: list[Any] = []
    refused: list[UsageError] = []
    try:
        told.append(spoken({"role": "assistant", **message}))
    except UsageError as error:
        refused.append(error)
    for one in told:
        assert all(call_text(call) for call in calls_of(one.message))
        assert one.tokens >= 0
    for one in refused:
        assert one.place.startswith("message")
        assert one.remedy


@settings(max_examples=300)
@given(
    message=st.dictionaries(
        st.text(max_size=4)
        | st.sampled_from(["role", "content", "tool_calls", "tool_call_id"]),
        JSON,
        max_size=5,
    )
)
def test_reading_never_fails(message: dict[str, Any]) -> None:
    """Whatever a ledger has as a message, it is read."""
    assert isinstance(said(message), str)
    assert isinstance(visible_text(message), str)
    open_calls([message, {"role": "tool", "tool_call_id": message.get("x")}, message])


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "x\ud83d"])
def test_halves_of_characters(book: Ledger, text: str) -> None:
    """What UTF-8 cannot carry is refused with its place, wherever it is."""
    agent_session_open(book, "desk")
    for members in (
        {"content": text},
        {"content": [{"type": "text", "text": text}]},
        {"content": "x", "reasoning": {"deep": [text]}},
        {"content": "x", "tool_calls": [{**CALL, "arguments": {text: 1}}]},
    ):
        with pytest.raises(UsageError, match="surrogate") as caught:
            agent_session_inject(book, "desk", {"role": "assistant", **members})
        assert caught.value.place.startswith("message.")
    with pytest.raises(UsageError, match="session/name"):
        agent_session_open(book, text)


def test_what_has_no_end() -> None:
    """A message within itself is refused."""
    loop: list[Any] = []
    loop += [loop, loop]
    with pytest.raises(UsageError, match="nested deeper"):
        spoken({"role": "user", "content": loop})


@pytest.mark.parametrize("wrong", ["3", 1.5, True, [1]])
def test_numbers_that_are_none(book: Ledger, wrong: Any) -> None:
    """A moment, and how many messages are kept, are whole numbers; else it is said."""
    agent_session_open(book, "desk")
    agent_session_inject(book, "desk", {"role": "user", "content": "x"})
    for verb in (
        lambda: agent_session_restore(book, "desk", wrong),
        lambda: agent_session_trim(book, "desk", wrong),
        lambda: agent_session_fork_at(book, "desk", wrong, "other"),
        lambda: agent_session_snapshot(book, "desk", at=wrong),
    ):
        with pytest.raises(UsageError) as caught:
            verb()
        assert caught.value.rule in ("session/position", "session/keep")
        assert caught.value.place
        assert caught.value.remedy
    nothing: Any = None
    with pytest.raises(UsageError, match="session/position"):
        agent_session_restore(book, "desk", nothing)
    policies: list[Any] = ["x", wrong]
    for policy in policies:
        with pytest.raises(MunimentError) as refused:
            agent_session_compact(book, "desk", policy)
        assert refused.value.rule
        assert refused.value.remedy


@settings(max_examples=60, deadline=None)
@given(
    forged=st.lists(
        st.dictionaries(
            st.sampled_from(
                ["role", "content", "tool_calls", "id", "visibility", "private"]
            ),
            JSON,
            max_size=4,
        ),
        max_size=4,
    )
)
def test_forged_messages_are_shown(
    tmp_path_factory: pytest.TempPathFactory, forged: list[dict[str, Any]]
) -> None:
    """Whatever an earlier version took as a message, a session with it is shown."""
    place = tmp_path_factory.mktemp("forged")
    with Ledger.create(
        place / "l.db", home=place / "home", plugins=("workflow",)
    ) as book:
        agent_session_open(book, "desk")
        for number, message in enumerate(forged):
            fact = SessionFact(
                session="desk",
                id=f"m{number + 1}",
                role="assistant",
                tokens=1,
                message=message,
                counted=number + 1,
            )
            book.append("session.message_appended", fact)
        for private in (False, True):
            found: Any = agent_session_snapshot(book, "desk", private=private)
            assert [one["id"] for one in found["messages"]] == [
                f"m{number + 1}" for number in range(len(forged))
            ]
            assert len(history(book, "desk", private=private)) == len(forged) + 1
