"""Laws that hold for every pair of records, whatever the terms."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.replays.account import AccountEnd, AccountEntry
from muniment_plugins.governance.documents.words import ACCEPTABILITIES, REPLAY_MODES
from muniment_plugins.governance.judgement.judge import Judgement, judge
from muniment_plugins.governance.judgement.record import ComparedRun
from muniment_plugins.governance.judgement.terms import Terms

SCOPES = ("", "step/0", "step/1")
TYPES = (
    *("note.added", "artifact.produced", "evidence.collected", "reasoning.recorded"),
    *("verification.judged", "verification.arbitrated", "metrics.measured"),
    *("environment.fingerprinted", "dataset.pinned"),
)
values: st.SearchStrategy[JsonValue] = st.sampled_from(
    [0, 1, 2.5, "a", "b", None, [1, 2]]
)


@st.composite
def facts(draw: st.DrawFn) -> AccountEntry:
    """Draw a fact with the members that the judge knows, or with others."""
    kind = draw(st.sampled_from(TYPES))
    data: dict[str, JsonValue] = {"x": draw(values)}
    if kind == "reasoning.recorded":
        ids = draw(st.lists(st.sampled_from("pqr"), max_size=3))
        data = {"claims": [{"claim_id": one, "statement": one} for one in ids]}
    elif kind == "verification.judged":
        many = draw(st.integers(0, 2))
        data = {"engine": "contradiction", "violations": [{"rule": "r"}] * many}
    elif kind == "verification.arbitrated":
        data = {"target": "t", "status": draw(st.sampled_from(["pass", "fail"]))}
    elif kind == "metrics.measured":
        data = {"metrics": {"m": draw(st.sampled_from([1.0, 1.05, 2.0]))}}
    return AccountEntry(draw(st.sampled_from(SCOPES)), kind, data)


@st.composite
def effects(draw: st.DrawFn) -> AccountEntry:
    """Draw an effect, with an outcome, a failure, or neither."""
    kind = draw(st.sampled_from(["tool", "llm", "retrieval"]))
    verb = draw(st.sampled_from(["completed", "failed", None]))
    answer: dict[str, JsonValue] | None = (
        None if verb is None else {"value": draw(values)}
    )
    scope, asked = draw(st.sampled_from(SCOPES)), draw(values)
    return AccountEntry(
        scope, f"{kind}.requested", {"request": asked}, None, kind, verb, answer
    )


@st.composite
def runs(draw: st.DrawFn) -> ComparedRun:
    """Draw a run with numbered events; now and then without an end."""
    drawn = draw(st.lists(facts() | effects(), max_size=8))
    entries = tuple(replace(one, seq=10 * at) for at, one in enumerate(drawn, 1))
    ends = st.builds(
        AccountEnd,
        st.sampled_from(["completed", "failed"]),
        st.fixed_dictionaries({"result": values}),
        st.just(1000),
    )
    return ComparedRun("01R", entries, draw(ends | st.none()), start=1)


terms = st.builds(
    Terms,
    st.sampled_from(REPLAY_MODES),
    st.sampled_from(ACCEPTABILITIES),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.integers(0, 2),
    st.dictionaries(st.just("m"), st.sampled_from([0.0, 0.1, 5.0])),
)


def _judged(expected: ComparedRun, observed: ComparedRun, under: Terms) -> Judgement:
    try:
        return judge(expected, observed, under)
    except CannotTellError:
        assume(False)
        raise


@given(runs(), terms)
def test_what_is_equal_is_acceptable(run: ComparedRun, under: Terms) -> None:
    """Under all terms, in full confidence, and with nothing to say."""
    said = _judged(run, run, under)
    assert (said.verdict, said.differences) == ("acceptable", ())
    assert (said.confidence, said.exit_code) == ("exact_match", 0)


@given(runs(), runs(), terms)
def test_what_a_mode_accepts_the_next_accepts(
    one: ComparedRun, other: ComparedRun, under: Terms
) -> None:
    """Strict, bounded, observational: each accepts more; the last accepts all."""
    oks = [_judged(one, other, replace(under, mode=mode)).ok for mode in REPLAY_MODES]
    assert oks == sorted(oks)
    assert oks[-1]


@given(runs(), runs(), terms)
def test_what_an_acceptability_accepts_the_next_accepts(
    one: ComparedRun, other: ComparedRun, under: Terms
) -> None:
    """With any envelope; and the confidence is the first of them that accepts."""
    said = [
        _judged(one, other, replace(under, mode="bounded", acceptability=name))
        for name in ACCEPTABILITIES
    ]
    oks = [each.ok for each in said]
    assert oks == sorted(oks)
    first = next(
        (name for name, ok in zip(ACCEPTABILITIES, oks, strict=True) if ok), None
    )
    assert {each.confidence for each in said} == {first}


@given(runs(), runs(), terms, terms)
def test_a_wider_envelope_rejects_no_more(
    one: ComparedRun, other: ComparedRun, under: Terms, more: Terms
) -> None:
    """Whatever is accepted within an envelope is accepted within one around it."""
    names = under.metric_tolerances.keys() | more.metric_tolerances.keys()
    pair = under.metric_tolerances, more.metric_tolerances
    wider = replace(
        under,
        min_claim_overlap=min(under.min_claim_overlap, more.min_claim_overlap),
        max_contradiction_delta=max(
            under.max_contradiction_delta, more.max_contradiction_delta
        ),
        metric_tolerances={n: max(one.get(n, 0.0) for one in pair) for n in names},
    )
    assert _judged(one, other, under).ok <= _judged(one, other, wider).ok


@given(runs(), runs())
def test_a_strict_judge_accepts_what_is_equal_alone(
    one: ComparedRun, other: ComparedRun
) -> None:
    """Equal facts of each scope, equal answers to equal requests, an equal end."""
    said = _judged(one, other, Terms())
    assert said.ok == (_shape(one) == _shape(other))
    assert (said.first_divergence is None) == said.ok


@given(runs())
def test_scopes_run_beside_each_other(run: ComparedRun) -> None:
    """Which scope wrote first says nothing, and neither does the order of effects."""
    queues = {
        scope: [one for one in run.entries if one.scope == scope] for scope in SCOPES
    }
    mixed = [one for queue in reversed(queues.values()) for one in queue]
    effects_first = sorted(mixed, key=lambda one: not one.kind)
    for entries in (mixed, effects_first):
        other = replace(run, entries=tuple(entries))
        assert _judged(run, other, Terms()).verdict == "acceptable"
        assert _judged(other, run, Terms()).verdict == "acceptable"


@given(runs(), st.data())
def test_another_order_is_judged_the_same_from_both_sides(
    run: ComparedRun, data: st.DataObject
) -> None:
    """Which of two orders is the record does not matter."""
    order = data.draw(st.permutations(run.entries))
    other = replace(
        run,
        entries=tuple(replace(one, seq=10 * at) for at, one in enumerate(order, 1)),
    )
    for mode, acceptability in itertools.product(REPLAY_MODES, ACCEPTABILITIES):
        under = Terms(mode, acceptability)
        assert _judged(run, other, under).verdict == _judged(other, run, under).verdict


@given(runs(), runs(), terms)
def test_differences_come_in_the_order_of_the_record(
    one: ComparedRun, other: ComparedRun, under: Terms
) -> None:
    """Whoever reads the first one reads where the two runs parted."""
    said = _judged(one, other, under)
    seqs = [each.seq for each in said.differences if each.seq is not None]
    assert seqs == sorted(seqs)
    assert all(any(one is each for each in said.differences) for one in said.blocking)


def test_nothing_is_compared_with_nothing() -> None:
    """A judge that compared nothing cannot tell, in any mode."""
    for mode in REPLAY_MODES:
        with pytest.raises(CannotTellError, match="nothing that could be compared"):
            judge(ComparedRun("01A"), ComparedRun("01B"), Terms(mode))


def _shape(run: ComparedRun) -> object:
    facts = {
        scope: [
            _plain(one) for one in run.entries if one.scope == scope and not one.kind
        ]
        for scope in SCOPES
    }
    asked: dict[str, list[object]] = {}
    for one in run.entries:
        if one.kind:
            request = repr((one.scope, one.type, one.data))
            asked.setdefault(request, []).append(_plain(one))
    return facts, asked, None if run.end is None else (run.end.status, run.end.data)


def _plain(one: AccountEntry) -> tuple[object, ...]:
    return one.type, one.data, one.outcome, one.answer
