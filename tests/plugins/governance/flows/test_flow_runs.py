"""A flow runs as a program: its facts have the content, and it replays from them."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy
from muniment.encoding.canonical import canonical, sha256_tag
from muniment.errors import RefusedError, UsageError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.verification.verify import verify
from muniment_plugins.governance import (
    GovernancePolicy,
    load_flow,
    load_policy,
    plan_flow,
    start_flow,
)

Document = dict[str, Any]


def write_and_start(book: Ledger, place: Path, **members: object) -> Any:
    """Run the flow of two steps, with these members of its manifest."""
    return start_flow(book, load_flow(write_flow(place, sum_document(**members))))


def facts(book: Ledger, run: str, event_type: str) -> list[dict[str, Any]]:
    """Return the data of the run's events of a type, with its blobs."""
    return [book.resolve(one) for one in book.events(run=run, type=event_type)]


def test_the_whole_way(book: Ledger, place: Path) -> None:
    """Every finding of a step is a fact with its content, in the step's own scope."""
    done = start_flow(book, load_flow(place / "flow.json"))
    assert done.ok, done.error
    scopes = [(one.scope, one.type) for one in book.events(run=done.run_id)]
    own = [pair for pair in scopes if not str(pair[0]).startswith("plugin/")]
    assert own == [
        ("", "run.started"),
        ("", "flow.planned"),
        ("", "environment.fingerprinted"),
        ("step/0-reader", "flow.step.started"),
        ("step/0-reader", "artifact.produced"),
        ("step/0-reader", "verification.arbitrated"),
        ("step/0-reader", "flow.step.completed"),
        ("step/1-writer", "flow.step.started"),
        ("step/1-writer", "retrieval.requested"),
        ("step/1-writer", "retrieval.completed"),
        ("step/1-writer", "evidence.collected"),
        ("step/1-writer", "artifact.produced"),
        ("step/1-writer", "reasoning.recorded"),
        ("step/1-writer", "verification.judged"),
        ("step/1-writer", "verification.judged"),
        ("step/1-writer", "verification.arbitrated"),
        ("step/1-writer", "flow.step.completed"),
        ("", "verification.judged"),
        ("", "verification.arbitrated"),
        ("", "run.completed"),
    ]
    assert done.result["outputs"] == {"writer": {"sum": 6}}  # type: ignore[index]
    assert replay(book, done.run_id).verdict == "acceptable"
    assert verify(book.path, home=book.home).ok


def test_an_auditor_needs_the_ledger_alone(book: Ledger, place: Path) -> None:
    """Digests and verdicts follow from what the events say, without the flow's code."""
    done = start_flow(book, load_flow(place / "flow.json"))
    made = [*facts(book, done.run_id, "artifact.produced")]
    found = [*facts(book, done.run_id, "evidence.collected")]
    for one in (*made, *found):
        assert one["digest"] == sha256_tag(canonical(one["content"]))
    (bundle,) = facts(book, done.run_id, "reasoning.recorded")
    document = {
        "bundle_id": bundle["bundle_id"],
        "producer_agent_id": bundle["producer"],
        "claims": bundle["claims"],
        "steps": bundle["steps"],
        "evidence_ids": bundle["evidence_ids"],
    }
    assert bundle["digest"] == sha256_tag(canonical(document))
    state = facts(book, done.run_id, "flow.planned")[0]["plan"]
    for step, artifact in zip(
        facts(book, done.run_id, "flow.step.completed"), made, strict=True
    ):
        covered = [state, step["agent"], [artifact["digest"]]]
        state = step["state"]
        assert state == sha256_tag(canonical(covered))


def test_params_are_the_whole_of_it(book: Ledger, place: Path) -> None:
    """``run.started`` has manifest, policy and pins, with the tenant and the label."""
    done = start_flow(book, load_flow(place / "flow.json"))
    (started,) = book.events(run=done.run_id, limit=1)
    params: Any = book.resolve(started)["params"]
    assert params["flow"] == json.loads((place / "flow.json").read_text())
    assert params["policy"] == dict(GovernancePolicy.DEFAULT.document)
    assert set(params["pins"]["parts"]["writer"]) == {"agent", "retriever", "reasoner"}
    assert started.tenant == "tenant-a"
    assert started.raw["program"]["name"] == "muniment:flow/1"  # type: ignore[index,call-overload]
    assert started.raw["labels"] == {"policy": GovernancePolicy.DEFAULT.digest}


