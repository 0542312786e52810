"""Context policies are read strictly, and have one normal form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_artifacts import WORDS
from muniment.errors import UsageError
from muniment_plugins.workflow.artifacts.context.context_policy import context_policy

KINDS = st.lists(st.sampled_from([*WORDS, "test", "file"]), max_size=4)
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "max_artifacts": st.none() | st.integers(0, 8),
        "max_tokens": st.integers(0, 60),
        "include_kinds": KINDS,
        "exclude_kinds": KINDS,
        "prioritize_kinds": KINDS,
        "pinned_ids": st.lists(st.sampled_from(["a0", "a3", "gone"])),
        "include_stages": st.lists(st.sampled_from(["act", "verify"])),
        "prefer_recent": st.booleans(),
        "prefer_fresh": st.booleans(),
        "render": st.sampled_from(["xml", "json"]),
    },
)


@given(POLICIES)
def test_normal_form(raw: dict[str, object]) -> None:
    """The normal form means the same, and has itself as normal form."""
    policy = context_policy(raw)
    written = policy.to_json()
    assert context_policy(written) == policy
    assert context_policy(written).to_json() == written


def test_what_is_left_out() -> None:
    """Defaults and nulls are left out; kinds are named by their names, sets sorted."""
    policy = context_policy(
        {
            "include_kinds": ["test", "file", "test_result"],
            "exclude_kinds": [],
            "max_tokens": None,
            "prefer_fresh": False,
            "render": "xml",
        }
    )
    assert policy.to_json() == {"include_kinds": ["test_result", "workspace_file"]}
    assert context_policy() == context_policy(None) == context_policy({})


@pytest.mark.parametrize(
    ("said", "budget"),
    [
        ({}, None),
        ({"max_tokens": 10}, 10),
        ({"max_tokens": 10, "reserve_tokens": 4}, 6),
        ({"max_tokens": 10, "reserve_tokens": 40}, 0),
    ],
)
def test_budget(said: dict[str, object], budget: int | None) -> None:
    """The reserve is taken off what there is, and leaves at least nothing."""
    assert context_policy(said).budget == budget


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "context_policy: it is a list, not an object"),
        (
            {"max_token": 5},
            "max_token: nothing reads this key .*did you mean max_tokens",
        ),
        ({"max_tokens": -1}, "max_tokens: -1 is below 0"),
        ({"max_tokens": 1.5}, "max_tokens: it is a number"),
        ({"max_tokens": float("nan")}, "max_tokens: the number nan"),
        ({"max_artifacts": True}, "max_artifacts: it is true or false"),
        ({"reserve_tokens": 5}, "reserve_tokens: there is nothing to reserve"),
        ({"include_kinds": "plan"}, "include_kinds: it is a text, not a list"),
        ({"include_kinds": ["Plan"]}, r"include_kinds\[0\]: 'Plan' does not have"),
        ({"pinned_ids": [None]}, r"pinned_ids\[0\]: it is null"),
        ({"prefer_fresh": "yes"}, "prefer_fresh: it is a text"),
        ({"render": "yaml"}, "render: 'yaml' means nothing here"),
    ],
)
def test_mistakes(raw: object, message: str) -> None:
    """Each mistake is refused with its place, and so is what would have no effect."""
    with pytest.raises(UsageError, match=message):
        context_policy(raw)
