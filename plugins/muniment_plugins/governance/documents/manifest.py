"""Flow manifests: which agents run in which order, and what is declared of them.

    flow = load_flow(Path("flow.json"))
    flow.agents                 ('agent-a', 'agent-b')
    flow.entropy_budget.total   EntropySlice(source=None, max_magnitude='low', …)

Rules:

- ``dependencies`` holds texts ``agent:dependency``: the first takes what the second made.
- The level of determinism is never assumed: it is written, or the manifest is refused.
- ``document`` is what was written, without defaults, and ``digest`` that of its canonical
  bytes: the same document has one digest in JSON, YAML and TOML. Its keys have the order
  that a record gives them, so that functions get the same live, resumed and replayed.
- What an agent is says ``parts``: a function by import path, ``echo``, ``llm``, another
  flow; or a plugin knows the agent by its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from muniment.documents.places import At
from muniment.documents.reading import plain_document, read_document
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.encoding.codec import settle
from muniment.events.effect_kinds import Magnitude
from muniment_plugins.governance.documents.budgets import (
    EntropyBudget,
    ExecutionBudget,
    Intent,
    ReplayEnvelope,
    entropy_budget,
    execution_budget,
    intents,
    replay_envelope,
)
from muniment_plugins.governance.documents.manifest_shape import FLOW
from muniment_plugins.governance.documents.order import (
    dependencies_of,
    in_order,
    require_agent,
)
from muniment_plugins.governance.documents.words import (
    LEVELS,
    Acceptability,
    DatasetState,
    FlowState,
    Level,
    ReplayMode,
)

__all__ = ["DatasetPin", "FlowManifest", "FlowPart", "RetrievalContract", "load_flow"]

Object = Mapping[str, JsonValue]
_UNSET = (None, "", "default")


@dataclass(frozen=True, slots=True)
class DatasetPin:
    """The data that a flow is about, in one state."""

    dataset_id: str
    tenant_id: str
    dataset_version: str
    dataset_hash: str
    """SHA-256 as ``sha256:…`` or bare; or an MD5 as DVC writes it, ``….dir`` of folders."""
    dataset_state: DatasetState
    storage_uri: str
    """``file://`` and a path, from the manifest's folder if it is relative."""


@dataclass(frozen=True, slots=True)
class RetrievalContract:
    """What a retriever is asked for, by the id that evidence names."""

    vector_contract_id: str
    agents: tuple[str, ...]
    """The agents whose steps ask for it; empty for all that have a retriever."""
    query: JsonValue
    top_k: int | None
    scope: str | None


@dataclass(frozen=True, slots=True)
class FlowPart:
    """What an agent of the flow is; None where nothing is said."""

    agent: str | None = None
    retriever: str | None = None
    reasoner: str | None = None
    prompt: str | None = None
    model: str | None = None
    flow: str | None = None
    """The file of another flow, from this manifest's folder, that runs as a child."""
    intents: tuple[Intent, ...] = ()
    entropy_budget: EntropyBudget | None = None


@dataclass(frozen=True, slots=True)
class FlowManifest:
    """A manifest without mistakes."""

    flow_id: str
    tenant_id: str
    flow_state: FlowState
    determinism_level: Level
    replay_mode: ReplayMode
    replay_acceptability: Acceptability
    replay_envelope: ReplayEnvelope
    entropy_budget: EntropyBudget
    execution_budget: ExecutionBudget
    allowed_variance_class: Magnitude | None
    intents: tuple[Intent, ...]
    dataset: DatasetPin | None
    allow_deprecated_datasets: bool
    agents: tuple[str, ...]
    dependencies: Mapping[str, tuple[str, ...]]
    """Agent → the agents whose outputs it takes, as written."""
    retrieval_contracts: tuple[RetrievalContract, ...]
    verification_gates: tuple[str, ...]
    parts: Mapping[str, FlowPart]
    inputs: JsonValue
    document: Object = field(repr=False)
    digest: str
    place: str
    """What messages call the document: the path that users gave."""

    @property
    def folder(self) -> Path:
        """Where relative paths begin: the folder of the manifest."""
        return Path(self.place).parent

    @classmethod
    def from_document(cls, value: JsonValue, place: str) -> FlowManifest:
        """Return the manifest in *value*, which messages call *place*.

        Raises:
            UsageError: it has a mistake; one line, with the key path.

        """
        plain = plain_document(value, "flow", place)
        _require_readable(plain, At(place, "flow"))
        return cls.from_record(plain, place)

    @classmethod
    def from_record(cls, value: JsonValue, place: str) -> FlowManifest:
        """Return the manifest in *value*, which a run has recorded.

        What a record can hold is not limited by what a file may.

        Raises:
            UsageError: it has a mistake; one line, with the key path.

        """
        at = At(place, "flow")
        _require_level(value, at)
        FLOW.check(value, at)
        return _made(cast("Object", settle(value)), at)


def load_flow(path: Path | str) -> FlowManifest:
    """Return the manifest in the file *path*: JSON, YAML or TOML.

    Raises:
        UsageError: it cannot be read, or has a mistake; one line, with the key path.

    """
    return FlowManifest.from_document(read_document(Path(path), "flow"), str(path))


def _require_readable(value: JsonValue, at: At) -> None:
    """Refuse names that look like others, or take two lines in a table."""
    said = value if isinstance(value, dict) else {}
    for key in ("flow_id", "tenant_id"):
        name = said.get(key)
        if isinstance(name, str) and name.strip():
            if name.isprintable() and name == name.strip():
                continue
            raise at.key(key).wrong(
                f"{name!r:.80} has characters that nobody sees",
                "value",
                "leave out spaces around it, line breaks and control characters",
            )


