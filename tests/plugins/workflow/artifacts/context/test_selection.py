"""A selection is within its limits, in its order, and says why for all others."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_artifacts import WORDS, made, raw_artifacts
from muniment.errors import UsageError
from muniment_plugins.workflow.artifacts.artifact import Artifact, artifact
from muniment_plugins.workflow.artifacts.context.adaptive import (
    artifact_select_adaptive,
)
from muniment_plugins.workflow.artifacts.context.context_policy import context_policy
from muniment_plugins.workflow.artifacts.context.selection import (
    ContextSelection,
    artifact_select,
)

KINDS = st.lists(st.sampled_from(WORDS), max_size=4)
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "max_artifacts": st.integers(0, 8),
        "max_tokens": st.integers(0, 60),
        "include_kinds": KINDS,
        "exclude_kinds": KINDS,
        "prioritize_kinds": KINDS,
        "pinned_ids": st.lists(st.sampled_from(["a0", "a3", "gone"])),
        "include_stages": st.lists(st.sampled_from(["act", "verify"])),
        "prefer_recent": st.booleans(),
        "prefer_fresh": st.booleans(),
    },
)
SELECTS = [artifact_select, artifact_select_adaptive]
Select = Callable[..., ContextSelection]


@pytest.mark.parametrize("select", SELECTS)
@given(raws=raw_artifacts(), raw=POLICIES)
def test_invariants(
    select: Select, raws: list[dict[str, object]], raw: dict[str, object]
) -> None:
    """Each artifact is in or has a reason; filter, count and budget hold for all."""
    given_ones, policy = made(*raws), context_policy(raw)
    chosen = select(given_ones, raw)
    came_in = [one.id for one in chosen.selected]
    out = [one.id for one in chosen.left_out]

    assert sorted([*came_in, *out]) == sorted(one.id for one in given_ones)
    assert policy.max_artifacts is None or len(came_in) <= policy.max_artifacts
    assert policy.budget is None or chosen.tokens <= policy.budget
    for one in chosen.selected:
        assert one.kind not in policy.exclude_kinds
        assert not policy.include_kinds or one.kind in policy.include_kinds
        assert not policy.include_stages or one.stage in policy.include_stages
    assert sum(chosen.counts.values()) == len(out)
    assert {*chosen.missing_pins} == policy.pinned_ids - {one.id for one in given_ones}


@pytest.mark.parametrize("select", SELECTS)
@given(raws=raw_artifacts(6), raw=POLICIES)
def test_order_of_keys(
    select: Select, raws: list[dict[str, object]], raw: dict[str, object]
) -> None:
    """Objects select as artifacts do, in whatever order their keys are."""
    given_ones = made(*raws)
    turned = [dict(reversed([*one.to_json().items()])) for one in given_ones]
    assert select(turned, dict(reversed([*raw.items()]))) == select(given_ones, raw)


@given(raw_artifacts(), POLICIES)
def test_a_selection_selects_itself(
    raws: list[dict[str, object]], raw: dict[str, object]
) -> None:
    """What came in comes in again, in the same order."""
    chosen = artifact_select(made(*raws), raw)
    again = artifact_select(chosen.selected, raw)
    assert again.selected == chosen.selected
    assert again.left_out == ()


def names(chosen: ContextSelection) -> str:
    """Return the titles of what came in."""
    return "".join(one.title or "" for one in chosen.selected)


# title, and what a later line has worse
ORDER: list[dict[str, object]] = [
    {"title": "a", "id": "pin", "priority": 1},
    {"title": "b", "kind": "summary", "priority": 1},
    {"title": "c", "priority": 9},
    {"title": "d", "freshness": "live", "created_at": "2020-01-01T00:00:00Z"},
    {"title": "e", "freshness": "recent"},
    {"title": "f", "created_at": "2030-01-01T00:30:00+01:00"},
    {"title": "g", "created_at": "2030-01-01T00:00:00+01:00", "relevance": 0.9},
    {"title": "h", "relevance": 0.5},
    {"title": "i", "relevance": 0.2, "text": "x"},
    {"title": "j", "relevance": 0.2, "text": "x" * 9},
    {"title": "k", "relevance": 0},
    {"title": "l"},
    {"title": "m"},
    {"title": "n", "freshness": "stale"},
]
RANKS = {
    "pinned_ids": ["pin"],
    "prioritize_kinds": ["summary"],
    "prefer_fresh": True,
    "prefer_recent": True,
}


@pytest.mark.parametrize("turn", [0, 3, 7])
def test_the_order(turn: int) -> None:
    """Pins, kinds, priority, freshness, real time, relevance, tokens; then as given."""
    lines = [
        {"priority": 5, "created_at": "2025-01-01T00:00:00Z"} | one for one in ORDER
    ]
    turned = [*lines[turn:-3], *lines[:turn], *lines[-3:]]
    assert names(artifact_select(made(*turned), RANKS)) == "abcdefghijklmn"


def test_preferences_are_off() -> None:
    """Without being preferred, fresh and recent ones come in as they were given."""
    assert names(artifact_select(made(*ORDER[3:7]), {})) == "gdef"


@pytest.mark.parametrize(
    ("policy", "came_in", "reasons"),
    [
        ({}, "abcd", {}),
        ({"max_artifacts": 2}, "ab", {"c": "count", "d": "count"}),
        ({"max_artifacts": 0}, "", dict.fromkeys("abcd", "count")),
        ({"max_tokens": 7}, "ac", {"b": "budget", "d": "budget"}),
        ({"max_tokens": 7, "max_artifacts": 1}, "a", dict.fromkeys("bcd", "count")),
        ({"max_tokens": 9, "reserve_tokens": 2}, "ac", {"b": "budget", "d": "budget"}),
        ({"max_tokens": 0}, "", dict.fromkeys("abcd", "budget")),
        ({"include_kinds": ["plan"]}, "b", dict.fromkeys("acd", "kind")),
        ({"exclude_kinds": ["plan"]}, "acd", {"b": "kind"}),
        (
            {"include_kinds": ["plan"], "exclude_kinds": ["plan"]},
            "",
            dict.fromkeys("abcd", "kind"),
        ),
        ({"include_stages": ["act"]}, "c", dict.fromkeys("abd", "stage")),
        ({"pinned_ids": ["b"], "max_artifacts": 1}, "b", dict.fromkeys("acd", "count")),
        ({"pinned_ids": ["b"], "max_tokens": 3}, "ac", {"b": "budget", "d": "budget"}),
        ({"pinned_ids": ["b"], "exclude_kinds": ["plan"]}, "acd", {"b": "kind"}),
    ],
)
def test_reasons(policy: dict[str, object], came_in: str, reasons: object) -> None:
    """What stays out has its reason; pins go first, and get no exemption."""
    given_ones = made(
        {"id": "a", "title": "a", "kind": "diff", "text": "x" * 8},
        {"id": "b", "title": "b", "kind": "plan", "text": "x" * 24},
        {"id": "c", "title": "c", "kind": "summary", "text": "x" * 4, "stage": "act"},
        {"id": "d", "title": "d", "kind": "note", "text": "x" * 20},
    )
    chosen = artifact_select(given_ones, policy)
    assert "".join(sorted(names(chosen))) == came_in
    assert {one.id: one.reason for one in chosen.left_out} == reasons


@pytest.mark.parametrize("select", SELECTS)
def test_given_twice(select: Select) -> None:
    """The same artifact twice comes in once; another one under its id is refused."""
    (one,) = made({"text": "a"})
    chosen = select([one, one.to_json(), one])
    assert chosen.selected == (one,)
    assert [(out.id, out.reason, out.of) for out in chosen.left_out] == [
        ("a0", "duplicate", "a0")
    ] * 2
    other = artifact({**one.to_json(), "text": "b"})
    with pytest.raises(
        UsageError, match=r"artifacts: \[1\]: another artifact has the id"
    ):
        select([one, other])


@pytest.mark.parametrize(
    ("artifacts", "message"),
    [
        (None, "artifacts: it is a NoneType, not a list"),
        ("text", "artifacts: it is a str, not a list"),
        ({"id": "a"}, "artifacts: it is a dict, not a list"),
        (artifact({}), "artifacts: it is a Artifact, not a list"),
        ([None], r"artifacts: \[0\]: it is a NoneType"),
        ([{"text": "a"}], r"artifacts: \[0\]\.id: it is missing"),
        ([{"id": "a", "created_at": "now"}], r"artifacts: \[0\]\.created_at: "),
    ],
)
@pytest.mark.parametrize("select", SELECTS)
def test_mistakes(select: Select, artifacts: object, message: str) -> None:
    """What is no list of artifacts is refused with the place."""
    with pytest.raises(UsageError, match=message):
        select(artifacts)


def test_cyclic_lineages() -> None:
    """Artifacts that name each other as ancestors select like all others."""
    ring = made({"id": "x", "lineage": ["y"]}, {"id": "y", "lineage": ["x"]})
    assert artifact_select_adaptive(ring).selected == tuple(ring)


def seconds(select: Select, artifacts: list[Artifact]) -> float:
    """Return the least processor time of three selections."""
    policy = {"max_artifacts": 50, "max_tokens": 5000, **RANKS}
    taken: list[float] = []
    for _ in range(3):
        begun = time.process_time()
        select(artifacts, policy)
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.parametrize("select", SELECTS)
def test_time_grows_with_size(select: Select) -> None:
    """Ten times as many artifacts take about ten times as long."""
    many = made(
        *(
            {
                "text": f"text {n % 4000}",
                "priority": n % 7,
                "freshness": "fresh" if n % 3 else "recent",
                "metadata": {
                    "changed_paths": [f"{n}"],
                    "evidence_paths": [f"{n % 99}"],
                },
            }
            for n in range(10_000)
        )
    )
    assert seconds(select, many) < 60 * seconds(select, many[:1000])
