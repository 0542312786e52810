"""The judge on two records: what is inside effects, and the runs that were called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judged_runs import Story, judging_plugins
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.governance.judgement.application import (
    judge_runs,
    judged_replay,
)
from muniment_plugins.governance.judgement.judge import Judgement
from muniment_plugins.governance.judgement.terms import Terms
from nested_programs import Nest, nest_program, nests, nests_below, with_nest

INVARIANT = Terms("bounded", "invariant_preserving")
MEASURED = Terms("bounded", "statistically_bounded")
Program = tuple[Nest, ...]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with the plugins whose facts the programs state."""
    with Ledger.create(tmp_path / "ledger.db", plugins=judging_plugins()) as made:
        yield made


def _judged(ledger: Ledger, one: Program, other: Program) -> list[Judgement]:
    """Judge one program by another: exactly, by contents, within the envelope."""
    mine, theirs = (
        ledger.execute(nest_program(nest), name="x").run_id for nest in (one, other)
    )
    return [
        judge_runs(ledger, mine, theirs, terms)
        for terms in (Terms(), INVARIANT, MEASURED)
    ]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 3).flatmap(nests), st.data())
def test_a_change_at_any_depth_is_judged(
    tmp_path_factory: pytest.TempPathFactory, program: Program, data: st.DataObject
) -> None:
    """Other contents are contents, what is missing is structure; the run is named."""
    paths = list(nests_below(program))
    path = data.draw(st.sampled_from(paths))
    place = tmp_path_factory.mktemp("nests") / "ledger.db"
    changed = with_nest(program, path, lambda one: (replace(one, answer=99),))
    dropped = with_nest(program, path, lambda _: ())
    with Ledger.create(place, plugins=judging_plugins()) as ledger:
        same = _judged(ledger, program, program)
        content = _judged(ledger, program, changed)
        lost = _judged(ledger, program, dropped)
        gained = _judged(ledger, dropped, program)
    calls = [_is_call(program, one) for one in paths].count(True)
    assert {one.verdict for one in same} == {"acceptable"}
    assert same[0].compared == {
        "facts": 0,
        "effects": len(paths),
        "outcomes": len(paths),
        "results": 1 + calls,
        "child_runs": calls,
    }
    assert [one.ok for one in content] == [False, True, True]
    assert content[1].confidence == "invariant_preserving"
    in_child = any(_is_call(program, path[:end]) for end in range(1, len(path) + 1))
    first = content[0].first_divergence
    assert first is not None
    assert bool(first.run) is in_child
    assert ("run" in first.to_json()) is in_child
    for said, what in ((lost, "missing"), (gained, "extra")):
        assert [one.ok for one in said] == [False, False, True]
        assert [one.what for one in said[0].differences] == [what]


def _is_call(program: Program, path: tuple[int, ...]) -> bool:
    *above, last = path
    for step in above:
        program = program[step].inside
    return program[last].calls


def test_the_nth_of_equal_requests_belongs_to_the_nth(ledger: Ledger) -> None:
    """Whatever was asked inside: what was answered first was answered first."""

    def program(run: Run, order: list[int]) -> object:
        for one in order:
            run.effect("tool", "q", partial(_ask, run, one))
        return None

    one, same, other = (
        ledger.execute(partial(program, order=order), name="x").run_id
        for order in ([1, 2, 3], [1, 2, 3], [3, 2, 1])
    )
    assert judge_runs(ledger, one, same, Terms()).verdict == "acceptable"
    said = judge_runs(ledger, one, other, Terms())
    assert not said.ok
    assert [(each.field, each.expected, each.got) for each in said.differences] == [
        ("request", 1, 3),
        ("value", 1, 3),
        ("request", 3, 1),
        ("value", 3, 1),
    ]


def _ask(run: Run, one: int, _: object) -> str:
    run.effect("data", one, lambda asked: asked)
    return "done"


CHANGED: dict[str, tuple[Story, str | None]] = {
    "payload": (Story(answer="43"), "invariant_preserving"),
    "claim": (Story(statement="rates rose"), "statistically_bounded"),
    "contradiction": (Story(contradictions=1), "statistically_bounded"),
    "metric": (Story(total=15.5), "statistically_bounded"),
    "decision": (Story(status="fail"), None),
    "dataset": (Story(dataset="sha256:" + "2" * 64), None),
}
ENVELOPE = Terms(
    "bounded",
    "statistically_bounded",
    min_claim_overlap=0.5,
    max_contradiction_delta=1,
    metric_tolerances={"total": 0.5},
)


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_below_weighs_what_it_weighs_above(ledger: Ledger, name: str) -> None:
    """In a child run and in one below that, as in a run of its own."""
    changed, confidence = CHANGED[name]

    def middle(run: Run, story: Story) -> object:
        run.call(story, name="story")
        return 1

    def program(story: Story) -> str:
        return ledger.execute(
            lambda run: run.call(lambda below: middle(below, story), name="m"), name="x"
        ).run_id

    said = judge_runs(ledger, program(Story()), program(changed), ENVELOPE)
    assert said.confidence == confidence
    assert said.ok is (confidence is not None)
    assert said.compared["child_runs"] == 2
    first = said.first_divergence
    assert first is not None
    assert first.run in ledger.children(ledger.children(said.expected)[0])


