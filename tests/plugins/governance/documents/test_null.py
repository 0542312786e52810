"""``null`` is what is not said, in every member that may be left out."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow
from muniment.documents.places import At
from muniment.documents.shapes import (
    Anything,
    Choice,
    Entries,
    Flag,
    Items,
    Numeric,
    ObjectShape,
    OneOf,
    Shaped,
    Text,
    Whole,
)
from muniment.encoding.registry import ValueTypes
from muniment.errors import MunimentError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.governance import (
    FlowManifest,
    GovernancePolicy,
    load_flow,
    start_flow,
)
from muniment_plugins.governance.documents.manifest_shape import FLOW
from muniment_plugins.governance.documents.policy_shape import POLICY
from muniment_plugins.governance.flows.failed import FlowFailed
from muniment_plugins.governance.flows.steps.outputs import given_artifacts
from muniment_plugins.governance.flows.steps.reasoning import BUNDLE, bundle_of
from muniment_plugins.governance.flows.steps.retrieval import ITEM, evidence_of

Document = dict[str, Any]

TEXTS = (
    "a",
    "a:b",
    "module:function",
    "skip",
    "file://a",
    "sha256:" + "0" * 64,
)


def least(shape: Shaped) -> Any:
    """Return a value of this shape that says as little as it can."""
    match shape:
        case Choice():
            value: Any = shape.words[0]
        case Text():
            value = next(one for one in TEXTS if _has(shape, one))
        case Whole() | Numeric():
            value = max(0, int(shape.least)) if math.isfinite(shape.least) else 0
        case Flag():
            value = False
        case Items():
            value = [least(shape.shape)] * shape.least
        case OneOf():
            value = least(shape.text)
        case ObjectShape():
            value = {name: least(one) for name, one in shape.required.items()}
        case _:
            value = {} if isinstance(shape, Entries) else 1
    return value


def _has(shape: Shaped, value: str) -> bool:
    try:
        shape.check(value, _nowhere())
    except UsageError:
        return False
    return True


def _nowhere() -> Any:
    return At("shape", "flow")


def _put(
    inside: Callable[[Any], Any], bare: dict[str, Any], name: str, value: Any
) -> Any:
    """Return the whole document whose member *name* is *value*."""
    return inside({**bare, name: value})


def members(
    shape: Shaped, inside: Callable[[Any], Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield each optional member, and documents without it and with it as null."""
    if isinstance(shape, ObjectShape):
        bare = least(shape)
        for name in shape.optional:
            yield name, inside(bare), inside({**bare, name: None})
        for name, one in (*shape.required.items(), *shape.optional.items()):
            yield from members(one, partial(_put, inside, bare, name))
    elif isinstance(shape, Items):
        yield from members(shape.shape, lambda value: inside([value]))
    elif isinstance(shape, Entries):
        yield from members(shape.shape, lambda value: inside({"a": value}))
    elif isinstance(shape, OneOf):
        yield from members(shape.members, inside)


def outcome(make: Callable[[Any], object], document: Any) -> object:
    """Return what is made of a document, or what is wrong with it."""
    try:
        made = make(copy.deepcopy(document))
    except MunimentError as error:
        return error.rule, error.message, error.place
    if isinstance(made, FlowManifest | GovernancePolicy):
        quiet = {"document", "digest"}
        return {
            one.name: getattr(made, one.name)
            for one in fields(made)
            if one.name not in quiet
        }
    return made


def flow(said: Any) -> object:
    """Make a manifest of the least document with these members."""
    return FlowManifest.from_document({**said, "dependencies": []}, "f.json")


def policy(said: Any) -> object:
    """Make a policy."""
    return GovernancePolicy.from_document(said, "p.json")


def bundle(said: Any) -> object:
    """Make a bundle."""
    return bundle_of(said, "a", 0, "here")


def found(said: Any) -> object:
    """Make evidence."""
    return evidence_of([said], "c", "here", ValueTypes())


def deep(shape: Shaped) -> list[Any]:
    """Return all that a shape yields."""
    return [*members(shape, lambda value: value)]


CASES = [
    *((flow, *one) for one in deep(FLOW)),
    *((policy, *one) for one in deep(POLICY)),
    *((bundle, *one) for one in deep(BUNDLE)),
    *((found, *one) for one in deep(ITEM)),
]


@pytest.mark.parametrize(
    ("make", "name", "without", "null"),
    CASES,
    ids=[f"{one[0].__name__}-{number}-{one[1]}" for number, one in enumerate(CASES)],
)
def test_null_is_absent(
    make: Callable[[Any], object], name: str, without: Any, null: Any
) -> None:
    """Both are made the same of, or are refused in the same words."""
    assert name
    assert outcome(make, null) == outcome(make, without)


