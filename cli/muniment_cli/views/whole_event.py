"""One event and its blobs, as a page for people and as one document for machines.

Rules:

- The statement is printed as signed. A blob of many lines or characters is cut for
  people, with a count of what is left out.
- A blob that is private is named, and printed if that is asked for.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from muniment_cli.terminal.output import fields, one_line, say
from muniment_cli.views.event_view import content_of, event_json, short

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["show_whole", "whole_event"]

_COLUMNS = 2_000
_NOT_SHOWN = {"$erased", "$missing", "$private"}
_LINES = 400
"""How much of a blob is printed for people."""


def _contents(ledger: Ledger, event: Event, *, private: bool) -> dict[str, JsonValue]:
    from muniment.formats.statement import BlobRef

    contents: dict[str, JsonValue] = {}
    for name, value in event.raw.items():
        if isinstance(value, dict) and "$blob" in value:
            ref = BlobRef.from_json(value)
            contents[name] = {
                "digest": ref.digest,
                "size": ref.size,
                "media": ref.media,
                "value": content_of(ledger, event, name, private=private),
            }
    return contents


def whole_event(ledger: Ledger, event: Event, *, private: bool) -> dict[str, JsonValue]:
    """Return *event*, the signed statement, and its blobs, as plain JSON."""
    return {
        "event": event_json(event),
        "statement": _statement(event),
        "contents": _contents(ledger, event, private=private),
    }


def _statement(event: Event) -> JsonValue:
    try:
        return json.loads(event.payload)  # type: ignore[no-any-return]
    except ValueError:
        return None


def show_whole(ledger: Ledger, event: Event, *, full: bool, private: bool) -> None:
    """Print *event* and its blobs, which are shortened unless *full*.

    Those that are private are printed if *private*.
    """
    signer = event_json(event)["keyid"]
    fields(
        [
            ("event", f"{event.seq}  {event.type}  v{event.version}"),
            *([("malformed", (event.fault, "bold red"))] if event.fault else []),
            ("time", f"{event.time} (claimed)"),
            ("hash", event.hash),
            ("signed by", str(signer or "no key that can be read")),
            *(("series", f"{one.key}, number {one.count}") for one in event.series),
        ]
    )
    say()
    statement = _statement(event)
    say(_pretty(event_json(event)["data"] if statement is None else statement))
    for name, content in _contents(ledger, event, private=private).items():
        if not isinstance(content, dict):
            continue
        say()
        told = f"{name}: {content['size']} bytes, {content['media']}"
        say(one_line(told), "bold")
        value = content["value"]
        gone = isinstance(value, dict) and value.keys() & _NOT_SHOWN
        if gone:
            say(short(value))
            continue
        text = (
            "    " + value.replace("\n", "\n    ")
            if isinstance(value, str)
            else _pretty(value)
        )
        say(text if full else _shortened(text))


def _shortened(text: str) -> str:
    """Return the beginning of *text*, and how much is left out."""
    lines = text.split("\n")
    kept = [
        line
        if len(line) <= _COLUMNS
        else f"{line[:_COLUMNS]}… {len(line) - _COLUMNS:,} characters more"
        for line in lines[:_LINES]
    ]
    if len(lines) > _LINES:
        kept.append(f"… {len(lines) - _LINES:,} lines more")
    if kept != lines:
        kept.append("(shortened: --full and --json print all of it)")
    return "\n".join(kept)


def _pretty(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
