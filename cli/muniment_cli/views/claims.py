"""Claims as people read them: tried how often, and with which verdicts.

claim  runs  holds  refuted  open  integrity      marked           text
sum       3      1        2        changed claim  non_certifiable  The sum ignores the order

Rule: a verdict on a condition is one on the claim that its replicates state; a run whose
conditions state several claims counts for each with its own verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.errors import MunimentError
from muniment_cli.terminal.output import Cell, age, count, fields, prose, say, table
from muniment_cli.views.event_view import SHORT_RUN, status_style
from muniment_cli.views.studies import (
    StudyVerdict,
    figure,
    integrity_word,
    verdict_word,
    verdicts_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger
    from muniment_cli.terminal.fitting import Give
    from muniment_plugins.harness.preregistration.claim_history import (
        ClaimHistory,
        ClaimRun,
    )

__all__ = ["Tried", "TriedRun", "claims_tried", "show_claim", "show_claims"]

_MALFORMED = (MunimentError, LookupError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True)
class TriedRun:
    """A run of a claim, how it ended, and its verdicts."""

    run: ClaimRun
    status: str
    marks: tuple[str, ...]
    verdicts: tuple[StudyVerdict, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """Return it as plain JSON."""
        return {
            "run": self.run.id,
            "name": self.run.name,
            "status": self.status,
            "started": self.run.started,
            "number": self.run.number,
            "marks": [*self.marks],
            "verdicts": [one.to_json() for one in self.verdicts],
        }


@dataclass(frozen=True, slots=True)
class Tried:
    """A claim, and its runs."""

    claim: ClaimHistory
    runs: tuple[TriedRun, ...]

    @property
    def verdicts(self) -> list[StudyVerdict]:
        """The verdicts of all its runs."""
        return [verdict for run in self.runs for verdict in run.verdicts]

    @property
    def moves(self) -> list[str]:
        """How its verdicts lack integrity: each way once."""
        told = (one.integrity or "valid" for one in self.verdicts)
        return list(dict.fromkeys(one for one in told if one != "valid"))

    @property
    def marks(self) -> list[str]:
        """What its runs are marked with: each mark once."""
        return list(dict.fromkeys(mark for run in self.runs for mark in run.marks))

    def to_json(self) -> dict[str, JsonValue]:
        """Return it as plain JSON."""
        return {
            "claim": self.claim.id,
            "texts": [*self.claim.texts],
            "registrations": self.claim.registrations,
            "runs": [one.to_json() for one in self.runs],
        }


def claims_tried(ledger: Ledger) -> list[Tried]:
    """Return the claims of *ledger*, with the verdicts of their runs."""
    from muniment.queries.run_summary import RunSummaries
    from muniment_plugins.harness.preregistration.claim_history import claim_histories

    def tried(claim: str, run: ClaimRun) -> TriedRun:
        told = ledger.project(RunSummaries, run=run.id)
        verdicts = _of_claim(ledger, run.id, claim, _verdicts(ledger, run.id))
        return TriedRun(run, told.status, (*told.marks,), verdicts)

    return [
        Tried(claim, tuple(tried(claim.id, run) for run in claim.runs))
        for claim in claim_histories(ledger)
    ]


def _of_claim(
    ledger: Ledger, run: str, claim: str, verdicts: tuple[StudyVerdict, ...]
) -> tuple[StudyVerdict, ...]:
    """Return the *verdicts* on conditions that state *claim*, or state none."""
    from muniment_plugins.harness.experiment.failures import place_in

    stated: dict[str, set[str]] = {}
    for event in ledger.events(run=run, type="claim.stated"):
        condition, _ = place_in(event.scope)
        stated.setdefault(condition, set()).add(str(event.raw.get("id")))
    return tuple(one for one in verdicts if claim in stated.get(one.condition, {claim}))


def _verdicts(ledger: Ledger, run: str) -> tuple[StudyVerdict, ...]:
    """Return the verdicts of *run*; one that says why, if its events are malformed.

    Whoever may write could else keep everybody from reading all claims, by one event.
    """
    try:
        return verdicts_of(ledger, run)
    except _MALFORMED as error:
        why = f"the events of run {run} cannot be read: {error}"
        return (StudyVerdict("", "", None, judged=False, why=why),)


def show_claims(found: list[Tried]) -> None:
    """Print a line for each claim."""
    rows: list[list[Cell]] = []
    marked = any(one.marks for one in found)
    for one in found:
        holds, refuted, still_open = _counts(one.verdicts)
        moved = ", ".join(word.replace("_", " ") for word in one.moves)
        told = any(verdict.integrity for verdict in one.verdicts)
        integrity: Cell = (moved, "yellow") if moved else "valid" * told
        numbers = [len(one.runs), holds, refuted, still_open]
        text = one.claim.texts[-1] if one.claim.texts else ""
        figures = [str(number or "") for number in numbers]
        marks = [_marked(one.marks)] if marked else []
        rows.append([one.claim.id, *figures, integrity, *marks, text])
    headings = ["claim", "runs", "holds", "refuted", "open", "integrity"]
    headings += ["marked", "text"] if marked else ["text"]
    gives: dict[str, Give] = {"text": "first"}
    table(headings, rows, right=headings[1:5], gives=gives)


def show_claim(one: Tried) -> None:
    """Print one claim, and a line for each verdict of each of its runs."""
    pairs: list[tuple[str, Cell]] = [("claim", one.claim.id)]
    pairs += [("text", text) for text in one.claim.texts[-1:]]
    if one.claim.registrations:
        pairs.append(("registered", count(one.claim.registrations, "time")))
    fields([*pairs, ("runs", str(len(one.runs)))])
    for text in one.claim.texts[:-1]:
        prose(f"before, its text was: {text}", "yellow")
    if not one.runs:
        return
    say()
    rows = [row for run in one.runs for row in _rows(run)]
    headings = ["run", "no.", "status", "started", "hypothesis", "condition"]
    headings += ["verdict", "p-value", "integrity"]
    if one.marks:
        headings.append("marked")
        marked = [
            _marked(run.marks) for run in one.runs for _ in run.verdicts or [None]
        ]
        rows = [[*row, mark] for row, mark in zip(rows, marked, strict=True)]
    gives: dict[str, Give] = {"run": SHORT_RUN, "hypothesis": "first"}
    table(headings, rows, right=["no.", "p-value"], gives=gives, sparse=True)
    for verdict in one.verdicts:
        if verdict.why is not None:
            prose(f"{verdict}: {verdict.why}".removeprefix(": "), "yellow")


def _rows(tried: TriedRun) -> list[list[Cell]]:
    run = tried.run
    number = "" if run.number is None else str(run.number)
    beside: list[Cell] = [run.id, number, status_style(tried.status), age(run.started)]
    if not tried.verdicts:
        return [[*beside, "", "", ("no verdict", "yellow"), "", ""]]
    rows: list[list[Cell]] = []
    for one in tried.verdicts:
        told = [one.hypothesis, one.condition, verdict_word(one), figure(one.p_value)]
        rows.append([*beside, *told, integrity_word(one)])
        beside = [""] * len(beside)
    return rows


def _marked(marks: Sequence[str]) -> Cell:
    return (", ".join(marks), "yellow")


def _counts(verdicts: list[StudyVerdict]) -> tuple[int, int, int]:
    """Return how many say that it holds, that it does not, and neither."""
    said = [one.passed if one.judged else None for one in verdicts]
    return said.count(True), said.count(False), said.count(None)
