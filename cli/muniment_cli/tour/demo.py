"""The tour behind ``muniment demo``: record, look, verify, replay, prove, get caught.

    DIR/.muniment/ledger.db     the ledger
    DIR/trust-home/             its keys, pins and memory, apart from the user's own
    DIR/evidence-SEQ.zip        the evidence of the run, for people without the ledger
    DIR/report-SEQ.html         a page to read about the run, beside a proof of its verdict
    DIR/tampered/               copies that were tampered with, and caught

Rules:

- Everything that it shows happened just now, in this ledger, through public calls;
  nothing is staged.
- Only copies are tampered with. The tour can be taken again in the same directory.
- A step that does not show what it should ends the tour with exit code 1.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING

from muniment.errors import WrongError
from muniment_cli.terminal.output import Cell, count, fields, prose, say, table
from muniment_cli.tour.attacks import tampers
from muniment_cli.tour.place import PLUGINS, TourPlace
from muniment_cli.views.event_view import SHORT_RUN

if TYPE_CHECKING:
    from pathlib import Path

    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment_plugins.harness import Experiment, Result

__all__ = ["experiment", "numbers", "tour"]

CODE = """
import math

def fit_and_eval(data):
    total = sum(data)
    mean = total / len(data) if data else 0
    return {"total": total, "mean": mean}
"""

_SHOWN = 11
_HASH = 12


def numbers(_: object) -> list[int]:
    """Return the data of the tour's experiment."""
    return [1, 2, 3, 4, 5]


def experiment(code: str = CODE) -> Experiment:
    """Return the experiment of the tour: a sum does not depend on the order."""
    from muniment_plugins import harness

    claim = harness.Claim(
        id="sum-invariant", text="Sum should be invariant under row permutation"
    )
    spec = harness.Spec(
        allowed_imports=["math"],
        properties=[{"name": "perm", "transform": "permute_rows", "metric": "total"}],
        resources={"time_s": 5, "mem_mb": 256},
    )
    return (
        harness.Experiment.builder("sum-invariant")
        .datasource(numbers)
        .add_step(harness.specify_claim(claim=claim))
        .add_step(harness.generate_spec(spec=spec))
        .add_step(harness.bounded_synthesis(code=code))
        .add_step(harness.execute_capsule())
        .add_step(harness.run_metamorphic_tests())
        .hypothesis("metamorphic", verifier=harness.metamorphic)
        .build()
    )


def tour(place: TourPlace) -> int:
    """Take the tour at *place*; return the exit code."""
    prose(f"muniment demo, in {place.directory}", "dim")
    with _open(place) as ledger:
        result = _record(ledger)
        _look(ledger, result)
        _replay(ledger, result)
        page = _prove(ledger, result, place)
    _verify(place)
    _tamper(place)
    _what_next(place, result, page)
    return 0


def _open(place: TourPlace) -> Ledger:
    from muniment.ledger import Ledger

    if place.ledger.exists():
        return Ledger.open(place.ledger, home=place.home, plugins=PLUGINS)
    return Ledger.create(place.ledger, home=place.home, plugins=PLUGINS)


def _heading(number: int, title: str, text: str) -> None:
    say()
    say(f"{number}  {title}", "bold")
    prose(f"   {text}", "dim")
    say()


def _record(ledger: Ledger) -> Result:
    _heading(
        1,
        "Record",
        "An experiment: three replicates of synthesised code, each run in a capsule.",
    )
    result = experiment().run(replicates=3, ledger=ledger)
    result.raise_for_errors()
    (judged,) = result.metrics.hypotheses
    metrics = result.metrics.baseline.metrics
    fields(
        _indented(
            {
                "claim": "Sum should be invariant under row permutation",
                **{name: str(values) for name, values in metrics.items()},
                "verdict": [
                    ("holds" if judged.passed else "refuted", _mark(judged.passed)),
                    (f"  {judged.results['baseline']}", ""),
                ],
                "run": result.run_id,
            }
        )
    )
    return result


def _look(ledger: Ledger, result: Result) -> None:
    _heading(
        2, "Look", "Each event is signed, and carries the hash of the one before it."
    )
    events = list(ledger.events(run=result.run_id))
    rows = [_row(event) for event in (*events[: _SHOWN - 3], *events[-3:])]
    rows.insert(_SHOWN - 3, ["", f"… {len(events) - _SHOWN} more", "", "", ""])
    table(["   seq", "event", "scope", "before", "hash"], rows, right=["   seq"])


def _row(event: Event) -> list[Cell]:
    before = (event.prev or "")[:_HASH]
    names = (event.scope or "").replace("baseline/", "")
    return [
        str(event.seq),
        event.type,
        names,
        (before, "dim"),
        (event.hash[:_HASH], "cyan"),
    ]


def _replay(ledger: Ledger, result: Result) -> None:
    from muniment.replays.replay import replay

    _heading(
        3,
        "Replay",
        "The run again, from its events alone: no provider, and watched.",
    )
    report = replay(ledger, result.run_id)
    again = report.result_digest == result.result_digest
    _expect(report.ok and again, "the replay did not give the same result")
    fields(
        _indented(
            {
                "verdict": (report.verdict.replace("_", " "), _mark(report.ok)),
                "compared": f"{report.compared} facts and effects; the code ran again",
                "watched": ", ".join(report.guards),
                "result": f"{_short(result.result_digest)}, the same digest again",
            }
        )
    )


