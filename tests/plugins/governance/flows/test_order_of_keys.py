"""Whatever a function is given is the same live, in a resume and in a replay.

The functions here return the order of the keys of everything that they get.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flow_files import sum_document, write_flow, write_policy
from muniment.ledger import Ledger
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.start import ready_flow
from muniment_plugins.governance.judgement.application import judged_replay

PLUGINS = ("governance",)

ORDERS = '''

def order(value):
    """Return what there is, with the keys of each object in their order."""
    if isinstance(value, dict):
        return [[key, order(one)] for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        return [order(one) for one in value]
    return str(value)


def told(task):
    evidence = [one.content for one in task.evidence]
    artifacts = [one.content for one in task.artifacts]
    return [order(one) for one in (task.inputs, task.prompt, evidence, artifacts)]


def read(run, task):
    answer = run.effect("data", {"z": 1, "a": 2}, lambda asked: {"z": asked, "a": 3})
    if CALLS.with_name("stops").exists():
        raise KeyboardInterrupt
    return {"z": told(task), "a": order(answer), "again": answer, "y": {"z": 1, "b": 2}}


def search(request):
    content = {"z": order(request), "a": request}
    return [{"evidence_id": "e1", "content": content}]


def write(run, task):
    return {"z": told(task), "a": 1}


def reason(run, task):
    claim = {"claim_id": "only-claim", "statement": str(told(task)), "confidence": 1.0,
             "supported_by": ["e1"]}
    return {"claims": [claim]}


def check(subject, parameters):
    return [str(order(parameters)), str(order(subject))]


def instead(run, task):
    return told(task)

'''

keys = st.text("azbyAZ_é", min_size=1, max_size=3)
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 1.5, -0.0]),
    lambda one: st.lists(one, max_size=2) | st.dictionaries(keys, one, max_size=4),
    max_leaves=8,
)
objects = st.dictionaries(keys, documents, min_size=1, max_size=4)


def _backwards(value: Any) -> Any:
    """Return *value* with the keys of each object in the other order."""
    if isinstance(value, dict):
        return {key: _backwards(value[key]) for key in reversed(list(value))}
    return [_backwards(one) for one in value] if isinstance(value, list) else value


def _written(place: Path, inputs: object, given: object) -> tuple[Path, Path]:
    document = sum_document(inputs=inputs)
    document["retrieval_contracts"] = [{"vector_contract_id": "k", "query": given}]
    flow = write_flow(place, document)
    agents = place / "agents.py"
    agents.write_text(agents.read_text() + ORDERS)
    rule = {
        "rule_id": "own",
        "description": "d",
        "check": "agents:check",
        "target": "reasoning_bundle",
        "severity": "warning",
        "parameters": given,
    }
    return flow, write_policy(place, verification_level="none", rules=[rule])


def _facts(ledger: Ledger, run: str) -> list[tuple[str, str]]:
    return [
        (event.type, json.dumps(ledger.resolve(event), default=str))
        for event in ledger.events(run=run)
        if event.type in ("artifact.produced", "verification.judged", "run.completed")
    ]


@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(inputs=objects, params=objects)
def test_functions_get_what_the_record_gives(
    place: Path,
    tmp_path_factory: Any,
    inputs: dict[str, object],
    params: dict[str, object],
) -> None:
    """Inputs, queries, parameters, answers, evidence and artifacts, in whatever order."""
    home = tmp_path_factory.mktemp("orders")
    said: list[list[Any]] = []
    for number, turned in enumerate((lambda one: one, _backwards)):
        flow, policy = _written(place, turned(inputs), turned(params))
        with Ledger.create(
            home / f"{number}.db", home=home / f"h{number}", plugins=PLUGINS
        ) as ledger:
            done = start_flow(ledger, load_flow(flow), load_policy(policy))
            assert done.ok, done.error
            replayed = judged_replay(ledger, done.run_id)
            assert replayed.report.verdict == "acceptable", replayed.report.findings
            said.append(
                [done.value, [one[1] for one in _facts(ledger, done.run_id)][:1]]
            )
    assert said[0] == said[1]


def test_a_resume_gives_what_the_live_run_was_given(
    place: Path, tmp_path: Path
) -> None:
    """Cut off after an effect, it comes to what an uninterrupted run comes to."""
    flow, policy = _written(
        place, {"title": 1, "body": {"z": 1, "a": 2}}, {"z": 1, "a": 2}
    )
    with Ledger.create(
        tmp_path / "l.db", home=tmp_path / "h", plugins=PLUGINS
    ) as ledger:
        whole = start_flow(ledger, load_flow(flow), load_policy(policy))
        assert whole.ok, whole.error
        stops = place / "stops"
        stops.touch()
        with pytest.raises(KeyboardInterrupt):
            start_flow(ledger, load_flow(flow), load_policy(policy))
        stops.unlink()
        cut = next(one.id for one in ledger.runs() if one.id != whole.run_id)
        program = ready_flow(ledger, load_flow(flow), load_policy(policy))
        assert ledger.resume(cut, program).value == whole.value
        assert judged_replay(ledger, cut).report.verdict == "acceptable"


@given(objects)
def test_a_document_has_the_order_of_its_record(inputs: dict[str, Any]) -> None:
    """Of a manifest and a policy, whoever read it: Python has it like a file."""
    for written in (inputs, _backwards(inputs)):
        flow = FlowManifest.from_document(sum_document(inputs=written), "flow")
        assert _keys(flow.inputs) == sorted(inputs, key=_utf16)
        document: dict[str, Any] = {"spec_version": "v1", "policy_id": "p"}
        policy = GovernancePolicy.from_document(document, "policy")
        assert _keys(policy.document) == ["policy_id", "spec_version"]


def _keys(value: object) -> list[str]:
    assert isinstance(value, dict)
    return list(value)


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")