def _require_level(value: JsonValue, at: At) -> None:
    if not isinstance(value, dict) or value.get("determinism_level", 0) not in _UNSET:
        return
    raise at.key("determinism_level").wrong(
        "the level is never assumed", "level", f"write one: {', '.join(LEVELS)}"
    )


def _made(said: Object, at: At) -> FlowManifest:
    agents = tuple(cast("list[str]", said["agents"]))
    needed = dependencies_of(agents, cast("list[str]", said["dependencies"]), at)
    in_order(agents, needed, at)
    budget = entropy_budget(said["entropy_budget"], at.key("entropy_budget"))
    execution = at.key("execution_budget")
    named = at.key("nondeterminism_intent")
    return FlowManifest(
        flow_id=cast("str", said["flow_id"]),
        tenant_id=cast("str", said["tenant_id"]),
        flow_state=cast("FlowState", said["flow_state"]),
        determinism_level=cast("Level", said["determinism_level"]),
        replay_mode=cast("ReplayMode", said.get("replay_mode") or "strict"),
        replay_acceptability=cast("Acceptability", said["replay_acceptability"]),
        replay_envelope=replay_envelope(said["replay_envelope"]),
        entropy_budget=budget,
        execution_budget=execution_budget(said.get("execution_budget"), execution),
        allowed_variance_class=cast("Magnitude", said.get("allowed_variance_class")),
        intents=intents(said.get("nondeterminism_intent"), named),
        dataset=_dataset(said, at),
        allow_deprecated_datasets=bool(said.get("allow_deprecated_datasets")),
        agents=agents,
        dependencies=needed,
        retrieval_contracts=_contracts(said, agents, at),
        verification_gates=tuple(
            cast("list[str]", said.get("verification_gates") or [])
        ),
        parts=_parts(said, agents, at.key("parts")),
        inputs=said.get("inputs"),
        document=said,
        digest=sha256_tag(canonical(dict(said))),
        place=at.file,
    )


def _dataset(said: Object, at: At) -> DatasetPin | None:
    value = said.get("dataset")
    if value is None:
        return None
    texts = cast("dict[str, str]", value)
    if texts["tenant_id"] != said["tenant_id"]:
        raise (
            at.key("dataset")
            .key("tenant_id")
            .wrong(
                f"the flow's tenant is {said['tenant_id']!r:.80}",
                "tenant",
                "a flow uses the data of its own tenant",
            )
        )
    if texts["dataset_state"] == "deprecated" and not said.get(
        "allow_deprecated_datasets"
    ):
        raise (
            at.key("dataset")
            .key("dataset_state")
            .wrong(
                "the dataset is deprecated",
                "dataset",
                "use a newer version, or write allow_deprecated_datasets: true",
            )
        )
    return DatasetPin(
        dataset_state=cast("DatasetState", texts["dataset_state"]),
        **{name: one for name, one in texts.items() if name != "dataset_state"},
    )


def _contracts(
    said: Object, agents: tuple[str, ...], at: At
) -> tuple[RetrievalContract, ...]:
    found: list[RetrievalContract] = []
    for number, one in enumerate(
        cast("list[str | Object]", said.get("retrieval_contracts") or [])
    ):
        there = at.key("retrieval_contracts").item(number)
        row: Object = {"vector_contract_id": one} if isinstance(one, str) else one
        named = cast("list[str]", row.get("agents") or [])
        for position, agent in enumerate(named):
            require_agent(agent, agents, there.key("agents").item(position))
        contract = RetrievalContract(
            vector_contract_id=cast("str", row["vector_contract_id"]),
            agents=tuple(named),
            query=row.get("query"),
            top_k=cast("int | None", row.get("top_k")),
            scope=cast("str | None", row.get("scope")),
        )
        if any(
            other.vector_contract_id == contract.vector_contract_id for other in found
        ):
            raise there.wrong(
                f"{contract.vector_contract_id!r:.80} is there twice",
                "duplicate",
                "keep one of them",
            )
        found.append(contract)
    return tuple(found)


def _parts(said: Object, agents: tuple[str, ...], at: At) -> dict[str, FlowPart]:
    rows = cast("Mapping[str, str | Object]", said.get("parts") or {})
    for name in rows:
        require_agent(name, agents, at.key(name))
    return {name: _part(one, at.key(name)) for name, one in rows.items()}


def _part(said: str | Object, at: At) -> FlowPart:
    if isinstance(said, str):
        return FlowPart(agent=said)
    row = {key: one for key, one in said.items() if one is not None}
    if "flow" in row and len(row) > 1:
        other = next(key for key in row if key != "flow")
        raise at.key(other).wrong(
            "a flow as a part has a manifest of its own", "part", "write it there"
        )
    budget = row.get("entropy_budget")
    declared = at.key("entropy_budget")
    texts = cast("dict[str, str]", row)
    return FlowPart(
        agent=texts.get("agent"),
        retriever=texts.get("retriever"),
        reasoner=texts.get("reasoner"),
        prompt=texts.get("prompt"),
        model=texts.get("model"),
        flow=texts.get("flow"),
        intents=intents(
            row.get("nondeterminism_intent"), at.key("nondeterminism_intent")
        ),
        entropy_budget=None if budget is None else entropy_budget(budget, declared),
    )
