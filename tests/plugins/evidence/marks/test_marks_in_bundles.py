"""Whoever gets a bundle learns that its run is marked, whatever was left out of it."""

from __future__ import annotations

import json
import shutil
from base64 import b64decode
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from bundled import evidence_plugins
from marked_runs import MARK, WAYS, Marked
from muniment import Run, verify_bundle
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.evidence import open_bundle, write_bundle
from muniment_plugins.evidence.disclosure import Disclosure
from standalone_program import exit_code_of
from three_verifiers import NEEDS_NODE, Verifiers

FORMS: dict[str, dict[str, Any]] = {
    "closed": {},
    "raw": {"raw": True},
    "redacted": {"disclose": []},
    "disclosed": {"disclose": ["llm.*", "llm.*/*"]},
}


def of_run(marked: Marked, way: str) -> str:
    """Return how a verifier names the mark of a run."""
    run = marked.runs[way]
    (event,) = marked.ledger.events(run=run, type="run.marked")
    return f"{MARK}, event {event.seq} of run {run}"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", WAYS)
def test_two_verifiers_say_the_mark(
    marked: Marked, tmp_path: Path, way: str, form: str
) -> None:
    """It is no fault: the bundle is intact, and the mark is said beside that."""
    path = write_bundle(
        marked.ledger, marked.runs[way], tmp_path / "b.zip", **FORMS[form]
    ).path
    report = verify_bundle(path, keys=[marked.root], home=tmp_path / "nobody")
    assert (report.exit_code, report.integrity, report.ok) == (0, "intact", True)
    assert report.completeness == "checked"
    assert report.marked[0] == of_run(marked, way)
    assert f"marked: {of_run(marked, way)}" in str(report).splitlines()
    code, said = exit_code_of(path, marked.root)
    assert code == 0
    assert f"; MARKED: {of_run(marked, way)};" in f"{said};"


def test_nothing_is_said_where_nothing_is(marked: Marked, tmp_path: Path) -> None:
    """A run that nothing marks has no line about marks, though others of its series do."""
    run = marked.runs["none"]
    path = write_bundle(marked.ledger, run, tmp_path / "b", raw=True).path
    report = verify_bundle(path, keys=[marked.root], home=tmp_path / "nobody")
    assert report.marked == ()
    assert "MARKED" not in exit_code_of(path, marked.root)[1]


@NEEDS_NODE
def test_the_verifier_in_javascript_says_it(
    marked: Marked, three: Verifiers, tmp_path: Path
) -> None:
    """So does each of the three, in each form of a bundle."""
    for way in WAYS:
        for form, how in FORMS.items():
            place = tmp_path / f"{way}-{form}"
            path = write_bundle(marked.ledger, marked.runs[way], place, **how).path
            codes, said = three.codes(path)
            assert codes == (0, 0, 0), said
            assert said.count(f"MARKED: {of_run(marked, way)}") == 2, said


def test_the_view_lists_marks(marked: Marked, tmp_path: Path) -> None:
    """``run.json`` says them, of a redacted bundle too, and an empty list if none."""
    for way, run in marked.runs.items():
        for form in ("closed", "redacted"):
            place = tmp_path / f"{way}-{form}"
            path = write_bundle(marked.ledger, run, place, **FORMS[form]).path
            told = json.loads((path / "run.json").read_text())
            assert told["marks"] == ([] if way == "none" else [MARK])


def test_a_redacted_bundle_shows_how_the_run_was_governed(
    marked: Marked, tmp_path: Path
) -> None:
    """Policy, budget and violation are there with their payloads; what is private is not."""
    for way, kinds in (
        ("budget", {"policy.adopted", "budget.exhausted", "run.marked"}),
        ("unsafe", {"policy.adopted", "violation.noted", "run.marked"}),
    ):
        place = tmp_path / way
        write_bundle(marked.ledger, marked.runs[way], place, disclose=[])
        with open_bundle(place, evidence_plugins()) as bundle:
            shown = {one.type for one in bundle.events(run=marked.runs[way])}
            assert kinds <= shown
            assert "llm.requested" not in shown
            for one in bundle.events(run=marked.runs[way], type="violation.noted"):
                detail = one.raw["detail"]
                assert isinstance(detail, dict)
                assert detail["$blob"] in bundle.withheld.blobs


def _within(run: Run) -> object:
    def performer(request: object) -> object:
        run.mark(MARK, "seen while it was performed")
        return request

    return run.effect("tool", {"name": "t"}, performer)


