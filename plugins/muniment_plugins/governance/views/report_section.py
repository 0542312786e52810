"""What governance adds to the report about a run: under which policy, and what came of it.

    {"title": "Governance", "blocks": [
        {"title": ["Policy ", {"event": 8, "path": "/policy"}]}, {"facts": […]},
        {"say": "No budget was exhausted."}, …]}

Rules:

- It says nothing that the record says; it cites it, by event and path (the hook
  ``report_sections`` of the evidence plugin tells the form).
- Each kind of fact has its place, also where there is none: that nothing was degraded is
  said, too. Redacted bundles withhold none of these facts, except for decisions.
- A run that another one called is held to the policy which that one adopted.
- What a program says of policies and budgets is no word of governance's, and has no place
  here (`governance.authority`); decisions are the kernel's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from muniment.events.findings import VIOLATIONS
from muniment.formats.lifecycle import STARTED
from muniment_plugins.governance.authority import Authority
from muniment_plugins.governance.governed import LABEL

if TYPE_CHECKING:
    from muniment import Event
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger

__all__ = ["report_sections"]

ROWS = 60
"""How many facts of one kind a page shows."""
_MORE = "There is more of this: `muniment events list --run` shows the whole of it."
_OF_POLICY = ("digest", "mode", "flow", "amendment")
"""Members of a ``policy.adopted``, as far as they are there."""


def report_sections(ledger: Ledger, run: str, size: int) -> list[JsonValue] | None:
    """Return the section about the governance of *run*; None if it is not governed."""
    authority = Authority()

    def found(kind: str) -> list[Event]:
        """Return the first events of that type, and one more if there are more."""
        events = ledger.events(run=run, type=kind, to_seq=size)
        own = (one for one in events if authority.speaker(one) != "program")
        return list(islice(own, ROWS + 1))

    def violated() -> str:
        """Say which violations there are, where none was noted as the run went on."""
        for kind in VIOLATIONS:
            events = ledger.events(run=run, type=kind, to_seq=size)
            own = (one for one in events if authority.speaker(one) != "program")
            if any(one.raw.get("violations") for one in own):
                return "Engines found violations: they stand with the verdicts."
        hidden = getattr(getattr(ledger, "withheld", None), "events", ())
        return f"No violation was noted{', as far as is shown here' if hidden else ''}."

    started, adopted = found(STARTED)[:1], found("policy.adopted")
    if authority.label is None:
        return None
    blocks = [*_policies(adopted, started[0]), *_facts(found, violated())]
    return [{"title": "Governance", "blocks": blocks}]


def _policies(adopted: Sequence[Event], started: Event) -> Iterator[JsonValue]:
    for one in adopted[:ROWS]:
        yield {"title": ["Policy ", _at(one, "policy")]}
        told = [name for name in _OF_POLICY if one.raw.get(name) is not None]
        yield {"facts": [[name, _at(one, name)] for name in told]}
    if len(adopted) > ROWS:
        yield {"say": _MORE}
    if not adopted:
        yield {"say": "It is held to the policy of the run that called it."}
        yield {"facts": [["digest", _at(started, "labels", LABEL)]]}


def _facts(found: Callable[[str], list[Event]], violated: str) -> Iterator[JsonValue]:
    yield from _table(
        found("budget.exhausted"),
        {
            "limit": "limit",
            "of": "budget",
            "action": "action",
            "at effect": "effect",
            "because": "detail",
        },
        "No budget was exhausted.",
    )
    yield from _table(
        found("effect.degraded"),
        {
            "answered by a fallback": "effect",
            "fallback": "fallback",
            "beyond limit": "limit",
            "of": "budget",
        },
        "No effect was answered by a fallback.",
    )
    yield from _table(
        found("violation.noted"),
        {"violation": "rule", "by": "target", "because": "detail"},
        violated,
    )
    decided = found("decision.reached")
    rows: list[JsonValue] = [
        [["decision, event ", _head(one)], _at(one, "outcome")] for one in decided
    ]
    if rows:
        yield {"facts": rows[:ROWS]}
    if len(rows) > ROWS:
        yield {"say": _MORE}


def _table(
    events: Sequence[Event], columns: dict[str, str], none: str
) -> Iterator[JsonValue]:
    """Yield a row for each event: heading → field; or the word that there is *none*."""
    if not events:
        yield {"say": none}
        return
    rows: list[JsonValue] = [
        [_at(one, name) if name in one.raw else "unsaid" for name in columns.values()]
        for one in events[:ROWS]
    ]
    yield {"table": {"head": [*columns], "rows": rows}}
    if len(events) > ROWS:
        yield {"say": _MORE}


def _at(event: Event, *names: str) -> JsonValue:
    return {"event": event.seq, "path": "".join(f"/{one}" for one in names)}


def _head(event: Event) -> JsonValue:
    return {"event": event.seq, "head": "/seq"}
