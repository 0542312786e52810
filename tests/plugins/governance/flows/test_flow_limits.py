"""Budgets that a flow counts by itself, lineage, and the data that it is about."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy
from muniment.encoding.registry import ValueTypes
from muniment.errors import CannotTellError, RefusedError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.documents.manifest import DatasetPin
from muniment_plugins.governance.flows.failed import FlowFailed
from muniment_plugins.governance.flows.pins.datasets import pinned
from muniment_plugins.governance.flows.pins.environment import (
    differences,
    environment_of,
)
from muniment_plugins.governance.flows.steps.artifacts import (
    ARTIFACT_TYPES,
    LINEAGE,
    ArtifactStore,
)

Document = dict[str, Any]


def types(book: Ledger, run: str) -> list[str]:
    """Return the types of the run's events."""
    return [one.type for one in book.events(run=run)]


def run(book: Ledger, place: Path, budget: Document, document: Any = None) -> Done:
    """Run a flow with this execution budget."""
    flow = sum_document(**(document or {}), execution_budget=budget)
    return start_flow(book, load_flow(write_flow(place, flow)))


# -- budgets ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "effect"),
    [
        ({"step_limit": 1}, "step"),
        ({"artifact_limit": 1}, "artifact"),
        ({"artifact_step_limit": 0}, "artifact"),
        ({"evidence_limit": 0}, "evidence"),
    ],
)
@pytest.mark.parametrize("owner", ["flow", "policy"])
def test_halt(
    book: Ledger, place: Path, limit: Document, effect: str, owner: str
) -> None:
    """A limit that is used up fails the flow before one more, and it replays so."""
    if owner == "flow":
        done = run(book, place, limit)
    else:
        terms = load_policy(write_policy(place, execution_budget=limit))
        done = start_flow(book, load_flow(place / "flow.json"), terms)
    assert done.status == "failed"
    assert f"has no more {effect}" in str(done.error)
    (told,) = book.events(run=done.run_id, type="budget.exhausted")
    assert (told.raw["effect"], told.raw["action"]) == (effect, "halt")
    assert str(told.raw["budget"]).startswith(owner)
    assert replay(book, done.run_id).verdict == "acceptable"
    with pytest.raises(RefusedError, match="amend"):
        book.resume(done.run_id)


@pytest.mark.parametrize(
    ("fallback", "made"),
    [
        ("skip", None),
        ("cached", None),
        ({"answer": 7}, 7),
        ("agents:take", "by hand"),
        ("agents:ask", {"answer": 1}),
    ],
)
def test_steps_that_degrade(
    book: Ledger, place: Path, fallback: Any, made: object
) -> None:
    """A step beyond the limit is skipped, answered, or taken by another agent."""
    budget = {"step_limit": 1, "exhaustion_action": "degrade", "fallback": fallback}
    parts = {"reader": "agents:read", "writer": "agents:write"}
    flow = sum_document(parts=parts, execution_budget=budget)
    manifest = write_flow(place, flow)
    with (place / "agents.py").open("a") as file:
        file.write("\n\ndef take(run, task):\n    return 'by hand'\n")
    done = start_flow(book, load_flow(manifest))
    assert done.ok, done.error
    (told,) = book.events(run=done.run_id, type="effect.degraded")
    assert book.resolve(told)["effect"] == "step"
    artifacts = [
        book.resolve(one)["content"]
        for one in book.events(run=done.run_id, type="artifact.produced")
    ]
    assert artifacts[1:] == ([] if made is None else [made])
    assert ("flow.step.skipped" in types(book, done.run_id)) == (made is None)
    assert replay(book, done.run_id).verdict == "acceptable"


