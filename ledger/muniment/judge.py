"""The verdict over a replay: what a program stated, asked and returned, and its record.

    judge = Judge(ledger, run, "strict")
    judge.hear(["fact", "map/0", "note.added", {"text": "…"}])
    judge.hear(["effect", "", "llm", False, {"request": {…}}])
    judge.conclude({"type": "run.completed", "result": 42})
    judge.report(GUARDS).verdict      "acceptable"

Rules:

- The record is verified before anything is held against it.
- Whoever runs the program may be another process, which is not believed: it tells what
  the program stated, asked and returned, and everything is compared here, anew. What it
  says of itself can only make a verdict worse.
- *strict* rejects any difference in what was stated, asked or returned; facts of one
  scope in another order are a finding of their own, which warns. *bounded* rejects only
  different outcomes and results; *observational* reports and rejects nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from muniment.canonical import JsonValue, canonical
from muniment.comparing import comparable_event, first_difference
from muniment.divergence import Divergence
from muniment.errors import CannotTellError, ReplayDiverged, UsageError
from muniment.events import Event
from muniment.recorded import LIFECYCLE, Item, Recorded, match_key
from muniment.resuming import recorded_run, verified_run
from muniment.run_check import Checked
from muniment.runs import Recording

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["Judge", "Mode", "ReplayReport", "Verdict", "end_of"]

Mode = Literal["strict", "bounded", "observational"]
Verdict = Literal["acceptable", "acceptable_with_warnings", "unacceptable"]

_BLOCKING = {
    "strict": frozenset(
        {
            *("effect", "extra", "fact", "guard", "missing", "outcome", "params"),
            *("result", "type"),
        }
    ),
    "bounded": frozenset({"outcome", "result", "guard"}),
    "observational": frozenset[str](),
}

_ASKED = frozenset({"effect", "extra", "fact", "missing", "outcome", "params", "type"})
"""Findings that hold something against the record, or against its absence."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay found."""

    run_id: str
    mode: str
    verdict: Verdict
    compared: int
    """How many facts and effects were held against the record."""
    guards: tuple[str, ...]
    """What the program was watched for: sockets, subprocesses, file writes, signals."""
    findings: tuple[Divergence, ...]
    result_digest: str | None
    recorded_as: str | None = None
    """The run that holds the verdict, where it was recorded."""
    verified: Checked | None = None
    """What was verified of the record before the program was called."""
    isolation: Mapping[str, JsonValue] | None = None
    """``level``, ``layers`` and ``missing`` of the process that it ran in; None where
    that was the caller's own."""

    def __str__(self) -> str:
        """Say the verdict to people, and each difference on a line."""
        lines = [
            f"run {self.run_id}: {self.verdict.replace('_', ' ')} ({self.mode})",
            f"verified: {self.verified}",
            f"compared: {self.compared}, watched for {', '.join(self.guards)}",
            *map(str, self.findings),
        ]
        return "\n".join(lines)

    @property
    def ok(self) -> bool:
        """Whether the verdict accepts the run."""
        return self.verdict != "unacceptable"

    @property
    def first_divergence(self) -> Divergence | None:
        """The first finding that is more than a warning."""
        return next((one for one in self.findings if not one.warns), None)

    @property
    def exit_code(self) -> int:
        """0 when accepted, else 1."""
        return 0 if self.ok else 1

    def to_json(self) -> dict[str, JsonValue]:
        """Return the report as plain JSON."""
        first = self.first_divergence
        return {
            "run": self.run_id,
            "mode": self.mode,
            "verdict": self.verdict,
            "verified": None if self.verified is None else self.verified.to_json(),
            "compared": self.compared,
            "guards": list(self.guards),
            "isolation": None if self.isolation is None else dict(self.isolation),
            "first_divergence": None if first is None else first.to_json(),
            "findings": [one.to_json() for one in self.findings],
            "result_digest": self.result_digest,
            "recorded_as": self.recorded_as,
        }


