"""The verdict on a replay: a program's statements, requests and result, and its record.

    judge = Judge(ledger, run, "strict")
    judge.hear(["fact", "map/0", "note.added", {"text": "…"}, {"series": ["k"]}])
    judge.hear(["effect", "", "llm", False, {"request": {…}}])
    judge.conclude({"type": "run.completed", "result": 42})
    judge.report(GUARDS).verdict      "acceptable"

Rules:

- The record is verified before anything is compared with it.
- The program may run in another process, which is not believed: it reports what the
  program stated, asked and returned, and everything is compared here again. Whatever
  else it reports can only make a verdict worse.
- *strict* rejects any difference in what was stated, asked or returned, also in what a fact
  is about and in its series; facts of one scope in another order are a finding of their
  own, which warns. *bounded* rejects only different requests, outcomes and results, and
  *observational* nothing: both report what differs in facts.
- A run that was marked *non_certifiable* is never accepted, in no mode: if nothing
  rejects its replay, that mark is the verdict.
- A strict replay stops at the first difference; the others continue and find them all.
  Findings are in the order of the record: a dropped item comes before what follows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, cast

from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import (
    AppendRefused,
    ReplayDiverged,
    UsageError,
)
from muniment.events.visibility import PRIVATE, VISIBILITY, tells_private
from muniment.formats.decisions import ASKED
from muniment.formats.lifecycle import (
    COMPLETED,
    FAILED,
    MARKED,
)
from muniment.recorded.compare import comparable_event
from muniment.recorded.divergence import Divergence, discreet
from muniment.recorded.items import Item
from muniment.recorded.links import ComparedFact, FactLinks
from muniment.recorded.match_keys import match_key
from muniment.recorded.run import Recorded
from muniment.recorded.run_check import Checked
from muniment.replays.account import SeenRun, ended_as
from muniment.replays.certainty import (
    require_certain,
    require_compared,
    require_here,
    require_known,
)
from muniment.replays.ends import counted, end_difference, end_of
from muniment.replays.report import VERDICTS, Mode, ReplayReport, Verdict
from muniment.runs.modes.recorded import Replay
from muniment.runs.recording import Recording
from muniment.runs.resume import recorded_run, verified_run

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["VERDICTS", "Judge", "Mode", "ReplayReport", "Verdict", "end_of"]

_BLOCKING = {
    "strict": frozenset(
        {
            *("effect", "extra", "fact", "guard", "missing", "outcome", "params"),
            *("result", "type"),
        }
    ),
    "bounded": frozenset({"effect", "outcome", "result", "guard"}),
    "observational": frozenset[str](),
}


CERTIFIED_BY_NOBODY: Final = "non_certifiable"
"""The mark of a run on which no verdict may be relied upon, and the verdict on it."""


class Judge:
    """The record of one run, and the comparison of a program with it."""

    def __init__(
        self, ledger: Ledger, run: str, mode: Mode, *, verified: bool = False
    ) -> None:
        """Verify the record of *run*, unless it was *verified* before.

        Raises:
            CannotTellError: the run has no end, or lost blobs.
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
        self.held = Replay(self.record, tolerant=mode != "strict")
        """Compares the program with the record."""
        self.recording = Recording(
            ledger.port,
            run,
            cast("str", started.raw["name"]),
            mode=self.held,
            seed=cast("str", started.raw["seed"]),
            tenant=started.tenant,
        )
        self.digest: str | None = None
        """The result digest, once the program has ended."""
        self._performed: dict[tuple[str, int], Item] = {}
        self._ended: dict[str, JsonValue] | None = None
        self._attempts: tuple[tuple[str, str], ...] = ()

    # -- another process tells -------------------------------------------------------

    def hear(self, told: list[JsonValue]) -> None:
        """Compare with the record what a program did in another process.

        Raises:
            CannotTellError: the record lacks what it needs.
            TypeError, ValueError, IndexError, KeyError, AttributeError, ValueRefused:
                no process of ours reports that.

        """
        if isinstance(self.recording.halted, ReplayDiverged):
            return  # what follows the first difference says nothing
        try:
            self._hear(told)
        except (AppendRefused, ReplayDiverged):
            return  # a plugin's refusal is in the record: it is no difference

    def _hear(self, told: list[JsonValue]) -> None:
        recording = self.recording
        match told:
            case ["fact", str(scope), str(kind), dict(data), dict(links), bool(hides)]:
                facts = ComparedFact(data, FactLinks.from_json(links), hides)
                if self.held.match_fact(scope, kind, facts) is None:
                    self.held.refuse_fact(recording, scope, kind, facts)
                recording.digest.add(scope, kind, data)
            case [
                "effect",
                str(scope),
                str(kind),
                bool(again),
                dict(data),
                bool(hides),
            ]:
                self._effect(scope, kind, again, ComparedFact(data, private=hides))
            case [
                "outcome",
                str(scope),
                int(ordinal),
                str(kind),
                dict(data),
                bool(hides),
            ]:
                item = self._performed.pop((scope, ordinal))
                self._outcome(item, kind, ComparedFact(data, private=hides))
            case ["differs", dict(found)]:
                differs = Divergence.from_json(found)
                self.held.divergences.append(differs)
                self.held.told.append(differs)
            case ["another"]:
                self.held.named(is_another=True)
            case ["lacks", str(scope), str(kind), str(what)]:
                self.held.lacks(scope, kind, what)
            case _:
                raise ValueError("a program reports nothing else")

    def _effect(self, scope: str, kind: str, again: bool, got: ComparedFact) -> None:
        recording, requested = self.recording, f"{kind}.requested"
        key = match_key(kind, canonical(got.data.get("request")))
        item = self.held.match_effect(scope, kind, key, private=got.private)
        if item is None:
            item = self.held.in_place(recording, scope, kind, got)
        outcome = item.outcome
        if outcome is None:
            return  # the run ended, and did not wait for it: it was not counted
        recording.digest.add(scope, requested, got.data)
        again = again or recording.port.kind(kind).reproducible
        if again and not (item.cancelled or item.is_gated):
            self._performed[scope, item.ordinal] = item
        else:
            answer = self.record.data(outcome)
            recording.digest.add(scope, outcome.type, answer)
            self.held.answered(recording.port.kind(kind), answer)

    def _outcome(self, item: Item, kind: str, got: ComparedFact) -> None:
        self.held.compare_outcome(self.recording, item, kind, got)
        self.recording.digest.add(item.scope, kind, got.data)

    # -- the end ---------------------------------------------------------------------

    def conclude(
        self,
        ended: dict[str, JsonValue] | None,
        attempts: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Take how the program *ended*, and its forbidden *attempts*.

        Args:
            ended: ``type`` of the event that would end the run, with ``result``, or
                with ``error_type`` and ``message``, and the ``imports`` that failed
                before; None for a stopped program.
                ``visibility`` says that the program keeps it private.
            attempts: guard and audit event of each.

        Raises:
            CannotTellError: the record lacks what the program did, and has no effect.

        """
        self._attempts = tuple(attempts)
        guarded = [
            Divergence("guard", "", None, name, None, what)
            for name, what in self._attempts
        ]
        if isinstance(self.recording.halted, ReplayDiverged):
            ended = None
        self._ended = ended = self._admitted(ended)
        missing = [] if guarded else self._missing(stopped=ended is None)
        found = [*self.held.divergences, *missing]
        self.findings += [*sorted(found, key=lambda one: one.position), *guarded]
        if ended is not None:
            self.digest = self.recording.digest.result(counted(ended))
            if not guarded:
                self._compare_end(ended)
        self.findings += [
            Divergence("order", one.scope, one.event.seq, "position", None, None)
            for one in self.record.reordered
        ]
        self.findings += self.held.gaps
        certain = any(map(self._blocks, self.held.before_lacking(self.findings)))
        require_here(self.held, self.recording.run_id, certain=certain)
        require_compared(self.held, self.findings, self.recording.run_id)
        require_certain(self.held, self.findings, self.recording.run_id)

    def _admitted(
        self, ended: dict[str, JsonValue] | None
    ) -> dict[str, JsonValue] | None:
        """Return how the program *ended*, if the plugins in the record allowed that."""
        if ended is None or ended["type"] != COMPLETED:
            return ended
        try:
            self.held.require_unrefused("", COMPLETED)
        except AppendRefused as refusal:
            name, text = type(refusal).__name__, self.recording.redacted(str(refusal))
            return {"type": FAILED, "error_type": name, "message": text}
        return ended

    def _missing(self, *, stopped: bool) -> list[Divergence]:
        """Return the items that the program never reached; in strict mode the first.

        A *stopped* program might have reached what follows in the record.
        """
        if stopped:
            left = self.record.passed(self.held.stopped_at)
        else:
            left = [*self._performed.values(), *self.record.unused()]
            left = left[:1] if self.mode == "strict" else left
        return [one.missing for one in left]

    def report(self, guards: tuple[str, ...]) -> ReplayReport:
        """Return the verdict on a program that was watched for *guards*."""
        findings, mode = discreet(self.findings, self.ledger.event), self.mode
        blocking = any(map(self._blocks, findings)) or (
            mode == "bounded" and self.digest is None
        )
        if blocking:
            require_known(self.ledger, self.record, findings, self.recording.run_id)
        verdict: Verdict = "acceptable_with_warnings" if findings else "acceptable"
        if blocking:
            verdict = "unacceptable"
        elif _is_certified_by_nobody(self.record):
            verdict = CERTIFIED_BY_NOBODY
        return ReplayReport(
            self.recording.run_id,
            mode,
            verdict,
            self.held.compared,
            guards,
            findings,
            self.digest,
            verified=self.checked,
            has_private=self._has_private,
            seen=(self.seen(),),
        )

    def _blocks(self, found: Divergence) -> bool:
        """Tell whether what was *found* lets nobody accept the program in this mode.

        To a bounded one people are asked for something like anybody else, and a request
        that was never made is another request than the recorded one.
        """
        if found.what in _BLOCKING[self.mode]:
            return True
        if self.mode != "bounded" or found.what not in ("fact", "missing"):
            return False
        kind = "" if found.seq is None else self.ledger.event(found.seq).type
        return kind == ASKED or (
            found.what == "missing" and kind.endswith(".requested")
        )

    def seen(self) -> SeenRun:
        """Return what the program did, beside the record, once it has ended.

        One that attempted something forbidden was kept from it, and counts as stopped.
        """
        held, ended = self.held, None if self._attempts else self._ended
        return SeenRun(
            self.recording.run_id,
            self.record,
            tuple(held.seen),
            None
            if ended is None
            else ended_as(ended, self.end, self.recording.port.hide),
            ended is None,
            frozenset(self._performed),
            tuple(held.told),
            tuple(held.gaps),
            self._attempts,
            self.recording.port.hide,
        )

    @property
    def _has_private(self) -> bool:
        """Whether the record, or the program, keeps anything private."""
        ended, seen = self._ended or {}, self.held.seen
        keeps = any(one.private or one.private_outcome for one in seen)
        keeps |= ended.get(VISIBILITY) == PRIVATE
        return keeps or any(map(tells_private, self.record.events))

    def _compare_end(self, got: dict[str, JsonValue]) -> None:
        event_type = self.ledger.port.types.find(self.end.type)
        data = comparable_event(self.end, event_type, self.ledger.get_blob)
        private = got.get(VISIBILITY) == PRIVATE
        difference = end_difference(self.end.type, data, got, self.recording.port.hide)
        if difference is not None:
            self.held.notice(self.recording, got, private=private)
            found = Divergence("result", "", self.end.seq, *difference)
            self.findings.append(found.shown(self.end, private=private))


def _is_certified_by_nobody(record: Recorded) -> bool:
    return any(
        event.type == MARKED and event.raw.get("mark") == CERTIFIED_BY_NOBODY
        for event in record.events
    )
