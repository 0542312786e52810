"""Artifacts for tests: by number, with ids and times that are always the same."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from muniment_plugins.workflow.artifacts.artifact import Artifact, artifact
from muniment_plugins.workflow.artifacts.kinds import FRESHNESS, KINDS
from muniment_plugins.workflow.artifacts.stamps import Stamps

__all__ = ["TEXTS", "WORDS", "made", "raw_artifacts", "stamps"]

WORDS = [*(one.name for one in KINDS), "custom", "my_note"]
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("<>&\"'\r\n\0\x1b]"),
    max_size=60,
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS | st.floats(0.5, 2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2)
    ),
    max_leaves=4,
)
_FIELDS: dict[str, st.SearchStrategy[object]] = {
    "kind": st.sampled_from([one for one in WORDS if one != "handoff"]),
    "title": TEXTS,
    "text": TEXTS,
    "data": _VALUES,
    "source": TEXTS,
    "freshness": st.sampled_from(FRESHNESS),
    "priority": st.integers(0, 100),
    "lineage": st.lists(st.sampled_from(["x", "y", "z"]), max_size=3),
    "relevance": st.floats(0, 1),
    "estimated_tokens": st.integers(0, 50),
    "stage": st.sampled_from(["act", "verify"]),
    "metadata": st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=2),
}


def stamps() -> Stamps:
    """Return stamps that count: ``a0``, ``a1``, …, one second apart."""
    numbers, seconds = itertools.count(), itertools.count()
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return Stamps(
        lambda: f"a{next(numbers)}",
        lambda: start + timedelta(seconds=next(seconds)),
    )


def made(*raws: Mapping[str, object]) -> list[Artifact]:
    """Return the artifacts *raws*, numbered, one second apart."""
    counting = stamps()
    return [artifact(raw, stamps=counting) for raw in raws]


def raw_artifacts(size: int = 12) -> st.SearchStrategy[list[dict[str, object]]]:
    """Return lists of at most *size* artifacts as users write them, without ids."""
    one = st.fixed_dictionaries({}, optional=_FIELDS)
    return st.lists(one, max_size=size)
