"""Decisions of people: the questions, the answers, and whether the run followed them.

    40 decision.asked     in the run: {"quorum": 2, "subject": {"$blob": …}}
    43 decision.given     in no run: {"envelope": {…}}, signed by an approver
    47 decision.given
    52 decision.reached   in the run: {"asked": "<leaf hash of 40>", "outcome": …}

Rules:

- Writers and verifiers share one judgement: `Decisions` folds events in the order of
  the log, and names the rule that each breaks.
- An answer counts if its signature holds; if its key is an approver's at that event,
  and one of those that were asked; if it names this ledger, an event in it that asks,
  and that event's commitment; and if neither nonce nor key answered there before, nor a
  key that it replaced or was replaced by: a rotation makes no second person.
- A question takes no answers once it is decided, or once nobody waits for it: the run
  is over, or a resumption superseded the question.
- A run continues with ``decision.reached``, which states what the answers before it
  decide. A run does not complete while a question of its own is undecided.
- A missing or unreadable row may have been a question: then an answer to an unknown one
  is not judged, and does not count as compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from muniment.errors import MunimentError, WrongError
from muniment.formats.decisions import (
    ASKED,
    GIVEN,
    MAX_KEYS,
    REACHED,
    Decision,
    DecisionAnswer,
    SignedAnswer,
    outcome_of,
)
from muniment.formats.lifecycle import CANCELED, COMPLETED, FINAL, RESUMED
from muniment.formats.statement import Event
from muniment.keys.keyring import Keyring
from muniment.verification.report import Findings

__all__ = ["FOLLOWED", "Ask", "DecisionStep", "Decisions", "concerns"]

FOLLOWED = frozenset({ASKED, GIVEN, REACHED})
"""The types that are always judged; of others only those in runs are read."""

_WRITER = "the writer did not keep to what people decided; ask who wrote it"
_ANEW = "answer what `muniment inbox` lists, from a copy of this ledger"


_CONCERNED = FOLLOWED | FINAL | {RESUMED}


def concerns(kind: str) -> bool:
    """Tell whether events of this type have to be folded: of all others, none is."""
    return kind in _CONCERNED or kind.endswith(".failed")


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """The parts of one event that are judged, from its signed bytes."""

    seq: int
    kind: str
    leaf: str
    data: Mapping[str, Any]
    run: str | None = None
    scope: str = ""
    ordinal: int = 0
    about: tuple[tuple[str, str], ...] = ()
    """The name of each of its subjects, and its digest as 64 hex digits."""

    @classmethod
    def of_statement(
        cls, seq: int, kind: str, statement: Any, leaf: bytes
    ) -> DecisionStep:
        """Return the judged parts of a sound statement."""
        predicate = statement["predicate"]
        chain, about = predicate["muniment"], statement["subject"]
        return cls(
            seq,
            kind,
            leaf.hex(),
            predicate["data"],
            chain.get("run"),
            chain.get("scope", ""),
            chain.get("ordinal", 0),
            tuple((one["name"], one["digest"]["sha256"]) for one in about),
        )

    @classmethod
    def of_event(cls, event: Event) -> DecisionStep:
        """Return the judged parts of an event as it was read."""
        about = tuple(
            (one.name, one.digest.removeprefix("sha256:")) for one in event.subject
        )
        place = event.run, event.scope or "", event.ordinal or 0
        return cls(event.seq, event.type, event.hash, event.raw, *place, about)


@dataclass(slots=True)
class Ask:
    """A question of a run, and the answers so far."""

    seq: int
    leaf: str
    run: str
    scope: str
    subject: str
    """The commitment of the subject."""
    quorum: int
    of: tuple[str, ...]
    answers: list[DecisionAnswer] = field(default_factory=list[DecisionAnswer])
    nonces: set[str] = field(default_factory=set[str])
    reached: bool = False
    """Whether the run continued with the decision."""
    stated: int | None = None
    """The event that said so, unless a resumption superseded it."""
    over: str = ""
    """Why nobody waits for it any more."""

    @property
    def outcome(self) -> Literal["approved", "denied"] | None:
        """The outcome, once it is decided."""
        return outcome_of(self.quorum, self.of, self.answers)

    @property
    def decision(self) -> Decision | None:
        """The decision with its answers, once the outcome is decided."""
        outcome = self.outcome
        return None if outcome is None else Decision(outcome, tuple(self.answers))


class Decisions:
    """Judges what runs ask and people answer, in the order of the log."""

    def __init__(self, ledger: str, *, whole: bool = True) -> None:
        """Follow the ledger *ledger*; *whole* says whether all events of runs come."""
        self._ledger = ledger
        self._whole = whole
        self._lost = False
        self._runs: dict[str, list[Ask]] = {}
        self._failed: dict[str, dict[tuple[str, int], int]] = {}
        self.asks: dict[str, Ask] = {}
        """The questions, by leaf hash."""
        self.total = self.compared = 0
        """How many answers and outcomes there are, and how many were judged."""

    def lose(self) -> None:
        """Remember that lost rows may have been questions."""
        self._lost = True

    def take(
        self, step: DecisionStep, keyring: Keyring | None, findings: Findings
    ) -> None:
        """Fold the next event; a broken rule becomes one of the *findings*."""
        try:
            self.add(step, keyring)
        except WrongError as error:
            findings.add_error("decision", error, step.seq)

    def add(self, step: DecisionStep, keyring: Keyring | None) -> None:
        """Fold the next event.

        Raises:
            WrongError: it breaks a rule; the rest is judged as if it were not there.

        """
        if step.kind == ASKED:
            self._ask(step)
        elif step.kind == GIVEN:
            self._give(step, keyring)
        elif step.kind == REACHED:
            self._reach(step)
        elif step.run is not None:
            self._follow(step)

    # -- asking ----------------------------------------------------------------------

    def _ask(self, step: DecisionStep) -> None:
        if step.run is None:
            raise _wrong("place", "it asks, and is in no run", _WRITER)
        subject, quorum = step.data.get("subject"), step.data.get("quorum")
        told = cast("dict[str, Any]", subject) if isinstance(subject, dict) else {}
        tag, keys = told.get("$blob"), _texts(step.data.get("of", []))
        most = len(keys) if keys else MAX_KEYS
        if (
            not isinstance(tag, str)
            or keys is None
            or len({*keys}) != len(keys)
            or len(keys) > MAX_KEYS
            or type(quorum) is not int
            or not 1 <= quorum <= most
        ):
            what = f"a quorum of {quorum!r:.20} cannot be reached"
            raise _wrong("quorum", what, _WRITER)
        ask = Ask(step.seq, step.leaf, step.run, step.scope, tag, quorum, keys)
        self.asks[step.leaf] = ask
        self._runs.setdefault(step.run, []).append(ask)

    # -- answering -------------------------------------------------------------------

    def _give(self, step: DecisionStep, keyring: Keyring | None) -> None:
        self.total += 1
        if step.run is not None:
            raise _wrong("place", "it answers from inside of a run", _WRITER)
        try:
            told = SignedAnswer.of_event(step.data)
        except MunimentError as error:
            raise WrongError(error.message, rule=error.rule, place="data") from None
        if step.about != (("asked", told.ask),):
            raise _wrong("place", "it is not about what it answers", _WRITER)
        if self._lost and told.ask not in self.asks:
            return
        self.compared += 1
        if keyring is not None:
            ask = self.judge(told, keyring, step.seq)
            ask.nonces.add(told.nonce)
            ask.answers.append(told.given_by(step.leaf))

    def judge(self, told: SignedAnswer, keyring: Keyring, seq: int) -> Ask:
        """Return the question that *told* answers; it is, or would be, event *seq*.

        Raises:
            WrongError: it does not count; the rule says why.

        """
        if told.ledger != self._ledger:
            raise _wrong("ledger", f"it answers in the ledger {told.ledger}", _ANEW)
        ask = self.asks.get(told.ask)
        if ask is None:
            raise _wrong("ask", f"nothing was asked by the event {told.ask}", _ANEW)
        if told.subject != ask.subject:
            raise _wrong("subject", "it is about something else than was asked", _ANEW)
        public = _key(told.envelope.keyid, ask, keyring, seq)
        if not told.envelope.verify(public):
            what = f"{public.keyid} did not sign it as it is"
            raise _wrong("signature", what, "ask its sender to sign it again")
        holder = keyring.holder(public.keyid)
        before = any(keyring.holder(one.key) == holder for one in ask.answers)
        if before or told.nonce in ask.nonces:
            what = f"{public.keyid}, a key that it replaces or its nonce answered that"
            remedy = "each holder of a key answers once; ask another one"
            raise _wrong("repeated", f"{what} already", remedy)
        if ask.over or ask.outcome is not None:
            what = ask.over or f"it was {ask.outcome} already"
            raise _wrong("closed", what, "`muniment inbox` lists what is waited for")
        return ask

    # -- continuing ------------------------------------------------------------------

    def _reach(self, step: DecisionStep) -> None:
        self.total += 1
        if step.run is None:
            raise _wrong("place", "a decision is reached in no run", _WRITER)
        named = step.data.get("asked")
        ask = self.asks.get(named) if isinstance(named, str) else None
        if ask is None and self._lost:
            return
        self.compared += 1
        if ask is None or (ask.run, ask.scope) != (step.run, step.scope):
            raise _wrong("reached", "its run did not ask that in its scope", _WRITER)
        if ask.outcome is None or step.data.get("outcome") != ask.outcome:
            what = f"{step.data.get('outcome')!r:.20} is not what was decided"
            raise _wrong("reached", f"{what}: {ask.outcome or 'nothing yet'}", _WRITER)
        if step.data.get("answers") != [one.to_json() for one in ask.answers]:
            what = "the answers are not those that were given"
            raise _wrong("reached", what, _WRITER)
        if ask.stated is not None and self._whole:
            what = f"event {ask.stated} says already what was decided"
            raise _wrong("reached", what, _WRITER)
        ask.reached, ask.stated = True, step.seq

    def _follow(self, step: DecisionStep) -> None:
        run = cast("str", step.run)
        if step.kind.endswith(".failed"):
            failed = self._failed.setdefault(run, {})
            failed[step.scope, step.ordinal] = step.seq
        elif step.kind == RESUMED and run in self._runs:
            self._supersede(run, step.data.get("supersedes"))
        elif step.kind in FINAL:
            self._failed.pop(run, None)
            asks = self._runs.pop(run, [])
            left = [one for one in asks if not (one.reached or one.over)]
            for one in asks:
                ended = "canceled" if step.kind == CANCELED else "complete"
                one.over = one.over or f"the run is {ended}"
            if step.kind == COMPLETED and left and self._whole:
                what = f"the run completes, and event {left[0].seq} was not decided"
                raise _wrong("open", what, _WRITER)

    def _supersede(self, run: str, told: object) -> None:
        """Close the questions that followed a failure that is performed again."""
        for one in cast("Sequence[Any]", told) if isinstance(told, list) else ():
            match one:
                case [str(scope), int(ordinal)]:
                    failed = self._failed.get(run, {}).get((scope, ordinal))
                case _:
                    continue
            if failed is not None:
                for ask in self._runs[run]:
                    around = not ask.scope or f"{scope}/".startswith(f"{ask.scope}/")
                    if around and ask.seq > failed:
                        ask.over = ask.over or "a resumption superseded it"
                    if around and ask.stated is not None and ask.stated > failed:
                        ask.stated = None


def _key(keyid: str, ask: Ask, keyring: Keyring, seq: int) -> Any:
    public = keyring.approver(keyid, seq)
    if public is None:
        what = f"{keyid} is not the key of an approver here"
        raise _wrong("key", what, "`muniment keys list` shows who is; enrol it first")
    if ask.of and keyid not in ask.of:
        what = f"{keyid} is not among those that were asked"
        raise _wrong("key", what, "let one of them answer: `muniment inbox` lists them")
    return public


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    listed = cast("Sequence[Any]", value)
    found = tuple(one for one in listed if isinstance(one, str))
    return found if len(found) == len(listed) else None


def _wrong(fault: str, message: str, remedy: str) -> WrongError:
    return WrongError(message, rule=f"decision/{fault}", remedy=remedy)
