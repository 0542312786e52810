"""Two runs side by side, with what effects asked for inside, and the runs they called."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment.replays.diff import Contrast, contrast
from muniment.runs.run import Run
from nested_programs import Nest, nest_program, nests, nests_below, with_nest

Program = tuple[Nest, ...]


def two(ledger: Ledger, one: Program, other: Program) -> Contrast:
    """Return the contrast of two programs."""
    runs = [
        ledger.execute(nest_program(nest), name="x").run_id for nest in (one, other)
    ]
    return contrast(ledger, *runs)


def at(program: Program, path: tuple[int, ...]) -> list[Nest]:
    """Return the nests on the way to *path*."""
    found: list[Nest] = []
    for step in path:
        found.append(program[step])
        program = program[step].inside
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 4).flatmap(nests), st.data())
def test_a_change_at_any_depth_is_found(
    tmp_path_factory: pytest.TempPathFactory, program: Program, data: st.DataObject
) -> None:
    """And named by the run in which it is; without one, all is compared and equal."""
    paths = list(nests_below(program))
    path = data.draw(st.sampled_from(paths))
    asks = data.draw(st.booleans())
    change = (
        (lambda one: (replace(one, asked=one.asked + 10),))
        if asks
        else (lambda one: (replace(one, answer=one.answer + 10),))
    )
    place = tmp_path_factory.mktemp("nests")
    with Ledger.create(place / "ledger.db", home=place / "home") as ledger:
        equal = two(ledger, program, program)
        found = two(ledger, program, with_nest(program, path, change))
    calls = [at(program, one)[-1].calls for one in paths].count(True)
    assert equal.equal
    assert equal.compared == {
        "facts": 0,
        "effects": len(paths),
        "outcomes": len(paths),
        "results": 1 + calls,
        "child_runs": calls,
    }
    assert not found.equal
    *above, changed = at(program, path)
    in_child = any(one.calls for one in above) or (changed.calls and not asks)
    first = found.differences[0]
    assert bool(first.run) is in_child
    assert (f"in run {first.run}" in str(first)) is in_child
    fields = {True: ("effect", "request"), False: ("outcome", "value")}
    if not changed.calls:
        what, field = fields[asks]
        assert (first.what, first.field.partition(".")[0]) == (what, field)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3).flatmap(nests), st.data())
def test_what_is_missing_inside_is_extra_the_other_way(
    tmp_path_factory: pytest.TempPathFactory, program: Program, data: st.DataObject
) -> None:
    """A nest that only one of them has is said from both sides."""
    path = data.draw(st.sampled_from(list(nests_below(program))))
    place = tmp_path_factory.mktemp("nests")
    with Ledger.create(place / "ledger.db", home=place / "home") as ledger:
        found = two(ledger, program, with_nest(program, path, lambda _: ()))
        back = contrast(ledger, found.other, found.one)
    assert [one.what for one in found.differences] == ["missing"]
    assert [one.what for one in back.differences] == ["extra"]
    assert found.differences[0].scope == back.differences[0].scope


def test_facts_of_performers_may_differ(ledger: Ledger) -> None:
    """How often a provider was tried differs between honest runs."""
    inside = (Nest(False, 1, 1, (Nest(True, 2, 2), Nest(False, 3, 3))),)
    runs = [
        ledger.execute(nest_program(inside, chatty=word), name="x").run_id
        for word in ("tried once", "tried twice")
    ]
    assert contrast(ledger, *runs).equal


def test_the_order_of_what_holds_it_is_no_difference(ledger: Ledger) -> None:
    """Effects that changed places have other numbers, and hold what they held."""
    one = Nest(False, 1, 1, (Nest(False, 5, 5), Nest(True, 6, 6, (Nest(False, 7, 7),))))
    other = Nest(False, 2, 2, (Nest(False, 8, 8),))
    assert two(ledger, (one, other), (other, one)).equal


def test_child_runs_that_failed_are_compared(ledger: Ledger) -> None:
    """A call that failed names no run; its child is found by its key."""

    def runs(*asked: int) -> str:
        left = iter(asked)

        def failing(run: Run) -> object:
            run.effect("data", next(left), lambda asked: asked)
            raise ValueError("no")

        def program(run: Run) -> object:
            for _ in asked:
                with suppress(EffectFailed):
                    run.call(failing, name="failing")
            return None

        return ledger.execute(program, name="x").run_id

    plain = runs(1, 2)
    assert contrast(ledger, plain, runs(1, 2)).compared["child_runs"] == 2
    found = contrast(ledger, plain, runs(1, 3))
    (first,) = found.differences
    assert (first.what, first.expected, first.got) == ("effect", 2, 3)
    assert first.run == ledger.children(plain)[1]


def test_what_a_record_answered_holds_nothing_to_compare(ledger: Ledger) -> None:
    """A fork is answered as a whole: nothing inside was asked, and nothing differs."""
    program = nest_program((Nest(False, 1, 1, (Nest(False, 2, 2),)), Nest(True, 3, 3)))
    done = ledger.execute(program, name="x")
    end = list(ledger.events(run=done.run_id))[-1].seq
    fork = ledger.fork(done.run_id, at=end, program=program)
    found = contrast(ledger, done.run_id, fork.run_id)
    assert found.equal
    assert (found.compared["effects"], found.compared["child_runs"]) == (2, 0)
    early = ledger.fork(done.run_id, at=2, program=program)
    found = contrast(ledger, done.run_id, early.run_id)
    assert found.equal
    assert (found.compared["effects"], found.compared["child_runs"]) == (3, 1)
