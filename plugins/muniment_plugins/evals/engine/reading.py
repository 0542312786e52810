"""Reading runs for an eval: the answer of its effect, which no replay asks for again.

    read_views(ledger, suite, [{"run": "01JD…", "case": 0, "texts": False}])

Rules:

- The answer holds views: digests, and what probes found. Contents are in it only where a
  judge has to see them, and never private ones.
- What is private is digested under a key of this reading. What a fixture has as private is
  read again in the run that it was made of, if that is here and not erased.
- A run of the ledger is verified before it is read, as a replay does: each event by its
  bytes, hash, signature and key, and the end by its root. One that does not verify has no
  view. So are the runs below it, which it called, and whose usage counts as its own.
- What it is marked with is read with it, and so are the marks of the runs below it.
- It is named with its last event, so that the verdict says what it is about; the record in
  a file has the digest that the suite has of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

from muniment.documents.places import At
from muniment.encoding.canonical import canonical, sha256_tag
from muniment.errors import UsageError
from muniment.recorded.run_check import checked_events
from muniment_plugins.evals.checks.assertions import assertion_probes
from muniment_plugins.evals.checks.fixtures import text_probes
from muniment_plugins.evals.checks.marks import marks_told
from muniment_plugins.evals.checks.questions import question_probe
from muniment_plugins.evals.documents.fixture import (
    fixture_of,
    has_sealed,
    opened_part,
    shareable,
)
from muniment_plugins.evals.documents.suite import FAMILY, EvalSuite
from muniment_plugins.evals.engine.run_views import RunViews
from muniment_plugins.evals.engine.runs_below import runs_below
from muniment_plugins.evals.views.normaliser import Normaliser
from muniment_plugins.evals.views.patterns import TookTooLong
from muniment_plugins.evals.views.probes import answer_of, texts_of
from muniment_plugins.evals.views.rows import Row, listed, part
from muniment_plugins.evals.views.sealed import has_erased, has_private, sealed
from muniment_plugins.evals.views.view import Beside, view_of
from muniment_plugins.workflow.records.contents import Contents
from muniment_plugins.workflow.records.derived.marks import marks_of
from muniment_plugins.workflow.records.record import run_record

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["own_fixture", "read_views", "recorded_view", "seen", "verified_source"]


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of several runs, whose digests of private contents are comparable."""

    ledger: Ledger
    key: bytes = field(default_factory=lambda: token_bytes(32))
    """It is kept nowhere: nobody can try guesses on a digest that an eval recorded."""
    sources: dict[str, Row] = field(default_factory=dict[str, Row])
    """Views of the runs that fixtures were made of, by fixture and normaliser."""


def read_views(ledger: Ledger, suite: EvalSuite, reads: list[Row]) -> list[Row]:
    """Return the views of *reads*, in their order.

    Raises:
        UsageError: there is no such run, or it walks no graph.
        WrongError: an event does not verify, or a content contradicts its commitment.

    """
    reading = _Reading(ledger)
    return [_view(reading, suite, one) for one in reads]


def _view(reading: _Reading, suite: EvalSuite, read: Row) -> Row:
    case = suite.case(read)
    normaliser = _normaliser(suite, case)
    probed: Row = {} if read.get("other") else case
    if "run_path" in read:
        record = sealed(suite.records[read["run_path"]])
        view = seen(record, normaliser, probed)
        view["source"] = {"file": read["run_path"]}
        found = {record["id"]: listed(record, "marks")}
        found |= {one["run_id"]: listed(one, "marks") for one in record["child_runs"]}
        view |= _marked(found)
    else:
        ledger, key = reading.ledger, reading.key
        record, view = recorded_view(ledger, read["run"], normaliser, probed, key)
    if read.get("texts"):
        view["texts"] = _texts(record)
    fixture = probed.get("fixture")
    if fixture is not None and has_sealed(fixture):
        view["opened"] = _opened(reading, fixture, normaliser)
    return view


def _opened(reading: _Reading, fixture: Row, normaliser: Normaliser) -> Row:
    """Return what is private in *fixture*, by the run that it was made of.

    Nothing is known of it where that run is not, or is another one by now.
    """
    source = part(fixture, "source")
    known = sha256_tag(canonical([source, normaliser.document()]))
    if known not in reading.sources:
        reading.sources[known] = _of_source(reading, source, normaliser)
    return reading.sources[known]


