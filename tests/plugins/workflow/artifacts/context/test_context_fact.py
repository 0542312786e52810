"""The fact about a selection names what came in and what lost, and counts the rest."""

from __future__ import annotations

from hypothesis import given

from made_artifacts import made, raw_artifacts
from muniment.encoding.canonical import canonical
from muniment_plugins.workflow.artifacts.context.adaptive import (
    artifact_select_adaptive,
)
from muniment_plugins.workflow.artifacts.context.assembly import assemble_context
from muniment_plugins.workflow.artifacts.context.context_fact import (
    LISTED,
    context_fact,
)
from muniment_plugins.workflow.artifacts.context.selection import artifact_select


def test_what_it_says() -> None:
    """Losers have their reason, filtered ones are counted, pins are always named."""
    given_ones = made(
        {"kind": "diff", "text": "x" * 8},
        {"kind": "plan", "text": "x" * 40},
        {"kind": "note"},
        {"kind": "note"},
    )
    policy = {
        "include_kinds": ["diff", "plan"],
        "max_tokens": 5,
        "pinned_ids": ["a0", "a3", "gone"],
    }
    assert context_fact(artifact_select(given_ones, policy)) == {
        "selected": ["a0"],
        "tokens": 2,
        "budget": 5,
        "lost": [{"id": "a1", "reason": "budget", "tokens": 10}],
        "left_out": {"budget": 1, "kind": 2},
        "pins": [{"id": "a3", "reason": "kind"}, {"id": "gone", "reason": "missing"}],
        "cuts": [],
    }


def test_cuts_are_named() -> None:
    """What was cut is there with the digest of the whole text."""
    given_ones = made({"text": "x" * 9000})
    fact = context_fact(artifact_select_adaptive(given_ones, {"max_tokens": 600}))
    assert isinstance(fact["cuts"], list)
    (cut,) = fact["cuts"]
    assert isinstance(cut, dict)
    assert (cut["id"], cut["size"]) == ("a0", 9000)


def test_it_stays_small() -> None:
    """Its size does not grow with what stays out."""
    many = made(*({"kind": "plan" if n % 2 else "note"} for n in range(4000)))
    sizes = [
        len(
            canonical(
                context_fact(
                    artifact_select(
                        many[:count], {"exclude_kinds": ["note"], "max_artifacts": 5}
                    )
                )
            )
        )
        for count in (400, 4000)
    ]
    assert sizes[1] < sizes[0] + 100
    fact = context_fact(artifact_select(many, {"max_artifacts": 5}))
    assert isinstance(fact["lost"], list)
    assert len(fact["lost"]) == LISTED
    assert fact["left_out"] == {"count": 3995}


@given(raw_artifacts())
def test_chunks(raws: list[dict[str, object]]) -> None:
    """A second stage adds which chunks came in, and why others did not."""
    chosen = artifact_select(made(*raws))
    context = assemble_context(chosen.selected, {"budget_tokens": 9, "chunk_tokens": 2})
    fact = context_fact(chosen, context)
    canonical(fact)
    about = fact["assembled"]
    assert isinstance(about, dict)
    assert about["chunks"] == [one.id for one in context.chunks]
    assert isinstance(about["left_out"], dict)
    counts = [one for one in about["left_out"].values() if isinstance(one, int)]
    assert sum(counts) == len(context.dropped)
