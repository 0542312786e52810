"""Every mistake in a manifest or a policy is one line, with the key path, exit code 2."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flow_files import BORING_FLOW, BORING_POLICY, flow_document
from muniment.errors import UsageError
from muniment_plugins.governance import FlowManifest, GovernancePolicy
from muniment_plugins.governance.documents.manifest_shape import FLOW
from muniment_plugins.governance.documents.policy_shape import POLICY

Document = dict[str, Any]
Way = tuple[str | int, ...]

RICH_POLICY: Document = {
    **BORING_POLICY,
    "policy_id": "p",
    "mode": "live",
    "entropy_budget": BORING_FLOW["entropy_budget"],
    "execution_budget": {
        "step_limit": 3,
        "cost_limit": 0.5,
        "exhaustion_action": "halt",
    },
    "nondeterminism": {"allowed_sources": ["data"], "min_entropy_magnitude": "low"},
    "nondeterminism_intent": BORING_FLOW["nondeterminism_intent"],
    "weights": {"low": 1, "medium": 4, "high": 16},
    "approvers": {"quorum": 1, "keys": ["SHA256:a", "SHA256:b"]},
    "determinism_level": "bounded",
    "replay_mode": "bounded",
    "replay_acceptability": "exact_match",
    "replay_envelope": BORING_FLOW["replay_envelope"],
    "allow_environment_change": False,
    "engines": ["content"],
    "signers": ["SHA256:a"],
}
RICH_FLOW: Document = {
    **BORING_FLOW,
    "parts": {"agent-a": "echo", "agent-b": {"agent": "m:f", "retriever": "m:g"}},
    "execution_budget": {"step_limit": 3},
    "retrieval_contracts": ["c1", {"vector_contract_id": "c2", "top_k": 3}],
    "verification_gates": ["unique_claim_ids"],
}
Load = Callable[[Any, str], object]
LOADERS: dict[str, tuple[Document, Load]] = {
    "flow": (RICH_FLOW, FlowManifest.from_document),
    "policy": (RICH_POLICY, GovernancePolicy.from_document),
}


def ways(value: object, way: Way = ()) -> Iterator[Way]:
    """Yield the way to every member and item of *value*."""
    members: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        members = [*value.items()]
    elif isinstance(value, list):
        members = [*enumerate(value)]
    for name, one in members:
        yield (*way, name)
        yield from ways(one, (*way, name))


def changed(
    document: Document, way: Way, change: Callable[[Any, Any], None]
) -> Document:
    """Return a copy of *document*, with the holder of the last of *way* changed."""
    copied = copy.deepcopy(document)
    holder: Any = copied
    for name in way[:-1]:
        holder = holder[name]
    change(holder, way[-1])
    return copied


def spelled(way: Way) -> str:
    """Return *way* as messages have it."""
    text = ""
    for one in way:
        text += f"[{one}]" if isinstance(one, int) else f".{one}" if text else one
    return text


CASES = [
    (kind, way) for kind, (document, _) in LOADERS.items() for way in ways(document)
]


def refused(kind: str, document: object) -> UsageError:
    """Return the mistake in *document*: one line, with its file."""
    with pytest.raises(UsageError) as caught:
        LOADERS[kind][1](document, "the-file.json")
    error = caught.value
    assert str(error).startswith("the-file.json: ")
    assert "\n" not in str(error)
    assert error.rule.startswith(f"{kind}/")
    assert error.exit_code == 2
    return error


@pytest.mark.parametrize("kind", LOADERS)
def test_without_a_mistake(kind: str) -> None:
    """What the mistakes are made of is no mistake."""
    document, load = LOADERS[kind]
    assert load(document, "x") is not None


def said(kind: str, document: object) -> str:
    """Return the mistake in *document* as a line; nothing if it has none."""
    try:
        LOADERS[kind][1](document, "the-file.json")
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("kind", "way"), CASES)
def test_every_key_of_another_type(kind: str, way: Way) -> None:
    """A value that the key cannot have is one line, and never another exception."""

    def put(wrong: object) -> Document:
        return changed(
            LOADERS[kind][0], way, lambda one, name: one.update({name: wrong})
        )

    def put_item(wrong: object) -> Document:
        return changed(
            LOADERS[kind][0], way, lambda one, name: one.__setitem__(name, wrong)
        )

    placed = put if isinstance(way[-1], str) else put_item
    error = refused(kind, placed([[]]))
    assert error.place.startswith(f"the-file.json: {way[0]}")
    wrongs: list[object] = [{"nobody": {}}, 0.5, -1, True, "", "∅", None, [None]]
    for wrong in wrongs:
        line = said(kind, placed(wrong))
        assert line == "" or line.startswith("the-file.json: ")


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        (kind, way)
        for kind, way in CASES
        if isinstance(way[-1], str) and way[-2:-1] != ("parts",)
    ],
)
def test_every_key_renamed(kind: str, way: Way) -> None:
    """A misspelled key is refused where it stands, and the key that was meant is named."""

    def rename(holder: Any, name: str) -> None:
        pairs = [
            (f"{key}x" if key == name else key, one) for key, one in holder.items()
        ]
        holder.clear()
        holder.update(pairs)

    error = refused(kind, changed(LOADERS[kind][0], way, rename))
    assert error.rule == f"{kind}/unknown-key"
    assert error.place == f"the-file.json: {spelled(way)}x"
    assert f"did you mean {way[-1]}?" in error.remedy


@pytest.mark.parametrize("name", FLOW.required)
def test_every_required_key_of_a_flow_removed(name: str) -> None:
    """A missing key is named."""
    document = flow_document()
    del document[name]
    error = refused("flow", document)
    assert (error.rule, error.place) == (
        "flow/missing-key",
        f"the-file.json: {name}",
    )


@pytest.mark.parametrize("name", [*FLOW.optional, *POLICY.optional])
def test_every_other_key_may_be_left_out_or_null(name: str) -> None:
    """What has a default may be missing, or null."""
    kind = "flow" if name in FLOW.optional else "policy"
    document, load = LOADERS[kind]
    others = {key: one for key, one in document.items() if key != name}
    load(others, "x")
    load({**others, name: None}, "x")


@pytest.mark.parametrize(
    ("change", "rule", "place", "says"),
    [
        ({"flow_state": "validate"}, "enum", "flow_state", "did you mean validated?"),
        ({"agents": "agent-a"}, "type", "agents", "it is a text, not a list"),
        ({"agents": ["agent-a", "agent-a"]}, "duplicate", "agents[1]", "twice"),
        ({"agents": []}, "value", "agents", "the list is empty"),
        (
            {"dependencies": ["agent-b:agent-c"]},
            "agent-unknown",
            "dependencies[0]",
            "no agent is called 'agent-c'",
        ),
        (
            {"dependencies": ["agent-b:agent-a", "agent-a:agent-b"]},
            "cycle",
            "dependencies",
            "agent-a needs agent-b needs agent-a",
        ),
        ({"dependencies": ["agent-a:agent-a"]}, "cycle", "dependencies[0]", "itself"),
        ({"determinism_level": None}, "level", "determinism_level", "never assumed"),
        ({"determinism_level": ""}, "level", "determinism_level", "never assumed"),
        ({"determinism_level": "default"}, "level", "determinism_level", "strict"),
        ({"determinism_level": "strickt"}, "enum", "determinism_level", "strict?"),
        ({"zzz": 1}, "unknown-key", "zzz", "known: flow_id"),
        (
            {"parts": {"agent-c": "echo"}},
            "agent-unknown",
            "parts.agent-c",
            "did you mean agent-",
        ),
        ({"parts": {"agent-a": "no function"}}, "value", "parts.agent-a", "form"),
        (
            {"parts": {"agent-a": {"flow": "a.json", "prompt": "x"}}},
            "part",
            "parts.agent-a.prompt",
            "a manifest of its own",
        ),
        (
            {"retrieval_contracts": [{"vector_contract_id": "c", "agents": ["x"]}]},
            "agent-unknown",
            "retrieval_contracts[0].agents[0]",
            "no agent",
        ),
        (
            {"retrieval_contracts": ["c", "c"]},
            "duplicate",
            "retrieval_contracts[1]",
            "",
        ),
    ],
)
def test_mistakes_in_manifests(
    change: Document, rule: str, place: str, says: str
) -> None:
    """The mistakes that people make are named with their place, and what was meant."""
    error = refused("flow", {**flow_document(), **change})
    assert (error.rule, error.place) == (f"flow/{rule}", f"the-file.json: {place}")
    assert says in str(error)


@pytest.mark.parametrize("member", ["flow_id", "tenant_id"])
@pytest.mark.parametrize(
    "name", ["t\n", " t", "t\u00a0", "t\x1b[0m", "t\u2028u", "t\u200b"]
)
def test_names_that_nobody_sees(member: str, name: str) -> None:
    """A tenant that looks like another one is refused; a record may have it."""
    document = {**flow_document(), member: name}
    error = refused("flow", document)
    assert (error.rule, error.place) == ("flow/value", f"the-file.json: {member}")
    recorded = {**document, "dataset": None}
    assert getattr(FlowManifest.from_record(recorded, "record"), member) == name


@pytest.mark.parametrize(
    ("member", "change", "rule", "place"),
    [
        ("entropy_budget", {"min_magnitude": "high"}, "order", "min_magnitude"),
        ("entropy_budget", {"allowed_sources": []}, "value", "allowed_sources"),
        ("entropy_budget", {"exhaustion_action": "degrade"}, "fallback", "fallback"),
        ("entropy_budget", {"fallback": "skip"}, "fallback", "fallback"),
        (
            "entropy_budget",
            {"per_source": [{"source": "human_input", "max_magnitude": "low"}]},
            "budget",
            "per_source[0].source",
        ),
        (
            "entropy_budget",
            {"per_source": [{"source": "data", "max_magnitude": "high"}]},
            "budget",
            "per_source[0].max_magnitude",
        ),
        (
            "entropy_budget",
            {"per_source": [{"source": "data", "max_magnitude": "low"}] * 2},
            "duplicate",
            "per_source[1].source",
        ),
        ("dataset", {"tenant_id": "tenant-b"}, "tenant", "tenant_id"),
        ("dataset", {"dataset_state": "deprecated"}, "dataset", "dataset_state"),
        ("dataset", {"dataset_hash": "short"}, "value", "dataset_hash"),
        ("dataset", {"storage_uri": "s3://bucket"}, "value", "storage_uri"),
    ],
)
def test_mistakes_inside_members(
    member: str, change: Document, rule: str, place: str
) -> None:
    """Members that contradict each other are named at the one to change."""
    document = flow_document()
    document[member] = {**document[member], **change}
    error = refused("flow", document)
    assert error.rule == f"flow/{rule}"
    assert error.place == f"the-file.json: {member}.{place}"


def test_an_intent_above_itself() -> None:
    """The least magnitude of an intent is not above its greatest."""
    document = flow_document()
    document["nondeterminism_intent"][0]["min_entropy_magnitude"] = "high"
    error = refused("flow", document)
    assert error.rule == "flow/order"
    assert error.place.endswith("nondeterminism_intent[0].min_entropy_magnitude")


@pytest.mark.parametrize(
    ("change", "rule", "place"),
    [
        (
            {"arbitration_policy": {"rule": "unanimous", "quorum_threshold": 2}},
            "quorum",
            "arbitration_policy.quorum_threshold",
        ),
        (
            {"arbitration_policy": {"rule": "quorum", "quorum_threshold": 4}},
            "quorum",
            "arbitration_policy.quorum_threshold",
        ),
        (
            {"arbitration_policy": {"rule": "quorum", "quorum_threshold": 0}},
            "value",
            "arbitration_policy.quorum_threshold",
        ),
        ({"approvers": {"quorum": 2, "keys": ["a"]}}, "quorum", "approvers.quorum"),
        ({"approvers": {"keys": ["a", "a"]}}, "duplicate", "approvers.keys[1]"),
        ({"rules": [{"rule_id": "mine"}]}, "rule-unknown", "rules[0].rule_id"),
        (
            {"rules": [{"rule_id": "unique_claim_ids", "check": "m:f"}]},
            "rule-unknown",
            "rules[0].check",
        ),
        (
            {"rules": [{"rule_id": "mine", "check": "m:f"}] * 2},
            "duplicate",
            "rules[1].rule_id",
        ),
        ({"fail_on": ["nothing"]}, "rule-unknown", "fail_on[0]"),
        (
            {"fail_on": ["unique_claim_ids"], "escalate_on": ["unique_claim_ids"]},
            "duplicate",
            "escalate_on[0]",
        ),
        ({"weights": {"low": 9}}, "order", "weights"),
        ({"spec_version": "v2"}, "enum", "spec_version"),
        (
            {
                "nondeterminism": {
                    "min_entropy_magnitude": "high",
                    "max_entropy_magnitude": "low",
                }
            },
            "order",
            "nondeterminism.min_entropy_magnitude",
        ),
    ],
)
def test_mistakes_in_policies(change: Document, rule: str, place: str) -> None:
    """A policy that cannot be meant is refused where it contradicts itself."""
    error = refused("policy", {**BORING_POLICY, **change})
    assert (error.rule, error.place) == (f"policy/{rule}", f"the-file.json: {place}")