def test_evidence_that_degrades(book: Ledger, place: Path) -> None:
    """Evidence beyond the limit is left out, and that is said."""
    budget = {"evidence_limit": 0, "exhaustion_action": "degrade", "fallback": "skip"}
    parts = {
        "reader": "agents:read",
        "writer": {"agent": "agents:write", "retriever": "agents:search"},
    }
    done = run(book, place, budget, {"parts": parts})
    assert done.ok, done.error
    assert "evidence.collected" not in types(book, done.run_id)
    (told,) = book.events(run=done.run_id, type="effect.degraded")
    assert told.raw["effect"] == "evidence"


def test_mark(book: Ledger, place: Path) -> None:
    """A run that went beyond a limit goes on, and carries the mark."""
    budget = {"step_limit": 0, "exhaustion_action": "mark_non_certifiable"}
    done = run(book, place, budget)
    assert done.ok, done.error
    marks = {one.raw["mark"] for one in book.events(run=done.run_id, type="run.marked")}
    assert marks == {"non_certifiable"}
    assert len([*book.events(run=done.run_id, type="budget.exhausted")]) == 1
    assert replay(book, done.run_id).ok


# -- artifacts -------------------------------------------------------------------


@pytest.mark.parametrize("child", ARTIFACT_TYPES)
@pytest.mark.parametrize("parent", ARTIFACT_TYPES)
def test_the_matrix_of_lineage(child: str, parent: str) -> None:
    """Each pair of types is allowed or refused as the matrix says, and none else."""
    store = ArtifactStore(ValueTypes())
    makers = {
        **dict.fromkeys(("flow_manifest", "execution_plan", "resolved_step"), "flow"),
        **dict.fromkeys(("agent_invocation", "executor_state"), "agent"),
        **dict.fromkeys(("retrieval_request", "retrieved_evidence"), "retrieval"),
        **dict.fromkeys(
            ("reasoning_step", "reasoning_claim", "reasoning_bundle"), "reasoning"
        ),
    }
    store._types["parent"] = parent
    if child not in makers:
        with pytest.raises(FlowFailed, match="does not make artifacts of the type"):
            store.note("child", child, "agent", ("parent",), "here")
    elif parent in LINEAGE[child]:
        store.note("child", child, makers[child], ("parent",), "here")
    else:
        with pytest.raises(FlowFailed, match="cannot come of") as caught:
            store.note("child", child, makers[child], ("parent",), "here")
        assert caught.value.rule == "flow/lineage"


OUTPUTS = """
def make(run, task):
    return {made}


def take(run, task):
    return task.inputs
"""


def made_by(book: Ledger, place: Path, made: str) -> Done:
    """Run a flow whose first agent returns the expression *made*."""
    document = sum_document(
        agents=["one", "two"],
        dependencies=["two:one"],
        parts={"one": "agents:make", "two": "agents:take"},
    )
    manifest = write_flow(place, document)
    (place / "agents.py").write_text(OUTPUTS.format(made=made))
    return start_flow(book, load_flow(manifest))


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        ('[{"artifact_id": "a", "content": 1}] * 2', "flow/artifact-id"),
        ('[{"artifact_id": "plan", "content": 1}]', "flow/artifact-id"),
        ('[{"artifact_id": 7, "content": 1}]', "flow/artifact"),
        ('[{"artifact_id": "a", "content": 1, "parents": "b"}]', "flow/artifact"),
        ('[{"artifact_id": "a", "content": 1, "parents": ["b"]}]', "flow/lineage"),
        ('[{"artifact_id": "a", "content": 1, "parents": ["plan"]}]', "flow/lineage"),
        (
            '[{"artifact_id": "a", "content": 1, "artifact_type": "retrieved_evidence"}]',
            "flow/artifact-type",
        ),
        (
            '[{"artifact_id": "a", "content": 1, "artifact_type": "stuff"}]',
            "flow/artifact-type",
        ),
        (
            '[{"artifact_id": "a", "content": 1, "scope": "secret"}]',
            "flow/artifact-scope",
        ),
    ],
)
def test_artifacts_that_break_their_contract(
    book: Ledger, place: Path, made: str, rule: str
) -> None:
    """An id used twice, a type, scope or parent that is not allowed fails the flow."""
    done = made_by(book, place, made)
    assert done.status == "failed"
    assert getattr(done.error, "rule", "") == rule
    assert "step/0-one" in str(done.error)


