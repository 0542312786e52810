"""Retrieval: a step's questions to its retriever, and the evidence that it found.

    def search(request):                    # {"query": …, "top_k": 5, "scope": …, …}
        return [{"evidence_id": "e1", "source_uri": "file://corpus.jsonl#7",
                 "content": {…}, "score": 0.92, "determinism": "deterministic"}]

Rules:

- Each question is an effect of the kind ``retrieval``: a replay is answered from the
  record, and calls no retriever.
- There is one for each retrieval contract of the agent; one, named after the agent, for
  a retriever without contracts. Without a query, the inputs of the step are the query.
- An item is *deterministic* unless it says otherwise, its score 0, its source unnamed. An id stands for one content in all
  of the flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import (
    Anything,
    Choice,
    Numeric,
    ObjectShape,
    Text,
)
from muniment.encoding.canonical import JsonValue
from muniment.encoding.registry import ValueTypes
from muniment.errors import UsageError
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.flows.failed import FlowFailed
from muniment_plugins.governance.flows.steps.artifacts import (
    FlowEvidence,
    content_digest,
)

__all__ = ["DETERMINISM", "ITEM", "evidence_of", "questions", "stated"]

DETERMINISM = ("deterministic", "sampled", "external")
ITEM = ObjectShape(
    {"evidence_id": Text(), "content": Anything()},
    {
        "source_uri": Text(),
        "score": Numeric(float("-inf")),
        "determinism": Choice(DETERMINISM),
    },
)
"""What an item of a retriever's answer may say."""


def questions(
    flow: FlowManifest, agent: str, step: int, inputs: object
) -> Iterator[dict[str, object]]:
    """Yield the requests of a step, as its retriever gets them and the ledger has them."""
    contracts = [
        one for one in flow.retrieval_contracts if not one.agents or agent in one.agents
    ]
    for number, one in enumerate(contracts):
        asked = inputs if one.query is None else one.query
        request: dict[str, object] = {
            "request_id": f"{step}/{number}",
            "vector_contract_id": one.vector_contract_id,
            "query": asked,
        }
        if one.top_k is not None:
            request["top_k"] = one.top_k
        if one.scope is not None:
            request["scope"] = one.scope
        yield request
    if not contracts:
        yield {
            "request_id": f"{step}/0",
            "vector_contract_id": agent,
            "query": inputs,
        }


def evidence_of(
    answer: object, contract: str, place: str, values: ValueTypes
) -> list[FlowEvidence]:
    """Return the evidence in a retriever's *answer*.

    Raises:
        FlowFailed: the answer is no list of evidence, or an id is in it twice.

    """
    if not isinstance(answer, list):
        raise _wrong("the retriever returned no list", place)
    found: dict[str, FlowEvidence] = {}
    for number, item in enumerate(cast("list[JsonValue]", answer)):
        there = f"{place}, item {number}"
        try:
            # a content may be any value that can be recorded: its shape is free
            ITEM.check(item, At(there, "flow"))
        except UsageError as error:
            raise _wrong(error.message, error.place) from None
        one = _evidence(cast("Mapping[str, object]", item), contract, values)
        if one.evidence_id in found:
            raise _wrong(f"{one.evidence_id!r:.80} is there twice", there)
        found[one.evidence_id] = one
    return [*found.values()]


def _evidence(
    row: Mapping[str, object], contract: str, values: ValueTypes
) -> FlowEvidence:
    content = row["content"]
    return FlowEvidence(
        evidence_id=cast("str", row["evidence_id"]),
        determinism=cast("str", row.get("determinism") or "deterministic"),
        source_uri=cast("str", row.get("source_uri") or ""),
        contract=contract,
        score=float(cast("float", row.get("score") or 0.0)),
        digest=content_digest(content, values),
        content=content,
    )


def _wrong(message: str, place: str) -> FlowFailed:
    return FlowFailed(
        message,
        rule="flow/evidence",
        place=place,
        remedy='return [{"evidence_id": "…", "content": …, "source_uri": "…"}, …]',
    )


def stated(evidence: FlowEvidence) -> dict[str, object]:
    """Return the fact that *evidence* was collected."""
    return {
        "evidence_id": evidence.evidence_id,
        "determinism": evidence.determinism,
        "source_uri": evidence.source_uri,
        "contract": evidence.contract,
        "score": evidence.score,
        "digest": evidence.digest,
        "content": evidence.content,
    }
