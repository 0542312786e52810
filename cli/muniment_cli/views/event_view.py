"""Events and their blobs, shortened for people and whole for machines.

Rules:

- A blob is shown in place of its commitment; an erased one says *erased*.
- Values are shown in the JSON in which they were recorded, never decoded into classes:
  looking at a ledger runs nobody's code.
- A shortened text ends with an ellipsis; ``--full`` and ``--json`` shorten nothing.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from muniment import PendingDecision
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import BlobRef, Event
    from muniment.ledger import Ledger

__all__ = [
    "SHORT_RUN",
    "VERDICT_COLOURS",
    "at_hand",
    "content_json",
    "content_of",
    "event_json",
    "marked_malformed",
    "milliseconds",
    "resolved",
    "short",
    "signed_data",
    "status_style",
    "subject_of",
    "summary",
    "untagged",
    "visible",
]

SHORT_RUN = 13
"""How much of a run's id a table of events shows: its time and 15 random bits."""

VERDICT_COLOURS = {
    "acceptable": "green",
    "unacceptable": "red",
    "non_certifiable": "red",
    "non certifiable": "red",
}
"""The colours of replay verdicts; any other is a warning."""

_STYLES = {
    "completed": "green",
    "failed": "red",
    "refused": "red",
    "diverged": "red",
    "interrupted": "yellow",
    "open": "cyan",
    "paused": "yellow",
    "canceled": "yellow",
}


def status_style(status: str) -> tuple[str, str]:
    """Return *status* as a cell in its colour."""
    return status, _STYLES.get(status, "")


def event_json(event: Event) -> dict[str, JsonValue]:
    """Return *event* as plain JSON; the data is as signed."""
    return {
        "seq": event.seq,
        "type": event.type,
        "version": event.version,
        "time": event.time,
        "run": event.run,
        "scope": event.scope,
        "ordinal": event.ordinal,
        "actor": event.actor,
        "tenant": event.tenant,
        "hash": event.hash,
        "prev": event.prev,
        "keyid": _keyid(event.key),
        "subject": [{"name": one.name, "digest": one.digest} for one in event.subject],
        "series": {
            one.key: {"count": one.count, "prev": one.prev} for one in event.series
        },
        "data": signed_data(event),
        **({"malformed": event.fault} if event.fault else {}),
    }


def signed_data(event: Event) -> JsonValue:
    """Return the data as signed, even if it was repaired for reading."""
    if not event.fault:
        return event.raw
    try:
        return json.loads(event.payload)["predicate"]["data"]  # type: ignore[no-any-return]
    except (ValueError, KeyError, TypeError):
        return {"$bytes": base64.b64encode(event.payload).decode()}


def _keyid(key: bytes) -> str | None:
    from muniment.errors import MunimentError
    from muniment.keys.ed25519 import PublicKey

    try:
        return PublicKey(key).keyid
    except MunimentError:
        return None  # the row holds no key


def content_json(ledger: Ledger, ref: BlobRef) -> JsonValue:
    """Return the content behind *ref* as JSON, or a note that it is gone."""
    from muniment.encoding.canonical import parse
    from muniment.errors import ErasedError, MunimentError, WrongError

    try:
        content = ledger.get_blob(ref)
    except ErasedError:
        return {"$erased": ref.digest}
    except MunimentError as error:
        return {"$missing": ref.digest, "why": error.message}
    if ref.media.startswith("application/json"):
        try:
            return parse(content)
        except WrongError:
            return {"$bytes": base64.b64encode(content).decode()}
    if ref.media.startswith("text/"):
        return content.decode("utf-8", "replace")
    return {"$bytes": base64.b64encode(content).decode()}


def resolved(ledger: Ledger, event: Event) -> dict[str, JsonValue]:
    """Return the data of *event*, with blobs in place of commitments."""
    from muniment.formats.statement import BlobRef

    return {
        name: content_json(ledger, BlobRef.from_json(value))
        if isinstance(value, dict) and "$blob" in value
        else value
        for name, value in event.raw.items()
    }


def visible(
    ledger: Ledger, event: Event, *, private: bool = False
) -> dict[str, JsonValue]:
    """Return the data of *event* as `resolved` does, without what it says is private.

    With *private* that is there, too. Of an event that was repaired, it is as signed.
    """
    said = signed_data(event)
    if not isinstance(said, dict):
        return {"data": said}
    references = event.raw if event.fault else said
    return {
        name: content_of(ledger, event, name, private=private)
        if _is_reference(references.get(name))
        else value
        for name, value in said.items()
    }


def _is_reference(value: JsonValue) -> bool:
    return isinstance(value, dict) and "$blob" in value


