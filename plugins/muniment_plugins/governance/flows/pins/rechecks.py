"""Data that is hashed again while a flow runs, since a step may have overwritten it.

    dataset_check.requested   {"dataset_id": "corpus", "version": "1.0.0"}
    dataset_check.completed   {"sha256": "sha256:9f2b…"}
    dataset.checked           {"pinned": "sha256:9f2b…", "sha256": "sha256:9f2b…", …}

Rules:

- Data is hashed again when the flow ends; if there is little of it, also before each step
  that is handed it.
- Data that is *frozen* or *deprecated*, and is not what was pinned, fails the flow. Of
  *experimental* data the digest at the end is stated.
- The digest is the answer of an effect, which no budget counts: so a resume and a replay
  come to the same end as the run, and read nothing for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed
from muniment.runs.run import Run
from muniment.runs.waits.own import own
from muniment_plugins.governance.documents.manifest import DatasetPin
from muniment_plugins.governance.flows.edition import edition_of
from muniment_plugins.governance.flows.failed import FlowFailed
from muniment_plugins.governance.flows.pins.datasets import pinned

__all__ = ["CHECK", "DataWatch", "dataset_fault"]

CHECK = "dataset_check"
_LITTLE = 16 << 20


@dataclass(frozen=True, slots=True)
class DataWatch:
    """The data of a flow that runs, and what it was when that began."""

    dataset: DatasetPin
    folder: Path
    """Where relative paths begin; absolute, since a step may go elsewhere."""
    sha256: str
    bytes: int
    edition: int
    """By which rules the data is hashed."""

    @classmethod
    def of(
        cls, dataset: DatasetPin | None, pins: Mapping[str, JsonValue]
    ) -> Self | None:
        """Return the watch over the data of *pins*; None if there is none."""
        data = pins.get("dataset")
        if dataset is None or not isinstance(data, dict):
            return None
        folder = Path(str(pins["folder"])).absolute()
        said = str(data["sha256"]), cast("int", data["bytes"])
        return cls(dataset, folder, *said, edition_of(pins))

    @property
    def is_fixed(self) -> bool:
        """Whether the data may not change."""
        return self.dataset.dataset_state != "experimental"

    def before_step(self, lane: Run) -> None:
        """Hash fixed data again, if that is cheap.

        Raises:
            FlowFailed: it is not what was pinned.

        """
        if self.is_fixed and self.bytes <= _LITTLE:
            now = self._now(lane)
            if now != self.sha256:
                self._state(lane, now)
                raise self._changed(lane, now)

    def at_end(self, run: Run) -> None:
        """Hash the data again, and state what it is.

        Raises:
            FlowFailed: it may not change, and is not what was pinned.

        """
        now = self._now(run)
        self._state(run, now)
        if self.is_fixed and now != self.sha256:
            raise self._changed(run, now)

    def request(self) -> dict[str, JsonValue]:
        """Return the request in the record."""
        return {
            "dataset_id": self.dataset.dataset_id,
            "version": self.dataset.dataset_version,
        }

    def perform(self, call: object, *, awaits: bool) -> dict[str, JsonValue]:  # noqa: ARG002 - as it is called
        """Hash the data."""
        return {"sha256": pinned(self.dataset, self.folder, self.edition).sha256}

    def _now(self, lane: Run) -> str:
        try:
            answer = lane.effect(CHECK, self, own)
        except EffectFailed as failed:
            raise self._failed(lane, failed.message) from failed
        return str(cast("Mapping[str, object]", answer)["sha256"])

    def _state(self, lane: Run, now: str) -> None:
        lane.record(
            "dataset.checked",
            {
                "dataset_id": self.dataset.dataset_id,
                "version": self.dataset.dataset_version,
                "state": self.dataset.dataset_state,
                "pinned": self.sha256,
                "sha256": now,
            },
        )

    def _changed(self, lane: Run, now: str) -> FlowFailed:
        return self._failed(
            lane,
            f"the {self.dataset.dataset_state} data changed while the flow ran: it has "
            f"{now}, and not {self.sha256}",
        )

    def _failed(self, lane: Run, message: str) -> FlowFailed:
        return FlowFailed(
            message,
            rule="flow/dataset",
            place=f"{lane.scope_path or 'flow'}, its data",
            remedy="restore the data, and start a new run; what a step makes is handed on "
            "as an artifact, and not written over its data",
        )


def dataset_fault(_: object, value: object) -> str | None:
    """Say what is wrong with *value* as what a look at data tells."""
    said = cast("Mapping[str, object]", value if isinstance(value, Mapping) else {})
    if {*said} == {"sha256"} and isinstance(said["sha256"], str):
        return None
    return "it has the sha256 of the data, a text"
