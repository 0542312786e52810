"""The files that people expect beside an experiment, written from its events.

    artifacts/3f2a…/v0/metadata.json
    artifacts/3f2a…/v0/baseline/results.json
    artifacts/3f2a…/v0/baseline/prompts/llm_calls.json
    artifacts/3f2a…/v0/baseline/evidence/bundle.json

Rules:

- A file holds what the ledger says, and ends with the place of its proof: ledger, run,
  and the size of the checkpoint that covers it. It is a copy; the evidence is the
  ledger.
- Every run gets a version of its own; nothing is overwritten, nothing pruned.
- Values that JSON cannot express are written as in the ledger, ``{"$float": "nan"}``,
  and erased values as the digest that is left of them.
- A name that would leave its directory is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import encode
from muniment.errors import UsageError, ValueRefused
from muniment.files.folder import write_new
from muniment.formats.statement import BlobRef
from muniment_plugins.harness.evidence_files.run_fold import Gathered

__all__ = [
    "ArtifactPlugin",
    "Artifacts",
    "EvidenceBundlePlugin",
    "PromptProvenancePlugin",
    "Record",
    "bundle_of",
    "file_name",
]

_BUNDLE = (
    *("condition", "claims", "specs", "code", "runs"),
    *("metrics", "verdicts", "llm_calls", "failures", "unjudged"),
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
        """Write into *directory*, which belongs to this version alone."""
        ...


@dataclass(frozen=True, slots=True)
class ArtifactPlugin:
    """Says where files go, and writes metadata and results there."""

    root_dir: str | Path = "./data"

    def version(self, experiment: str) -> Path:
        """Make and return the next version's directory."""
        root = Path(self.root_dir) / file_name(experiment, "experiment name")
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
        metadata: dict[str, object] = {
            "id": record.experiment,
            "replicates": record.replicates,
            "conditions": list(record.conditions),
        }
        _write(directory / "metadata.json", metadata, record)
        for name, condition in record.conditions.items():
            content = {"condition": name, "metrics": condition.metrics}
            _write(directory / file_name(name) / "results.json", content, record)


@dataclass(frozen=True, slots=True)
class PromptProvenancePlugin:
    """Writes every model call, by condition."""

    artifact_name: str = "llm_calls.json"

    def __post_init__(self) -> None:
        file_name(self.artifact_name, "artifact_name")

    def write(self, directory: Path, record: Record) -> None:
        """Write ``prompts/<artifact_name>`` of each condition."""
        for name, condition in record.conditions.items():
            path = directory / file_name(name) / "prompts" / self.artifact_name
            content = {"condition": name, "llm_calls": condition.llm_calls}
            _write(path, content, record)


@dataclass(frozen=True, slots=True)
class EvidenceBundlePlugin:
    """Writes the trail from claim to verdict, by condition."""

    filename: str = "bundle.json"

    def __post_init__(self) -> None:
        file_name(self.filename, "filename")

    def write(self, directory: Path, record: Record) -> None:
        """Write ``evidence/<filename>`` of each condition."""
        for name, condition in record.conditions.items():
            path = directory / file_name(name) / "evidence" / self.filename
            _write(path, _trail(condition), record)


def bundle_of(condition: Gathered) -> dict[str, JsonValue]:
    """Return the trail from claim to verdict as plain JSON, without its proof."""
    return cast("dict[str, JsonValue]", _plain(_trail(condition)))


def _trail(condition: Gathered) -> dict[str, object]:
    return {key: getattr(condition, key) for key in _BUNDLE}


def file_name(name: str, what: str = "condition") -> str:
    """Return *name* if a file of that name stays in its directory.

    Raises:
        UsageError: it would leave the directory, or is not a name at all.

    """
    if not name or name in (".", "..") or any(mark in name for mark in "/\\\0"):
        raise UsageError(
            f"{name!r} is not a name for a file",
            rule="harness/name",
            place=what,
            remedy="leave out slashes",
        )
    return name


def _write(path: Path, content: Mapping[str, object], record: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = _plain({**content, "proof": dict(record.proof)})
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        write_new(path, [text.encode(errors="backslashreplace"), b"\n"])
    except FileExistsError:
        raise UsageError(
            f"{path.name} is there already, and is not overwritten",
            rule="harness/artifact",
            place=str(path),
            remedy="give another directory",
        ) from None


def _plain(value: object) -> object:
    """Return *value* as JSON for people; the exact value is in the ledger."""
    if isinstance(value, BlobRef):
        return {"erased": value.digest}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in cast("Iterable[object]", value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else encode(value)
    if isinstance(value, bool | int | str):
        return value
    named = _named(value)
    return _tagged(value) if named is None else named


def _named(value: object) -> object:
    """Return a mapping whose keys are texts; None for any other value."""
    if not isinstance(value, Mapping):
        return None
    members = cast("Mapping[object, object]", value)
    if not all(isinstance(key, str) for key in members):
        return None
    return {key: _plain(one) for key, one in members.items()}


def _tagged(value: object) -> object:
    try:
        return encode(value)
    except ValueRefused:  # a type that somebody registered
        return repr(value)
