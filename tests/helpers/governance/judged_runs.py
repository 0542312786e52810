"""Real runs that differ in one thing, for the judge: recorded on a real ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import muniment_plugins.governance
import muniment_plugins.harness
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment_plugins.governance.judgement.record import ComparedRun, record_of

__all__ = ["CASES", "Story", "judging_plugins", "recorded", "recorded_cases"]

SHA = "sha256:" + "0" * 64
OTHER = "sha256:" + "1" * 64

PLANNED = {
    "flow": "f",
    "manifest": SHA,
    "plan": SHA,
    "state": "frozen",
    "level": "bounded",
    "steps": [],
}
FINGERPRINT = {
    "digest": SHA,
    "level": "bounded",
    "python": "3.13.1",
    "platform": "Linux",
    "implementation": "cpython",
    "isolation": "none",
    "seed": "steps",
    "compared": ["python", "distributions"],
    "distributions": {"muniment": "0.1.0"},
    "modules": {},
}
DATASET = {
    "dataset_id": "d",
    "version": "1",
    "state": "frozen",
    "sha256": SHA,
    "declared": SHA,
    "files": 1,
    "bytes": 3,
    "uri": "file://d",
}
CLAIMS = [
    {"claim_id": "c1", "statement": "rates fell", "confidence": 0.9},
    {"claim_id": "c2", "statement": "prices rose", "confidence": 0.5},
]


@dataclass(frozen=True)
class Story:
    """What the program does, and where it does otherwise."""

    notes: tuple[str, ...] = ("begun", "halfway")
    swapped: bool = False
    answer: str = "42"
    evidence: tuple[str, ...] = ("e1", "e2")
    statement: str = "rates fell"
    contradictions: int = 0
    status: str = "pass"
    total: float = 15
    python: str = "3.13.1"
    platform: str = "Linux"
    dataset: str = SHA
    fails: bool = False
    message: str = "it broke"
    result: str = "done"

    def __call__(self, run: Run) -> object:
        """Run as a program."""
        run.record("flow.planned", PLANNED)
        told = {**FINGERPRINT, "python": self.python, "platform": self.platform}
        run.record("environment.fingerprinted", told)
        run.record("dataset.pinned", {**DATASET, "sha256": self.dataset})
        with run.scope("step/0") as step:
            self._step(step)
        return self.result

    def _step(self, step: Run) -> None:
        for text in self.notes:
            step.record("note.added", {"text": text})
        pair: list[tuple[str, dict[str, object]]] = [
            ("artifact.produced", _artifact("a1", self.answer)),
            ("flow.step.skipped", {"step": 1, "agent": "b", "reason": "not needed"}),
            ("note.added", {"text": "before the claims"}),
        ]
        for kind, data in [pair[0], *(pair[:0:-1] if self.swapped else pair[1:])]:
            step.record(kind, data)
        step.effect("tool", {"q": "?"}, lambda _: self.answer)
        for one in self.evidence:
            step.record("evidence.collected", _evidence(one))
        claims = [{**CLAIMS[0], "statement": self.statement}, CLAIMS[1]]
        step.record("reasoning.recorded", _bundle(claims))
        wrong = [
            {"rule": "contradicts", "text": str(n)} for n in range(self.contradictions)
        ]
        step.record("verification.judged", _judged("contradiction", wrong))
        step.record("verification.arbitrated", _arbitrated(self.status))
        step.record(
            "metrics.measured",
            {
                "replicate": 0,
                "metrics": {"total": self.total},
                "order": ["total"],
                "outputs": {},
            },
        )
        if self.fails:
            raise ValueError(self.message)


def _artifact(name: str, content: object) -> dict[str, object]:
    return {
        "artifact_id": name,
        "artifact_type": "agent_invocation",
        "producer": "agent",
        "scope": "working",
        "parents": [],
        "digest": SHA,
        "content": content,
    }


def _evidence(name: str) -> dict[str, object]:
    return {
        "evidence_id": name,
        "determinism": "deterministic",
        "contract": "k",
        "source_uri": f"file://{name}",
        "score": 0.5,
        "digest": SHA,
        "content": name,
    }


def _bundle(claims: list[dict[str, object]]) -> dict[str, object]:
    return {
        "bundle_id": "b",
        "producer": "a",
        "claim_ids": ["c1", "c2"],
        "evidence_ids": ["e1"],
        "digest": SHA,
        "claims": claims,
        "steps": [],
    }


def _judged(engine: str, violations: list[dict[str, str]]) -> dict[str, object]:
    return {
        "target": "step/0",
        "engine": engine,
        "status": "pass",
        "rules": ["r"],
        "cost": 1,
        "violations": violations,
    }


def _arbitrated(status: str) -> dict[str, object]:
    return {
        "target": "step/0",
        "rule": "unanimous",
        "threshold": None,
        "votes": {"contradiction": status},
        "status": status,
    }


CASES: Mapping[str, Story] = {
    "identical": Story(),
    "reordered": Story(swapped=True),
    "changed payload": Story(answer="43"),
    "missing evidence": Story(evidence=("e1",)),
    "more contradiction": Story(contradictions=1),
    "failed run": Story(fails=True),
    "other environment": Story(python="3.14.0"),
    "other dataset": Story(dataset=OTHER),
}
"""The columns of the table in ``docs/reference/judgement.md``."""


def judging_plugins() -> Plugins:
    """Return the plugins that declare what the runs state."""
    return Plugins(
        [],
        {
            "governance": muniment_plugins.governance,
            "harness": muniment_plugins.harness,
        },
    )


def recorded(ledger: Ledger, story: Story) -> ComparedRun:
    """Run *story*, and return its record."""
    done = ledger.execute(story, name="story")
    assert done.ok is not story.fails, done.error
    return record_of(ledger, done.run_id)


def recorded_cases(place: Path) -> dict[str, ComparedRun]:
    """Return the record of each case, and of the expected run under an empty name."""
    with Ledger.create(place / "ledger.db", plugins=judging_plugins()) as ledger:
        cases = {"": Story(), **CASES}
        return {name: recorded(ledger, replace(one)) for name, one in cases.items()}
