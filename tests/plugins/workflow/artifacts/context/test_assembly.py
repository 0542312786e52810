"""Contexts of chunks: each chunk is in, or dropped with its reason."""

from __future__ import annotations

import gc
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_artifacts import made, raw_artifacts
from muniment.encoding.canonical import canonical
from muniment.errors import UsageError
from muniment_plugins.workflow.artifacts.context.assembly import assemble_context
from muniment_plugins.workflow.artifacts.context.chunks import chunks_of
from muniment_plugins.workflow.artifacts.context.near_texts import NearTexts

OPTIONS = st.fixed_dictionaries(
    {
        "budget_tokens": st.integers(0, 60),
        "chunk_tokens": st.integers(1, 10),
        "dedup": st.sampled_from(["none", "chunked", "semantic"]),
        "strategy": st.sampled_from(["recency", "relevance", "round_robin"]),
    }
)
PROSE = st.text("ab \n€😀", max_size=200)


@given(PROSE, st.integers(1, 12))
def test_chunks_are_the_text(text: str, most: int) -> None:
    """The chunks of an artifact, joined, are its text; none is too large, ids differ."""
    (one,) = made({"text": text})
    chunks = chunks_of(one, most)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(0 < chunk.tokens <= most for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == len(chunks)


def test_where_chunks_end() -> None:
    """A chunk ends with a paragraph if it can, else with a line, else anywhere."""
    (one,) = made({"text": "para one\n\n\npara two\n\nline\nline\nlonglonglonglong"})
    assert [chunk.text for chunk in chunks_of(one, 3)] == [
        "para one\n\n\n",
        "para two\n\n",
        "line\nline\n",
        "longlonglong",
        "long",
    ]


def test_ids_say_what_is_in_them() -> None:
    """An id is that of the artifact and of the text; the second of equal ones says so."""
    (one,) = made({"text": "abc\nabc\n"})
    first, second = chunks_of(one, 1)
    assert first.id == "a0#edeaaff3f1774ad2"
    assert second.id == "a0#edeaaff3f1774ad2.2"


@given(raw_artifacts(6), OPTIONS)
def test_invariants(raws: list[dict[str, object]], options: dict[str, object]) -> None:
    """Each chunk is in or has a reason, and the budget holds."""
    given_ones = made(*raws)
    context = assemble_context(given_ones, options)
    most = options["chunk_tokens"]
    assert isinstance(most, int)
    texts = [one for one in given_ones if (one.text or "").strip()]
    chunks = {one.id for origin in texts for one in chunks_of(origin, most)}
    came_in = [one.id for one in context.chunks]
    dropped = [one.chunk_id for one in context.dropped if one.chunk_id is not None]

    assert sorted([*came_in, *dropped]) == sorted(chunks)
    assert context.total_tokens <= context.budget_tokens == options["budget_tokens"]
    assert [one.chunk_id for one in context.reasons if one.included] == came_in
    assert len(context.dropped) == len({*context.dropped})
    bare = {one.artifact_id for one in context.dropped if one.chunk_id is None}
    assert bare == {one.id for one in given_ones} - {one.id for one in texts}
    stay = chunks - {
        one.chunk_id for one in context.dropped if one.reason == "duplicate"
    }
    assert all(one.of in stay for one in context.dropped if one.reason == "duplicate")
    assert json.loads(canonical(context.to_json())) == context.to_json()


def test_reasons() -> None:
    """No text, an empty one, the same one again, and no room are told apart."""
    given_ones = made(
        {"data": [1]},
        {"text": " \n"},
        {"text": "same", "priority": 1},
        {"text": "same", "priority": 2},
        {"text": "x" * 100},
    )
    context = assemble_context([*given_ones, given_ones[0]], {"budget_tokens": 5})
    assert [(one.artifact_id, one.reason) for one in context.dropped] == [
        ("a0", "duplicate"),
        ("a0", "no_text"),
        ("a1", "empty_text"),
        ("a4", "budget_exceeded"),
        ("a2", "duplicate"),
    ]
    assert context.included == {"a3": (context.chunks[0].id,)}


NEAR = "The parser keeps the spans of each token, and reports them with the error."


@pytest.mark.parametrize(
    ("dedup", "count"), [("none", 4), ("chunked", 3), ("semantic", 2)]
)
def test_dedup(dedup: str, count: int) -> None:
    """Equal chunks and nearly equal ones are dropped as asked."""
    texts = [NEAR, NEAR, NEAR.replace("The", " the "), "Something else altogether."]
    context = assemble_context(
        made(*({"text": one} for one in texts)), {"dedup": dedup}
    )
    assert len(context.chunks) == count
    duplicates = [one for one in context.dropped if one.reason == "duplicate"]
    assert {one.of for one in duplicates} <= {context.chunks[0].id}


@pytest.mark.parametrize(
    ("strategy", "query", "order"),
    [
        ("recency", None, ["b1", "b2", "c1", "c2", "a1", "a2"]),
        ("relevance", None, ["c1", "c2", "a1", "a2", "b1", "b2"]),
        ("relevance", "B2 nothing", ["b2", "c1", "c2", "a1", "a2", "b1"]),
        ("round_robin", None, ["b1", "a1", "c1", "b2", "a2", "c2"]),
    ],
)
def test_strategies(strategy: str, query: str | None, order: list[str]) -> None:
    """Chunks are ranked as asked."""
    given_ones = made(
        {
            "text": "a1\n\na2\n\n",
            "relevance": 0.5,
            "created_at": "2020-01-01T00:00:00Z",
        },
        {"text": "b1\n\nb2\n\n", "priority": 90, "created_at": "2022-01-01T00:00:00Z"},
        {
            "text": "c1\n\nc2\n\n",
            "relevance": 0.9,
            "created_at": "2021-01-01T00:00:00Z",
        },
    )
    options = {"strategy": strategy, "query": query, "chunk_tokens": 1}
    context = assemble_context(given_ones, options)
    assert [one.text.strip() for one in context.chunks] == order


@given(
    st.lists(st.text("abc ", max_size=30), max_size=20), st.sampled_from([0.5, 0.85, 1])
)
def test_likeness_is_exact(texts: list[str], least: float) -> None:
    """The index finds what comparing all with all finds."""

    def grams(text: str) -> set[str]:
        plain = " ".join(text.split())
        return {plain[n : n + 3] for n in range(max(1, len(plain) - 2))}

    stay: list[int] = []
    expected: list[int | None] = []
    for number, text in enumerate(texts):
        mine = grams(text)
        like = [
            other
            for other in stay
            if len(mine & grams(texts[other]))
            >= least * len(mine | grams(texts[other]))
        ]
        expected.append(min(like, default=None))
        stay += [] if like else [number]
    near = NearTexts({str(number): text for number, text in enumerate(texts)}, least)
    for number, like_number in enumerate(expected):
        found = near.like(str(number))
        assert found == (None if like_number is None else str(like_number))
        if found is None:
            near.keep(str(number))


def test_time_of_likeness() -> None:
    """Ten times as many texts do not take a hundred times as long."""

    def seconds(count: int) -> float:
        texts = [
            f"{n * 7919} is the number {n * n} of {n * 104729}" for n in range(count)
        ]
        given = made(*({"text": one} for one in texts))
        begun = time.process_time()
        assemble_context(given, {"dedup": "semantic"})
        return time.process_time() - begun

    gc.disable()  # it looks at whatever earlier tests have left, too
    try:
        few, many = (min(seconds(count) for _ in range(3)) for count in (500, 5000))
    finally:
        gc.enable()
    assert many < 60 * few


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "context_assembler: it is a list"),
        ({"budget": 5}, "budget: nothing reads this key .*budget_tokens"),
        ({"budget_tokens": -5}, "budget_tokens: -5 is below 0"),
        ({"chunk_tokens": 0}, "chunk_tokens: 0 is below 1"),
        ({"dedup": "fuzzy"}, "dedup: 'fuzzy' means nothing here"),
        ({"strategy": "best"}, "strategy: 'best' means nothing"),
        ({"strategy": "recency", "query": "x"}, "query: nothing reads it"),
        ({"semantic_overlap": 0.9}, "semantic_overlap: nothing reads it"),
        (
            {"dedup": "semantic", "semantic_overlap": 0.1},
            "semantic_overlap: 0.1 is out",
        ),
    ],
)
def test_mistakes(options: object, message: str) -> None:
    """Each mistake is refused with its place, and so is what would have no effect."""
    with pytest.raises(UsageError, match=message):
        assemble_context([], options)
