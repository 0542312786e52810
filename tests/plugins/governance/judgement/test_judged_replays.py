"""Replays under the judge, in process: the same function as for two records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from governed_programs import policy
from judged_runs import Story, judging_plugins
from muniment.errors import CannotTellError, UsageError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.governance.documents.words import ACCEPTABILITIES, REPLAY_MODES
from muniment_plugins.governance.governed import governed
from muniment_plugins.governance.judgement.application import (
    judge_runs,
    judged_replay,
    terms_of,
)
from muniment_plugins.governance.judgement.judge import Judgement, judge
from muniment_plugins.governance.judgement.record import record_of
from muniment_plugins.governance.judgement.terms import Terms


def _named(terms: Terms) -> str:
    return f"{terms.mode}-{terms.acceptability}"


ALL = [Terms(mode, one) for mode in REPLAY_MODES for one in ACCEPTABILITIES]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with the plugins whose facts the programs state."""
    with Ledger.create(tmp_path / "ledger.db", plugins=judging_plugins()) as made:
        yield made


def _told(said: Judgement) -> list[tuple[str, str, int | None, str]]:
    return [(one.what, one.about, one.seq, one.field) for one in said.differences]


@pytest.mark.parametrize("terms", ALL, ids=_named)
def test_an_honest_replay_is_acceptable(ledger: Ledger, terms: Terms) -> None:
    """Under all terms, of a run that completed and of one that failed."""
    for story in (Story(contradictions=2), Story(fails=True)):
        done = ledger.execute(story)
        said = judged_replay(ledger, done.run_id, terms, program=story).judgement
        assert (said.verdict, said.confidence) == ("acceptable", "exact_match")
        assert said.compared["facts"] == 14


CHANGED = {
    "payload": Story(answer="43"),
    "note": Story(notes=("begun", "otherwise")),
    "order": Story(swapped=True),
    "evidence": Story(evidence=("e1",)),
    "claim": Story(statement="rates rose"),
    "contradiction": Story(contradictions=1),
    "decision": Story(status="fail"),
    "metric": Story(total=15.5),
    "environment": Story(python="3.14.0"),
    "surroundings": Story(platform="Darwin"),
    "dataset": Story(dataset="sha256:" + "2" * 64),
    "failure": Story(fails=True),
    "result": Story(result="otherwise"),
}
ENVELOPE = Terms(
    "bounded",
    "statistically_bounded",
    min_claim_overlap=0.5,
    max_contradiction_delta=1,
    metric_tolerances={"total": 0.5},
)


@pytest.mark.parametrize("terms", [*ALL, ENVELOPE], ids=_named)
@pytest.mark.parametrize("name", CHANGED)
def test_a_replay_is_judged_like_two_runs(
    ledger: Ledger, name: str, terms: Terms
) -> None:
    """What a program does in a replay is judged like a run in which it did that.

    A strict replay stops at the first difference, which is the same; an effect is
    answered from the record, so what it would have come to now does not differ.
    """
    one = ledger.execute(Story())
    changed = (
        replace(CHANGED[name], answer="42") if name == "payload" else CHANGED[name]
    )
    other = ledger.execute(changed)
    said = judged_replay(ledger, one.run_id, terms, program=changed).judgement
    both = judge_runs(ledger, one.run_id, other.run_id, terms)
    assert said.verdict == both.verdict
    assert said.first_divergence == both.first_divergence
    if terms.mode != "strict":
        assert _told(said) == _told(both)
        assert said.confidence == both.confidence


def test_each_change_has_its_confidence(ledger: Ledger) -> None:
    """The first acceptability that accepts it, within an envelope that has room."""
    one = ledger.execute(Story()).run_id
    found = {
        name: judge_runs(
            ledger, one, ledger.execute(changed).run_id, ENVELOPE
        ).confidence
        for name, changed in CHANGED.items()
    }
    assert found == {
        "payload": "invariant_preserving",
        "note": "invariant_preserving",
        "order": "statistically_bounded",
        "evidence": "invariant_preserving",
        "claim": "statistically_bounded",
        "contradiction": "statistically_bounded",
        "decision": None,
        "metric": "statistically_bounded",
        "environment": None,
        "surroundings": "invariant_preserving",
        "dataset": None,
        "failure": None,
        "result": "invariant_preserving",
    }