def test_a_mark_is_not_withheld_with_its_effect(tmp_path: Path) -> None:
    """What hides the effect around a mark is refused; the effect has to be shown, too."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as ledger:
        run = ledger.execute(_within).run_id
        ledger.checkpoint()
        with pytest.raises(UsageError) as raised:
            write_bundle(ledger, run, tmp_path / "b", disclose=[])
        assert raised.value.rule == "evidence/disclose"
        assert "run.marked" in raised.value.message
        write_bundle(ledger, run, tmp_path / "b", disclose=["tool.*"])
        told = json.loads((tmp_path / "b" / "run.json").read_text())
        assert told["marks"] == [MARK]


def _calling(run: Run) -> object:
    return run.call(_within)


def test_a_related_run_is_named_with_its_mark(tmp_path: Path) -> None:
    """A child that marks itself is named, in the bundle of the run that called it."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as ledger:
        run = ledger.execute(_calling).run_id
        (child,) = ledger.children(run)
        ledger.checkpoint()
        written = write_bundle(ledger, run, tmp_path / "b")
    report = verify_bundle(tmp_path / "b", keys=[written.root], home=tmp_path / "no")
    assert report.exit_code == 0
    (said,) = report.marked
    assert said.startswith(f"{MARK}, event ")
    assert said.endswith(f" of run {child}")
    assert f"MARKED: {said}" in exit_code_of(tmp_path / "b", written.root)[1]


class _Claimed:
    """A program in the series of a claim, which may mark itself."""

    name = "claimed"

    def __call__(self, run: Run, mark: bool) -> None:
        """Reach a verdict."""
        run.record(
            "verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": True}
        )
        if mark:
            run.mark(MARK, "by hand")

    def series_of_run(self, _: object) -> tuple[str, ...]:
        """Count its runs."""
        return ("claim/c1",)


def test_marks_of_other_runs_of_the_claim_are_shown(tmp_path: Path) -> None:
    """No verdict of another run in the series is in a bundle without its mark."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as ledger:
        other = ledger.execute(_Claimed(), params={"mark": True}).run_id
        run = ledger.execute(_Claimed(), params={"mark": False}).run_id
        ledger.checkpoint()
        written = write_bundle(ledger, run, tmp_path / "b")
        (event,) = ledger.events(run=other, type="run.marked")
    said = f"{MARK}, event {event.seq} of run {other}"
    report = verify_bundle(tmp_path / "b", keys=[written.root], home=tmp_path / "no")
    assert (report.exit_code, report.marked) == (0, (said,))
    assert f"MARKED: {said}" in exit_code_of(tmp_path / "b", written.root)[1]


# -- tampering -------------------------------------------------------------------------


@NEEDS_NODE
@pytest.mark.parametrize("form", ["closed", "raw", "redacted"])
def test_a_mark_that_is_taken_out_is_missed(
    marked: Marked, three: Verifiers, tmp_path: Path, form: str
) -> None:
    """The root of the run covers its mark: without the line, the bundle is refused."""
    for way in WAYS:
        place = tmp_path / way
        write_bundle(marked.ledger, marked.runs[way], place, **FORMS[form])
        (event,) = marked.ledger.events(run=marked.runs[way], type="run.marked")
        file = place / "events.intoto.jsonl"
        lines = file.read_bytes().splitlines(keepends=True)
        numbers = _numbers(lines)
        at = numbers.index(event.seq)
        file.write_bytes(b"".join([*lines[:at], *lines[at + 1 :]]))
        assert three.codes(place)[0] == (1, 1, 1)
        proofs = place / "proofs.jsonl"
        kept = proofs.read_bytes().splitlines(keepends=True)
        proofs.write_bytes(b"".join([*kept[:at], *kept[at + 1 :]]))
        assert three.codes(place)[0] == (1, 1, 1)
        shutil.rmtree(place)


def _numbers(lines: list[bytes]) -> list[int]:
    payloads = [json.loads(b64decode(json.loads(one)["payload"])) for one in lines]
    return [one["predicate"]["muniment"]["seq"] for one in payloads]


@NEEDS_NODE
def test_a_key_holder_who_withholds_a_mark_is_not_told_from_others(
    marked: Marked, three: Verifiers, tmp_path: Path
) -> None:
    """Another writer may withhold it: all say that something is, and none that nothing is."""
    shows = Disclosure.shows

    def hides(self: Disclosure, event: Any) -> bool:
        return event.type != "run.marked" and shows(self, event)

    with patch.object(Disclosure, "shows", hides):
        place = tmp_path / "b"
        run = marked.runs["program"]
        write_bundle(marked.ledger, run, place, disclose=["verdict.*"])
    codes, said = three.codes(place)
    assert codes == (0, 0, 0), said
    assert said.count("WITHHELD, so not checked: ") == 2
    assert f"MARKED: {of_run(marked, 'program')}" not in said
    report = verify_bundle(place, keys=[marked.root], home=tmp_path / "no")
    assert any("a claim, call, mark or end among" in one for one in report.notes)
