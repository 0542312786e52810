"""Programs whose effects ask for effects, and which call programs, to any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from muniment.runs.run import Run

__all__ = ["Nest", "nest_program", "nests", "nests_below", "with_nest"]


@dataclass(frozen=True)
class Nest:
    """An effect, or a call, with what is done inside it."""

    calls: bool
    asked: int
    answer: int
    inside: tuple[Nest, ...] = ()


def nests(depth: int) -> st.SearchStrategy[tuple[Nest, ...]]:
    """Draw what a program does, *depth* levels deep at most."""
    inside = nests(depth - 1) if depth else st.just(())
    one = st.builds(Nest, st.booleans(), st.integers(0, 3), st.integers(0, 3), inside)
    return st.lists(one, min_size=1, max_size=2, unique_by=lambda nest: nest.asked).map(
        tuple
    )


def nests_below(
    program: tuple[Nest, ...], path: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Yield the place of each nest."""
    for at, one in enumerate(program):
        yield (*path, at)
        yield from nests_below(one.inside, (*path, at))


def with_nest(
    program: tuple[Nest, ...],
    path: tuple[int, ...],
    change: Callable[[Nest], tuple[Nest, ...]],
) -> tuple[Nest, ...]:
    """Return *program* with other nests in place of the one at *path*."""
    at, *rest = path
    one = program[at]
    changed = (
        (replace(one, inside=with_nest(one.inside, tuple(rest), change)),)
        if rest
        else change(one)
    )
    return (*program[:at], *changed, *program[at + 1 :])


def nest_program(
    inside: tuple[Nest, ...], result: int = 0, *, chatty: str = ""
) -> Callable[[Run], object]:
    """Return what does all that is *inside*; performers state what is *chatty*."""

    def perform(run: Run, nest: Nest) -> None:
        asked = {"q": nest.asked}
        if nest.calls:
            child = nest_program(nest.inside, nest.answer, chatty=chatty)
            run.call(child, name=f"child {nest.asked}")
        else:
            run.effect("tool", asked, lambda _: answer(run, nest))

    def answer(run: Run, nest: Nest) -> int:
        if chatty:
            run.record("note.added", {"text": chatty})
        with run.scope("part") as lane:
            for one in nest.inside:
                perform(lane, one)
        return nest.answer

    def program(run: Run) -> int:
        for one in inside:
            perform(run, one)
        return result

    return program
