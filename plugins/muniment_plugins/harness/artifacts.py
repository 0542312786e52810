"""The files that people expect beside an experiment, written from its events.

    artifacts/3f2a…/v0/metadata.json
    artifacts/3f2a…/v0/baseline/results.json
    artifacts/3f2a…/v0/baseline/prompts/llm_calls.json
    artifacts/3f2a…/v0/baseline/evidence/bundle.json

Rules:

- A file holds what the ledger says, and ends with where its proof is: ledger, run, and
  the size of the checkpoint that covers it. It is a copy; the ledger is the evidence.
- Every run gets a version of its own; nothing is overwritten, nothing pruned.
- A name that would leave its directory is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from muniment.errors import UsageError
from muniment_plugins.harness.gathering import Gathered

__all__ = [
    "ArtifactPlugin",
    "Artifacts",
    "EvidenceBundlePlugin",
    "PromptProvenancePlugin",
    "Record",
]

_BUNDLE = (
    *("condition", "claims", "specs", "code", "runs"),
    *("metrics", "verdicts", "llm_calls", "failures"),
)


@dataclass(frozen=True, slots=True)
class Record:
    """A run whose files are to be written."""

    experiment: str
    replicates: int
    conditions: Mapping[str, Gathered]
    proof: Mapping[str, object]
    """Ledger id, run id, and the size of the checkpoint."""


class Artifacts(Protocol):
    """Something that writes files about a run."""

    def write(self, directory: Path, record: Record) -> None:
        """Write into *directory*, the version's own."""
        ...


@dataclass(frozen=True, slots=True)
class ArtifactPlugin:
    """Says where files go, and writes metadata and results there."""

    root_dir: str | Path = "./data"

    def version(self, experiment: str) -> Path:
        """Make and return the next version's directory."""
        root = Path(self.root_dir) / _segment(experiment, "experiment name")
        number = 0
        while True:
            try:
                (root / f"v{number}").mkdir(parents=True)
            except FileExistsError:
                number += 1
            else:
                return root / f"v{number}"

    def write(self, directory: Path, record: Record) -> None:
        """Write ``metadata.json``, and ``results.json`` of each condition."""
        metadata = {"id": record.experiment, "replicates": record.replicates}
        _write(directory / "metadata.json", metadata, record)
        for name, condition in record.conditions.items():
            content = {"condition": name, "metrics": condition.metrics}
            _write(directory / _segment(name) / "results.json", content, record)


@dataclass(frozen=True, slots=True)
class PromptProvenancePlugin:
    """Writes every call of a model, by condition."""

    artifact_name: str = "llm_calls.json"

    def __post_init__(self) -> None:
        _segment(self.artifact_name, "artifact_name")

    def write(self, directory: Path, record: Record) -> None:
        """Write ``prompts/<artifact_name>`` of each condition."""
        for name, condition in record.conditions.items():
            path = directory / _segment(name) / "prompts" / self.artifact_name
            content = {"condition": name, "llm_calls": condition.llm_calls}
            _write(path, content, record)


@dataclass(frozen=True, slots=True)
class EvidenceBundlePlugin:
    """Writes the trail from claim to verdict, by condition."""

    filename: str = "bundle.json"

    def __post_init__(self) -> None:
        _segment(self.filename, "filename")

    def write(self, directory: Path, record: Record) -> None:
        """Write ``evidence/<filename>`` of each condition."""
        for name, condition in record.conditions.items():
            path = directory / _segment(name) / "evidence" / self.filename
            members = asdict(condition)
            _write(path, {key: members[key] for key in _BUNDLE}, record)


def _segment(name: str, what: str = "condition") -> str:
    if not name or name in (".", "..") or any(mark in name for mark in "/\\\0"):
        raise UsageError(
            f"{name!r} is no name for a file",
            rule="harness/name",
            place=what,
            remedy="leave out slashes",
        )
    return name


def _write(path: Path, content: Mapping[str, object], record: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {**content, "proof": dict(record.proof)}
    text = json.dumps(document, indent=2, ensure_ascii=False, default=_plain)
    path.write_text(text + "\n", encoding="utf-8")


def _plain(value: object) -> object:
    """Show what JSON has no form for; the exact value is in the ledger."""
    return repr(value)
