"""Judgements of the plugin ``governance``, for people: made now, or recorded earlier.

Rules: what is shown comes from the JSON of a judgement, so that a recorded one is shown
like one that was just made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from muniment_cli.terminal.output import Cell, count, hint
from muniment_cli.views.event_view import VERDICT_COLOURS, short

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.governance.judgement.judge import Judgement

__all__ = [
    "counted",
    "delta_rows",
    "hint_at_mode",
    "judgement_rows",
    "plain",
    "recorded_judgement",
]

Told: TypeAlias = "Mapping[str, JsonValue]"

_WIDTH = 300
_SHARES = (("claims found", "claim_overlap"), ("evidence found", "evidence_overlap"))


def recorded_judgement(data: Told) -> Told | None:
    """Return the judgement in the resolved *data* of ``replay.judged``, if it has one."""
    details = data.get("details")
    told = details.get("governance") if isinstance(details, dict) else None
    return told if isinstance(told, dict) and "verdict" in told else None


def judgement_rows(told: Told) -> list[tuple[str, Cell]]:
    """Return what a judgement says: terms, confidence, and where it first differs."""
    rows: list[tuple[str, Cell]] = [
        ("accepts", f"{told.get('acceptability')}, {told.get('mode')}"),
    ]
    if told.get("acceptability") == "statistically_bounded":
        rows.append(("envelope", _envelope(_mapping(told.get("envelope")))))
    rows.append(("confidence", str(told.get("confidence") or "none")))
    rows += _marks(told)
    return rows + _measured(told) + _differs(told)


def plain(cell: Cell) -> str:
    """Return the text of *cell* without its colours."""
    if isinstance(cell, str):
        return cell
    return cell[0] if isinstance(cell, tuple) else "".join(text for text, _ in cell)


def delta_rows(told: Told) -> list[tuple[str, Cell]]:
    """Return what a judgement says of two runs: its verdict first."""
    verdict = str(told.get("verdict"))
    said = (verdict.replace("_", " "), VERDICT_COLOURS.get(verdict, "yellow"))
    compared = cast("Mapping[str, int]", _mapping(told.get("compared")))
    return [
        ("verdict", said),
        ("compared", counted(compared)),
        *judgement_rows(told),
    ]


def counted(compared: Mapping[str, int]) -> str:
    """Return how much was compared; child runs are named if there were any."""
    return ", ".join(
        count(number, what.removesuffix("s").replace("_", " "))
        for what, number in compared.items()
        if number or what != "child_runs"
    )


def hint_at_mode(judgement: Judgement) -> None:
    """Say that it is the mode that rejects, if the terms accept what differs."""
    terms = judgement.terms
    if terms.mode != "strict" or judgement.verdict != "unacceptable":
        return
    if judgement.is_accepted_by(terms.acceptability):
        hint(
            f"{terms.acceptability} accepts this, and the mode strict rejects whatever "
            "differs; --mode bounded does not"
        )


def _envelope(envelope: Told) -> str:
    parts = [
        f"claims {envelope.get('min_claim_overlap')}",
        f"contradictions +{envelope.get('max_contradiction_delta')}",
    ]
    tolerances = _mapping(envelope.get("metric_tolerances"))
    parts += [f"{name} ±{value}" for name, value in sorted(tolerances.items())]
    return ", ".join(parts)


def _marks(told: Told) -> list[tuple[str, Cell]]:
    marks = told.get("marks")
    return [
        (
            "marked",
            (f"{_mapping(one).get('mark')}: {_mapping(one).get('reason')}", "red"),
        )
        for one in (marks if isinstance(marks, list) else [])
    ]


def _measured(told: Told) -> list[tuple[str, Cell]]:
    delta = told.get("contradiction_delta")
    rows: list[tuple[str, Cell]] = []
    for name, member in _SHARES:
        share = told.get(member)
        if isinstance(share, (int, float)) and share < 1:
            rows.append((name, f"{share:.0%}"))
    if isinstance(delta, int) and delta:
        rows.append(("contradictions", f"{delta:+}"))
    return rows


def _differs(told: Told) -> list[tuple[str, Cell]]:
    """Return the difference that decides, or else the first, and how many there are."""
    decisive = told.get("decisive")
    one = _mapping(decisive or told.get("first_divergence"))
    if not one:
        return []
    what, about = str(one.get("what")), str(one.get("about"))
    where = [what if about in (what, "event") else f"{what} ({about})"]
    where += [f"run {one.get('run')}"] if one.get("run") else []
    where += [f'scope "{one.get("scope")}"'] if one.get("scope") else []
    where += [] if one.get("seq") is None else [f"event {one.get('seq')}"]
    listed = told.get("differences")
    number = len(listed) if isinstance(listed, list) else 0
    rows: list[tuple[str, Cell]] = [
        (
            "diverged" if decisive else "differs",
            ", ".join(where),
        ),
        ("  field", str(one.get("field") or "(the whole)")),
        ("  expected", _value(one.get("expected"))),
        ("  got", _value(one.get("got"))),
    ]
    if number > 1:
        rows.append(("differences", f"{number}, {told.get('blocking')} of them reject"))
    return rows


def _mapping(value: JsonValue) -> Told:
    return value if isinstance(value, dict) else {}


def _value(value: JsonValue) -> str:
    return "(nothing)" if value is None else short(value, _WIDTH)