def test_the_parameters_of_a_child_are_those_of_its_call(ledger: Ledger) -> None:
    """They are contents of a request, and are said once."""

    def child(_: Run, number: int) -> int:
        return number * 0

    def program(number: int) -> str:
        return ledger.execute(
            lambda run: run.call(child, {"number": number}), name="x"
        ).run_id

    said = judge_runs(ledger, program(1), program(2), INVARIANT)
    assert [(one.about, one.field) for one in said.differences] == [
        ("effect", "request.params.number")
    ]
    assert (said.verdict, said.compared["child_runs"]) == (
        "acceptable_with_warnings",
        1,
    )


def test_a_marked_child_makes_the_comparison_uncertain(ledger: Ledger) -> None:
    """The record that is compared says itself that nobody certifies it."""

    def child(run: Run) -> object:
        run.mark("non_certifiable", "beyond its budget")
        return 1

    one, other = (
        ledger.execute(lambda run: run.call(child), name="x").run_id for _ in range(2)
    )
    said = judge_runs(ledger, one, other, Terms())
    assert (said.verdict, said.differences) == ("non_certifiable", ())
    assert said.marks == (("non_certifiable", "beyond its budget"),)


def test_a_replay_counts_what_it_compared(ledger: Ledger) -> None:
    """It answers an effect as a whole: what is inside, and the child, is not counted."""
    inside = (Nest(False, 1, 1, (Nest(False, 2, 2),)), Nest(True, 3, 3))
    program, another = nest_program(inside), nest_program((inside[0], Nest(True, 3, 4)))
    done = ledger.execute(program, name="x")
    for one in (program, another):
        said = judged_replay(ledger, done.run_id, Terms(), program=one).judgement
        assert said.verdict == "acceptable"
        assert said.compared == {
            "facts": 0,
            "effects": 2,
            "outcomes": 2,
            "results": 1,
            "child_runs": 0,
        }


def test_a_fork_is_answered_as_a_whole(ledger: Ledger) -> None:
    """What the record answered holds nothing; what was performed again is compared."""
    inside = (
        Nest(False, 1, 1, (Nest(False, 2, 2),)),
        Nest(False, 3, 3, (Nest(True, 4, 4),)),
    )
    program = nest_program(inside)
    done = ledger.execute(program, name="x").run_id
    second = [one.seq for one in ledger.events(run=done, type="tool.requested")][-1]
    for at, effects, children in ((second, 3, 1), (second + 100, 2, 0)):
        last = list(ledger.events(run=done))[-1].seq
        fork = ledger.fork(done, at=min(at, last), program=program).run_id
        said = judge_runs(ledger, done, fork, Terms())
        assert said.verdict == "acceptable"
        compared = said.compared["effects"], said.compared["child_runs"]
        assert compared == (effects, children)


@pytest.mark.parametrize("called", [False, True])
def test_another_failure_is_another_status(ledger: Ledger, *, called: bool) -> None:
    """No acceptability accepts another message, of the run or of one that it called."""

    def fails(message: str) -> str:
        story = Story(fails=True, message=message)

        def calling(run: Run) -> object:
            try:
                return run.call(story, name="story")
            except Exception:  # noqa: BLE001 - the parent goes on
                return None

        return ledger.execute(calling if called else story, name="x").run_id

    one, same, other = fails("it broke"), fails("it broke"), fails("it broke otherwise")
    for terms in (Terms(), INVARIANT, ENVELOPE):
        assert judge_runs(ledger, one, same, terms).verdict == "acceptable"
        said = judge_runs(ledger, one, other, terms)
        assert (said.verdict, said.confidence) == ("unacceptable", None)
        status = [each for each in said.blocking if each.about == "status"]
        assert [(each.field, each.got) for each in status] == [
            ("message", "it broke otherwise")
        ]
        assert [bool(each.run) for each in status] == [called]


def test_a_replay_that_fails_otherwise_is_not_accepted(ledger: Ledger) -> None:
    """By its message alone."""
    done = ledger.execute(Story(fails=True)).run_id
    other = Story(fails=True, message="it broke otherwise")
    again = judged_replay(ledger, done, INVARIANT, program=other)
    assert again.report.verdict == "unacceptable"
    assert [(one.about, one.field) for one in again.judgement.blocking] == [
        ("status", "message")
    ]