def _prove(ledger: Ledger, result: Result, place: TourPlace) -> Path:
    from muniment.formats.tlog_proof import check_inclusion, origin_of_proof, with_event

    _heading(4, "Prove", "One event, for somebody who has neither ledger nor muniment.")
    event = next(ledger.events(run=result.run_id, type="verdict.reached"))
    proof = with_event(
        ledger.prove(event.seq), event.payload, event.signature, event.key
    )
    path = place.directory / f"event-{event.seq}.tlog-proof"
    path.write_text(proof.to_text(), encoding="utf-8")
    data = path.read_bytes()
    keys = ledger.keys.current("checkpoint")
    found = check_inclusion(data, origin_of_proof(data), keys, str(path))
    page = place.directory / f"report-{event.seq}.html"
    _report(ledger, result.run_id, page)
    bundle = place.directory / f"evidence-{event.seq}.zip"
    closed = _bundle(ledger, result.run_id, bundle)
    fields(
        _indented(
            {
                "event": f"{found.seq}, {event.type}",
                "is under": f"the signed tree head of {count(found.size, 'event')}",
                "by": f"{len(proof.hashes)} hashes and the checkpoint key "
                f"{found.checkpoint_key[:23]}…",
                "written to": path.name,
                "to read": f"{page.name}, where each value names its event",
                "to hand over": f"{bundle.name}: the whole run, closed by event {closed}",
            }
        )
    )
    return page


def _report(ledger: Ledger, run: str, page: Path) -> None:
    """Write the page about *run*, and compare it with the ledger."""
    from muniment_plugins.evidence import check_report, write_report

    write_report(ledger, run, page)
    checked = check_report(ledger, page.read_text(encoding="utf-8"))
    _expect(checked.verdict == "agrees", "the page does not agree with the ledger")


def _bundle(ledger: Ledger, run: str, path: Path) -> int | None:
    """Write the evidence of *run*, and verify it as its receiver does."""
    from muniment import verify_bundle
    from muniment_plugins.evidence import write_bundle

    written = write_bundle(ledger, run, path)
    report = verify_bundle(path, keys=[written.root], home=path.parent / "nobody")
    _expect(report.ok, "the bundle does not verify")
    return written.closed_by


def _verify(place: TourPlace) -> None:
    from muniment.verification.verify import verify

    _heading(5, "Verify", "Every byte, hash and signature, from first principles.")
    report = verify(place.ledger, home=place.home)
    _expect(report.ok, "the ledger does not verify")
    fields(
        _indented(
            {
                "integrity": (report.integrity, _mark(report.integrity == "intact")),
                "authenticity": (
                    report.authenticity,
                    _mark(report.authenticity == "pinned"),
                ),
                "completeness": [
                    (report.completeness, _mark(report.completeness == "checked")),
                    (f"  {report.anchored}", ""),
                ],
                "checked": f"{count(report.events_checked, 'event')} and "
                f"{count(report.signatures_checked, 'signature')} "
                f"in {report.seconds:.2f} s",
            }
        )
    )


def _tamper(place: TourPlace) -> None:
    from muniment.verification.verify import verify

    _heading(6, "Tamper", "Three copies, three attacks, and what gives each away.")
    rows: list[list[Cell]] = []
    shutil.rmtree(place.tampered, ignore_errors=True)
    for attack in tampers(experiment):
        path = attack.carry_out(place)
        report = verify(path, home=place.home)
        caught = report.exit_code == 1 and bool(report.findings)
        _expect(caught, f"nobody noticed: {attack.what}")
        found = report.findings[0]
        at = "" if found.seq is None else f", event {found.seq}"
        rows.append(
            [
                f"   {attack.what}",
                (found.kind.replace("-", " "), "bold red"),
                f"{found.rule}{at}",
            ]
        )
    table(["   attack", "caught as", "by rule"], rows)


def _what_next(place: TourPlace, result: Result, page: Path) -> None:
    say()
    say("Try next", "bold")
    run = result.run_id[:SHORT_RUN]
    for command, what in (
        (f"cd {shlex.quote(str(place.directory))}", ""),
        ("export MUNIMENT_HOME=$PWD/trust-home", "the keys of this tour, not yours"),
        ("muniment events --type 'property.*'", "what was tested, and how far apart"),
        (f"muniment runs show {run}", "the run, as a record"),
        (f"muniment replay {run}", "in its own process, without network"),
        (f"muniment verify {page.name}", "a page to read, beside its ledger"),
        ("muniment verify tampered/edited.db", "what an auditor sees"),
    ):
        say(f"   {command:<39}{what}".rstrip())


def _indented(members: Mapping[str, Cell]) -> list[tuple[str, Cell]]:
    return [(f"   {name}", value) for name, value in members.items()]


def _mark(good: bool | None) -> str:
    return "green" if good else "bold red"


def _short(digest: str) -> str:
    return f"{digest[: len('sha256:') + _HASH]}…"


def _expect(held: bool, otherwise: str) -> None:
    if not held:
        raise WrongError(
            otherwise,
            rule="demo/unexpected",
            place="muniment demo",
            remedy="`muniment doctor` says what this machine lacks",
        )
