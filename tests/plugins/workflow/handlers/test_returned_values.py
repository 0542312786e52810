"""What a handler returns is what the record, the next node and the caller have, or an error.

Rules: what JSON lacks is an error of the node, in every place and of every kind of handler.
Which node made an artifact, of what, and whether a verifier did, is not the handler's word.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import Run
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    Artifact,
    StageCall,
    StageInput,
    artifact,
    artifact_derive,
    run_record,
    workflow_execute,
)
from run_records import fits_schema
from workflow_stages import Document, chain, edge, graph_of, stage

RETURNED: list[Any] = []
"""What the next handler returns."""
GOT: list[Any] = []
"""What the node after it was given."""
ODD: dict[str, Any] = {
    "a set": {1, 2},
    "bytes": b"\x00",
    "a large number": 2**70,
    "no number": math.nan,
    "infinity": -math.inf,
    "a decimal": Decimal(1),
    "half a character": "\ud800",
    "another key": {1: 2},
    "depth": json.loads("[" * 40 + "]" * 40),
}
WRAPPED: dict[str, Any] = {
    "alone": lambda one: one,
    "in a list": lambda one: [1, [one]],
    "in an object": lambda one: {"a": {"b": one}},
    "as the data of an artifact": lambda one: Artifact(
        id="x", kind="x", created_at="2026-01-01T00:00:00Z", priority=1,
        estimated_tokens=0, data=one,
    ),
    "in the metadata of an artifact": lambda one: Artifact(
        id="x", kind="x", created_at="2026-01-01T00:00:00Z", priority=1,
        estimated_tokens=0, text="x", metadata={"a": one},
    ),
}  # fmt: skip


def returned(_: StageInput) -> object:
    """Return it."""
    (value,) = RETURNED
    return value


def returned_in_lane(run: Run, given: StageCall) -> object:
    """Return it, with the lane in hand."""
    del run
    return returned(given)


def takes(given: StageInput) -> None:
    """Note what one was given."""
    GOT[:] = [one.data for one in given.artifacts]


def node(name: str, **more: object) -> Document:
    """Return a node with a handler of this module."""
    return {"kind": "stage", "handler": f"{__name__}:{name}", **more}


HANDLERS = ("returned", "returned_in_lane")


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize(
    ("odd", "place"),
    [(odd, "alone") for odd in ODD]
    + [(odd, place) for odd in ("a set", "no number") for place in [*WRAPPED][1:]],
)
def test_what_json_lacks(book: Ledger, odd: str, place: str, handler: str) -> None:
    """It is an error of the node, whose edge is taken; nothing is recorded of it."""
    RETURNED[:] = [WRAPPED[place](ODD[odd])]
    edges = [edge("a", "b", "error")]
    done = workflow_execute(
        book, "t", graph_of({"a": node(handler), "b": stage()}, *edges)
    )
    record = run_record(book, done.run_id)
    assert (done.status, [one.text for one in done.artifacts]) == (
        "completed",
        ["b: 0"],
    )
    act, _ = record["stages"]
    assert (act["branch"], act["produced_artifact_ids"]) == ("error", [])
    assert [one["id"] for one in record["artifacts"]] == ["b.1#0"]
    json.loads(json.dumps(record, allow_nan=False))


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5)
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([-0.0, 1.0, 1e16, 5e-324]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def test_everybody_has_the_same(book: Ledger) -> None:
    """The next node, the record and the caller have equal data, to the sign of a zero."""
    graph = chain(a=node("returned"), b=node("takes"))

    @settings(max_examples=12, deadline=None)
    @given(JSON)
    def tried(value: Any) -> None:
        RETURNED[:], GOT[:] = [{"it": value}], []
        done = workflow_execute(book, "t", graph)
        (made,) = done.artifacts
        record = run_record(book, done.run_id)
        forms = [json.dumps(one) for one in (GOT[0], made.data)]
        assert forms == [json.dumps(record["artifacts"][0]["data"])] * 2
        assert made.data == {"it": value}

    tried()


GIVEN = {"id": "g", "kind": "plan", "text": "p", "lineage": ["before"]}
CLAIMS: dict[str, tuple[Any, str | None]] = {
    "nothing": ({}, None),
    "what it was given": ({"lineage": ["g"]}, None),
    "what that was made from": ({"lineage": ["before", "g"]}, None),
    "what nobody made": ({"lineage": ["report#0"]}, "workflow/lineage"),
    "what the node did not see": ({"lineage": ["unseen"]}, "workflow/lineage"),
    "itself": ({"id": "x", "lineage": ["x"]}, "workflow/lineage"),
    "what it will make": ({"lineage": ["a.1#0"]}, "workflow/lineage"),
    "another node": ({"stage": "tests"}, None),
    "a verifier": ({"kind": "verification_result"}, "workflow/own-kind"),
    "a verifier, by another word": ({"kind": "verification"}, "workflow/own-kind"),
    "a test": ({"kind": "test_result"}, None),
}


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("claim", CLAIMS)
def test_what_an_artifact_says_of_itself(
    book: Ledger, claim: str, handler: str
) -> None:
    """The run says which node made it; it names what the node had, and verifies nothing."""
    said, rule = CLAIMS[claim]
    RETURNED[:] = [{"_type": "artifact", "id": "mine", "text": "it", **said}]
    more: Document = {"context_policy": {"include_kinds": ["plan"]}}
    unseen = {"id": "unseen", "kind": "other", "text": "q"}
    graph = graph_of({"a": node(handler, **more)})
    done = workflow_execute(book, "t", graph, [GIVEN, unseen])
    record = run_record(book, done.run_id)
    (act,) = record["stages"]
    fits_schema(record)
    if rule is not None:
        assert (act["branch"], act["produced_artifact_ids"]) == ("error", [])
        assert act["rule"] in (rule, "workflow/lineage")
        assert "a: " in act["error"] or "artifact" in act["error"]
        return
    assert done.status == "completed", done.error
    made = record["artifacts"][-1]
    assert (made["stage"], made["id"]) == ("a", "a.1#0")
    assert made["lineage"] == said.get("lineage", ["g"])


def test_what_was_returned_before_it_can_be_named(book: Ledger) -> None:
    """An artifact can be made from one that the handler returned before it."""
    one = {"_type": "artifact", "id": "one", "text": "1"}
    two = {"_type": "artifact", "id": "two", "text": "2", "lineage": ["one", "g"]}
    RETURNED[:] = [[one, two]]
    done = workflow_execute(book, "t", chain(a=node("returned")), [GIVEN])
    assert done.artifacts[-1].lineage == ("a.1#0", "g")
    RETURNED[:] = [[two, one]]
    done = workflow_execute(book, "t", chain(a=node("returned")), [GIVEN])
    (act,) = run_record(book, done.run_id)["stages"]
    assert act["rule"] == "workflow/lineage"


def test_derived_artifacts_are_made_from_what_was_given(book: Ledger) -> None:
    """What is derived from an artifact of the context names all that this was made from."""
    RETURNED[:] = [None]
    done = workflow_execute(
        book,
        "t",
        chain(
            a=stage(),
            b=node("derives"),
            m={
                "kind": "map",
                "map_policy": {"item_artifact_kind": "summary"},
                "body": node("derives_from_item"),
            },
        ),
        [GIVEN],
    )
    assert done.status == "completed", done.error
    assert [one.lineage for one in done.artifacts][-2:] == [
        ("g", "a.1#0"),
        ("g", "a.1#0", "b.1#0"),
    ]


def derives(given: StageInput) -> Artifact:
    """Derive a summary of the last artifact."""
    (last,) = [one for one in given.artifacts if one.stage == "a"]
    return artifact_derive(last, "summary", {"text": "short"})


def derives_from_item(given: StageInput) -> Artifact:
    """Derive a plan from the item."""
    item: Any = given.item
    whole = artifact({**item, "created_at": "2026-01-01T00:00:00Z"})
    return artifact_derive(whole, "plan", {"text": "shorter"})


@pytest.mark.parametrize(
    "work",
    [
        node("returned", output_contract={"output_kinds": ["verification_result"]}),
        {"kind": "map", "map_policy": {"items": ["x"], "output_kind": "verification"}},
        {
            "kind": "map",
            "map_policy": {"items": ["x"]},
            "body": node(
                "returned", output_contract={"output_kinds": ["verification"]}
            ),
        },
        {
            "kind": "reduce",
            "reduce_policy": {"output_kind": "verification_result"},
            "input_contract": {"input_kinds": ["plan"]},
        },
        {
            **node("returned", output_contract={"output_kinds": ["verification"]}),
            "kind": "subagent",
        },
    ],
)
def test_no_contract_makes_a_verifier(book: Ledger, work: Document) -> None:
    """A graph cannot say either that what other nodes make is what a verifier found."""
    RETURNED[:] = ["a text"]
    done = workflow_execute(book, "t", chain(a=work), [GIVEN])
    kinds = [one["kind"] for one in run_record(book, done.run_id)["artifacts"]]
    assert done.status == "failed"
    assert "verification_result" not in kinds