def test_the_shapes_are_walked() -> None:
    """The generator finds what is nested, too."""
    names = {one[1] for one in CASES}
    assert {
        "metric_tolerances",
        "fallback",
        "quorum",
        "cost",
        "prompt",
        "score",
    } <= names
    assert {"confidence", "method", "signature", "top_k", "min_magnitude"} <= names
    assert isinstance(ITEM.required["content"], Anything)


def test_an_inherited_fallback() -> None:
    """A slice that says null has the fallback of its budget, as one that says nothing."""
    budget: Document = {
        "allowed_sources": ["data"],
        "max_magnitude": "low",
        "exhaustion_action": "degrade",
        "fallback": "skip",
        "per_source": [{"source": "data", "max_magnitude": "low", "fallback": None}],
    }
    made = GovernancePolicy.from_document(
        {"spec_version": "v1", "entropy_budget": budget}, "p.json"
    )
    assert made.entropy_budget is not None
    assert made.entropy_budget.per_source["data"].fallback == "skip"


@pytest.mark.parametrize("member", ["artifact_type", "scope", "parents"])
def test_an_artifact(member: str) -> None:
    """So it is with what agents return."""
    row: Document = {"artifact_id": "a", "content": None}
    given = given_artifacts([{**row, member: None}], "x", "step/0", "here")
    assert given == given_artifacts([row], "x", "step/0", "here")


@pytest.mark.parametrize("said", [{}, {"confidence": None}])
def test_no_confidence_is_assumed(said: Document) -> None:
    """A claim that does not say how sure it is is refused; an old one was taken as sure."""
    claims = {"claims": [{"claim_id": "c", "statement": "s", **said}]}
    with pytest.raises(FlowFailed, match="it is missing") as caught:
        bundle_of(claims, "a", 0, "here")
    assert caught.value.place == "here: claims[0].confidence"
    assert bundle_of(claims, "a", 0, "here", 1).claims[0]["confidence"] == 1.0


# -- documents that Python gives ---------------------------------------------------


def nested(depth: int) -> Any:
    """Return a list of lists."""
    return [nested(depth - 1)] if depth else []


RING: list[Any] = []
RING.append(RING)
ODD: dict[str, Any] = {
    "NaN": math.nan,
    "infinity": math.inf,
    "beyond": 2**53,
    "far beyond": 10**400,
    "below": -(2**53),
    "float beyond": 1e300,
    "surrogate": "\ud800",
    "key": {"\ud800": 1},
    "number as key": {1: 1},
    "tuple": (1,),
    "set": {1},
    "bytes": b"x",
    "deep": nested(40),
    "ring": RING,
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", ["flow", "policy"])
def test_what_no_file_could_say(kind: str, odd: str) -> None:
    """It is refused as in a file: exit code 2, with the document and the place in it."""
    given = {"x": [ODD[odd]]}
    rule = {"rule_id": "k", "check": "a:b", "parameters": given}
    document: Any = {"spec_version": "v1", "rules": [rule]}
    make: Callable[[Any], object] = policy
    if kind == "flow":
        document = sum_document(inputs=given)
        make = partial(FlowManifest.from_document, place="mine")
    with pytest.raises(UsageError) as caught:
        make(document)
    assert caught.value.exit_code == 2
    place = str(caught.value.place)
    way = "mine: inputs.x[0]" if kind == "flow" else "p.json: rules[0].parameters.x[0]"
    assert place.startswith(way), place


@pytest.mark.parametrize("odd", ["NaN", "infinity", "beyond", "surrogate", "deep"])
def test_a_file_says_the_same(tmp_path: Path, odd: str) -> None:
    """The message is that of the file, but for its name."""
    document = sum_document(inputs={"x": [ODD[odd]]})
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(document))
    with pytest.raises(UsageError) as of_file:
        load_flow(file)
    with pytest.raises(UsageError) as given:
        FlowManifest.from_document(document, str(file))
    assert given.value.rule == of_file.value.rule


def test_what_was_given_is_copied(book: Ledger, place: Path) -> None:
    """What is done to the document afterwards changes nothing."""
    write_flow(place)
    document = sum_document(inputs={"x": [1]})
    made = FlowManifest.from_document(document, str(place / "flow.json"))
    document["inputs"]["x"].append(2)
    assert made.inputs == {"x": [1]}
    assert start_flow(book, made).ok
