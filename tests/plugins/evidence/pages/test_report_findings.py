"""What a page says about claims, verdicts and violations is what the record has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import muniment_plugins.evidence
import muniment_plugins.governance
import muniment_plugins.harness
from flow_files import sum_document, write_flow, write_policy
from forge import Forge
from muniment.events.findings import CLAIMS, VERDICTS, VIOLATIONS
from muniment.events.kernel_types import KERNEL_TYPES as KERNEL
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.evidence import check_report, write_bundle
from muniment_plugins.evidence.report.write import report_text
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.authority import OWN_TYPES
from muniment_plugins.governance.vocabulary import TYPES as GOVERNANCE
from muniment_plugins.harness.vocabulary import TYPES as HARNESS

SAID = "it was said in so many words"
FACTS: dict[str, dict[str, Any]] = {
    "claim.stated": {"id": "c", "text": SAID},
    "reasoning.recorded": {
        "bundle_id": "b",
        "producer": "a",
        "claim_ids": ["c"],
        "evidence_ids": [],
        "digest": "sha256:0",
        "claims": [{"claim_id": "c", "statement": SAID}],
        "steps": [],
    },
    "verdict.reached": {"hypothesis": SAID, "verifier": "v", "passed": False},
    "property.tested": {"name": SAID, "transform": "t", "passed": False},
    "verification.judged": {
        "target": "step/0-a",
        "engine": "content",
        "status": "fail",
        "rules": ["k"],
        "cost": 1,
        "violations": [
            {"rule": "k", "severity": "error", "status": "fail", "detail": SAID}
        ],
    },
    "verification.arbitrated": {
        "target": SAID,
        "rule": "unanimous",
        "threshold": None,
        "votes": {"content": "fail"},
        "status": "fail",
    },
    "replay.judged": {
        "replay_of": SAID,
        "mode": "strict",
        "verdict": "unacceptable",
        "compared": 1,
        "guards": [],
        "findings": [],
    },
    "violation.noted": {"target": "step/0-a", "rule": "k", "detail": SAID},
}
DENIED = {
    "The run states no claim": CLAIMS,
    "The run reached no verdict": VERDICTS,
    "No violation was noted": VIOLATIONS,
}
LANE = "plugin/governance"
RUN = "01M842YZYX2TNYV5CM979Y8N90"
ADOPTED = {
    "policy": "p",
    "digest": "sha256:0",
    "document": {"spec_version": "v1"},
    "mode": "live",
}


def plugins() -> Plugins:
    """Return those who state a claim, a verdict or a violation."""
    modules = {
        one.__name__.rpartition(".")[2]: one
        for one in (
            muniment_plugins.evidence,
            muniment_plugins.governance,
            muniment_plugins.harness,
        )
    }
    return Plugins([], modules)


def page_with(tmp_path: Path, suffix: str, *kinds: str) -> str:
    """Return the page of a governed run with facts of these types, which agrees."""
    forge = Forge("one").open()
    labels = {"policy": ADOPTED["digest"]}
    begun = {"name": "told", "seed": "0", "labels": labels}
    forge.append("run.started", begun, run=RUN)
    forge.append("policy.adopted", ADOPTED, run=RUN, scope=LANE)
    for one in kinds:
        data = dict(FACTS[one])
        if "findings" in data:
            data["findings"] = forge.blob(b"[]")
        own: dict[str, Any] = {"scope": LANE} if one in OWN_TYPES else {}
        forge.append(one, data, run=RUN, **own)
    forge.end_run(RUN)
    forge.checkpoint()
    file = forge.write(tmp_path / "told.db")
    with Ledger.open(file, readonly=True, plugins=plugins()) as ledger:
        page = report_text(ledger, RUN, suffix)
        assert check_report(ledger, page).verdict == "agrees"
    return page


def test_each_type_has_its_fact() -> None:
    """The table, and nothing else, is tried here."""
    assert {*FACTS} == {*CLAIMS, *VERDICTS, *VIOLATIONS}


def test_no_type_is_forgotten() -> None:
    """A type with a field that can hold a claim, a verdict or a violation is listed."""
    fields = {
        "claims": CLAIMS,
        "acceptance": CLAIMS,
        "verdict": VERDICTS,
        "passed": VERDICTS,
        "engine": VERDICTS,
        "votes": VERDICTS,
        "violations": VIOLATIONS,
    }
    known = {one.name: one for one in (*KERNEL, *GOVERNANCE, *HARNESS)}
    assert {*FACTS} <= {*known}
    for name, kind in known.items():
        for field, listed in fields.items():
            if (name, field) == ("experiment.registered", "claims"):
                continue  # the series of claims that the run states beside it
            if field in kind.model.__annotations__:
                assert name in listed, (name, field)


@pytest.mark.parametrize("suffix", [".html", ".md"])
@pytest.mark.parametrize("kind", FACTS)
def test_what_is_recorded_is_on_the_page(
    tmp_path: Path, kind: str, suffix: str
) -> None:
    """The words of the fact are there, and no sentence denies it."""
    page = page_with(tmp_path, suffix, kind)
    assert SAID in page
    for sentence, kinds in DENIED.items():
        assert (sentence in page) == (kind not in kinds), sentence


def test_all_at_once(tmp_path: Path) -> None:
    """A page of a run that has all of them denies none; one that has none says so."""
    page = page_with(tmp_path, ".html", *FACTS)
    assert not [one for one in DENIED if one in page]
    (tmp_path / "none").mkdir()
    page = page_with(tmp_path / "none", ".html")
    assert [one for one in DENIED if one in page] == [*DENIED]


JUDGED = """
def make(run, task):
    return 1


def say(run, task):
    return {"claims": [{"claim_id": "c", "statement": "the sky is green",
                        "confidence": 0.5, "supported_by": []}]}


def bad(subject):
    return ["it is bad"]
"""


@pytest.mark.parametrize("severity", ["error", "warning", "info"])
@pytest.mark.parametrize("mode", ["live", "unsafe"])
def test_a_flow_and_its_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, severity: str, mode: str
) -> None:
    """Claims, verdicts and violations of a flow are on its page, in its bundle, too."""
    monkeypatch.chdir(tmp_path)
    part = {"agent": "judged:make", "reasoner": "judged:say"}
    flow = sum_document(agents=["a"], dependencies=[], parts={"a": part})
    manifest = write_flow(tmp_path, flow)
    (tmp_path / "judged.py").write_text(JUDGED)
    rule = {"rule_id": "k", "check": "judged:bad", "target": "artifact"}
    terms = write_policy(
        tmp_path,
        mode=mode,
        verification_level="none",
        rules=[{**rule, "severity": severity}],
    )
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=plugins()
    ) as ledger:
        run = start_flow(ledger, load_flow(manifest), load_policy(terms)).run_id
        ledger.checkpoint()
        page = report_text(ledger, run)
        assert check_report(ledger, page).verdict == "agrees"
        write_bundle(ledger, run, tmp_path / "bundle")
    for text in (page, (tmp_path / "bundle" / "report.html").read_text()):
        assert "the sky is green" in text
        assert "it is bad" in text
        assert not [one for one in DENIED if one in text]
