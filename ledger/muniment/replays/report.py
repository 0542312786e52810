"""The report on a replay: its findings, its verdict, and what the program did.

    report = replay(ledger, run)
    report.verdict      "acceptable"
    report.seen[0]      the program's statements, requests and result, beside the record

It is data: whoever has another opinion on what was seen can say so in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from muniment.encoding.canonical import JsonValue
from muniment.recorded.divergence import Divergence
from muniment.recorded.run_check import Checked

if TYPE_CHECKING:
    from muniment.replays.account import SeenRun

__all__ = ["VERDICTS", "Mode", "ReplayReport", "Verdict"]

Mode = Literal["strict", "bounded", "observational"]
Verdict = Literal[
    "acceptable", "acceptable_with_warnings", "unacceptable", "non_certifiable"
]
VERDICTS = (
    *("acceptable", "acceptable_with_warnings"),
    *("unacceptable", "non_certifiable"),
)
"""From the best to the worst. The last says that the run was marked so."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The findings and the verdict of a replay."""

    run_id: str
    mode: str
    verdict: Verdict
    compared: int
    """How many facts and effects were compared with the record."""
    guards: tuple[str, ...]
    """What was guarded: sockets, subprocesses, file writes, signals."""
    findings: tuple[Divergence, ...]
    result_digest: str | None
    recorded_as: str | None = None
    """The run that holds the verdict, if it was recorded."""
    verified: Checked | None = None
    """How much of the record was verified before the program was called."""
    isolation: Mapping[str, JsonValue] | None = None
    """``level``, ``layers`` and ``missing`` of the process that it ran in; None if that
    was the caller's own."""
    children: int | None = None
    """How many child runs were replayed and judged with it; None if that was not asked
    for."""
    has_private: bool = False
    """Whether the run, or the program, keeps anything private: then the result digest
    confirms a guess of it, and is not for everybody."""
    seen: tuple[SeenRun, ...] = field(default=(), repr=False, compare=False)
    """What each program did, beside the record of its run: of this run, then of the
    child runs. It is for other judges, is written nowhere, and reads the ledger, which
    has to be open."""

    def __str__(self) -> str:
        """Return the verdict for people, and each difference on a line."""
        lines = [
            f"run {self.run_id}: {self.verdict.replace('_', ' ')} ({self.mode})",
            f"verified: {self.verified}",
            f"compared: {self.compared}, watched for {', '.join(self.guards)}",
            *([] if self.children is None else [f"child runs: {self.children}"]),
            *map(str, self.findings),
        ]
        return "\n".join(lines)

    @property
    def ok(self) -> bool:
        """Whether the verdict accepts the run."""
        return self.verdict in VERDICTS[:2]

    @property
    def first_divergence(self) -> Divergence | None:
        """The first finding that is more than a warning."""
        return next((one for one in self.findings if not one.warns), None)

    @property
    def exit_code(self) -> int:
        """0 when accepted, else 1."""
        return 0 if self.ok else 1

    def with_child(self, child: ReplayReport) -> ReplayReport:
        """Return the report on this run and the *child* that it called together."""
        one, other = self.verified, child.verified
        return replace(
            self,
            verdict=max(self.verdict, child.verdict, key=VERDICTS.index),
            compared=self.compared + child.compared,
            guards=tuple(name for name in self.guards if name in child.guards),
            findings=(*self.findings, *child.findings),
            verified=None if one is None or other is None else one.plus(other),
            has_private=self.has_private or child.has_private,
            children=(self.children or 0) + 1 + (child.children or 0),
            seen=(*self.seen, *child.seen),
        )

    def to_json(self) -> dict[str, JsonValue]:
        """Return the report as plain JSON; the digest, if nothing is private."""
        first = self.first_divergence
        return {
            "run": self.run_id,
            "mode": self.mode,
            "verdict": self.verdict,
            "verified": None if self.verified is None else self.verified.to_json(),
            "compared": self.compared,
            "children": self.children,
            "guards": list(self.guards),
            "isolation": None if self.isolation is None else dict(self.isolation),
            "first_divergence": None if first is None else first.to_json(),
            "findings": [one.to_json() for one in self.findings],
            "result_digest": None if self.has_private else self.result_digest,
            "recorded_as": self.recorded_as,
        }