def _of_source(reading: _Reading, source: Row, normaliser: Normaliser) -> Row:
    run = str(source.get("run") or "?")
    try:
        if reading.ledger.run_id(run) != run:
            return {}
        view = recorded_view(reading.ledger, run, normaliser, {}, reading.key)[1]
    except UsageError:
        return {}
    if view["source"]["head"] != source.get("head"):
        return {}
    return opened_part(view)


def _normaliser(suite: EvalSuite, case: Mapping[str, Any]) -> Normaliser:
    """Return by what a run is compared: by that of the fixture, if it says one."""
    said = part(part(case, "fixture"), "normaliser")
    return (
        Normaliser.read(said, At("the fixture", FAMILY)) if said else suite.normaliser
    )


def recorded_view(
    ledger: Ledger,
    run: str,
    normaliser: Normaliser,
    case: Mapping[str, Any],
    key: bytes | None = None,
) -> tuple[Row, Row]:
    """Return the record of *run*, with what is private sealed, and its view.

    Its events are verified before, and those of the runs below it.

    Args:
        ledger: where the run is.
        run: its whole id.
        normaliser: what is taken out of contents.
        case: what is looked for in it.
        key: by which what is private is digested; views of one key can be compared.

    Raises:
        WrongError: an event does not verify, or a content contradicts its commitment.

    """
    events, source = _verified(ledger, run)
    shown = run_record(ledger, run)
    called, below = runs_below(ledger, shown["child_runs"])
    source["verified"] += called.pop("verified")
    views = RunViews(ledger, normaliser, key, {**below, run: events})
    record, told = views.recorded(run, shown)
    beside = replace(views.beside(run, record, told), called=called)
    view = seen(record, normaliser, case, beside)
    view["source"] = source
    contents = Contents(ledger)
    every = {run: events, **below}
    view |= _marked({one: marks_of(contents, said) for one, said in every.items()})
    return record, view


def _marked(found: Mapping[str, list[Row]]) -> Row:
    """Return what a view says of marks: of runs without any, nothing."""
    marks = marks_told(found)
    return {"marks": marks} if marks else {}


def seen(
    record: Mapping[str, Any],
    normaliser: Normaliser,
    case: Mapping[str, Any],
    beside: Beside | None = None,
) -> Row:
    """Return the view of a sealed *record*, with what the probes of *case* find in it."""
    fixture = case.get("fixture")
    probes = [
        probe
        for rubric in case.get("rubrics", [])
        for probe in assertion_probes(rubric)
    ]
    view = view_of(record, normaliser, beside)
    if fixture is not None:
        probes += text_probes(record["stages"], fixture)
        if fixture["eval_kind"] == "clarifying_question":
            probes.append(question_probe(fixture))
    names = normaliser.of(record)
    view["probes"] = {one["id"]: answer_of(record, one, names) for one in probes}
    return view


def verified_source(ledger: Ledger, run: str) -> Row:
    """Return the last event of *run*, by which a verdict or a fixture names it.

    Raises:
        WrongError: an event of the run does not verify.

    """
    return _verified(ledger, run)[1]


def _verified(ledger: Ledger, run: str) -> tuple[list[Event], Row]:
    events, checked = checked_events(ledger, run)
    last = events[-1]
    head = f"sha256:{last.hash}"
    source = {"run": run, "seq": last.seq, "head": head, "verified": checked.rows}
    return events, source


def own_fixture(
    record: Mapping[str, Any],
    view: Row,
    source: Row,
    normaliser: Normaliser,
    *,
    contents: bool = True,
) -> Row:
    """Return the fixture that is made of the run itself."""
    names = normaliser.of(record)
    texts: dict[str, str] = {}
    stages: list[Row] = record["stages"] if normaliser.compares("text") else []
    for one in stages:
        for text in texts_of(record, one)[:1]:
            if not has_erased(text) and not has_private(text):
                with suppress(TookTooLong):  # then nothing of it is shown
                    texts[one["id"]] = names.text(str(text))
    return shareable(fixture_of(record, view, texts, source, contents=contents))


def _texts(record: Mapping[str, Any]) -> Row:
    """Return what a judge sees: the task, and the texts of stages in their order."""
    stages = [
        {
            "id": one["id"],
            "texts": [
                None if has_erased(text) or has_private(text) else text
                for text in texts_of(record, one)
            ],
        }
        for one in record["stages"]
    ]
    task = record.get("task")
    shown = None if has_erased(task) or has_private(task) else str(task)
    return {"task": shown, "stages": [one for one in stages if one["texts"]]}
