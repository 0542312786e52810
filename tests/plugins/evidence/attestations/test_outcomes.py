"""Whatever a run states, each test has one outcome, and nothing passes by being left out."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from muniment import Event, RunSummaries
from muniment_plugins.evidence.attestations.outcomes import TestOutcomes
from muniment_plugins.evidence.attestations.record import AttestedRun

Stated = tuple[str, str, bool | None, str | None, bool]
STATED = st.tuples(
    st.sampled_from(["verdict.reached", "hypothesis.unjudged", "property.tested"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from([True, False, None]),
    st.sampled_from([None, "valid", "changed_claim"]),
    st.booleans(),
)


def record_of(stated: list[Stated], end: str) -> AttestedRun:
    """Return a record with these events; those whose last part is true are superseded."""
    events = [event(0, "run.started", {"name": "r"})]
    for kind, name, passed, integrity, _ in stated:
        data = {"hypothesis": name, "name": name, "passed": passed}
        events.append(event(len(events), kind, data | {"integrity": integrity}))
    events.append(event(len(events), end, {}))
    fold = RunSummaries()
    state = fold.initial()
    for one in events:
        state = fold.apply(state, one)
    gone = frozenset(seq for seq, one in enumerate(stated, 1) if one[4])
    return AttestedRun(cast("Any", None), "R", events, fold.view(state), gone)


def event(seq: int, kind: str, data: dict[str, Any]) -> Event:
    """Return an event of the run R."""
    time = "2026-11-25T00:00:00.000000Z"
    said = {name: one for name, one in data.items() if one is not None}
    return Event(seq, kind, 1, time, "l", "d", f"{seq:064}", "R", "", seq, _data=said)


@given(st.lists(STATED), st.sampled_from(["run.completed", "run.failed"]))
def test_nothing_passes_by_being_left_out(stated: list[Stated], end: str) -> None:
    """PASSED means that the run completed, and that all that was stated passed."""
    outcomes = TestOutcomes.of(record_of(stated, end))
    lists = (outcomes.passed, outcomes.warned, outcomes.failed, outcomes.undecided)
    names = [one for named in lists for one in named]
    assert len(names) == len({*names})
    about = {f"property {n}" if k[:1] == "p" else n for k, n, *_ in stated}
    assert {*names} == about
    assert len(outcomes.events) == len(stated)
    if outcomes.result == "PASSED":
        assert end == "run.completed"
        for kind, _, passed, integrity, _ in stated:
            assert passed is True
            assert kind != "hypothesis.unjudged"
            assert integrity != "changed_claim"
    standing = [one for one in stated if not one[4]]
    if any(one[2] is False and one[0][0] != "h" for one in standing):
        assert outcomes.result == "FAILED"