def test_order_and_hash_of_plans(place: Path) -> None:
    """Steps are in topological order, names decide where it is free, and hashes agree."""
    document = sum_document(
        agents=["d", "c", "b", "a"],
        dependencies=["a:c", "b:d"],
        parts=dict.fromkeys("abcd", "echo"),
    )
    first = plan_flow(
        load_flow(write_flow(place, document)), GovernancePolicy.DEFAULT, Plugins(())
    ).plan
    assert [one.agent for one in first.steps] == ["c", "a", "d", "b"]
    again = plan_flow(
        load_flow(write_flow(place, document)), GovernancePolicy.DEFAULT, Plugins(())
    ).plan
    assert again.digest == first.digest
    document["parts"]["a"] = "agents:read"
    other = plan_flow(
        load_flow(write_flow(place, document)), GovernancePolicy.DEFAULT, Plugins(())
    ).plan
    assert other.digest != first.digest


def test_equal_manifests_have_equal_seeds(book: Ledger, place: Path) -> None:
    """Runs of a strict flow draw the same; those of a probabilistic one do not."""
    digests = {write_and_start(book, place).result_digest for _ in range(2)}
    assert len(digests) == 1
    free = {
        write_and_start(book, place, determinism_level="probabilistic").result_digest
        for _ in range(2)
    }
    assert len(free) == 2


def test_asynchronous_functions(book: Ledger, place: Path) -> None:
    """A flow with coroutine functions is awaited, resumable and replayed."""
    document = sum_document()
    document["parts"]["reader"] = "agents:read_later"
    done = start_flow(book, load_flow(write_flow(place, document)))
    assert done.ok, done.error
    (started,) = book.events(run=done.run_id, limit=1)
    assert started.raw["program"]["name"] == "muniment:async-flow/1"  # type: ignore[index,call-overload]
    assert replay(book, done.run_id).verdict == "acceptable"


def test_a_flow_as_a_part(book: Ledger, place: Path) -> None:
    """An agent can be another flow: a child run, with steps of its own."""
    inner = sum_document(flow_id="inner")
    (place / "inner.json").write_text(json.dumps(inner))
    outer = sum_document(
        flow_id="outer",
        agents=["all", "last"],
        dependencies=["last:all"],
        parts={"all": {"flow": "inner.json"}, "last": "echo"},
    )
    done = start_flow(book, load_flow(write_flow(place, outer)))
    assert done.ok, done.error
    outputs = done.result["outputs"]  # type: ignore[index]
    assert outputs["last"]["all"]["outputs"] == {"writer": {"sum": 6}}
    assert [one.name for one in book.runs()] == ["outer", "inner"]
    report = replay(book, done.run_id, children=True)
    assert (report.verdict, report.children) == ("acceptable", 1)


def test_a_flow_that_runs_itself(place: Path) -> None:
    """Flows that contain each other are refused with the key, before anything runs."""
    outer = sum_document(
        agents=["all"], dependencies=[], parts={"all": {"flow": "flow.json"}}
    )
    with pytest.raises(UsageError, match=r"parts\.all\.flow: flow\.json runs itself"):
        plan_flow(
            load_flow(write_flow(place, outer)), GovernancePolicy.DEFAULT, Plugins(())
        )


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("agents:raed", r"parts\.reader\.agent: there is no raed in agents .*read\?"),
        ("agentz:read", r"parts\.reader\.agent: there is no module agentz"),
        ("agents:number", "is a int, and no function"),
        ({"agent": "llm"}, r"parts\.reader\.model: llm asks a model"),
        ({"prompt": "x"}, r"agents\[1\]: nothing says what reader is"),
    ],
)
def test_functions_that_are_not_there(place: Path, part: object, says: str) -> None:
    """A function that is not there is named with its key, before anything runs."""
    document = sum_document()
    document["parts"]["reader"] = part
    with pytest.raises(UsageError, match=says):
        plan_flow(
            load_flow(write_flow(place, document)),
            GovernancePolicy.DEFAULT,
            Plugins(()),
        )


@pytest.mark.parametrize("state", ["draft", "deprecated"])
def test_states_that_do_not_run(book: Ledger, place: Path, state: str) -> None:
    """A draft, or what was given up, is planned and run dry, and never live."""
    flow = load_flow(write_flow(place, sum_document(flow_state=state)))
    with pytest.raises(RefusedError, match=f"the flow is {state}"):
        start_flow(book, flow)
    assert start_flow(book, flow, dry=True).status == "dry"
    assert [*book.runs()] == []


def test_a_dry_run_calls_nobody(book: Ledger, place: Path) -> None:
    """It states the steps, calls no function, and writes nothing."""
    before = book.head
    done = start_flow(book, load_flow(place / "flow.json"), dry=True)
    assert (done.status, book.head) == ("dry", before)
    assert [one["agent"] for one in done.result["steps"]] == ["reader", "writer"]  # type: ignore[index]
    assert not (place / "calls").exists()