def content_of(
    ledger: Ledger, event: Event, name: str, *, private: bool = False
) -> JsonValue:
    """Return what *event* says in *name*, with a blob in place of its commitment."""
    from muniment.events.visibility import hides
    from muniment.formats.statement import BlobRef

    value = event.raw[name]
    if not isinstance(value, dict) or "$blob" not in value:
        return value
    if not private and hides(event, name):
        return {"$private": value["$blob"]}
    return content_json(ledger, BlobRef.from_json(value))


def subject_of(ledger: Ledger, pending: PendingDecision) -> str:
    """Return the subject as it was recorded: JSON, which the answer is signed over."""
    from muniment.encoding.canonical import canonical

    recorded = resolved(ledger, ledger.event(pending.seq)).get("subject")
    return canonical(recorded).decode()


def at_hand(ledger: Ledger, event: Event) -> dict[str, JsonValue]:
    """Return the data of *event* with notes in place of blobs that are gone."""
    from muniment.errors import MunimentError
    from muniment.formats.statement import BlobRef

    shown = {**event.raw}
    for name, value in shown.items():
        if not isinstance(value, dict) or "$blob" not in value:
            continue
        try:
            if not ledger.holds(str(value["$blob"])):
                shown[name] = content_json(ledger, BlobRef.from_json(value))
        except MunimentError:
            continue  # its commitment cannot be read, and its size is only a claim
    return shown


def short(value: JsonValue, width: int = 60) -> str:
    """Return *value* on one line of at most *width* characters."""
    if isinstance(value, dict) and "$blob" in value:
        return f"({value.get('size')} bytes)"
    if isinstance(value, dict) and "$erased" in value:
        return "(erased)"
    if isinstance(value, dict) and "$private" in value:
        return "(private)"
    if isinstance(value, dict) and "$missing" in value:
        return f"({value.get('why')})"
    plain = untagged(value)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def untagged(value: JsonValue) -> JsonValue:
    """Return *value* without the tags that say which Python type it had."""
    if isinstance(value, list):
        return [untagged(one) for one in value]
    if not isinstance(value, dict):
        return value
    tag, inside = next(iter(value.items()), ("", None))
    if len(value) == 1 and tag == "$float" and isinstance(inside, str):
        return _float(inside)
    if len(value) == 1 and tag.startswith("$") and not tag.startswith("$$"):
        return untagged(inside)
    return {name: untagged(one) for name, one in value.items()}


def _float(text: str) -> JsonValue:
    """Return the float that *text* spells; the text, if it is not the one spelling."""
    try:
        found = float(text)
    except ValueError:
        return text
    return found if repr(found) == text else text


_QUIET = frozenset(
    {"attempt", "answered_by", "environment", "owner", "plugins", "seed", "counts"}
    | {"duration_us", "root", "nonce", "formats", "keys", "next_root", "possession"}
)


_LEADS = (
    *("about", "name", "id", "status", "engine", "artifact_id", "evidence_id"),
    *("dataset_id", "claim_ids", "effect", "budget", "limit", "action", "agent"),
    *("policy", "flow", "error_type", "message", "text"),
)
"""What is said first, in this order."""


def marked_malformed(event: Event, said: str) -> str:
    """Return what *event* said, marked if it was repaired for reading."""
    return f"(malformed: {event.fault})  {said}" if event.fault else said


def summary(data: dict[str, JsonValue], width: int = 60, *, full: bool = False) -> str:
    """Return the parts of *data* that people look for, on one line."""
    parts: list[str] = []
    for name, value in sorted(data.items(), key=_weight):
        if name in _QUIET or value in ({}, []):
            continue
        if name == "about" and isinstance(value, dict):
            parts += [f"{key}={short(item)}" for key, item in value.items()]
        else:
            parts.append(f"{name}={short(value, 10**9 if full else width)}")
    line = "  ".join(parts)
    return line if full or len(line) <= width else line[: width - 1].rstrip() + "…"


def _weight(member: tuple[str, JsonValue]) -> tuple[bool, str]:
    """Sort names before contents: short values say most."""
    name = member[0]
    return name not in _LEADS, f"{_LEADS.index(name):02}" if name in _LEADS else name


def milliseconds(microseconds: object) -> str:
    """Return a duration in a readable unit."""
    if not isinstance(microseconds, (int, float)):
        return ""
    value = cast("float", microseconds) / 1000
    if value < 1000:  # noqa: PLR2004 - a second
        return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms"  # noqa: PLR2004
    if value < 120_000:  # noqa: PLR2004 - two minutes
        return f"{value / 1000:.1f} s"
    return f"{value / 60_000:.1f} min"