@pytest.mark.parametrize("mode", REPLAY_MODES)
def test_an_attempt_is_a_difference_of_its_own(ledger: Ledger, mode: str) -> None:
    """No acceptability accepts it, and observational reports it."""

    def honest(run: Run) -> object:
        run.record("note.added", {"text": "begun"})
        return None

    def reaching(run: Run) -> object:
        run.record("note.added", {"text": "begun"})
        try:
            ledger.path.with_name("stolen").write_text("…")
        except Exception:  # noqa: BLE001 - it swallows the refusal
            return None
        return None

    done = ledger.execute(honest)
    terms = Terms(mode, "statistically_bounded")  # type: ignore[arg-type]
    said = judged_replay(ledger, done.run_id, terms, program=reaching).judgement
    assert said.ok is (mode == "observational")
    first = said.first_divergence
    assert first is not None
    assert (first.what, first.about, first.field) == (
        "guard",
        "isolation",
        "file writes",
    )
    assert "stolen" in str(first.got)


@pytest.mark.parametrize("terms", ALL, ids=_named)
def test_a_marked_run_is_certified_by_nobody(ledger: Ledger, terms: Terms) -> None:
    """Its replay is non_certifiable in every mode, with exit code 1 and the reason."""

    def program(run: Run) -> object:
        run.record("note.added", {"text": "begun"})
        run.mark("non_certifiable", "beyond its budget")
        return None

    done = ledger.execute(program)
    again = judged_replay(ledger, done.run_id, terms, program=program, record=True)
    assert again.judgement.marks == (("non_certifiable", "beyond its budget"),)
    assert (again.report.verdict, again.report.exit_code) == ("non_certifiable", 1)
    assert again.judgement.exit_code == 1
    (judged,) = ledger.events(run=again.report.recorded_as, type="replay.judged")
    assert judged.raw["verdict"] == "non_certifiable"


def _child(run: Run) -> object:
    run.record("note.added", {"text": "called"})
    run.mark("non_certifiable", "beyond its budget")
    return 1


def test_child_runs_are_judged_with_it(ledger: Ledger) -> None:
    """The verdict is the worst, and the record has each judgement."""

    def program(run: Run) -> object:
        return run.call(_child)

    done = ledger.execute(program)
    alone = judged_replay(ledger, done.run_id, program=program)
    assert (alone.report.verdict, len(alone.judgements)) == ("acceptable", 1)
    again = judged_replay(
        ledger, done.run_id, program=program, children=True, record=True
    )
    assert [one.verdict for one in again.judgements] == [
        "acceptable",
        "non_certifiable",
    ]
    assert (again.report.verdict, again.report.children) == ("non_certifiable", 1)
    (judged,) = ledger.events(run=again.report.recorded_as, type="replay.judged")
    details = ledger.resolve(judged)["details"]
    assert isinstance(details, dict)
    (below,) = details["governance"]["children"]
    assert below["verdict"] == "non_certifiable"


def test_another_mark_says_nothing_about_verdicts(ledger: Ledger) -> None:
    """It is carried by the judgement, which is what it would be without it."""

    def program(run: Run) -> object:
        run.mark("reviewed", "by hand")
        return None

    done = ledger.execute(program)
    said = judged_replay(ledger, done.run_id, program=program).judgement
    assert (said.verdict, said.marks) == ("acceptable", (("reviewed", "by hand"),))


def test_a_stopped_program_is_not_accepted(ledger: Ledger) -> None:
    """Where no answer is left it is stopped: it has no end, whatever would accept it."""

    def recorded(run: Run) -> object:
        return run.effect("tool", 1, lambda asked: asked)

    def program(run: Run) -> object:
        return [run.effect("tool", 1, _never), run.effect("tool", 2, _never)]

    done = ledger.execute(recorded)
    terms = Terms("bounded", "statistically_bounded")
    said = judged_replay(ledger, done.run_id, terms, program=program).judgement
    assert (said.verdict, said.confidence) == ("unacceptable", None)
    assert [(one.what, one.about) for one in said.blocking] == [("end", "status")]


def _never(_: object) -> object:
    raise AssertionError("performed")


