"""Two runs side by side, and effects in sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.ledger import Ledger
from muniment.queries.effect_stats import EffectTally, Tally
from muniment.replays.diff import Contrast, contrast
from muniment.runs.run import Run


def answer(request: object) -> object:
    """Answer with what was asked, or fail as asked."""
    asked: Any = request
    if asked.get("fail"):
        raise ValueError(asked["fail"])
    return asked.get("give", 1)


Change = dict[str, Any]


def program(run: Run, plan: Change) -> object:
    """Do what *plan* says; without any word the plain thing."""
    claim = {"id": "c1", "text": plan.get("text", "t"), "acceptance": {}}
    run.record("claim.stated", claim)
    request = {"name": plan.get("tool", "search"), "give": plan.get("give", 1)}
    if plan.get("fail"):
        request["fail"] = plan["fail"]
    names = ["a", "b"]
    for name in reversed(names) if plan.get("swapped") else names:
        run.effect("data", {"name": name}, answer)
    with run.scope("map/0") as lane:
        lane.effect("tool", request, answer)
    if plan.get("more"):
        run.record("claim.stated", {"id": "c2", "text": "u", "acceptance": {}})
    return plan.get("result", 1)


def two(ledger: Ledger, change: Change) -> Contrast:
    """Return the contrast of the plain run with one that *change* changed."""
    plans: list[Change] = [{}, change]
    runs = [ledger.execute(bound(plan), name="x").run_id for plan in plans]
    return contrast(ledger, *runs)


def bound(plan: Change) -> Callable[[Run], object]:
    """Return the program with its plan, which is then no param of the run."""
    return lambda run: program(run, plan)


@pytest.mark.parametrize(
    ("change", "what", "field", "expected", "got"),
    [
        ({"text": "u"}, "fact", "text", "t", "u"),
        ({"tool": "find"}, "effect", "request.name", "search", "find"),
        ({"fail": "no"}, "effect", "request.fail", None, "no"),
        ({"more": True}, "extra", "type", None, "claim.stated"),
        ({"result": 2}, "result", "result", 1, 2),
    ],
)
def test_the_first_difference_is_named_by_field(
    ledger: Ledger, change: Change, what: str, field: str, expected: object, got: object
) -> None:
    """Fact, effect, extra fact and result: what, which field, the one and the other."""
    found = two(ledger, change)
    assert not found.equal
    first = found.differences[0]
    assert (first.what, first.field) == (what, field)
    assert (first.expected, first.got) == (expected, got)


def test_an_outcome_is_compared_too(ledger: Ledger) -> None:
    """Equal requests with other answers differ in the outcome."""
    answers = iter([1, 2])

    def body(run: Run) -> None:
        run.effect("tool", {"name": "x"}, lambda _: next(answers))

    runs = [ledger.execute(body).run_id for _ in range(2)]
    found = contrast(ledger, *runs)
    first = found.differences[0]
    assert (first.what, first.field) == ("outcome", "value")
    assert (first.expected, first.got) == (1, 2)
    assert found.structure == {}


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_kept_private_is_a_difference(ledger: Ledger, whole: bool) -> None:
    """Two records of which one says that something is private are not equal.

    The finding says which, and no contents.
    """

    def body(run: Run, private: bool) -> None:
        if private and whole:
            run.keep_private()
        run.ask({"n": 1}, "may it?")
        run.effect("tool", {"secret": "s3cret"}, lambda _: answering(run, private))

    def answering(run: Run, private: bool) -> str:
        if private:
            run.keep_private()
        return "s3cret"

    def recorded(private: bool) -> str:
        return ledger.execute(lambda run: body(run, private), name="x").run_id

    runs = [recorded(False), recorded(True)]
    found = contrast(ledger, *runs)
    fields = {(one.what, one.field, one.expected, one.got) for one in found.differences}
    names = ("fact", "effect", "outcome") if whole else ("outcome",)
    assert fields == {(name, "visibility", None, "private") for name in names}
    assert contrast(ledger, recorded(True), runs[1]).equal


def test_params_come_first(ledger: Ledger) -> None:
    """Other params are the first thing that is said."""
    runs = [
        ledger.execute(lambda run, n: n, params={"n": n}).run_id  # noqa: ARG005 - a program
        for n in (1, 2)
    ]
    found = contrast(ledger, *runs)
    assert [one.what for one in found.differences] == ["params", "result"]


def test_what_is_missing_is_said_from_both_sides(ledger: Ledger) -> None:
    """What is extra one way round is missing the other."""
    found = two(ledger, {"more": True})
    back = contrast(ledger, found.other, found.one)
    assert back.differences[0].what == "missing"
    assert found.structure == {"claim.stated": (1, 2)}
    assert back.structure == {"claim.stated": (2, 1)}


def test_order_is_no_difference(ledger: Ledger) -> None:
    """Effects that changed places are the same effects."""
    assert two(ledger, {"swapped": True}).equal


def test_an_unfinished_run_differs_by_its_end(ledger: Ledger) -> None:
    """A run without an end is open, and that is the difference."""

    def stopped(_: Run) -> None:
        raise KeyboardInterrupt

    done = ledger.execute(lambda _: None).run_id
    with pytest.raises(KeyboardInterrupt):
        ledger.execute(stopped)
    last = list(ledger.events(type="run.started"))[-1].run
    found = contrast(ledger, done, str(last))
    assert (found.differences[-1].expected, found.differences[-1].got) == (
        "completed",
        "open",
    )


def test_the_contrast_is_plain_json(ledger: Ledger) -> None:
    """What the command line prints for machines says all of it."""
    document = two(ledger, {"text": "u"}).to_json()
    assert document["equal"] is False
    assert isinstance(document["differences"], list)


@settings(max_examples=15, deadline=None)
@given(
    change=st.fixed_dictionaries(
        {},
        optional={
            "text": st.sampled_from("tu"),
            "tool": st.sampled_from(["search", "find"]),
            "more": st.booleans(),
            "swapped": st.booleans(),
            "result": st.sampled_from([1, 2]),
        },
    )
)
def test_equality_is_that_of_result_digests(
    tmp_path_factory: pytest.TempPathFactory, change: Change
) -> None:
    """Two runs are equal exactly when their result digests are."""
    place = tmp_path_factory.mktemp("equal")
    with Ledger.create(place / "ledger.db", home=place / "home") as ledger:
        one = ledger.execute(bound({}))
        other = ledger.execute(bound(change))
        found = contrast(ledger, one.run_id, other.run_id)
    assert found.equal == (one.result_digest == other.result_digest)


def test_effects_are_summed_by_kind(ledger: Ledger) -> None:
    """Requests, outcomes, durations and tokens, over all runs and over one."""

    def body(run: Run) -> None:
        usage = {"input_tokens": 3, "completion_tokens": 4}
        run.effect("llm", {"model": "m"}, lambda _: {"usage": usage})
        run.effect("tool", {"name": "x", "fail": "no"}, answer)

    first, _ = ledger.execute(body), ledger.execute(body)
    tallies = {one.kind: one for one in ledger.project(EffectTally)}
    llm, tool = tallies["llm"], tallies["tool"]
    assert (llm.requested, llm.completed, llm.input_tokens) == (2, 2, 6)
    assert llm.output_tokens == 8
    assert (tool.failed, tool.completed, tool.open) == (2, 0, 0)
    assert 0 < llm.longest_us <= llm.duration_us
    of_one = ledger.project(EffectTally, run=first.run_id)
    assert [one.requested for one in of_one] == [1, 1]


def test_an_effect_that_runs_is_open(ledger: Ledger) -> None:
    """A request that nothing followed counts as open; no effects, no tallies."""
    assert ledger.project(EffectTally) == ()
    seen: list[tuple[Tally, ...]] = []

    def look(_: object) -> None:
        seen.append(ledger.project(EffectTally))

    ledger.execute(lambda run: run.effect("tool", {"name": "x"}, look))
    assert [one.open for one in seen[0]] == [1]
    assert [one.open for one in ledger.project(EffectTally)] == [0]


def test_sums_can_be_folded_again(ledger: Ledger) -> None:
    """Folding on gives what folding from event 0 gives."""
    for _ in range(3):
        ledger.execute(bound({}))
        incremental = ledger.project(EffectTally)
        ledger.cache.clear()
        assert ledger.project(EffectTally) == incremental
