"""The sections that a report about any run has, from the kernel's own events.

Rules: each section says what is there, that there is more, or that nothing is; a section
without content is left out where nobody would look for it. What belongs to one plugin's
events is said by that plugin, through the hook ``report_sections``. No section keeps more
events than it shows: a run may have many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from muniment.events.findings import CLAIMS, VERDICTS
from muniment.formats.lifecycle import ENDS
from muniment_plugins.evidence.report.blocks import (
    ROWS,
    Block,
    Piece,
    Row,
    Section,
    at,
    head,
    leaves,
    limited,
)

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment_plugins.evidence.report.record import RunReader

__all__ = ["after", "before"]

Events = list["Event"]


class _Told(NamedTuple):
    """What a page says of a verdict."""

    word: str
    of: tuple[str, ...]
    """The fields with what it is about."""
    said: str
    """The field with what it says."""
    plain: tuple[str, ...]
    nested: tuple[str, ...]


_TOLD: Mapping[str, _Told] = {
    "verdict.reached": _Told(
        "",
        ("hypothesis",),
        "passed",
        ("p_value", "p_adjusted", "integrity", "level", "verifier", "source"),
        ("denominator", "result", "settings"),
    ),
    "property.tested": _Told(
        "Property ",
        ("name",),
        "passed",
        ("transform", "metric", "tolerance", "difference"),
        ("details",),
    ),
    "verification.judged": _Told(
        "By the engine ",
        ("engine", "target"),
        "status",
        ("rules", "cost"),
        ("violations",),
    ),
    "verification.arbitrated": _Told(
        "Verification of ",
        ("target",),
        "status",
        ("rule", "threshold", "decided_by"),
        ("votes",),
    ),
    "replay.judged": _Told(
        "Replay of ", ("replay_of",), "verdict", ("mode", "level", "compared"), ()
    ),
}
"""Type of verdict → what is said of it; each of `VERDICTS` has a row."""

_MORE = "`muniment events list --run` shows the whole of it."
_CALLS = 12
"""How many claims, verdicts, programs and calls of models are shown."""
_JUDGED = 60
"""How many verdicts are shown."""
_LLM = ("llm.requested", "llm.completed", "llm.failed")
_TOKENS = (
    *("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "total_tokens"),
)
"""What an answer may state, each as it was stated: the page adds up, and reads nothing
into it."""
_BAD = (".failed", ".refused", ".unjudged", "run.interrupted", "run.canceled")
_SAID = ("rule", "error_type", "message", "reason", "hypothesis", "plugin")


def before(record: RunReader) -> Iterator[Section]:
    """Yield what readers want first: what was claimed, and what came of it."""
    yield {"title": "What was claimed", "blocks": [*_claims(record)]}
    yield {"title": "Verdicts", "blocks": [*_verdicts(record)]}


def after(record: RunReader) -> Iterator[Section]:
    """Yield the rest of the run: code, calls, decisions, failures, costs, result."""
    sections = {
        "Code": _code(record),
        "What models were asked, and said": _models(record),
        "Decisions": _decisions(record),
        "Failures": _failures(record),
        "Effects and costs": _effects(record),
        "The run": _run(record),
    }
    for title, blocks in sections.items():
        if held := list(blocks):
            yield {"title": title, "blocks": held}


def _claims(record: RunReader) -> Iterator[Block]:
    stated, reasoned = (_distinct(record, kind) for kind in CLAIMS)
    if not stated and not reasoned:
        yield {"say": f"The run states no claim{record.unseen}."}
    for one in stated[:_CALLS]:
        yield {"title": ["Claim ", at(one.seq, "id")]}
        rows: list[Row] = []
        if "text" in one.raw:
            rows.append(["claim", at(one.seq, "text", form="block")])
        if one.raw.get("acceptance"):
            rows += leaves(record, one.seq, "acceptance")
        yield from limited(rows, _MORE)
    for one in reasoned[:_CALLS]:
        yield {"title": ["Claims of ", at(one.seq, "bundle_id"), " ", *_place(one)]}
        told = [name for name in ("claims", "evidence_ids") if one.raw.get(name)]
        rows = [row for name in told for row in leaves(record, one.seq, name)]
        yield from limited(rows, _MORE)
        if not one.raw.get("claim_ids"):
            yield {"say": "There is no claim among them."}
    if max(len(stated), len(reasoned)) > _CALLS:
        yield {"say": f"There are more claims: {_MORE}"}


def _verdicts(record: RunReader) -> Iterator[Block]:
    reached = _first(record, *VERDICTS, most=_JUDGED)
    if not reached:
        yield {"say": f"The run reached no verdict{record.unseen}."}
    for one in reached[:_JUDGED]:
        yield from _verdict(record, one)
    if len(reached) > _JUDGED:
        yield {"say": f"There are more verdicts: {_MORE}"}


def _verdict(record: RunReader, one: Event) -> Iterator[Block]:
    told = _TOLD[one.type]
    where = [" under ", head(one.seq, "scope")] if one.scope else []
    said: Piece = "unsaid"
    if told.said in one.raw:
        said = at(one.seq, told.said, form="verdict" if told.said == "passed" else "")
    subject = [piece for name in told.of for piece in (" of ", at(one.seq, name))]
    yield {"title": [told.word, *subject[1:], *where, ": ", said]}
    rows: list[Row] = [
        [name.replace("_", " "), at(one.seq, name)]
        for name in told.plain
        if one.raw.get(name) is not None
    ]
    for name in told.nested:
        if one.raw.get(name):
            rows += leaves(record, one.seq, name)
    yield from limited(rows, _MORE)


def _code(record: RunReader) -> Iterator[Block]:
    attempts = _distinct(record, "synthesis.attempted")
    bounds = _distinct(record, "spec.issued")
    for one in bounds[:_CALLS]:
        yield {"title": "What code was allowed"}
        rows = [row for name in one.raw for row in leaves(record, one.seq, name)]
        yield from limited(rows, _MORE)
    if len(bounds) > _CALLS:
        yield {"say": f"There are more bounds for code: {_MORE}"}
    for one in attempts[:_CALLS]:
        yield {"title": ["A program of event ", head(one.seq, "seq")]}
        names = ("accepted", "origin", "rule", "message", "line")
        rows = [[name, at(one.seq, name)] for name in names if name in one.raw]
        yield {"facts": [*rows, ["code", at(one.seq, "code", form="block")]]}
    if len(attempts) > _CALLS:
        yield {"say": f"There are more programs: {_MORE}"}


def _models(record: RunReader) -> Iterator[Block]:
    calls = _first(record, *_LLM, most=2 * _CALLS)
    for one in calls[: 2 * _CALLS]:
        asked = one.type == _LLM[0]
        words = "Asked" if asked else "Answered"
        yield {"title": [words, ", event ", head(one.seq, "seq"), " ", *_place(one)]}
        names = ("request", "value", "error_type", "message", "about")
        rows = [
            row
            for name in names
            if one.raw.get(name) is not None
            for row in leaves(record, one.seq, name)
        ]
        yield from limited(rows, _MORE)
    if len(calls) > 2 * _CALLS:
        count = _count(record, _LLM[0])
        yield {"say": ["These are the first of ", count, f" calls. {_MORE}"]}


def _decisions(record: RunReader) -> Iterator[Block]:
    asked = _first(record, "decision.asked", "decision.reached")
    for one in asked[:_CALLS]:
        yield {"title": [head(one.seq, "type"), " ", *_place(one)]}
        rows = [row for name in one.raw for row in leaves(record, one.seq, name)]
        yield from limited(rows, _MORE)
    if len(asked) > _CALLS:
        yield {"say": f"There are more decisions: {_MORE}"}


def _failures(record: RunReader) -> Iterator[Block]:
    bad = _first(record, *(f"*{one}" for one in _BAD), most=ROWS)
    rows: list[Row] = []
    for one in bad:
        said: list[Piece] = []
        for name in (name for name in _SAID if one.raw.get(name) is not None):
            said += [
                ", " if said else "",
                name.replace("_", " "),
                " ",
                at(one.seq, name),
            ]
        rows.append([[head(one.seq, "type"), " ", *_place(one)], said])
    yield from limited(rows, _MORE)
    if not rows:
        what = f"No event of the run says that something failed{record.unseen}."
        yield {"say": what}


def _effects(record: RunReader) -> Iterator[Block]:
    first: dict[str, int] = {}
    told: set[tuple[str, str]] = set()
    for one in record.events(run=record.run, type="*.requested,*.completed,*.failed"):
        first.setdefault(one.type, one.seq)
        told |= {(one.type, name) for name in _TOKENS if name in _usage(one)}
    kinds = [one.removesuffix(".requested") for one in first if one.endswith("ted")]
    ends = ("requested", "completed", "failed")
    rows = [
        [
            head(first[f"{kind}.requested"], "type"),
            *(_count(record, f"{kind}.{end}") for end in ends),
            _sum(record, f"{kind}.completed", "duration_us"),
        ]
        for kind in sorted(kinds)
        if f"{kind}.requested" in first
    ]
    if rows:
        yield {"table": {"head": ["first as", *ends, "microseconds"], "rows": rows}}
    tokens: list[Row] = [
        [name.replace("_", " "), _sum(record, kind, "about", "usage", name)]
        for kind, name in sorted(told)
    ]
    yield from limited(tokens, _MORE)
    if rows and not tokens:
        yield {"say": f"No outcome states how many tokens it took{record.unseen}."}


def _usage(event: Event) -> Mapping[str, object]:
    about = event.raw.get("about")
    usage = about.get("usage") if isinstance(about, dict) else None
    return usage if isinstance(usage, dict) else {}


def _run(record: RunReader) -> Iterator[Block]:
    first, last = record.started, record.last
    rows: list[Row] = [
        ["run", head(first.seq, "run")],
        ["name", at(first.seq, "name")],
        ["started, as its writer claims", head(first.seq, "time")],
        ["last event", [head(last.seq, "type"), ", ", head(last.seq, "time")]],
        [
            "events that are shown" if record.unseen else "events",
            {"rule": "count", "run": record.run},
        ],
    ]
    stated = ("replay_of", "parent", "fork", "program", "params", "labels")
    for name in (*stated, "environment"):
        if first.raw.get(name):
            rows += leaves(record, first.seq, name)
    ends = _first(record, *sorted(ENDS), most=ROWS)
    for one in ends:
        if one.raw.get("result") is not None:
            rows += leaves(record, one.seq, "result")
    yield from limited(rows, _MORE)
    if not ends:
        yield {"say": "The run has no end: it was cut off, or still runs."}


def _first(record: RunReader, *types: str, most: int = _CALLS) -> Events:
    """Return the first events of these types, and one more if there are more."""
    found = record.events(run=record.run, type=",".join(types))
    return list(islice(found, most + 1))


def _distinct(record: RunReader, kind: str) -> Events:
    """Return the events of a type, each content once, at its first place.

    If there are more than a page shows, there is one more than that.
    """
    found: dict[str, Event] = {}
    for one in record.events(run=record.run, type=kind):
        data = {**one.raw, "attempt": None}
        found.setdefault(repr(sorted(data.items())), one)
        if len(found) > _CALLS:
            break
    return list(found.values())


def _place(event: Event) -> list[Piece]:
    return ["in ", head(event.seq, "scope")] if event.scope else []


def _count(record: RunReader, kind: str) -> Piece:
    return {"rule": "count", "run": record.run, "type": kind}


def _sum(record: RunReader, kind: str, *names: str) -> Piece:
    path = "".join(f"/{one}" for one in names)
    return {"rule": "sum", "run": record.run, "type": kind, "path": path}
