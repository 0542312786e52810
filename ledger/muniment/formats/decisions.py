"""The answer to a decision that a person signs, and the decision that a run gets.

    payload   {"ask":"<leaf hash of decision.asked>","ledger":"sha256:…","meaning":"…",
               "nonce":"<32 hex>","outcome":"approved","reason":"…",
               "subject":"sha256:<commitment of the subject>"}
    envelope  {"payload":"<b64>","payloadType":"application/vnd.muniment.decision+json",
               "signatures":[{"keyid":"SHA256:…","sig":"<b64>"}]}

Rules:

- The payload has exactly these members and is canonical JSON. It names one ledger, one
  event in it and that event's commitment, so that it answers nothing else.
- ``reason`` and ``meaning`` are short texts without control characters except line
  ends. They are in the log as signed, and cannot be erased.
- *Approved* once as many keys approved as the quorum says; *denied* once so many denied
  that the quorum cannot be reached, or at the first denial if no keys are named.
- `muniment.verification.runs.decisions` says which keys may answer.

Specification: ``docs/spec/event.md``, *Decisions*.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from muniment.encoding.canonical import JsonValue, canonical, parse_canonical
from muniment.errors import MunimentError, UsageError, WrongError
from muniment.formats.dsse import Envelope, Signer, sign_payload

__all__ = [
    "ANSWER_TYPE",
    "ASKED",
    "GIVEN",
    "MAX_KEYS",
    "MAX_TEXT",
    "OF_PROGRAMS",
    "REACHED",
    "REFUSED_ANSWER",
    "Decision",
    "DecisionAnswer",
    "SignedAnswer",
    "outcome_of",
]

ANSWER_TYPE = "application/vnd.muniment.decision+json"

ASKED = "decision.asked"
GIVEN = "decision.given"
REACHED = "decision.reached"
REFUSED_ANSWER = "decision.refused"

OF_PROGRAMS = frozenset({ASKED, REACHED})
"""The types that a program states in its run; the others are in no run."""

MAX_KEYS = 16
"""The largest quorum, and how many keys may be named: all answers fit in one event."""

MAX_TEXT = 1000
"""The longest ``reason`` or ``meaning``, in bytes of UTF-8."""

_MEMBERS = {"ask", "ledger", "meaning", "nonce", "outcome", "reason", "subject"}
_OUTCOMES = ("approved", "denied")
_HASH = re.compile(r"[0-9a-f]{64}")
_TAG = re.compile(r"sha256:[0-9a-f]{64}")
_NONCE = re.compile(r"[0-9a-f]{32}")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class DecisionAnswer:
    """The answer of one key holder."""

    key: str
    """The id of the key that signed it."""
    outcome: Literal["approved", "denied"]
    reason: str
    meaning: str
    """What the signature means, by the signer: that they have read it, say."""
    event: str
    """The leaf hash of the event that holds it."""

    def to_json(self) -> dict[str, JsonValue]:
        """Return the answer as ``decision.reached`` lists it."""
        return {
            "event": self.event,
            "key": self.key,
            "meaning": self.meaning,
            "outcome": self.outcome,
            "reason": self.reason,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, JsonValue]) -> DecisionAnswer:
        """Read back what `to_json` wrote."""
        return cls(**cast("dict[str, str]", dict(value)))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of people."""

    outcome: Literal["approved", "denied"]
    answers: tuple[DecisionAnswer, ...]
    """The answers that count, in the order in which they came in."""

    @property
    def approved(self) -> bool:
        """Whether the quorum approved."""
        return self.outcome == "approved"


