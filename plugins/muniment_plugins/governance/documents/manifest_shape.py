"""The shape of a flow manifest: every key that it can have."""

from __future__ import annotations

from muniment.documents.shapes import (
    Anything,
    Choice,
    Entries,
    Flag,
    Items,
    ObjectShape,
    OneOf,
    Text,
    Whole,
)
from muniment_plugins.governance.documents.budgets import (
    ENTROPY_BUDGET,
    ENVELOPE,
    EXECUTION_BUDGET,
    INTENTS,
)
from muniment_plugins.governance.documents.words import (
    ACCEPTABILITIES,
    AGENT_PATH,
    DATASET_STATES,
    FLOW_STATES,
    LEVELS,
    MAGNITUDES,
    REPLAY_MODES,
)

__all__ = ["FLOW"]

_AGENT = Text(r"[^\s:/@$][^\s:/]*", "agent-a, without spaces, `:` and `/`")
_FUNCTION = Text(AGENT_PATH, "module:function")
_HASH = Text(
    r"(sha256:)?[0-9a-f]{64}|(md5:)?[0-9a-f]{32}(\.dir)?",
    "sha256: and 64 digits, or the 32 digits of DVC",
)
_DATASET = ObjectShape(
    {
        "dataset_id": Text(),
        "tenant_id": Text(),
        "dataset_version": Text(),
        "dataset_hash": _HASH,
        "dataset_state": Choice(DATASET_STATES),
        "storage_uri": Text(r"file://.+", "file://datasets/corpus.jsonl"),
    }
)
_CONTRACT = ObjectShape(
    {"vector_contract_id": Text()},
    {
        "agents": Items(Text(), unique=True),
        "query": Anything(),
        "top_k": Whole(1),
        "scope": Text(),
    },
)
_PART = ObjectShape(
    {},
    {
        "agent": Text(rf"echo|llm|{AGENT_PATH}", "echo, llm or module:function"),
        "retriever": _FUNCTION,
        "reasoner": _FUNCTION,
        "prompt": Text(),
        "model": Text(r"[^:]+:.+", "provider:model"),
        "flow": Text(),
        "nondeterminism_intent": INTENTS,
        "entropy_budget": ENTROPY_BUDGET,
    },
)
FLOW = ObjectShape(
    {
        "flow_id": Text(),
        "tenant_id": Text(),
        "flow_state": Choice(FLOW_STATES),
        "determinism_level": Choice(LEVELS),
        "replay_acceptability": Choice(ACCEPTABILITIES),
        "entropy_budget": ENTROPY_BUDGET,
        "replay_envelope": ENVELOPE,
        "agents": Items(_AGENT, least=1, unique=True),
        "dependencies": Items(Text(r"[^:]+:[^:]+", "agent:dependency"), unique=True),
    },
    {
        "replay_mode": Choice(REPLAY_MODES),
        "allowed_variance_class": Choice(MAGNITUDES),
        "nondeterminism_intent": INTENTS,
        "dataset": _DATASET,
        "allow_deprecated_datasets": Flag(),
        "retrieval_contracts": Items(OneOf(Text(), _CONTRACT)),
        "verification_gates": Items(Text(), unique=True),
        "parts": Entries(OneOf(_PART.optional["agent"], _PART)),
        "execution_budget": EXECUTION_BUDGET,
        "inputs": Anything(),
    },
)
"""A manifest's keys."""