def test_strict_surroundings(
    book: Ledger, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MUNIMENT_STRICT forbids dry runs and unsafe policies."""
    monkeypatch.setenv("MUNIMENT_STRICT", "1")
    flow = load_flow(place / "flow.json")
    with pytest.raises(RefusedError, match="forbids dry runs"):
        start_flow(book, flow, dry=True)
    unsafe = load_policy(write_policy(place, mode="unsafe"))
    with pytest.raises(RefusedError, match="forbids unsafe runs"):
        start_flow(book, flow, unsafe)
    assert start_flow(book, flow).ok


def test_a_step_that_fails(book: Ledger, place: Path) -> None:
    """What a function raises fails the flow, and names the step; it replays to that."""
    document = sum_document()
    document["parts"]["writer"] = "agents:fail"
    done = start_flow(book, load_flow(write_flow(place, document)))
    assert done.status == "failed"
    assert "step/1-writer, its agent: ValueError: out of ink" in str(done.error)
    assert replay(book, done.run_id).verdict == "acceptable"
    assert facts(book, done.run_id, "flow.step.completed")[-1]["agent"] == "reader"


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ({"determinism_level": "strict"}, "the policy asks for strict"),
        (
            {"nondeterminism": {"allowed_intent_sources": ["llm"]}},
            r"nondeterminism_intent\[0\]\.source: intents for retrieval",
        ),
        (
            {"nondeterminism": {"allowed_sources": ["data"]}},
            r"allowed_sources\[0\]: the source seeded_rng",
        ),
        (
            {"nondeterminism": {"max_entropy_magnitude": "low"}},
            r"max_entropy_magnitude: medium is above low",
        ),
        (
            {"nondeterminism": {"allowed_variance_class": "low"}},
            "a variance of high is above low",
        ),
    ],
)
def test_flows_that_declare_too_much(
    book: Ledger, place: Path, policy: Document, says: str
) -> None:
    """What a policy does not allow is refused with the manifest's key, unwritten."""
    document = sum_document(determinism_level="bounded", allowed_variance_class="high")
    flow = load_flow(write_flow(place, document))
    with pytest.raises(RefusedError, match=says) as caught:
        start_flow(book, flow, load_policy(write_policy(place, **policy)))
    assert caught.value.exit_code == 4
    assert [*book.runs()] == []


def test_what_an_auditor_hashes_is_the_order(book: Ledger, place: Path) -> None:
    """Digests keep the order of lists: [1, 2] and [2, 1] are two contents."""
    digests: set[str] = set()
    for rows in ([1, 2], [2, 1]):
        document = sum_document(
            agents=["one"], dependencies=[], parts={"one": "echo"}, inputs=rows
        )
        done = start_flow(book, load_flow(write_flow(place, document)))
        (made,) = facts(book, done.run_id, "artifact.produced")
        assert made["digest"] == "sha256:" + hashlib.sha256(canonical(rows)).hexdigest()  # type: ignore[arg-type]
        digests.add(made["digest"])
    assert len(digests) == 2


def test_agents_of_plugins(tmp_path: Path, place: Path) -> None:
    """An agent without a part is what a plugin offers under its id."""
    from muniment import hookimpl  # noqa: PLC0415 - of this plugin alone

    class Offers:
        @hookimpl(optionalhook=True)
        def flow_parts(self) -> dict[str, Any]:
            return {"one": plugged}

    plugins = Plugins(("governance",), extra={"offers": Offers()})
    document = sum_document(agents=["one"], dependencies=[], parts={}, inputs=4)
    with Ledger.create(
        tmp_path / "own.db", home=tmp_path / "own-home", plugins=plugins
    ) as own:
        done = start_flow(own, load_flow(write_flow(place, document)))
        assert done.ok, done.error
        assert done.result["outputs"] == {"one": 5}  # type: ignore[index]


def plugged(run: object, task: Any) -> int:
    """Count one more."""
    del run
    return int(task.inputs) + 1


def test_modules_are_forgotten() -> None:
    """The tests do not see each other's agents."""
    assert "agents" not in sys.modules


def test_questions_to_retrievers(book: Ledger, place: Path) -> None:
    """Each contract of an agent is one question; what two of them find is there once.

    A contract of an agent without a retriever is a mistake.
    """
    contracts: list[Any] = [
        "all",
        {"vector_contract_id": "own", "agents": ["writer"], "query": "q", "top_k": 2},
    ]
    done = write_and_start(book, place, retrieval_contracts=contracts)
    assert done.ok, done.error
    asked = [
        book.resolve(one)["request"]
        for one in book.events(run=done.run_id, type="retrieval.requested")
    ]
    questions: Any = asked
    assert [(one["vector_contract_id"], one.get("top_k")) for one in questions] == [
        ("all", None),
        ("own", 2),
    ]
    assert questions[1]["query"] == "q"
    contracts[1]["agents"] = ["reader"]
    with pytest.raises(
        UsageError, match=r"\[1\]\.agents\[0\]: reader has no retriever"
    ):
        write_and_start(book, place, retrieval_contracts=contracts)