def test_what_is_recorded_says_it_all(ledger: Ledger) -> None:
    """Terms, confidence, first divergence and isolation, beside the kernel's findings."""
    done = ledger.execute(Story())
    again = judged_replay(
        ledger, done.run_id, ENVELOPE, program=Story(total=15.5), record=True
    )
    (judged,) = ledger.events(run=again.report.recorded_as, type="replay.judged")
    assert (judged.raw["verdict"], judged.raw["mode"]) == (
        "acceptable_with_warnings",
        "bounded",
    )
    details = ledger.resolve(judged)["details"]
    assert isinstance(details, dict)
    told = details["governance"]
    assert told["verdict"] == "acceptable_with_warnings"
    assert told["envelope"] == {
        "min_claim_overlap": 0.5,
        "max_contradiction_delta": 1,
        "metric_tolerances": {"total": 0.5},
    }
    assert told["confidence"] == "statistically_bounded"
    first = told["first_divergence"]
    (measured,) = ledger.events(run=done.run_id, type="metrics.measured")
    assert (first["seq"], first["field"]) == (measured.seq, "metrics.total")
    assert (first["expected"], first["got"]) == (15, 15.5)
    assert told["isolation"]["level"] == "process"
    assert told["isolation"]["guards"] == [*again.report.guards]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, Terms()),
        ({"replay_mode": "bounded"}, Terms("bounded")),
        (
            {
                "replay_mode": "bounded",
                "replay_acceptability": "statistically_bounded",
                "replay_envelope": {
                    "min_claim_overlap": 0.5,
                    "max_contradiction_delta": 2,
                    "metric_tolerances": {"total": 0.1},
                },
            },
            Terms("bounded", "statistically_bounded", 0.5, 2, {"total": 0.1}),
        ),
    ],
)
def test_a_governed_run_has_its_own_terms(
    ledger: Ledger, members: dict[str, object], expected: Terms
) -> None:
    """Those of the policy that it adopted; a replay uses them without being told."""
    with governed(ledger, policy(**members)):
        done = ledger.execute(Story())
    assert terms_of(ledger, done.run_id) == expected
    said = judged_replay(ledger, done.run_id, program=Story()).judgement
    assert (said.terms, said.verdict) == (expected, "acceptable")


def test_an_ungoverned_run_has_none(ledger: Ledger) -> None:
    """It is judged strictly where the judge is asked, and by the kernel otherwise."""
    done = ledger.execute(Story())
    assert terms_of(ledger, done.run_id) is None
    assert (
        judged_replay(ledger, done.run_id, program=Story()).judgement.terms == Terms()
    )


def test_another_policy_is_a_difference(ledger: Ledger) -> None:
    """Two runs of one program under two policies are not acceptable for each other."""
    runs: list[str] = []
    for name in ("one", "other"):
        with governed(ledger, policy(policy_id=name)):
            runs.append(ledger.execute(Story()).run_id)
    one, other = runs
    said = judge_runs(ledger, one, other, Terms("bounded", "statistically_bounded"))
    assert said.verdict == "unacceptable"
    assert {(one.about, one.field) for one in said.blocking} == {("policy", "policy")}


def test_without_the_plugin_the_kernel_judges(ledger: Ledger, tmp_path: Path) -> None:
    """A governed ordinary program keeps its strict verdict where nothing is installed."""

    def program(run: Run) -> object:
        run.record("note.added", {"text": "begun"})
        return run.effect("tool", 1, lambda asked: asked)

    with governed(ledger, policy()):
        done = ledger.execute(program)
    with Ledger.open(tmp_path / "ledger.db", plugins=Plugins([])) as bare:
        report = replay(bare, done.run_id, program)
    assert (report.verdict, report.mode) == ("acceptable", "strict")


def test_a_record_of_an_absent_plugin_cannot_be_rejected(
    ledger: Ledger, tmp_path: Path
) -> None:
    """Which fields of its events are volatile is not known: that is *cannot tell*."""
    runs = [ledger.execute(one).run_id for one in (Story(), Story(result="otherwise"))]
    with Ledger.open(tmp_path / "ledger.db", plugins=Plugins([])) as bare:
        one, other = (record_of(bare, run) for run in runs)
        assert one.undeclared
        assert judge(one, one, Terms()).verdict == "acceptable"
        with pytest.raises(CannotTellError) as caught:
            judge(one, other, Terms())
    assert caught.value.rule == "judgement/plugin"


@pytest.mark.parametrize(
    "members",
    [
        {"mode": "lenient"},
        {"acceptability": "roughly"},
        {"min_claim_overlap": 1.5},
        {"max_contradiction_delta": -1},
        {"metric_tolerances": {"total": float("nan")}},
    ],
)
def test_terms_that_are_none_are_refused(members: dict[str, object]) -> None:
    """With the member that is wrong, and what may stand there."""
    with pytest.raises(UsageError) as caught:
        Terms(**members)  # type: ignore[arg-type]
    assert caught.value.remedy