def test_scopes(book: Ledger, place: Path) -> None:
    """Of what is ephemeral the digest is kept; audit artifacts are in the result."""
    made = """[
        {"artifact_id": "draft", "content": [2, 1]},
        {"artifact_id": "cache", "content": "x", "scope": "ephemeral",
         "artifact_type": "executor_state", "parents": ["draft"]},
        {"artifact_id": "proof", "content": 3, "scope": "audit"},
    ]"""
    done = made_by(book, place, made)
    assert done.ok, done.error
    told = {
        str(one.raw["artifact_id"]): book.resolve(one)
        for one in book.events(run=done.run_id, type="artifact.produced")
    }
    assert "content" not in told["cache"]
    assert told["cache"]["digest"] == "sha256:" + hashlib.sha256(b'"x"').hexdigest()
    result: Any = done.result
    assert result["outputs"] == {"two": {"one": {"draft": [2, 1], "proof": 3}}}
    assert result["audit"] == {"proof": told["proof"]["digest"]}


def test_steps_do_not_share_what_they_hold(book: Ledger, place: Path) -> None:
    """What a step does to its inputs changes nothing of what another one made."""
    document = sum_document(
        agents=["a", "b", "c"],
        dependencies=["b:a", "c:a", "c:b"],
        parts={"a": "agents:start", "b": "agents:spoil", "c": "echo"},
    )
    manifest = write_flow(place, document)
    (place / "agents.py").write_text(
        "def start(run, task):\n    return {'rows': [1]}\n\n\n"
        "def spoil(run, task):\n    task.inputs['a']['rows'].append(2)\n    return 0\n"
    )
    done = start_flow(book, load_flow(manifest))
    result: Any = done.result
    assert result["outputs"] == {"c": {"a": {"rows": [1]}, "b": 0}}


# -- data ------------------------------------------------------------------------


def pin(**members: object) -> Document:
    """Return a dataset with these members."""
    return {
        "dataset_id": "corpus",
        "tenant_id": "tenant-a",
        "dataset_version": "1",
        "dataset_hash": "b1946ac92492d2347c6235b4d2611184",
        "dataset_state": "frozen",
        "storage_uri": "file://corpus.txt",
        **members,
    }


def run_on(book: Ledger, place: Path, **members: object) -> Done:
    """Run the flow on data."""
    flow = sum_document(dataset=pin(**members), allow_deprecated_datasets=True)
    return start_flow(book, load_flow(write_flow(place, flow)))


SHA = hashlib.sha256(b"hello\n").hexdigest()


@pytest.mark.parametrize(
    "declared",
    [
        "b1946ac92492d2347c6235b4d2611184",
        "md5:b1946ac92492d2347c6235b4d2611184",
        SHA,
        f"sha256:{SHA}",
    ],
)
def test_data_as_declared(book: Ledger, place: Path, declared: str) -> None:
    """SHA-256 is computed; the digest that DVC writes is accepted beside it."""
    (place / "corpus.txt").write_text("hello\n")
    done = run_on(book, place, dataset_hash=declared)
    assert done.ok, done.error
    (told,) = book.events(run=done.run_id, type="dataset.pinned")
    assert told.raw["sha256"] == f"sha256:{SHA}"
    assert replay(book, done.run_id).verdict == "acceptable"
    (place / "corpus.txt").write_text("hallo\n")
    report = replay(book, done.run_id)
    assert report.verdict == "unacceptable"
    assert report.first_divergence is not None
    assert report.first_divergence.field == "dataset.sha256"


