"""The judge finds no difference exactly where a naive comparison finds none.

The oracle knows nothing of pairing: it takes facts of a scope as a sequence, and the
answers to equal requests as a sequence, at every depth.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.replays.account import AccountEnd, AccountEntry
from muniment_plugins.governance.documents.words import ACCEPTABILITIES, REPLAY_MODES
from muniment_plugins.governance.judgement.judge import judge
from muniment_plugins.governance.judgement.record import ComparedRun
from muniment_plugins.governance.judgement.terms import Terms

Entries = tuple[AccountEntry, ...]
Lanes = Mapping[str, Entries]

SCOPES = ("", "step/0")
REQUESTS: tuple[JsonValue, ...] = ("may I?", {"q": 1}, 1, {"$float": "1.0"})
ANSWERS: tuple[JsonValue, ...] = ("yes", "no", 0, False, None, [1], {"$float": "-0.0"})
STATUSES = ("completed", "failed", "interrupted", "paused", "canceled")
CONCLUDED = ("completed", "failed")


@st.composite
def facts(draw: st.DrawFn) -> AccountEntry:
    """Draw a fact of few types and contents, so that many are equal."""
    kind = draw(st.sampled_from(["note.added", "metrics.measured"]))
    data = {"x": draw(st.sampled_from(ANSWERS))}
    return AccountEntry(draw(st.sampled_from(SCOPES)), kind, data)


@st.composite
def effects(draw: st.DrawFn, depth: int = 2) -> AccountEntry:
    """Draw an effect of few requests, with any outcome, and with effects inside."""
    verb = draw(st.sampled_from(["completed", "failed", None]))
    answer = None if verb is None else {"value": draw(st.sampled_from(ANSWERS))}
    inside: Lanes | None = None
    if depth:
        below = st.lists(effects(depth - 1), max_size=2).map(tuple)
        lanes = st.dictionaries(st.sampled_from(["", "map/0"]), below, max_size=2)
        inside = draw(lanes | st.none())
    kind = draw(st.sampled_from(["tool", "llm"]))
    return AccountEntry(
        draw(st.sampled_from(SCOPES)),
        f"{kind}.requested",
        {"request": draw(st.sampled_from(REQUESTS))},
        None,
        kind,
        verb,
        answer,
        inside=inside,
    )


def _run(entries: Iterable[AccountEntry], end: AccountEnd | None) -> ComparedRun:
    numbered = (replace(one, seq=10 * at) for at, one in enumerate(entries, 1))
    return ComparedRun("01R", tuple(numbered), end, start=1)


ENDS = st.none() | st.builds(
    AccountEnd,
    st.sampled_from(STATUSES),
    st.fixed_dictionaries({"result": st.sampled_from(ANSWERS)}),
    st.just(1000),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[ComparedRun, ComparedRun]:
    """Draw two runs: equal, in another order, with answers swapped, or otherwise."""
    entries = draw(st.lists(facts() | effects(), max_size=6))
    end = draw(ENDS)
    other, now = list(entries), end
    change = draw(st.sampled_from(["none", "order", "swap", "one", "end", "all"]))
    if change == "order":
        other = draw(st.permutations(entries))
    elif change == "swap":
        asked = [at for at, one in enumerate(entries) if one.kind]
        for at, to in zip(asked, draw(st.permutations(asked)), strict=True):
            it = entries[to]
            changed = {"outcome": it.outcome, "answer": it.answer, "inside": it.inside}
            other[at] = replace(entries[at], **changed)  # type: ignore[arg-type]
    elif change == "one" and entries:
        at = draw(st.integers(0, len(entries) - 1))
        other[at : at + 1] = draw(st.lists(facts() | effects(), max_size=2))
    elif change == "end":
        now = draw(ENDS)
    elif change == "all":
        other, now = draw(st.lists(facts() | effects(), max_size=6)), draw(ENDS)
    return _run(entries, end), _run(other, now)


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _facts(entries: Iterable[AccountEntry], scope: str) -> list[str]:
    return [
        _json([one.type, one.data])
        for one in entries
        if one.scope == scope and not one.kind
    ]


def _asked(entries: Iterable[AccountEntry]) -> dict[str, list[AccountEntry]]:
    """Return the effects that asked for each thing, in their order."""
    found: dict[str, list[AccountEntry]] = {}
    for one in entries:
        if one.kind:
            found.setdefault(_json([one.scope, one.type, one.data]), []).append(one)
    return found


def _answered(one: Sequence[AccountEntry], other: Sequence[AccountEntry]) -> bool:
    """Tell whether the effects of both were answered equally, request by request."""
    mine, theirs = _asked(one), _asked(other)
    return mine.keys() == theirs.keys() and all(
        len(mine[key]) == len(theirs[key]) and all(map(_alike, mine[key], theirs[key]))
        for key in mine
    )


def _alike(one: AccountEntry, other: AccountEntry) -> bool:
    if _json([one.outcome, one.answer]) != _json([other.outcome, other.answer]):
        return False
    if one.inside is None or other.inside is None:
        return True
    return all(
        _answered(one.inside.get(lane, ()), other.inside.get(lane, ()))
        for lane in {*one.inside, *other.inside}
    )


def _equal(one: ComparedRun, other: ComparedRun) -> bool:
    ends = [None if each.end is None else each.end for each in (one, other)]
    said = [None if end is None else (end.status, _json(end.data)) for end in ends]
    return (
        all(_facts(one.entries, s) == _facts(other.entries, s) for s in SCOPES)
        and _answered(one.entries, other.entries)
        and said[0] == said[1]
    )


def _counted(one: Entries, other: Entries) -> Iterator[str]:
    """Yield what is there to be compared of two that ask for the same."""
    for each in one:
        yield "effects" if each.kind else "facts"
        if each.outcome is not None:
            yield "outcomes"
    mine, theirs = _asked(one), _asked(other)
    for key in mine:
        for each, again in zip(mine[key], theirs[key], strict=True):
            if each.inside is not None and again.inside is not None:
                for lane in {*each.inside, *again.inside}:
                    lanes = (of.get(lane, ()) for of in (each.inside, again.inside))
                    yield from _counted(*lanes)


def _compared(one: ComparedRun, other: ComparedRun) -> dict[str, int]:
    counted = Counter(_counted(one.entries, other.entries))
    ended = one.end is not None and one.end.status in CONCLUDED
    names = ("facts", "effects", "outcomes", "child_runs")
    return {name: counted[name] for name in names} | {"results": int(ended)}


@settings(max_examples=400)
@given(pairs())
def test_exact_is_what_a_naive_comparison_calls_equal(
    pair: tuple[ComparedRun, ComparedRun],
) -> None:
    """In both modes that reject, and with full confidence; whatever was compared counts."""
    expected, observed = pair
    equal = _equal(expected, observed)
    for mode in REPLAY_MODES:
        try:
            said = judge(expected, observed, Terms(mode))
        except CannotTellError:
            nothing = not (expected.entries or (expected.end and _ended(expected)))
            assert nothing, "there was something to compare"
            assert equal or mode == "observational"
            continue
        assert (said.confidence == "exact_match") is equal
        assert (said.verdict == "acceptable") is equal
        assert (not said.differences) is equal
        if equal:
            assert said.compared == _compared(expected, observed)
            assert any(said.compared.values())


def _ended(run: ComparedRun) -> bool:
    return run.end is not None and run.end.status in CONCLUDED


@given(st.lists(effects(0), min_size=1, max_size=4), st.data())
def test_answers_that_changed_places_are_counted(
    asked: list[AccountEntry], data: st.DataObject
) -> None:
    """The counts are those of the oracle also where only the answers differ."""
    answers = [(one.outcome, one.answer) for one in asked]
    moved = data.draw(st.permutations(answers))
    other = [
        replace(one, outcome=verb, answer=answer)
        for one, (verb, answer) in zip(asked, moved, strict=True)
    ]
    one, two = _run(asked, None), _run(other, None)
    said = judge(one, two, Terms())
    assert said.ok is _equal(one, two)
    assert said.compared == _compared(one, two)


def test_nothing_compared_is_never_acceptable() -> None:
    """Whatever the mode: of two runs that were cut off, neither has a result."""
    ends = (None, *(AccountEnd(one, {}, 2) for one in STATUSES[2:]))
    for mode, acceptability, end in itertools.product(
        REPLAY_MODES, ACCEPTABILITIES, ends
    ):
        run = _run((), end)
        with pytest.raises(CannotTellError, match="nothing that could") as caught:
            judge(run, run, Terms(mode, acceptability))
        assert caught.value.rule == "judgement/nothing"