class Judge:
    """The record of one run, and what a program did that is held against it."""

    def __init__(
        self, ledger: Ledger, run: str, mode: Mode, *, verified: bool = False
    ) -> None:
        """Verify the record of *run*, unless somebody else has *verified* it.

        Raises:
            CannotTellError: the run has no end, or lost contents.
            UsageError: there is no such mode.
            WrongError: the record does not verify.

        """
        if mode not in _BLOCKING:
            raise UsageError(
                f"{mode!r} is not a mode of replay",
                rule="replay/mode",
                remedy="use strict, bounded or observational",
            )
        self.ledger = ledger
        self.mode: Mode = mode
        self.checked: Checked | None = None
        if verified:
            self.record: Recorded = recorded_run(ledger, run)
        else:
            self.record, check = verified_run(ledger, run)
            self.checked = check.checked()
        started = self.record.events[0]
        self.end = end_of(self.record, run)
        self.findings: list[Divergence] = []
        self.recording = Recording(
            ledger.port,
            run,
            cast("str", started.raw["name"]),
            mode="replay",
            seed=cast("str", started.raw["seed"]),
            tenant=started.tenant,
            record=self.record,
        )
        self.recording.tolerant = mode != "strict"
        self.digest: str | None = None
        """The result digest, once the program came to an end."""
        self._performed: dict[tuple[str, int], Item] = {}

    # -- another process tells -------------------------------------------------------

    def hear(self, told: list[JsonValue]) -> None:
        """Hold against the record what a program did in another process.

        Raises:
            CannotTellError: the record lacks what it needs.
            TypeError, ValueError, IndexError, KeyError, AttributeError, ValueRefused:
                nothing of ours says that.

        """
        if isinstance(self.recording.halted, ReplayDiverged):
            return  # what follows the first difference says nothing
        try:
            self._hear(told)
        except ReplayDiverged:
            return

    def _hear(self, told: list[JsonValue]) -> None:
        recording = self.recording
        match told:
            case ["fact", str(scope), str(kind), dict(data)]:
                item = recording.recorded_fact(scope, kind, data)
                if item is None:
                    recording.refuse_other_fact(scope, kind, data)
                recording.digest.add(scope, kind, data)
            case ["effect", str(scope), str(kind), bool(again), dict(data)]:
                self._effect(scope, kind, again, data)
            case ["outcome", str(scope), int(ordinal), str(kind), dict(data)]:
                self._outcome(self._performed.pop((scope, ordinal)), kind, data)
            case ["differs", dict(found)]:
                recording.divergences.append(Divergence.from_json(found))
            case ["lacks", str(scope), str(kind), str(what)]:
                recording.gaps += self.record.gaps(scope, kind, what)
            case _:
                raise ValueError("a program tells of nothing else")

    def _effect(
        self, scope: str, kind: str, again: bool, data: dict[str, JsonValue]
    ) -> None:
        recording, requested = self.recording, f"{kind}.requested"
        key = match_key(kind, canonical(data.get("request")))
        item = self.record.effect(scope, key)
        recording.compared += item is not None
        if item is None:
            expected = self.record.next_in(scope, effect=True)
            recording.report(recording.difference(expected, scope, requested, data))
        outcome = item.settled(recording.run_id)
        recording.digest.add(scope, requested, data)
        again = again or recording.port.kind(kind).reproducible
        if again and not item.cancelled:
            self._performed[scope, item.ordinal] = item
        else:
            answer = self.record.data(outcome)
            recording.digest.add(scope, outcome.type, answer)
            if recording.port.kind(kind).holds_secret(answer):
                recording.answer_secret()

    def _outcome(self, item: Item, kind: str, data: dict[str, JsonValue]) -> None:
        recorded = item.settled(self.recording.run_id)
        difference = first_difference(recorded.type, kind, "type")
        if difference is None:
            difference = first_difference(self.record.data(recorded), data)
        if difference is not None:
            self.recording.report(
                Divergence("outcome", item.scope, recorded.seq, *difference)
            )
        self.recording.digest.add(item.scope, kind, data)

    # -- the end ---------------------------------------------------------------------

    def conclude(
        self,
        ended: dict[str, JsonValue] | None,
        attempts: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Take in how the program *ended*, and what it *attempted* and may not.

        Args:
            ended: ``type`` of the event that would say so, with ``result``, or with
                ``error_type`` and ``message``; None for a program that was stopped.
            attempts: guard and audit event of each.

        Raises:
            CannotTellError: the record lacks what the program did, and has no effect.

        """
        guarded = [
            Divergence("guard", "", None, name, None, what) for name, what in attempts
        ]
        self.findings += [*self.recording.divergences, *guarded]
        if isinstance(self.recording.halted, ReplayDiverged):
            ended = None
        if ended is not None:
            self.digest = self.recording.digest.result(_result(ended))
            if not guarded:
                self._compare_end(dict(ended))
        left = next(iter(self._performed.values()), None) or self.record.unused()
        if left is not None and not self.findings:
            event = left.event
            self.findings.append(Divergence.missing(left.scope, event.seq, event.type))
        self.findings += [
            Divergence("order", one.scope, one.event.seq, "position", None, None)
            for one in self.record.reordered
        ]
        self.findings += self.recording.gaps
        self._require_compared()
        self._require_certain()

    def report(self, guards: tuple[str, ...]) -> ReplayReport:
        """Return the verdict, of a program that was watched for *guards*."""
        findings, mode = tuple(self.findings), self.mode
        blocking = any(one.what in _BLOCKING[mode] for one in findings) or (
            mode == "bounded" and self.digest is None
        )
        verdict: Verdict = (
            "unacceptable"
            if blocking
            else "acceptable_with_warnings"
            if findings
            else "acceptable"
        )
        return ReplayReport(
            self.recording.run_id,
            mode,
            verdict,
            self.recording.compared,
            guards,
            findings,
            self.digest,
            verified=self.checked,
        )

    def _require_compared(self) -> None:
        """Refuse to judge where nothing was compared, though there was more to it.

        What the record lacks is refused here: that the program then reached for it, and
        ended otherwise, says nothing about the record.

        Raises:
            CannotTellError: the record lacks what the program did, and has no effect.

        """
        gaps, compared = self.recording.gaps, self.recording.compared
        if not gaps or compared or any(one.what in _ASKED for one in self.findings):
            return
        raise CannotTellError(
            f"the record holds no call, but {gaps[0].field}: nothing could be compared",
            rule="replay/unrecorded",
            place=f"run {self.recording.run_id}, event {gaps[0].seq}",
            remedy="make the program's calls over a library that is recorded",
        )

    def _require_certain(self) -> None:
        """Refuse to judge by what may have been computed from a secret.

        In its place the program was answered a name, of which other things follow. A
        difference from before that, and what was reached for, stand as they are.

        Raises:
            CannotTellError: the first thing to hold against it may come of a secret.

        """
        since = self.recording.secret_since
        certain = self.recording.divergences[:since]
        unsure = [
            one
            for one in self.findings
            if one not in certain and one.what in (*_ASKED, "result")
        ]
        guarded = any(one.what in ("guard", "params") for one in self.findings)
        if since is None or not unsure or certain or guarded:
            return
        raise CannotTellError(
            "the program was answered a secret, which is in no record, and what it asks "
            f"after that differs ({unsure[0]}): it may have been computed from it",
            rule="replay/secret",
            place=f"run {self.recording.run_id}",
            remedy="let the program send the secret itself, or keep its name with "
            "`record --keep NAME` if it is none",
        )

    def _compare_end(self, got: dict[str, JsonValue]) -> None:
        event_type = self.ledger.port.types.find(self.end.type)
        data = comparable_event(self.end, event_type, self.ledger.get_blob)
        names = ("result", "error_type", "message")
        expected: JsonValue = {name: data[name] for name in names if name in data}
        difference = first_difference(self.end.type, got.pop("type"), "type")
        if difference is None:
            difference = first_difference(expected, got)
        elif "error_type" in got:  # or nobody learns what the program raised
            raised = f"run.failed, {got['error_type']}: {got['message']}"
            difference = (*difference[:2], raised)
        if difference is not None:
            self.findings.append(Divergence("result", "", self.end.seq, *difference))


def end_of(record: Recorded, run: str) -> Event:
    """Return how the recorded *run* ended.

    Raises:
        CannotTellError: it has no end.

    """
    last = [event for event in record.events if event.type in LIFECYCLE][-1]
    if last.type in ("run.completed", "run.failed"):
        return last
    raise CannotTellError(
        "the run has no end; what it would have come to is not recorded",
        rule="replay/open",
        place=f"run {run}",
        remedy=f"`muniment runs explain {run}` says how to go on with it",
    )


def _result(ended: dict[str, JsonValue]) -> JsonValue:
    """Return what the result digest covers of an end."""
    if ended["type"] == "run.completed":
        return ended.get("result")
    return {"error": [ended["error_type"], ended["message"]]}