@pytest.mark.parametrize("state", ["frozen", "deprecated"])
def test_data_that_changed(book: Ledger, place: Path, state: str) -> None:
    """Frozen data that is not what was declared refuses the run; nothing is written."""
    (place / "corpus.txt").write_text("hallo\n")
    with pytest.raises(RefusedError, match="data changed") as caught:
        run_on(book, place, dataset_state=state)
    assert caught.value.exit_code == 4
    assert [*book.runs()] == []
    assert run_on(book, place, dataset_state="experimental").ok


def test_data_that_is_gone(book: Ledger, place: Path) -> None:
    """Data that is not there is cannot tell, and nothing is written."""
    with pytest.raises(CannotTellError, match="the data cannot be read"):
        run_on(book, place)
    assert [*book.runs()] == []


def test_states_never_go_back(book: Ledger, place: Path) -> None:
    """A version that was frozen is neither experimental again, nor other data."""
    file = place / "corpus.txt"
    file.write_text("hello\n")
    assert run_on(book, place, dataset_state="experimental").ok
    file.write_text("hallo\n")
    assert run_on(book, place, dataset_state="experimental").ok
    file.write_text("hello\n")
    assert run_on(book, place).ok
    with pytest.raises(RefusedError, match="cannot be experimental again"):
        run_on(book, place, dataset_state="experimental")
    other = hashlib.sha256(b"hallo\n").hexdigest()
    file.write_text("hallo\n")
    with pytest.raises(RefusedError, match="version 1 was frozen as"):
        run_on(book, place, dataset_hash=other)
    assert run_on(book, place, dataset_hash=other, dataset_version="2").ok
    file.write_text("hello\n")
    assert run_on(book, place, dataset_state="deprecated").ok
    with pytest.raises(RefusedError, match="cannot be frozen again"):
        run_on(book, place)


def test_folders(tmp_path: Path) -> None:
    """The digest of a folder is that of its list, the other one as DVC computes it."""
    folder = tmp_path / "data"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "two").write_text("2")
    (folder / "one").write_text("1")
    data = DatasetPin("d", "t", "1", "", "frozen", "file://data")
    now = pinned(data, tmp_path)
    listed = [
        {"md5": hashlib.md5(text).hexdigest(), "relpath": name}  # noqa: S324 - as DVC
        for name, text in (("b/two", b"2"), ("one", b"1"))
    ]
    text = json.dumps(listed, sort_keys=True).encode()
    assert now.md5 == hashlib.md5(text).hexdigest() + ".dir"  # noqa: S324 - as DVC
    assert (now.files, now.bytes) == (2, 2)
    (folder / "one").rename(folder / "1")
    assert pinned(data, tmp_path).sha256 != now.sha256
    (folder / "link").symlink_to(folder / "1")
    with pytest.raises(CannotTellError, match="it is a link"):
        pinned(data, tmp_path)


# -- environment -----------------------------------------------------------------


def test_the_declared_environment() -> None:
    """What muniment declares to need is there, and nothing that is merely installed."""
    found: Any = environment_of("strict", [])
    assert {"muniment", "pluggy", "cryptography", "pydantic"} <= found[
        "distributions"
    ].keys()
    assert not {"pytest", "hypothesis", "pyyaml"} & found["distributions"].keys()
    own: Any = environment_of("strict", [{"import": "hypothesis.core:given"}])
    assert "hypothesis" in own["distributions"]
    loose: Any = environment_of(
        "strict", [{"import": "agents:read", "files": {"agents.py": "sha256:0"}}]
    )
    assert loose["modules"] == {"agents.py": "sha256:0"}


def test_what_has_to_be_equal() -> None:
    """The level says which members of an environment have to be equal."""
    was: Any = environment_of("strict", [])
    now = {**was, "python": "2", "platform": "x", "modules": {"a.py": "sha256:1"}}
    levels: list[Any] = ["strict", "bounded", "probabilistic", "unconstrained"]
    found = [[path for path, _, _ in differences(was, now, one)] for one in levels]
    assert found == [
        ["python", "platform", "modules.a.py"],
        ["python", "modules.a.py"],
        ["modules.a.py"],
        [],
    ]
