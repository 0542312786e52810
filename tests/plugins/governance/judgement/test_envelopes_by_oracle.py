"""Contradictions and metrics: the envelope counts what an oracle counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import encode
from muniment.replays.account import AccountEnd, AccountEntry
from muniment_plugins.governance.judgement.judge import Judgement, judge
from muniment_plugins.governance.judgement.record import ComparedRun
from muniment_plugins.governance.judgement.terms import Terms
from muniment_plugins.governance.verification.contradictions import (
    contradictions_between,
)

END = AccountEnd("completed", {}, 1000)
STATISTICAL = Terms("bounded", "statistically_bounded", min_claim_overlap=0.0)

Claim = tuple[str, str]


def _run(*entries: AccountEntry) -> ComparedRun:
    numbered = (replace(one, seq=10 * at) for at, one in enumerate(entries, 1))
    return ComparedRun("01R", tuple(numbered), END, start=1)


# -- contradictions -------------------------------------------------------------------


def _judged(target: str, claims: list[Claim], severity: str) -> AccountEntry:
    rows: list[Mapping[str, object]] = [
        {"claim_id": name, "statement": text, "confidence": 0.5}
        for name, text in claims
    ]
    found: list[JsonValue] = [
        {"rule": rule, "detail": detail, "severity": severity, "status": "noted"}
        for rule, detail in contradictions_between(rows)
    ]
    data: dict[str, JsonValue] = {"engine": "contradiction", "violations": found}
    return AccountEntry("", "verification.judged", {"target": target, **data})


def _reasoned(claims: list[Claim]) -> AccountEntry:
    rows: list[JsonValue] = [{"claim_id": n, "statement": text} for n, text in claims]
    return AccountEntry("", "reasoning.recorded", {"claims": rows})


@st.composite
def flows(draw: st.DrawFn) -> tuple[Counter[str], ComparedRun]:
    """Draw the run of a flow, with the things that its claims state and deny."""
    things = draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4))
    denied = draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4))
    entries: list[AccountEntry] = []
    claims: list[Claim] = []
    for at, thing in enumerate(things):
        own: list[Claim] = [(f"c{at}", f"the {thing} is full")]
        if thing in denied:
            own.append((f"d{at}", f"the {thing} is not full"))
        severity = draw(st.sampled_from(["warning", "error"]))
        entries += [_reasoned(own), _judged(f"step/{at}", own, severity)]
        claims += own
    if draw(st.booleans()):
        entries.append(_judged("flow", claims, "warning"))
    return Counter(set(things) & set(denied)), _run(*entries)


@given(flows(), flows(), st.integers(0, 3))
def test_each_new_contradiction_counts_once(
    one: tuple[Counter[str], ComparedRun],
    other: tuple[Counter[str], ComparedRun],
    most: int,
) -> None:
    """Found for its step and for the flow; and also if as many others went."""
    (was, expected), (now, observed) = one, other
    places = [_places(run) for run in (expected, observed)]
    assume(all(places[0].get(thing, at) == at for thing, at in places[1].items()))
    new, lost = (now - was).total(), (was - now).total()
    said = judge(expected, observed, replace(STATISTICAL, max_contradiction_delta=most))
    assert said.contradiction_delta == (new or -lost)
    assert said.ok is (new <= most)


def _places(run: ComparedRun) -> dict[str, str]:
    """Return the id of the claim that says something of each thing."""
    return {text.split()[1]: name[1:] for name, text in run.claims}


def test_the_same_ids_with_other_statements_are_another_contradiction() -> None:
    """A violation names claims by their ids alone."""
    runs: list[ComparedRun] = []
    for thing in ("tank", "valve"):
        claims = [("c0", f"the {thing} is full"), ("c1", f"the {thing} is not full")]
        runs.append(_run(_reasoned(claims), _judged("step/0", claims, "warning")))
    said = judge(runs[0], runs[1], STATISTICAL)
    assert (said.contradiction_delta, said.ok) == (1, False)


def test_what_two_steps_say_with_the_same_ids_counts_twice() -> None:
    """The flow finds both, and that each is against the other step's claims, too."""
    claims = [("c0", "it is full"), ("c1", "it is not full")]
    steps = [_judged(f"step/{at}", claims, "warning") for at in range(2)]
    flow = _judged("flow", [*claims, *claims], "warning")
    none = _run(_reasoned(claims))
    counts = [
        judge(none, _run(_reasoned(claims), *entries), STATISTICAL).contradiction_delta
        for entries in (steps[:1], steps, [flow], [*steps, flow])
    ]
    assert counts == [1, 2, 3, 3]


def test_which_of_two_claims_came_first_makes_no_other_contradiction() -> None:
    """The second one is the one of which it is said that it takes back the other."""
    claims = [("c0", "it is full"), ("c1", "it is not full")]
    one, other = (
        _run(_reasoned(order), _judged("step/0", order, "warning"))
        for order in (claims, claims[::-1])
    )
    assert judge(one, other, STATISTICAL).contradiction_delta == 0


# -- metrics --------------------------------------------------------------------------

NUMBERS = st.sampled_from(
    [0, 1, 2, -1, 2**53 + 2, 0.0, -0.0, 1.0, 1.5, 1.1, 2.0, -1.0, 1e300, 1e16]
)
ODD = st.sampled_from([math.nan, math.inf, -math.inf, True, "1", None, 10**400])


def _measured(value: object) -> AccountEntry:
    data = encode({"metrics": {"score": value}, "order": ["score"]})
    assert isinstance(data, dict)
    return AccountEntry("", "metrics.measured", data)


def _compared(one: object, other: object, allowed: float) -> Judgement:
    terms = replace(STATISTICAL, metric_tolerances={"score": allowed})
    return judge(_run(_measured(one)), _run(_measured(other)), terms)


@given(NUMBERS, NUMBERS, st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 1e17]))
def test_a_tolerance_is_about_numbers(one: float, other: float, allowed: float) -> None:
    """Of both kinds, and of floats that are whole; equal ones differ in nothing."""
    said = _compared(one, other, allowed)
    assert said.ok is (abs(other - one) <= allowed)
    assert (not said.differences) is (encode(one) == encode(other))
    assert all(each.field == "metrics.score" for each in said.differences)


@given(NUMBERS | ODD, ODD)
def test_what_is_no_finite_number_has_to_be_equal(one: object, other: object) -> None:
    """However wide the tolerance."""
    same = encode(one) == encode(other)
    assert _compared(one, other, 1e308).ok is same
    assert _compared(other, one, 1e308).ok is same


@pytest.mark.parametrize("pair", [([1.0, 2.0], [1.1, 2.0]), ([1.0], [1.25])])
def test_a_list_of_a_metric_has_its_tolerance(pair: tuple[object, object]) -> None:
    """Element by element."""
    assert _compared(*pair, 0.5).ok
    assert not _compared(*pair, 0.01).ok
