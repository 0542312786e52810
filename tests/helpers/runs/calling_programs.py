"""Programs that call programs, and how tests find the runs of those."""

from __future__ import annotations

from collections.abc import Callable

from muniment.ledger import Ledger
from muniment.programs.functions import Program
from muniment.recorded.descent import children_of
from muniment.runs.run import Run

__all__ = ["ANSWERS", "below", "calling", "deep", "inner", "noted", "outer"]

ANSWERS: list[object] = []
"""What the performers below were asked for, by whoever asks in this process."""


def noted(request: object) -> object:
    """Answer with the request, and remember it."""
    ANSWERS.append(request)
    return request


def inner(run: Run, number: int) -> list[object]:
    """Perform two effects around a fact."""
    first = run.effect("data", number, noted)
    run.record("note.added", {"text": f"between {number}"})
    return [first, run.effect("data", number + 1, noted), run.random()]


def outer(run: Run) -> list[object]:
    """Call two children around an effect."""
    first = run.call(inner, {"number": 10})
    middle = run.effect("data", 0, noted)
    return [first, middle, run.call(inner, {"number": 20}, name="second")]


def deep(run: Run, levels: int) -> object:
    """Call oneself so many times."""
    if levels:
        return run.call(deep, {"levels": levels - 1})
    return run.effect("data", "deepest", noted)


def below(ledger: Ledger, run: str) -> list[str]:
    """Return the children of *run*."""
    return [str(one.run) for one in children_of(ledger.store.database, run)]


def calling(child: Program, name: str | None = None) -> Callable[[Run], object]:
    """Return a program that calls *child*."""

    def program(run: Run) -> object:
        return run.call(child, name=name)

    return program