@dataclass(frozen=True, slots=True)
class SignedAnswer:
    """An answer in its envelope, whose signature is not checked here."""

    ask: str
    ledger: str
    subject: str
    outcome: Literal["approved", "denied"]
    reason: str
    meaning: str
    nonce: str
    envelope: Envelope

    @classmethod
    def sign(  # noqa: PLR0913 - what is signed, keyword-only
        cls,
        signer: Signer,
        *,
        ledger: str,
        ask: str,
        subject: str,
        outcome: str,
        reason: str = "",
        meaning: str = "",
    ) -> SignedAnswer:
        """Return the answer *outcome* to *ask*, signed.

        Raises:
            UsageError: it is neither ``approved`` nor ``denied``, or a text cannot be
                in the log.

        """
        payload = canonical(
            {
                "ask": ask,
                "ledger": ledger,
                "meaning": _text(meaning, "meaning"),
                "nonce": secrets.token_hex(16),
                "outcome": outcome,
                "reason": _text(reason, "reason"),
                "subject": subject,
            }
        )
        if outcome not in _OUTCOMES:
            raise UsageError(
                f"{outcome!r:.80} is not an answer",
                rule="decision/payload",
                remedy="answer approved or denied",
            )
        return cls.read(sign_payload(payload, signer, ANSWER_TYPE))

    @classmethod
    def from_json(cls, data: bytes) -> SignedAnswer:
        """Read the JSON of an envelope.

        Raises:
            WrongError: it is not the envelope of an answer, or not canonical.

        """
        return cls.read(Envelope.from_json(data, ANSWER_TYPE))

    @classmethod
    def of_event(cls, data: object) -> SignedAnswer:
        """Read the answer in the data of a ``decision.given``, whatever it holds.

        Raises:
            WrongError: there is no answer in it.

        """
        told = cast("dict[str, JsonValue]", data) if isinstance(data, dict) else {}
        return cls.from_json(canonical(told.get("envelope")))

    @classmethod
    def read(cls, envelope: Envelope) -> SignedAnswer:
        """Read the answer in *envelope*."""
        try:
            told = parse_canonical(envelope.payload)
        except MunimentError as error:
            raise _malformed(error.message) from None
        if not isinstance(told, dict) or set(told) != _MEMBERS:
            raise _malformed(f"not an object of exactly {', '.join(sorted(_MEMBERS))}")
        texts = {name: one for name, one in told.items() if isinstance(one, str)}
        forms = {"ask": _HASH, "ledger": _TAG, "subject": _TAG, "nonce": _NONCE}
        for name in _MEMBERS:
            if name not in texts:
                raise _malformed(f"{name} is not a text")
            if name in forms and not forms[name].fullmatch(texts[name]):
                raise _malformed(f"{name} does not match {forms[name].pattern}")
        if texts["outcome"] not in _OUTCOMES:
            raise _malformed("outcome is neither approved nor denied")
        for name in ("meaning", "reason"):
            if fault := _fault(texts[name]):
                raise _malformed(f"{name} {fault}")
        return cls(**texts, envelope=envelope)  # type: ignore[arg-type]

    def to_json(self) -> bytes:
        """Return the envelope, one line of canonical JSON without its end."""
        return self.envelope.to_json()

    def given_by(self, event: str) -> DecisionAnswer:
        """Return the answer as held by the *event* with this leaf hash."""
        key = self.envelope.keyid
        return DecisionAnswer(key, self.outcome, self.reason, self.meaning, event)


def outcome_of(
    quorum: int, of: Iterable[str], answers: Iterable[DecisionAnswer]
) -> Literal["approved", "denied"] | None:
    """Return what *answers* by distinct keys decide; None if nothing yet."""
    named, outcomes = len([*of]), [one.outcome for one in answers]
    if outcomes.count("approved") >= quorum:
        return "approved"
    denied = outcomes.count("denied")
    if denied and (not named or named - denied < quorum):
        return "denied"
    return None


def _text(text: object, name: str) -> str:
    fault = _fault(text) if isinstance(text, str) else "is not a text"
    if fault:
        raise UsageError(
            f"the {name} {fault}",
            rule="decision/payload",
            remedy=f"say it in plain text of at most {MAX_TEXT} bytes",
        )
    return cast("str", text)


def _fault(text: str) -> str:
    if _CONTROL.search(text):
        return "has control characters"
    if len(text.encode()) > MAX_TEXT:
        return f"is longer than {MAX_TEXT} bytes"
    return ""


def _malformed(what: str) -> WrongError:
    return WrongError(
        f"the signed answer is malformed: {what}",
        rule="decision/payload",
        place="envelope",
        remedy="ask for an answer as `muniment approve` or `muniment deny` writes it",
    )
